/**
 * Goal: one worker hashes and compresses a payload that is sent; what is answered first and what is stored stay the same.
 * What was received is read back whole, also where the database gives it in pieces.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";

import { bratislavaDay, systemClock } from "../../../engine/base/clock.js";
import { createCursors } from "../../../engine/base/cursors.js";
import { Refusal } from "../../../engine/base/errors.js";
import { newDocumentId, newReceivedDocumentId } from "../../../engine/base/ids.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { attemptDocument } from "../../../engine/documents/delivery/dispatch.js";
import { provider } from "../../../engine/documents/provider.js";
import type { Inspection, Validators } from "../../../engine/documents/accept/facts.js";
import { acceptSend, withBatches } from "../../../engine/documents/accept/send.js";
import type { SendReply, SendRequest } from "../../../engine/documents/accept/request.js";
import { createInbox } from "../../../engine/documents/inbound/inbox.js";
import { recipientFound } from "../../../engine/peppol/discovery/acceptance.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { takeAttempt } from "../../../engine/storage/documents/attempts.js";
import { findAnswerable, storeBusiness } from "../../../engine/storage/documents/received.js";
import { openPayload, packPayload } from "../../../engine/storage/payloads/payloads.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { KEY_ID, seedFirm } from "../../support/database/seed.js";
import { inlineValidators } from "../../support/as4/statuses.js";

const SENDER = "0245:1111111111" as ParticipantId;
const RECEIVER = "0245:2222222222" as ParticipantId;
const NOW = systemClock.now();
const sealer = createSealer([Buffer.alloc(32, 7)]);
let db: TestDatabase;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
});
afterAll(() => db.drop());

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const FULL: Validators = { inspect: () => Promise.reject(new Refusal("TEMPORARY")) };

let sent = 0;
function request(changes: Partial<SendRequest> = {}): SendRequest {
  const number = `P${(sent += 1)}`;
  const party = { sender: SENDER, receiver: RECEIVER, senderName: "Dodávateľ", receiverName: "Odberateľ" };
  const payload = Buffer.from(sampleInvoice({ ...party, number, issueDate: bratislavaDay(NOW), lines: 3 }));
  return {
    door: "sapi",
    firmId,
    keyId: KEY_ID,
    sender: SENDER,
    receiver: RECEIVER,
    erpDocumentId: number,
    documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
    processId: BILLING_CAPABILITIES[0]?.processId ?? "",
    creationDateTime: undefined,
    idempotencyKey: number,
    payload,
    checksum: undefined,
    meaning: (digest) => [number, digest],
    receivedAt: NOW,
    ...changes,
  };
}

function accept(validators: Validators, one: SendRequest): Promise<SendReply> {
  const recipients = { recipient: () => Promise.resolve(recipientFound("lookup_failed")), forget: () => undefined };
  const ports = { sql: db.sql, validators, recipients, sealer, clock: systemClock, metrics: createMetrics() };
  return acceptSend(withBatches({ ...ports, poke: () => undefined }), newDocumentId(systemClock), one);
}
const reasonOf = (answer: Promise<SendReply>): Promise<string> =>
  answer.then(
    ({ replayed }) => (replayed ? "replayed" : "accepted"),
    (error: unknown) => (error instanceof Refusal ? error.reason : String(error)),
  );

async function stored(id: string): Promise<Buffer> {
  const taken = await takeAttempt(db.sql, { id: id as never, owner: "n", lease_ms: 60_000 });
  if (taken === undefined) throw new Error("nothing was accepted");
  return openPayload(sealer, taken.id, taken.payloadKeyId, taken.payloadSealed);
}
const idIn = ({ body }: SendReply): string =>
  (JSON.parse(body) as { readonly providerDocumentId: string }).providerDocumentId;

test("what the worker compressed is what is stored, sealed and byte for byte", async () => {
  const [one, marker] = [request(), Buffer.from("compressed by the worker")];
  const asked: unknown[] = [];
  const validators: Validators = {
    inspect: async (payload, options) => {
      asked.push(options.compress);
      return { ...(await inlineValidators.inspect(payload, options)), compressed: gzipSync(marker) };
    },
  };
  const reply = await accept(validators, one);
  expect(asked).toEqual([true]);
  expect((await stored(idIn(reply))).equals(marker)).toBe(true);
});

test("what the worker compressed is given back once it is sealed: a large document is not held twice until V8 looks for garbage", async () => {
  // Octets that gzip cannot shrink, so that they are long enough to be worth it.
  const marker = randomBytes(LIMITS.released_bytes_min);
  const compressed = Uint8Array.from(gzipSync(marker));
  const validators: Validators = {
    inspect: async (payload, options) => ({ ...(await inlineValidators.inspect(payload, options)), compressed }),
  };
  const reply = await accept(validators, request());
  expect(compressed.length).toBe(0);
  expect((await stored(idIn(reply))).equals(marker)).toBe(true);
});

test("what was claimed is given back once it is open, and is sent byte for byte", async () => {
  // In pieces: each of them is given back as well, which only shows in what is sent.
  const marker = randomBytes(3 * LIMITS.payload_piece_bytes);
  const validators: Validators = {
    inspect: async (payload, options) => ({
      ...(await inlineValidators.inspect(payload, options)),
      compressed: gzipSync(marker),
    }),
  };
  const id = idIn(await accept(validators, request())) as DocumentId;
  const taken = await takeAttempt(db.sql, { id, owner: "test/1", lease_ms: LIMITS.attempt_lease_ms });
  if (taken === undefined) throw new Error("nothing was claimed");
  expect(taken.payloadSealed.length).toBeGreaterThan(marker.length);
  const sentAs: Buffer[] = [];
  await attemptDocument(
    {
      sql: db.sql,
      sealer,
      clock: systemClock,
      metrics: createMetrics(),
      log: silentLog,
      provider: provider("PSK000001", "SK"),
      announce: () => undefined,
      owner: "test/1",
      transport: {
        deliver: ({ payload }) => {
          sentAs.push(Buffer.from(payload));
          return Promise.resolve({ kind: "receipt" });
        },
      },
    },
    taken,
  );
  expect(taken.payloadSealed.length).toBe(0);
  expect(sentAs.map((payload) => payload.equals(marker))).toEqual([true]);
});

test("a worker that gives no compressed bytes costs nothing but time: the exact payload is stored", async () => {
  const one = request();
  const reply = await accept(inlineValidators, one);
  expect((await stored(idIn(reply))).equals(one.payload)).toBe(true);
});

test("the digest of a payload is the worker's: it is held against the checksum, stored, and part of what makes two requests one", async () => {
  const one = request({ checksum: "ab".repeat(32) });
  const digests: string[] = [];
  const validators: Validators = {
    inspect: async (payload, options): Promise<Inspection> => ({
      ...(await inlineValidators.inspect(payload, options)),
      payloadSha256: "ab".repeat(32),
    }),
  };
  const reply = await accept(validators, { ...one, meaning: (digest) => (digests.push(digest), [digest]) });
  expect(digests).toEqual(["ab".repeat(32)]);
  const [row] = await db.sql<{ readonly digest: string }[]>`
    select encode(payload_sha256, 'hex') as digest from document where id = ${idIn(reply)}`;
  expect(row?.digest).toBe("ab".repeat(32));
});

test("where no worker is free a wrong checksum is still CHECKSUM, a repeat still has its reply, and only new work is TEMPORARY", async () => {
  const one = request();
  const wrong = digestOf(Buffer.from("something else"));
  expect(await reasonOf(accept(FULL, { ...one, checksum: wrong }))).toBe("CHECKSUM");
  expect(await reasonOf(accept(FULL, { ...one, checksum: digestOf(one.payload).toUpperCase() }))).toBe("TEMPORARY");
  expect(await reasonOf(accept(inlineValidators, one))).toBe("accepted");
  expect(await reasonOf(accept(FULL, one))).toBe("replayed");
  expect(await reasonOf(accept(FULL, { ...one, payload: Buffer.from("other") }))).toBe("SAPI-PROC-003");
});

test("a wrong checksum comes before everything that is wrong with the document", async () => {
  const one = request({ payload: Buffer.from("no XML"), checksum: digestOf(Buffer.from("something else")) });
  expect(await reasonOf(accept(inlineValidators, one))).toBe("CHECKSUM");
  expect(await reasonOf(accept(inlineValidators, { ...one, checksum: undefined }))).toBe("DOCUMENT_INVALID");
});

test("a received document that the database gives in several pieces is read back byte for byte", async () => {
  const id = newReceivedDocumentId(systemClock);
  const capability = BILLING_CAPABILITIES[0] ?? { documentTypeId: "", processId: "" };
  const payload = Buffer.from(`<d>${randomBytes(3 * LIMITS.payload_piece_bytes).toString("base64")}</d>`);
  const { sha256, sealed } = await packPayload(sealer, id, payload);
  expect(sealed.length).toBeGreaterThan(2 * LIMITS.payload_piece_bytes);
  const stored = await storeBusiness(db.sql, {
    document: {
      ...capability,
      id,
      firmId,
      participantKey: SENDER,
      sender: RECEIVER,
      receiver: SENDER,
      creationDateTime: NOW,
      payloadSha256: sha256,
      as4MessageId: `${randomUUID()}@peer`,
      sbdhInstanceId: randomUUID(),
      facts: {},
      receivedAt: NOW,
      payloadKeyId: sealer.keyId,
      payloadSealed: sealed,
      payloadBytes: payload.length,
      status: "RECEIVED",
    },
    exchange: {
      ...capability,
      id,
      direction: "incoming",
      kind: "business",
      firmId,
      c2Seat: "POP000777",
      c3Seat: "PSK000001",
      transportProfile: "t",
      c1Country: "AT",
      c4Country: "SK",
      endUser: SENDER,
      exchangedAt: NOW,
    },
    duty: undefined,
  });
  expect(stored).toBe(true);
  const inbox = createInbox({ sql: db.sql, sealer, cursors: createCursors(Buffer.alloc(32, 7)), clock: systemClock });
  const read = await inbox.read({ firmId, participantId: SENDER }, id);
  expect(read.payload.equals(payload)).toBe(true);
  const answerable = await findAnswerable(db.sql, firmId, id);
  if (answerable === undefined) throw new Error("nothing can be answered");
  const opened = await openPayload(sealer, id, answerable.payloadKeyId, answerable.payloadSealed);
  expect(opened.equals(payload)).toBe(true);
});
