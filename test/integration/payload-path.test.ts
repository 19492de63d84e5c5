/**
 * Goal: one worker hashes and compresses a payload that is sent; what is answered first and what is stored stay the same.
 */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";

import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import { Refusal } from "../../engine/base/errors.js";
import type { FirmId, ParticipantId } from "../../engine/base/ids.js";
import { createMetrics } from "../../engine/base/metrics.js";
import type { Inspection, Validators } from "../../engine/documents/accept/facts.js";
import { acceptSend, nextDocumentId, withBatches } from "../../engine/documents/accept/send.js";
import type { SendReply, SendRequest } from "../../engine/documents/accept/send.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/envelope/identifiers.js";
import { takeAttempt } from "../../engine/storage/documents/attempts.js";
import { openPayload } from "../../engine/storage/payloads/payloads.js";
import { createSealer } from "../../engine/storage/sealer.js";
import { sampleInvoice } from "../../engine/invoices/sample-invoice.js";
import { freshDatabase } from "../support/postgres.js";
import type { TestDatabase } from "../support/postgres.js";
import { KEY_ID, seedFirm } from "../support/seed.js";
import { inlineValidators } from "../support/statuses.js";

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
  const recipients = { capability: () => Promise.resolve("unknown" as const), forget: () => undefined };
  const ports = { sql: db.sql, validators, recipients, sealer, clock: systemClock, metrics: createMetrics() };
  return acceptSend(withBatches({ ...ports, poke: () => undefined }), nextDocumentId(systemClock), one);
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
