/**
 * Goal: no text or number that somebody sends is too much for the database: it is accepted, or refused with a reason,
 * and never an answer 500; a row that cannot be written takes none of its neighbours along.
 * Method: every member of a good request is replaced by hostile values, at every door that takes documents, on a whole
 * engine whose documents travel by AS4; every element of a good invoice likewise, sent by us and sent to us. Each place
 * gets so many of the values as RUNS says, each time others: `RUNS=11` tries all of them.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Clock } from "../../../engine/base/clock.js";
import { systemClock } from "../../../engine/base/clock.js";
import { createAcceptBatches } from "../../../engine/storage/documents/accept-batches.js";
import { accessToken, http, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { FOREIGN_SENDER, foreignPeer } from "../../support/as4/foreign-peer.js";
import { JSON_INVOICE } from "../../support/documents/json-invoices.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";

/** Letters of which no two are alike, so that no compression makes the value shorter. */
const letters = (from: number, range: number, count = 1_000): string =>
  String.fromCodePoint(...Array.from({ length: count }, (_, i) => from + ((i * 7_919) % range)));

/** JSON as it is written: some of these values no JavaScript value could be written as. */
const HOSTILE: Readonly<Record<string, string>> = {
  "1,000 Chinese letters": JSON.stringify(letters(0x4e00, 20_900)),
  "1,000 letters outside the basic plane": JSON.stringify(letters(0x20000, 42_000)),
  NUL: '"a\\u0000b"',
  "the first half of a surrogate pair": '"a\\ud800"',
  "the second half of a surrogate pair": '"\\udc00b"',
  "code points that are no characters": '"a\\uffff\\ufffe"',
  "an array of Postgres": JSON.stringify('{"a",NULL,\\}'),
  "10 to the power of 400, in digits": `1${"0".repeat(400)}`,
  "10 to the power of 400, as a power": "1e400",
  "10 to the power of 400, as text": JSON.stringify(`1${"0".repeat(400)}`),
  "a small number below zero": "-1e-400",
};

const MARK = "\u2063here\u2063";

const RUNS = Number(process.env["RUNS"] ?? 1);
/** The values for a place: others for its neighbours, so that together all are tried. */
const valuesFor = (values: Readonly<Record<string, string>>, place: number): [name: string, value: string][] => {
  const all = Object.entries(values);
  return all.filter((_, i) => (i - place * RUNS + place * RUNS * all.length) % all.length < RUNS);
};

type Place = readonly (string | number)[];

/** The place of every text and number in a value. */
function placesOf(value: unknown, at: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [at];
  return Object.entries(value).flatMap(([name, member]) =>
    placesOf(member, [...at, Array.isArray(value) ? Number(name) : name]),
  );
}

/** The value as JSON, with `json` at a place of it. */
function withAt(value: unknown, place: Place, json: string): string {
  const marked = (inside: unknown, path: Place): unknown => {
    const [name, ...deeper] = path;
    if (name === undefined) return MARK;
    if (Array.isArray(inside)) return inside.map((item: unknown, i) => (i === name ? marked(item, deeper) : item));
    return { ...(inside as object), [name]: marked((inside as Record<string, unknown>)[name], deeper) };
  };
  return JSON.stringify(marked(value, place)).replace(JSON.stringify(MARK), () => json);
}

let t: TestEngine;
let sender: Mailbox;
let partner: string;
let monotonic = 0;
/** Time for the rate limits, so that none of them answers in place of a door. */
const clock: Clock = { now: () => systemClock.now(), monotonic: () => systemClock.monotonic() + monotonic };

beforeAll(async () => {
  t = await startTestEngine({ transport: "as4", clock });
  sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
  partner = await accessToken(t.sandbox, t.sandbox.integrator);
});
afterAll(() => t.stop());

/** What the engine has called a fault of its own. */
const faults = (): string[] =>
  t.lines.filter((line) => /"level":(50|60|"error"|"fatal")/u.test(line) || line.includes('"request.failed"'));

