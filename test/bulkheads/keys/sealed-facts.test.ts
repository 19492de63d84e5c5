/**
 * What names a document to people, tells of money or was written by hand is sealed wherever it is kept. Method: a real
 * engine sends, receives, answers, tells, stages and drafts documents full of marked words; every row of every table is
 * searched for them, as they are, in base64 and in hex. With marked secrets the same is asked of everything that an
 * engine writes: its log, metrics, refusals and files.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { listFirmSent } from "../../../engine/storage/documents/firm-sent.js";
import { findResponseTarget } from "../../../engine/storage/documents/received-responses.js";
import { factDigests, openFacts, sealFacts, useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { openKeyring } from "../../../engine/storage/keyring/keyring.js";
import { resealFacts } from "../../../engine/storage/keyring/reseal-facts.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { rotateMaster } from "../../../gateway/commands/keys/rotate-master.js";
import { keepQuarantined } from "../../../gateway/start/data-dir.js";
import type { QuarantinedJob } from "../../../validators/pool.js";
import { boxClient } from "../../support/callers/box.js";
import { CONFIGURED, filesSaying, secretsIn, tablesSaying, WORDS } from "../../support/truth/canaries.js";
import { markedInvoice, tellCanaryStory } from "../../support/truth/canary-story.js";
import { connectorCalls, connectorInvoice } from "../../support/callers/connector.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { api } from "../../support/callers/partners.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { startReceiver } from "../../support/webhooks/receiver.js";
import { newDocumentRow, sealedDocumentRow, seedFirm } from "../../support/database/seed.js";

/** Whoever lists what does not open hears why. */
const loudly = (_id: string, error: unknown): never => {
  throw error;
};

let t: TestEngine;
let senderToken: string;
let receiverToken: string;

beforeAll(async () => {
  t = await startTestEngine({
    transport: "as4",
    config: {
      LOG_LEVEL: "debug",
      MASTER_KEY: Buffer.from(CONFIGURED["master key"]),
      ADMIN_TOKEN: CONFIGURED["admin token"],
      AS4_KEYSTORE_PASSWORD: CONFIGURED["keystore password"],
      PFS_WEBHOOK_SECRET: CONFIGURED["secret of the tax authority"],
    },
  });
  senderToken = await accessToken(t.sandbox, t.sandbox.sender);
  receiverToken = await accessToken(t.sandbox, t.sandbox.receiver);
});
afterAll(() => t.stop());

const amountOf = (xml: string): string => /<cbc:PayableAmount[^>]*>([^<]+)</.exec(xml)?.[1] ?? "no amount";

test("a document is sent, received, told of and answered, another one waits in the Box, a third is staged in the Connector; none of their words stands in the database", async () => {
  const invoice = { xml: "", received: "" };
  const { sandbox } = t;
  const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
  const subscription = await api(t, senderToken, "POST /webhooks", { body: { url: null } });
  expect(subscription.status, subscription.text).toBe(201);
  invoice.xml = markedInvoice(sandbox, WORDS.number);
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
  await box.made({
    payloadXml: markedInvoice(t.sandbox, WORDS.draft),
    scheduledFor: new Date(Date.now() + 3_600_000).toISOString(),
  });
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

  await t.db.sql`analyze`;
  const words = { ...WORDS, amount: amountOf(invoice.xml) };
  expect(await tablesSaying(t.db.sql, words)).toEqual({});

  // Whoever asks is told them: in the timeline and in events, also after they were sealed for the first time.
  const timeline = `GET /documents/${String(sent.json["providerDocumentId"])}/events` as const;
  const told = async (): Promise<readonly string[]> =>
    [(await api(t, senderToken, timeline)).text, (await api(t, senderToken, "GET /events/pull")).text].filter((text) =>
      text.includes(WORDS.answer),
    );
  expect(await told()).toHaveLength(2);
  const reasons = JSON.stringify({ reasons: [{ list: "OPStatusReason", code: "NON", text: WORDS.answer }] });
  await t.db.sql`
    update document_event set detail = ${WORDS.answer}, meta = meta - 'keyId' - 'sealed' || ${reasons}::text::jsonb
    where kind = 'document.response_received'`;
  expect(await tablesSaying(t.db.sql, { answer: WORDS.answer })).toEqual({ answer: ["document_event"] });
  const { sealer } = await openKeyring(t.db.sql, [Buffer.from(CONFIGURED["master key"])], systemClock);
  expect(await resealFacts(t.db.sql, sealer, "clear")).toBe(1);
  await t.db.sql`analyze document_event`;
  expect(await tablesSaying(t.db.sql, { answer: WORDS.answer })).toEqual({});
  expect(await told()).toHaveLength(2);
  expect(await resealFacts(t.db.sql, sealer, "all")).toBe(0);
});

test("no secret and no word of a document stands in the log at its most talkative, in metrics, in refusals, in the database or in files", async () => {
  const hook = await startReceiver();
  const { secrets, refusals } = await tellCanaryStory(t.sandbox, hook);
  await hook.close();
  // ebMS errors are answers with 200.
  for (const [name, { status, text }] of Object.entries(refusals))
    expect(status >= 400 || text.includes("EBMS:"), name).toBe(true);
  // What kills two workers is kept as a file for the operator.
  const killer = Buffer.from(WORDS.refused.repeat(1_000));
  keepQuarantined(t.dataDir, createSealer([Buffer.from(CONFIGURED["master key"])]), {
    sha256: "0".repeat(64),
    input: { bytes: killer },
  } as unknown as QuarantinedJob);

  const marked = { ...WORDS, ...CONFIGURED, ...secrets };
  const metrics = await (await fetch(`${t.engine.adminUrl}/metrics`)).text();
  expect(metrics).toContain("kurier_http_requests_total");
  expect(t.lines.length).toBeGreaterThan(0);
  expect(secretsIn(marked, t.lines.join(""))).toEqual([]);
  expect(secretsIn(marked, metrics)).toEqual([]);
  for (const [name, { text, headers }] of Object.entries(refusals))
    expect(secretsIn(marked, `${JSON.stringify([...headers])}${text}`), name).toEqual([]);
  // The sandbox's own file tells its makers how to call it.
  expect(filesSaying(t.dataDir, marked, /^sandbox\.json$/)).toEqual([]);
  await t.db.sql`analyze`;
  expect(await tablesSaying(t.db.sql, { ...CONFIGURED, ...secrets, refused: WORDS.refused })).toEqual({});
});

