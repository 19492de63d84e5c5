/**
 * What names a document to people, tells of money or was written by hand is sealed wherever it is kept. Method: a real
 * engine sends, receives, answers, tells, stages and drafts documents full of marked words; every row of every table is
 * searched for them, as they are, in base64 and in hex.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../engine/base/clock.js";
import type { FirmId } from "../../engine/base/ids.js";
import { acceptDocuments } from "../../engine/storage/documents/documents.js";
import { listFirmSent } from "../../engine/storage/documents/firm-sent.js";
import { findResponseTarget } from "../../engine/storage/documents/received-responses.js";
import { factDigests, openFacts, sealFacts, useFactsSealer } from "../../engine/storage/keyring/facts.js";
import { openKeyring } from "../../engine/storage/keyring/keyring.js";
import { resealFacts } from "../../engine/storage/keyring/reseal-facts.js";
import { createSealer } from "../../engine/storage/sealer.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import { rotateMaster } from "../../gateway/commands/keys/rotate-master.js";
import { boxClient } from "../support/box.js";
import { connectorCalls, connectorInvoice } from "../support/connector.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../support/engine.js";
import type { TestEngine } from "../support/engine.js";
import { eventually } from "../support/eventually.js";
import { api } from "../support/partners.js";
import { freshDatabase } from "../support/postgres.js";
import type { TestDatabase } from "../support/postgres.js";
import { newDocumentRow, sealedDocumentRow, seedFirm } from "../support/seed.js";

/** Words that stand in documents and answers, and nowhere else. */
const WORDS = {
  number: "CANARY-NUMBER-4711",
  draft: "CANARY-DRAFT-4712",
  staged: "CANARY-STAGED-4713",
  order: "CANARY-ORDER-4714",
  buyer: "CANARY-BUYER-4715",
  preceding: "CANARY-PRECEDING-4716",
  note: "CANARY-NOTE-4717",
  answer: "CANARY-ANSWER-4718",
} as const;

/** The forms in which octets stand in a row: as text, in hex, and in base64 at each of its three places. */
function formsOf(word: string): string[] {
  const bytes = Buffer.from(word);
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
  return [word, bytes.toString("hex"), ...shifted];
}

let t: TestEngine;
let senderToken: string;
let receiverToken: string;

beforeAll(async () => {
  t = await startTestEngine({ transport: "as4" });
  senderToken = await accessToken(t.sandbox, t.sandbox.sender);
  receiverToken = await accessToken(t.sandbox, t.sandbox.receiver);
});
afterAll(() => t.stop());

/** A document with every word that an invoice has a place for. */
function marked(number: string): string {
  const { sender, receiver } = t.sandbox;
  return invoiceXml(sender.participantId, receiver.participantId, { number, lines: 97 })
    .replace("Thank you for your order.", WORDS.note)
    .replace("Purchasing 4100", WORDS.buyer)
    .replace(/<cac:OrderReference><cbc:ID>[^<]*/, `<cac:OrderReference><cbc:ID>${WORDS.order}`)
    .replace(
      /(<\/cac:OrderReference>)/,
      `$1<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>${WORDS.preceding}</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>`,
    );
}

const amountOf = (xml: string): string => /<cbc:PayableAmount[^>]*>([^<]+)</.exec(xml)?.[1] ?? "no amount";

/** Tables in which a word stands in any form. */
async function tablesSaying(word: string): Promise<string[]> {
  const { sql } = t.db;
  const tables = await sql<{ readonly table: string }[]>`
    select table_name as table from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`;
  const forms = formsOf(word);
  const found: string[] = [];
  for (const { table } of tables) {
    const rows = await sql`
      select 1 from ${sql(table)} as t
      where exists (
        select 1 from unnest(${forms}::text[]) as f (form) where position(lower(f.form) in lower(t::text)) > 0
      )
      limit 1`;
    if (rows.length > 0) found.push(table);
  }
  return found.sort();
}