interface Door {
  readonly name: string;
  readonly path: string;
  readonly token: () => string;
  readonly body: () => unknown;
}
const receiver = (): string => t.sandbox.receiver.participantId;
const invoice = (number: string = randomUUID()): string => invoiceXml(sender.participantId, receiver(), { number });

const DOORS: readonly Door[] = [
  {
    name: "SAPI send",
    path: "/sapi/v1/document/send",
    token: () => sender.token,
    body: () => ({ ...sendParts(sender.participantId, receiver(), invoice()), payloadEncoding: "UTF-8" }),
  },
  {
    name: "Enterprise send of JSON",
    path: "/api/v1/documents/send",
    token: () => sender.token,
    body: () => ({
      ...JSON_INVOICE,
      invoiceNumber: randomUUID(),
      note: "n",
      receiverPeppolId: receiver(),
      precedingInvoiceRef: "F-1",
      prepayments: [{ amount: "1.00", invoiceNumber: "P-1", date: "2026-11-01" }],
      attachments: [{ fileName: "a.pdf", mimeType: "application/pdf", content: "JVBERi0xLjQK", description: "d" }],
    }),
  },
  {
    name: "Enterprise send of UBL",
    path: "/api/v1/documents/send",
    token: () => sender.token,
    body: () => ({ receiverPeppolId: receiver(), xml: invoice(), processId: undefined }),
  },
  {
    name: "preflight",
    path: "/api/v1/documents/preflight",
    token: () => sender.token,
    body: () => ({ ...JSON_INVOICE, receiverPeppolId: receiver() }),
  },
  {
    name: "Box",
    path: "/api/v1/box/items",
    token: () => sender.token,
    body: () => ({
      payloadXml: invoice(),
      externalId: randomUUID(),
      scheduledFor: null,
      metadata: { order: "4100", nested: { list: [1, "two"] } },
    }),
  },
  {
    name: "Connector",
    path: "/api/v1/connector/documents",
    token: () => partner,
    body: () => ({
      customerRef: "demo-sender",
      externalId: randomUUID(),
      number: randomUUID(),
      buyerReference: "4100",
      note: "n",
      dueDate: "2027-12-31",
      precedingDocumentNumber: "F-1",
      recipient: {
        country: "SK",
        name: "Buyer",
        taxId: receiver().replace(/^0245:/u, ""),
        address: { street: "Hlavná 1", city: "Žilina", postalCode: "010 01" },
      },
      lines: [{ description: "Paper", quantity: 3, unit: "ks", unitPrice: "23.90", vatRate: 23, discount: 10 }],
    }),
  },
  {
    name: "mapper",
    path: "/api/v1/connector/mapper",
    token: () => partner,
    body: () => ({
      customerRef: "demo-sender",
      sourceType: "json",
      sourceJson: { number: "F-1", buyer: { name: "B" }, lines: [{ text: "Paper", price: 23.9, quantity: 3 }] },
      fieldMap: { number: "number" },
      defaults: { dueDate: "2027-12-31" },
      execute: "preview",
    }),
  },
];

const post = (door: Door, body: string): Promise<HttpAnswer> => {
  monotonic += 5_000;
  return http(
    "POST",
    `${t.engine.publicUrl}${door.path}`,
    {
      "content-type": "application/json",
      authorization: `Bearer ${door.token()}`,
      "x-peppol-participant-id": sender.participantId,
      "idempotency-key": randomUUID(),
    },
    body,
  );
};

describe.each(DOORS)("$name", (door) => {
  test("the door takes the request as it is", async () => {
    expect((await post(door, JSON.stringify(door.body()))).status).toBeLessThan(300);
  });

  test("the door takes or judges whatever stands in the place of a member", async () => {
    for (const [i, place] of placesOf(JSON.parse(JSON.stringify(door.body()))).entries())
      for (const [name, value] of valuesFor(HOSTILE, i)) {
        const answer = await post(door, withAt(door.body(), place, value));
        const where = `${place.join(".")}: ${name}`;
        expect([where, answer.status < 500, answer.text]).toEqual([where, true, answer.text]);
      }
    expect(faults()).toEqual([]);
  });
});

