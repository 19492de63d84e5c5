/**
 * A database from before an erasure has a firm's work again, and nobody opens it. Method: an engine whose directory of
 * keys has the firm's grave already when the work is written.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newBoxItemId, newId, newReceivedDocumentId } from "../../../engine/base/ids.js";
import type { BoxItemId, FirmId, KeyId, ParticipantId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import type { Scope } from "../../../engine/base/scopes.js";
import { boxContext } from "../../../engine/documents/box/create.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { eraseFirm } from "../../../engine/identity/erasure.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { createBoxItem } from "../../../engine/storage/box/items.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import type { NewExchange } from "../../../engine/storage/documents/exchanges.js";
import { storeStatus } from "../../../engine/storage/documents/received-responses.js";
import { storeBusiness } from "../../../engine/storage/documents/received.js";
import { openFirmKeyFiles } from "../../../engine/storage/keyring/firm-key-files.js";
import { openKeyring } from "../../../engine/storage/keyring/keyring.js";
import { sealPayload } from "../../../engine/storage/payloads/payloads.js";
import { api } from "../../support/callers/partners.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { accessToken, invoiceXml, MASTER_KEY, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";

const folder = mkdtempSync(join(tmpdir(), "kurier-gone-keys-"));
const firmKeys = openFirmKeyFiles(`file:${folder}`);
const TYPE = BILLING_CAPABILITIES[0] ?? { documentTypeId: "", processId: "" };
const ERASED = "The firm of this item was erased, and its key with it: nobody can open it any more.";

let engine: TestEngine;
let firmId: FirmId;
let participant: ParticipantId;
let seeded = 0;
beforeAll(async () => {
  engine = await startTestEngine({ config: { FIRM_KEYS: `file:${folder}` } });
});
afterAll(async () => {
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  seeded += 1;
  participant = `0245:${String(1_000_000_000 + seeded)}` as ParticipantId;
  firmId = await seedFirm(engine.db.sql, participant);
  await firmKeys.erase(firmId);
});

const sql = () => engine.db.sql;
const sealed = () =>
  ({ payloadKeyId: `firm:${firmId}`, payloadSealed: Buffer.from("sealed"), payloadSha256: "00".repeat(32) }) as const;
const masterSealer = async () => (await openKeyring(sql(), [MASTER_KEY], systemClock)).sealer;
const erase = async (): Promise<string> =>
  (await eraseFirm({ sql: sql(), clock: systemClock, firmKeys }, firmId)).closure;
const stamp = () => stampOf(OPERATOR, systemClock);

async function newKey(): Promise<KeyId> {
  const id = newId(systemClock) as KeyId;
  await sql()`
    insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, created_at)
    values (${id}, 'sk_live', ${firmId}, ${`sk_test_${id}`.slice(0, 40)}, sha256(${id}::text::bytea), '{documents:send}',
      '{}', true, now())`;
  return id;
}

/** An item of the firm. @param keyId  of what has sealed it */
async function item(
  scheduledFor?: number,
  payload: { readonly payloadKeyId: string; readonly payloadSealed: Buffer } = sealed(),
  id = newBoxItemId(systemClock),
): Promise<BoxItemId> {
  const parties = { sender: participant, receiver: engine.sandbox.receiver.participantId as ParticipantId, ...TYPE };
  const none = { integratorId: undefined, externalId: undefined, metadataSealed: undefined };
  const { documentTypeId, processId, sender, receiver } = parties;
  const row = { ...{ id, firmId, sender, receiver, documentTypeId, processId, scheduledFor, ...none }, ...sealed() };
  const made = { ...row, ...payload, keyId: await newKey(), payloadBytes: 6, createdAt: systemClock.now() };
  expect((await createBoxItem(sql(), made, stamp()))?.outcome).toBe("created");
  return id;
}

const ended = (id: BoxItemId) =>
  eventually("the item has ended", async () => {
    const [row] = await sql()<{ status: string; last_error: unknown }[]>`
      select status, last_error from box_item where id = ${id} and due_at is null`;
    return row;
  });

const FAILED = {
  status: "failed",
  last_error: { status: 403, code: "FORBIDDEN", message: ERASED, retryable: false },
};

test("an item of the Box under a key that is gone has failed and says why, and its firm can be erased again", async () => {
  expect(await ended(await item())).toEqual(FAILED);
  expect(await erase()).toBe("closed");
});

test("an item from before firms had keys has failed as well where its firm's key is gone", async () => {
  const sealer = await masterSealer();
  const id = newBoxItemId(systemClock);
  const xml = invoiceXml(participant, engine.sandbox.receiver.participantId);
  const payloadSealed = await sealPayload(sealer, boxContext(id), Buffer.from(xml));
  await item(undefined, { payloadKeyId: sealer.keyId, payloadSealed }, id);
  expect(await ended(id)).toEqual(FAILED);
});

/** A token of the firm. */
async function newToken(scopes: readonly Scope[]): Promise<string> {
  const [clientId, clientSecret] = [await newKey(), `sk_live_test_${randomUUID().replaceAll("-", "")}12345678`];
  await sql()`
    update api_key set secret_sha256 = sha256(${clientSecret}::text::bytea), scopes = ${[...scopes]}
    where id = ${clientId}`;
  return accessToken(engine.sandbox, { clientId, clientSecret });
}