test("the search finds a secret in each form in which it could stand", () => {
  const word = WORDS.number;
  for (const shift of [0, 1, 2])
    expect(secretsIn({ word }, Buffer.from(`${"x".repeat(shift)}${word} `).toString("base64"))).toEqual(["word"]);
  expect(secretsIn({ word }, Buffer.from(word).toString("hex"))).toEqual(["word"]);
  expect(secretsIn({ word }, `{"a":"${word}"}`)).toEqual(["word"]);
  expect(secretsIn({ word }, word.slice(1))).toEqual([]);
});

test("a sealed value that does not open costs nothing but itself: its row is listed without it, and operators hear of it", async () => {
  const { sandbox, db, lines } = t;
  const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
  const sent = await send(
    sandbox,
    { participantId: from, token: senderToken },
    sendParts(from, to, invoiceXml(from, to, { number: "WHOLE-1" })),
  );
  expect(sent.status, sent.text).toBe(202);
  const id = String(sent.json["providerDocumentId"]);
  await eventually("it is received", async () => {
    const rows = await db.sql`
      select 1 from received_document as r join document as d on d.as4_message_id = r.as4_message_id
      where d.id = ${id} and r.status = 'RECEIVED'`;
    return rows.length === 1;
  });
  const paths = ["GET /documents/outbox", "GET /documents/inbox"] as const;
  const tokenOf = { "GET /documents/outbox": senderToken, "GET /documents/inbox": receiverToken };
  const numbersOf = async (path: (typeof paths)[number]): Promise<unknown[]> => {
    const { status, text, json } = await api(t, tokenOf[path], path);
    expect(status, text).toBe(200);
    const documents = json["documents"] as readonly Readonly<Record<string, unknown>>[];
    return documents.map(({ documentNumber, totalAmount }) => [documentNumber, typeof totalAmount]).sort();
  };
  const whole = await Promise.all(paths.map(numbersOf));
  const damaged = '{"sealed": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}';
  for (const table of ["document", "received_document"])
    await db.sql`update ${db.sql(table)} set facts = facts || ${damaged}::text::jsonb
      where as4_message_id <> (select as4_message_id from document where id = ${id})`;
  await db.sql`update service_message set note_sealed = decode('00', 'hex') where note_sealed is not null`;
  expect(whole.flat()).toContainEqual([WORDS.number, "string"]);
  for (const path of paths) {
    const numbers = await numbersOf(path);
    expect(numbers).toContainEqual(["WHOLE-1", "string"]);
    expect(numbers).toContainEqual([null, "object"]);
    expect(JSON.stringify(numbers)).not.toContain(WORDS.number);
  }
  const [row] = await db.sql<{ id: string }[]>`
    select about::text as id from service_message where note_sealed is not null
    order by created_at limit 1`;
  const answers = await api(t, receiverToken, `GET /documents/${row?.id}/responses`);
  expect([answers.status, answers.text.includes(WORDS.answer)]).toEqual([200, false]);
  expect(lines.filter((line) => line.includes('"storage.value_unopened"')).length).toBeGreaterThan(0);
  expect(await (await fetch(`${t.engine.adminUrl}/metrics`)).text()).toMatch(/^kurier_sealed_unopened_total [1-9]/m);
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
    useFactsSealer(db.sql, first.sealer, loudly);
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
    useFactsSealer(db.sql, sealer, loudly);
    expect((await factsOf(old.id))["keyId"]).toBe(sealer.keyId);
    expect((await factsOf(old.id))["documentNumber"]).toBe(sealed["documentNumber"]);
    expect(await listed()).toEqual(shown);
    expect(await targetOf(sealer, "F-1", "PO-1")).toBe(old.id);
    expect(await targetOf(sealer, "F-1", "PO-3")).toBe("ambiguous");
    expect(await targetOf(sealer, "F-2", "PO-1")).toBeUndefined();
  });

  test("facts and words that do not open keep nothing from a new key, and are named", async () => {
    const third = Buffer.alloc(32, 3);
    const ring = await openKeyring(db.sql, [third, B, A], systemClock);
    const sealed = await db.sql<
      { id: string }[]
    >`select id::text as id from document where facts ? 'sealed' order by id`;
    const [{ id: damaged } = { id: "" }] = sealed;
    expect(sealed.length).toBeGreaterThan(1);
    const rubbish = '{"sealed": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}';
    await db.sql`update document set facts = facts || ${rubbish}::text::jsonb where id = ${damaged}`;
    const told: string[] = [];
    await rotateMaster(db.sql, ring, (table, id) => told.push(`${table} ${id}`));
    expect(told).toEqual([`document ${damaged}`]);
    const left = await db.sql<{ id: string }[]>`
      select id::text as id from document where facts ->> 'keyId' <> ${ring.sealer.keyId}`;
    expect(left.map(({ id }) => id)).toEqual([damaged]);
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