test("a document is sent, received, told of and answered, another one waits in the Box, a third is staged in the Connector; none of their words stands in the database", async () => {
  const invoice = { xml: "", received: "" };
  const { sandbox } = t;
  const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
  const subscription = await api(t, senderToken, "POST /webhooks", { body: { url: null } });
  expect(subscription.status, subscription.text).toBe(201);
  invoice.xml = marked(WORDS.number);
  const sent = await send(
    sandbox,
    { participantId: from, token: senderToken },
    sendParts(from, to, invoice.xml, { documentId: "ERP-1" }),
  );
  expect(sent.status, sent.text).toBe(202);
  invoice.received = await eventually("it is received", async () => {
    const [row] = await t.db.sql<{ id: string }[]>`select id from received_document where status = 'RECEIVED'`;
    return row?.id;
  });
  const answer = await api(t, receiverToken, `POST /documents/${invoice.received}/respond`, {
    body: { status: "UQ", note: WORDS.answer },
  });
  expect(answer.status, answer.text).toBe(200);
  const box = await boxClient(t, senderToken);
  await box.made({ payloadXml: marked(WORDS.draft), scheduledFor: new Date(Date.now() + 3_600_000).toISOString() });
  const connector = connectorCalls(sandbox, await accessToken(sandbox, sandbox.integrator));
  const staged = await connector(
    "POST",
    "/documents",
    connectorInvoice(to.replace(/^0245:/, ""), { delivery: "stage", number: WORDS.staged }),
  );
  expect(staged.status, staged.text).toBe(201);
  await eventually("the events of the document wait to be pulled", async () => {
    const { json } = await api(t, senderToken, "GET /events/pull");
    return JSON.stringify(json).includes("document.response_received");
  });

  const shown = { documentNumber: WORDS.number, totalAmount: amountOf(invoice.xml) };
  const holding = expect.objectContaining({
    documents: expect.arrayContaining([expect.objectContaining(shown)]) as unknown,
  }) as unknown;
  expect((await api(t, senderToken, "GET /documents/outbox")).json).toEqual(holding);
  expect((await api(t, receiverToken, "GET /documents/inbox")).json).toEqual(holding);
  expect((await api(t, senderToken, "GET /events/pull")).text).toContain(WORDS.number);
  expect((await api(t, receiverToken, `GET /documents/${invoice.received}/responses`)).text).toContain(WORDS.answer);

  const words = { ...WORDS, amount: amountOf(invoice.xml) };
  const found = await Promise.all(
    Object.entries(words).map(async ([name, word]) => [name, await tablesSaying(word)] as const),
  );
  expect(Object.fromEntries(found.filter(([, tables]) => tables.length > 0))).toEqual({
    // The words of another access point's answer stand in the timeline of the document.
    answer: ["document_event"],
  });
});