test("a send of a firm whose key is gone is answered as its API key is once it is erased again, and none for it arrives", async () => {
  const sender = { participantId: participant, token: await newToken(["documents:send"]) };
  const { receiver } = engine.sandbox;
  const parts = sendParts(participant, receiver.participantId, invoiceXml(participant, receiver.participantId));
  expect((await send(engine.sandbox, sender, parts)).status).toBe(401);
  const other = {
    participantId: engine.sandbox.sender.participantId,
    token: await accessToken(engine.sandbox, engine.sandbox.sender),
  };
  const invoice = invoiceXml(other.participantId, participant);
  const sent = await send(engine.sandbox, other, sendParts(other.participantId, participant, invoice));
  expect(sent.status).toBe(202);
  const attempt = await eventually("it was attempted", async () => {
    const rows = await sql()<{ outcome: string }[]>`
      select a.outcome from document_attempt as a join document as d on d.id = a.document_id
      where d.receiver_key = ${participant}`;
    return rows[0];
  });
  expect(attempt).toEqual({ outcome: "recipient_unregistered" });
  expect(await sql()`select 1 from received_document where firm_id = ${firmId}`).toEqual([]);
});

test("what is staged or scheduled under a key that is gone does not keep its firm from being erased again", async () => {
  await item(systemClock.now() + 3_600_000);
  await acceptDocuments(sql(), [newDocumentRow(firmId, participant, { ...sealed(), staged: true })]);
  const waits = await sql()`select 1 from document where firm_id = ${firmId} and staged = 'held'`;
  expect(waits).toHaveLength(1);
  expect(await erase()).toBe("closed");
  expect(await sql()`select 1 from document where firm_id = ${firmId}`).toEqual([]);
  expect(await sql()`select 1 from box_item where firm_id = ${firmId}`).toEqual([]);
});

test("what is staged or scheduled keeps its firm from being erased while the firm has its key", async () => {
  const other = `0245:${String(2_000_000_000 + seeded)}` as ParticipantId;
  firmId = await seedFirm(sql(), other);
  await acceptDocuments(sql(), [newDocumentRow(firmId, other, { staged: true })]);
  expect(await erase()).toBe("under_way");
  expect(await sql()`select 1 from document where firm_id = ${firmId} and staged = 'held'`).toHaveLength(1);
});

const exchangeOf = (id: string, kind: NewExchange["kind"]): NewExchange => ({
  ...{ id, firmId, kind, direction: "incoming", c2Seat: "POP000777", c3Seat: "PSK000001", transportProfile: "t" },
  ...{ ...TYPE, c1Country: "AT", c4Country: "SK", endUser: participant, exchangedAt: systemClock.now() },
});
const SELLER = "0245:8888888888" as ParticipantId;
const ids = () => ({ as4MessageId: `${randomUUID()}@test`, sbdhInstanceId: randomUUID() });

/** A document that the firm has received, with its duty to say so. */
async function received(status: "HELD" | "RECEIVED"): Promise<ReceivedDocumentId> {
  const id = newReceivedDocumentId(systemClock);
  const at = systemClock.now();
  const { documentTypeId, processId } = TYPE;
  const row = { ...{ id, firmId, sender: SELLER, receiver: participant, documentTypeId, processId }, ...ids() };
  const document = { ...row, ...sealed(), participantKey: participant, creationDateTime: at, receivedAt: at };
  const stored = await storeBusiness(sql(), {
    document: { ...document, facts: {}, payloadBytes: 6, status },
    exchange: exchangeOf(id, "business"),
    duty: {
      ...{ firmId, documentTypeId, sbdhInstanceId: row.sbdhInstanceId, always: true },
      ...{ receiver: "0242:000777" as ParticipantId, receivedAt: at - 86_400_000, payloadBytes: 6 },
    },
  });
  expect(stored).toBe(true);
  return id;
}

test("what a firm whose key is gone asks of its documents is answered as its API key is once it is erased again, and is no fault of ours", async () => {
  const id = await received("RECEIVED");
  const token = await newToken(["documents:read", "documents:write", "documents:send"]);
  const asked = [
    api(engine, token, `GET /documents/${id}/ubl`),
    api(engine, token, `POST /documents/${id}/respond`, { body: { status: "AP" } }),
  ];
  for (const { status, json } of await Promise.all(asked))
    expect([status, json]).toEqual([401, expect.objectContaining({ error: expect.anything() as unknown })]);
  expect(engine.lines.filter((line) => line.includes("request.failed"))).toEqual([]);
});

test.each(["HELD", "RECEIVED"] as const)(
  "a %s document under a key that is gone waits for no verdict, and nothing is said of it",
  async (status) => {
    const id = await received(status);
    const found = await eventually("its duty has ended", async () => {
      const rows = await sql()<{ status: string; findings: { ruleId: string }[] | null; code: string | null }[]>`
        select r.status, r.findings, d.code from received_document as r join mls_duty as d on d.id = r.id
        where r.id = ${id} and d.next_at is null`;
      return rows[0];
    });
    const isHeld = status === "HELD";
    expect(found).toEqual({
      status: isHeld ? "REFUSED" : "RECEIVED",
      findings: isHeld ? [expect.objectContaining({ ruleId: "ENGINE-FIRM-ERASED" })] : null,
      code: null,
    });
    expect(await sql()`select 1 from service_message where firm_id = ${firmId}`).toEqual([]);
    expect(await erase()).toBe("closed");
  },
);

test("an answer under a key that is gone is settled as one that nobody can read", async () => {
  const id = randomUUID();
  const status = { ...sealed(), ...ids(), id, sender: SELLER, receiver: participant, ...TYPE };
  const parts = { kind: "invoice_response", peerSeat: "POP000777", receivedAt: systemClock.now() } as const;
  expect(await storeStatus(sql(), { ...status, ...parts }, exchangeOf(id, "invoice_response"), undefined)).toBe(true);
  const found = await eventually("it is settled", async () => {
    const [row] =
      await sql()`select outcome, fault, next_at from inbound_status where id = ${id} and outcome is not null`;
    return row;
  });
  expect(found).toEqual({ outcome: "unreadable", fault: "its firm was erased", next_at: null });
});
