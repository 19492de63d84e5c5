/**
 * A whole engine against phase4, both ways: keys from a PKCS#12 file of OpenSSL, trust from a folder, the peer from SMP_ROUTES.
 * What the library suite shows of bytes, this shows of documents: what is stored, what is delivered, what is not.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../engine/limits.js";
import { readSbd } from "../../engine/peppol/sbdh.js";
import { unwrapDocument } from "../../engine/peppol/sbd-bytes.js";
import { accessToken, invoiceXml, type Mailbox, sapi, send, sendParts, startTestEngine, type TestEngine } from "../support/engine.js";
import { eventually } from "../support/eventually.js";
import { type Endpoint, type Exchanged, post, serve } from "./http.js";
import { INVOICE_TYPE, invoiceOf, MiB, NOT_SERVED } from "./payloads.js";
import { type Phase4, type SendParameters, type SendResult, startPhase4, type Taken } from "./phase4.js";
import { type InteropPki, makePki, PASSWORD } from "./pki.js";

/** A customer of phase4, and one whose metadata names another key than phase4 has. */
const THEIRS = "0245:3131313131";
const WRONG_KEY = "0245:3232323232";

let folder: string;
let pki: InteropPki;
let phase4: Phase4;
let relay: Endpoint;
/** What becomes of phase4's answers on their way to us; asked for the next exchange only. */
let tamper: ((answer: Exchanged) => Exchanged) | undefined;
let us: TestEngine;
let sender: Mailbox;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-interop-"));
  pki = await makePki(folder);
  phase4 = await startPhase4(pki, join(folder, "phase4"));
  relay = await serve(async ({ contentType, body }) => {
    const edit = tamper ?? ((answer: Exchanged): Exchanged => answer);
    tamper = undefined;
    return edit(await post(phase4.url, contentType, body, "chunked"));
  });
  const route = (certificate: Buffer): object => ({ url: relay.url, certificate: certificate.toString("base64"), documentTypes: [INVOICE_TYPE] });
  const routes = join(folder, "routes.json");
  writeFileSync(routes, JSON.stringify({ [THEIRS]: route(pki.theirs.certificate), [NOT_SERVED]: route(pki.theirs.certificate), [WRONG_KEY]: route(pki.stranger.certificate) }));
  us = await startTestEngine({
    transport: "as4",
    config: { AS4_KEYSTORE: pki.ourKeyStore, AS4_KEYSTORE_PASSWORD: PASSWORD, PEPPOL_TRUST_DIR: pki.trustFolder, SMP_MODE: "static", SMP_ROUTES: routes },
  });
  sender = { participantId: us.sandbox.sender.participantId, token: await accessToken(us.sandbox, us.sandbox.sender) };
});
afterAll(async () => {
  await us.stop();
  await relay.close();
  await phase4.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Row {
  readonly status: string;
  readonly attempts: number;
  readonly as4_message_id: string;
}

const rowOf = async (id: string): Promise<Row> => {
  const [row] = await us.db.sql<Row[]>`select status, attempts, as4_message_id from document where id = ${id}`;
  if (row === undefined) throw new Error("no such document");
  return row;
};

const reaches = (id: string, status: string): Promise<Row> => eventually(`${id} is ${status}`, async () => {
  const row = await rowOf(id);
  return row.status === status ? row : undefined;
});

async function weSend(receiver: string, payload = invoiceXml(sender.participantId, receiver)): Promise<{ readonly id: string; readonly payload: string }> {
  const answer = await send(us.sandbox, sender, sendParts(sender.participantId, receiver, payload));
  if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
  return { id: String(answer.json["providerDocumentId"]), payload };
}

/** Waits for the end of an attempt; then the next one is due. The plan would wait 10 s. */
async function retryAfter(id: string, attempts: number): Promise<void> {
  await eventually(`attempt ${attempts} has ended`, async () => {
    const [row] = await us.db.sql<{ ended: boolean }[]>`select attempts >= ${attempts} and next_attempt_at is not null and coalesce(lease_until <= clock_timestamp(), true) as ended from document where id = ${id}`;
    return row?.ended === true;
  });
  await us.db.sql`update document set next_attempt_at = clock_timestamp() where id = ${id} and next_attempt_at is not null`;
}

const takenAs = async (messageId: string): Promise<readonly Taken[]> => (await phase4.inbox()).filter((taken) => taken.messageId === messageId);

/** The business document inside what phase4 took. */
function payloadIn(file: string): string {
  const bytes = readFileSync(file);
  const read = readSbd(bytes, { mode: "strict" });
  if (read.kind === "refused") throw new Error(read.fault);
  return unwrapDocument(bytes, read.payload).toString();
}

const changed = (edit: (soap: string) => string) => (answer: Exchanged): Exchanged => {
  const before = answer.body.toString();
  const after = edit(before);
  if (after === before) throw new Error("nothing was changed");
  return { ...answer, body: Buffer.from(after) };
};

describe("a document of ours", () => {
  test.each([["an ordinary invoice", 3], ["an invoice of 5 MB", 6_600]])("%s is delivered, and phase4 has its bytes", async (_, lines) => {
    const sent = await weSend(THEIRS, invoiceXml(sender.participantId, THEIRS, { lines }));
    const { as4_message_id: messageId } = await reaches(sent.id, "delivered");
    const taken = await takenAs(messageId);
    expect(taken.map(({ file }) => payloadIn(file))).toEqual([sent.payload]);
    const proofs = await us.db.sql<{ outcome: string }[]>`select outcome from evidence where message_id = ${messageId}`;
    expect(proofs.map(({ outcome }) => outcome)).toEqual(["receipt"]);
  });

  let previous: Exchanged | undefined;
  test.each<[string, (answer: Exchanged) => Exchanged]>([
    ["has a changed digest", changed((soap) => soap.replace(/(NonRepudiationInformation.*?DigestValue>)(.)/s, (_, head: string, first: string) => head + (first === "A" ? "B" : "A")))],
    ["lost its signature", (answer) => { previous = answer; return changed((soap) => soap.replace(/<wsse:Security.*<\/wsse:Security>/s, ""))(answer); }],
    ["is of another message", () => previous ?? { status: 500, contentType: "text/plain", body: Buffer.alloc(0) }],
  ])("is not delivered by a receipt that %s, and stays one document when it is sent again", async (_, edit) => {
    tamper = edit;
    const sent = await weSend(THEIRS);
    const { as4_message_id: messageId } = await reaches(sent.id, "sent");
    await retryAfter(sent.id, 1);
    expect(await reaches(sent.id, "delivered")).toMatchObject({ attempts: 2, as4_message_id: messageId });
    expect(await takenAs(messageId)).toHaveLength(1);
    const proofs = await us.db.sql<{ outcome: string }[]>`select outcome from evidence where message_id = ${messageId} order by index`;
    expect(proofs.map(({ outcome }) => outcome)).toEqual(["unconfirmed", "already_handed_over"]);
  });

  test("for a recipient that phase4 does not serve is refused at the second time of asking", async () => {
    const { id } = await weSend(NOT_SERVED);
    await retryAfter(id, 1);
    expect((await rowOf(id)).status).toBe("queued");
    expect(await reaches(id, "rejected")).toMatchObject({ attempts: 2 });
  });

  test("under the wrong key is not delivered, and is tried again later", async () => {
    const { id } = await weSend(WRONG_KEY);
    await retryAfter(id, 1);
    const { status, as4_message_id: messageId } = await rowOf(id);
    expect(status).toBe("queued");
    expect(await takenAs(messageId)).toEqual([]);
  });
});

describe("a document of phase4", () => {
  const as4 = (): string => `${us.engine.publicUrl}/as4`;
  const theySend = (payload: Buffer | string, parameters: Partial<SendParameters> = {}): Promise<SendResult> =>
    phase4.send({ url: as4(), certificate: pki.ours.certificate, sender: THEIRS, receiver: sender.participantId, ...parameters }, Buffer.from(payload));
  const invoice = (lines = 3): string => invoiceXml(THEIRS, sender.participantId, { lines });
  const stored = async (messageId: string): Promise<number> => (await us.db.sql`select 1 from received_document where as4_message_id = ${messageId}`).length;

  /** What our API gives out for a MessageId, once the document was judged. */
  async function payloadOf(messageId: string): Promise<string> {
    const [row] = await us.db.sql<{ id: string }[]>`select id from received_document where as4_message_id = ${messageId}`;
    return eventually("the receiver sees the document", async () => {
      const { status, json } = await sapi(us.sandbox, sender, "GET", `/document/receive/${row?.id ?? ""}`);
      return status === 200 ? String(json["payload"]) : undefined;
    });
  }

  test.each([["an ordinary invoice", 3, undefined], ["an invoice of 5 MB", 6_600, undefined], ["an invoice that was not compressed", 3, "plain"]] as const)("%s is received byte for byte, and our receipt satisfies phase4", async (_, lines, payload) => {
    const sent = await theySend(invoice(lines), payload === undefined ? {} : { payload });
    expect(sent).toMatchObject({ result: "SUCCESS", receipt: ["matches"], errors: [] });
    expect(await payloadOf(sent.messageId)).toBe(payloadIn(sent.file));
  });

  test.each(["chunked", "content-length"] as const)("that is transferred %s is received", async (framing) => {
    const relayed = await serve(({ contentType, body }) => post(as4(), contentType, body, framing));
    expect(await theySend(invoice(), { url: relayed.url })).toMatchObject({ result: "SUCCESS", receipt: ["matches"] });
    await relayed.close();
  });

  test("that comes twice is stored once, and both times phase4 has a receipt that fits", async () => {
    const first = await theySend(invoice());
    const second = await theySend("<x/>", { messageId: first.messageId, resend: first.file });
    expect([first, second]).toMatchObject([{ result: "SUCCESS", receipt: ["matches"] }, { result: "SUCCESS", receipt: ["matches"] }]);
    expect(await stored(first.messageId)).toBe(1);
  });

  test("that comes under a MessageId of another document is refused", async () => {
    const first = await theySend(invoice());
    expect(await theySend(invoice(), { messageId: first.messageId })).toMatchObject({ result: "AS4_ERROR_MESSAGE_RECEIVED", errors: [{ code: "EBMS:0003", signed: true }] });
    expect(await stored(first.messageId)).toBe(1);
  });

  const UNKNOWN = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:example:unknown::2.1";
  const refusals: [string, string, Partial<SendParameters>][] = [
    ["is for a participant that we do not serve", "EBMS:0004", { receiver: "0245:9898989898" }],
    ["is of a type that its receiver does not take", "EBMS:0004", { doctype: UNKNOWN }],
    ["names another sender in its header than inside", "EBMS:0003", { sbdhSender: "0245:9797979797" }],
    ["names another recipient in its header than inside", "EBMS:0003", { sbdhReceiver: "0245:9797979797" }],
    ["names its signer by the subject key identifier", "EBMS:0103", { key: "ski-sign" }],
    ["names our key by the subject key identifier", "EBMS:0103", { key: "ski-encrypt" }],
    ["is broken gzip", "EBMS:0303", { payload: "broken" }],
  ];
  test.each(refusals)("that %s is refused with %s, signed, and leaves nothing behind", async (_, code, parameters) => {
    const sent = await theySend(invoice(), parameters);
    expect(sent).toMatchObject({ result: "AS4_ERROR_MESSAGE_RECEIVED", errors: [{ code, signed: true }] });
    expect(sent.errors[0]?.detail).toBe(code === "EBMS:0004" ? "PEPPOL:NOT_SERVICED" : null);
    expect(await stored(sent.messageId)).toBe(0);
  });

  test("encrypted to another key of our name is refused with EBMS:0102", async () => {
    const sent = await theySend(invoice(), { certificate: pki.stranger.certificate });
    expect(sent).toMatchObject({ result: "AS4_ERROR_MESSAGE_RECEIVED", errors: [{ code: "EBMS:0102", signed: true }] });
    expect(await stored(sent.messageId)).toBe(0);
  });

  test(`of 100 MB is above our cap of ${LIMITS.as4_payload_bytes_max / MiB} MiB: refused with EBMS:0303, and the next one is received`, async () => {
    const sent = await theySend(invoiceOf(100 * MiB, 8));
    expect(sent).toMatchObject({ result: "AS4_ERROR_MESSAGE_RECEIVED", errors: [{ code: "EBMS:0303", signed: true }] });
    expect((await theySend(invoice())).result).toBe("SUCCESS");
  });

  test("that was sent to us is in the evidence with the bytes that phase4 signed", async () => {
    const sent = await theySend(invoice());
    const [row] = await us.db.sql<{ outcome: string }[]>`select outcome from evidence where message_id = ${sent.messageId}`;
    expect(row?.outcome).toBe("stored");
    const [document] = await us.db.sql<{ sha: string }[]>`select encode(payload_sha256, 'hex') as sha from received_document where as4_message_id = ${sent.messageId}`;
    expect(document?.sha).toBe(createHash("sha256").update(payloadIn(sent.file)).digest("hex"));
  });
});