describe("facts that were stored before they were sealed", () => {
  let db: TestDatabase;
  let firmId: FirmId;
  const SENDER = "0245:2020202020";
  const [A, B] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const CLEAR = {
    documentNumber: "F-1",
    issueDate: "2026-11-20",
    payableAmount: "12.50",
    orderReference: "PO-1",
    precedingInvoiceIds: ["F-0"],
  };
  beforeAll(async () => {
    db = await freshDatabase();
    firmId = await seedFirm(db.sql, SENDER);
  });
  afterAll(() => db.drop());

  const factsOf = async (id: string): Promise<Readonly<Record<string, unknown>>> => {
    const [row] = await db.sql<
      { facts: Readonly<Record<string, unknown>> }[]
    >`select facts from document where id = ${id}`;
    return row?.facts ?? {};
  };
  const targetOf = async (sealer: Sealer, number: string, order: string): Promise<string | undefined> => {
    const forms = (text: string): string[] => [text, ...factDigests(sealer, SENDER, [text])];
    const found = await findResponseTarget(db.sql, {
      ...{ senderKey: SENDER, receiverKey: "0245:9999999999", numbers: forms(number), issueDate: undefined },
      ...{ typeCode: "380", otherReferences: forms(order), responseId: "R-1" },
    });
    return found?.isAmbiguous === true ? "ambiguous" : found?.id;
  };

  test("facts that lie in clear are listed and found as they are, are sealed by one pass and again by a change of the master key, and are found by the same digests ever after", async () => {
    const [old, other] = [CLEAR, { ...CLEAR, orderReference: "PO-2" }].map((facts) =>
      newDocumentRow(firmId, SENDER, { facts }),
    );
    if (old === undefined || other === undefined) throw new Error("no rows");
    const first = await openKeyring(db.sql, [A], systemClock);
    for (const row of [old, other])
      await acceptDocuments(db.sql, [await sealedDocumentRow(first.sealer, row, Buffer.from(row.id))]);
    useFactsSealer(db.sql, first.sealer);
    const listed = async (): Promise<unknown> =>
      (
        await listFirmSent(db.sql, firmId, {
          ...{ statuses: undefined, since: undefined, receiverKey: undefined, offset: 0, limit: 10 },
        })
      ).map(({ number, total, issueDate }) => [number, total, issueDate]);
    const shown = [
      ["F-1", "12.50", "2026-11-20"],
      ["F-1", "12.50", "2026-11-20"],
    ];
    expect(await listed()).toEqual(shown);
    expect(await targetOf(first.sealer, "F-1", "PO-1")).toBe(old.id);

    expect(await resealFacts(db.sql, first.sealer, "clear")).toBe(2);
    expect(await resealFacts(db.sql, first.sealer, "all")).toBe(0);
    const sealed = await factsOf(old.id);
    expect(JSON.stringify(sealed)).not.toMatch(/F-1|12\.50|PO-1|F-0/);
    expect(sealed).toMatchObject({ issueDate: "2026-11-20", keyId: first.sealer.keyId });
    expect(openFacts(first.sealer, old.id, sealed)).toEqual(CLEAR);
    expect(() => openFacts(first.sealer, other.id, sealed)).toThrow();
    expect(await listed()).toEqual(shown);
    expect(await targetOf(first.sealer, "F-1", "PO-2")).toBe(other.id);

    // A process with another key shows none.
    const stranger = db.another();
    await expect(
      listFirmSent(stranger, firmId, {
        ...{ statuses: undefined, since: undefined, receiverKey: undefined, offset: 0, limit: 10 },
      }),
    ).rejects.toThrow("sealed under a master key that is not configured");

    const second = await openKeyring(db.sql, [B, A], systemClock);
    expect((await rotateMaster(db.sql, second)).values).toBeGreaterThanOrEqual(2);
    const { sealer } = await openKeyring(db.sql, [B], systemClock);
    useFactsSealer(db.sql, sealer);
    expect((await factsOf(old.id))["keyId"]).toBe(sealer.keyId);
    expect((await factsOf(old.id))["documentNumber"]).toBe(sealed["documentNumber"]);
    expect(await listed()).toEqual(shown);
    expect(await targetOf(sealer, "F-1", "PO-1")).toBe(old.id);
    expect(await targetOf(sealer, "F-1", "PO-3")).toBe("ambiguous");
    expect(await targetOf(sealer, "F-2", "PO-1")).toBeUndefined();
  });

  test("equal numbers of two senders have digests that differ, and so do those under another key", async () => {
    const sealer = createSealer([A]);
    const numberOf = (sender: string, by = sealer): unknown =>
      (sealFacts(by, { id: "1", sender }, CLEAR) as { readonly documentNumber: unknown }).documentNumber;
    expect(numberOf(SENDER)).toBe(numberOf(SENDER.toUpperCase()));
    expect(numberOf(SENDER)).not.toBe(numberOf("0245:1111111111"));
    expect(numberOf(SENDER)).not.toBe(numberOf(SENDER, createSealer([B])));
  });
});