/** Every element of an invoice that holds text, by its place in the text. */
const elementsOf = (xml: string): { readonly name: string; readonly at: number; readonly end: number }[] =>
  [...xml.matchAll(/<cbc:([A-Za-z]+)[^>]*>([^<]*)<\/cbc:/gu)].map((match) => {
    const at = match.index + match[0].indexOf(">") + 1;
    return { name: match[1] ?? "", at, end: at + (match[2] ?? "").length };
  });

/** What an invoice can hold, of the hostile values, and what it cannot. */
const IN_XML: Readonly<Record<string, string>> = {
  "1,000 Chinese letters": letters(0x4e00, 20_900),
  "1,000 letters outside the basic plane": letters(0x20000, 42_000),
  "letters outside the basic plane, cut in the middle of one": `x${letters(0x20000, 42_000, 2_000)}`,
  "a character that is none": "\uffff",
  "10 to the power of 400": `1${"0".repeat(400)}`,
  "a reference to half of a surrogate pair": "&#xD800;",
  "a reference to NUL": "&#0;",
};

/** Invoices with one hostile value in one element each. */
const spoiled = (good: string): { readonly where: string; readonly xml: string }[] =>
  elementsOf(good).flatMap(({ name, at, end }, i) =>
    valuesFor(IN_XML, i).map(([what, value]) => ({
      where: `${name}: ${what}`,
      xml: good.slice(0, at) + value + good.slice(end),
    })),
  );

test("an invoice is accepted or judged whatever stands in one of its elements", async () => {
  for (const { where, xml } of spoiled(invoice())) {
    monotonic += 5_000;
    const answer = await send(t.sandbox, sender, sendParts(sender.participantId, receiver(), xml));
    expect([where, [202, 409, 422].includes(answer.status), answer.text]).toEqual([where, true, answer.text]);
  }
  expect(faults()).toEqual([]);
});

test("an invoice of another access point is taken and judged whatever stands in one of its elements", async () => {
  const peer = await foreignPeer(t);
  for (const { where, xml } of spoiled(invoiceXml(FOREIGN_SENDER, receiver())))
    expect([where, (await peer.post(Buffer.from(xml))).status]).toEqual([where, 200]);
  await eventually("all that came is judged", async () => {
    const rows = await t.db.sql`select id from received_document where status = 'HELD'`;
    return rows.length === 0;
  });
  expect(faults()).toEqual([]);
});

test("an accepted invoice with a number of 1,000 Chinese letters is delivered and told of", async () => {
  const number = letters(0x4e00, 20_000);
  monotonic += 60_000;
  const xml = invoice("2026-1").replace("<cbc:ID>2026-1<", `<cbc:ID>${number}<`);
  const answer = await send(t.sandbox, sender, sendParts(sender.participantId, receiver(), xml));
  expect([answer.status, answer.text]).toEqual([202, answer.text]);
  await eventually("it is delivered", async () => {
    const [row] = await t.db.sql<{ status: string }[]>`
      select status from document where id = ${String(answer.json["providerDocumentId"])}`;
    return row?.status === "delivered";
  });
});

test("one row that Postgres refuses takes none of its batch along", async () => {
  const firmId = await seedFirm(t.db.sql, "0245:7777777777");
  const batches = createAcceptBatches(t.db.sql);
  const rows = Array.from({ length: 40 }, (_, i) => {
    const row = newDocumentRow(firmId, `0245:78${String(i).padStart(8, "0")}`);
    return i % 10 === 7 ? { ...row, documentTypeId: "a\0b" } : row;
  });
  const settled = await Promise.allSettled(rows.map((row) => batches.accept(row)));
  expect(settled.map(({ status }, i) => [i, status])).toEqual(
    rows.map(({ documentTypeId }, i) => [i, documentTypeId.includes("\0") ? "rejected" : "fulfilled"]),
  );
});
