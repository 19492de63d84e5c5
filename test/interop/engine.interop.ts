/**
 * A whole engine against phase4, both ways. What the library suite shows of bytes, this shows of documents: what is stored,
 * what is delivered, what is not.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../engine/base/limits.js";
import { invoiceXml, sapi } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";
import { post, serve } from "./peers/http.js";
import type { Exchanged } from "./peers/http.js";
import { payloadIn, startPair, THEIRS, WRONG_KEY } from "./peers/pair.js";
import type { Pair } from "./peers/pair.js";
import { invoiceOf, MiB, NOT_SERVED, UNLUCKY } from "./peers/payloads.js";
import type { SendParameters } from "./peers/phase4.js";
import { changed } from "./peers/tampering.js";

let pair: Pair;

beforeAll(async () => {
  pair = await startPair();
});
afterAll(async () => {
  await pair.stop();
});

const outcomesOf = async (messageId: string): Promise<string[]> =>
  (
    await pair.us.db.sql<
      { outcome: string }[]
    >`select outcome from evidence where message_id = ${messageId} order by index`
  ).map(({ outcome }) => outcome);

describe("a document of ours", () => {
  test.each([
    ["an ordinary invoice", 3],
    ["an invoice of 5 MB", 6_600],
  ])("%s is delivered, and phase4 has its bytes", async (_, lines) => {
    const sent = await pair.weSend(THEIRS, invoiceXml(pair.firm.participantId, THEIRS, { lines }));
    const { as4_message_id: messageId } = await pair.reaches(sent.id, "delivered");
    const taken = await pair.takenAs(messageId);
    expect(taken.map(({ file }) => payloadIn(file))).toEqual([sent.payload]);
    expect(await outcomesOf(messageId)).toEqual(["receipt"]);
  });

  let previous: Exchanged | undefined;
  test.each<[string, (answer: Exchanged) => Exchanged]>([
    [
      "has a changed digest",
      changed((soap) =>
        soap.replace(
          /(NonRepudiationInformation.*?DigestValue>)(.)/s,
          (_, head: string, first: string) => head + (first === "A" ? "B" : "A"),
        ),
      ),
    ],
    [
      "lost its signature",
      (answer) => {
        previous = answer;
        return changed((soap) => soap.replace(/<wsse:Security.*<\/wsse:Security>/s, ""))(answer);
      },
    ],
    ["is of another message", () => previous ?? { status: 500, contentType: "text/plain", body: Buffer.alloc(0) }],
  ])("is not delivered by a receipt that %s, and stays one document when it is sent again", async (_, edit) => {
    pair.tamper = edit;
    const sent = await pair.weSend(THEIRS);
    const { as4_message_id: messageId } = await pair.reaches(sent.id, "sent");
    await pair.retryAfter(sent.id, 1);
    expect(await pair.reaches(sent.id, "delivered")).toMatchObject({ attempts: 2, as4_message_id: messageId });
    expect(await pair.takenAs(messageId)).toHaveLength(1);
    expect(await outcomesOf(messageId)).toEqual(["unconfirmed", "already_handed_over"]);
  });

  test("for a recipient that phase4 does not serve is refused at the second time of asking", async () => {
    const { id } = await pair.weSend(NOT_SERVED);
    await pair.retryAfter(id, 1);
    expect((await pair.rowOf(id)).status).toBe("queued");
    expect(await pair.reaches(id, "rejected")).toMatchObject({ attempts: 2 });
  });

  test("that phase4 could not take is taken once phase4 has forgotten its MessageId; a duplicate in between is no delivery", async () => {
    const { id } = await pair.weSend(UNLUCKY);
    await pair.retryAfter(id, 1);
    const { as4_message_id: messageId } = await pair.reaches(id, "sent");
    expect(await pair.takenAs(messageId)).toEqual([]);
    await pair.phase4.forget();
    await pair.retryAfter(id, 2);
    expect(await pair.reaches(id, "delivered")).toMatchObject({ attempts: 3, as4_message_id: messageId });
    expect(await pair.takenAs(messageId)).toHaveLength(1);
    expect(await outcomesOf(messageId)).toEqual(["peer_busy", "already_handed_over", "receipt"]);
  });

  test("under the wrong key is not delivered, and is tried again later", async () => {
    const { id } = await pair.weSend(WRONG_KEY);
    await pair.retryAfter(id, 1);
    const { status, as4_message_id: messageId } = await pair.rowOf(id);
    expect(status).toBe("queued");
    expect(await pair.takenAs(messageId)).toEqual([]);
  });
});

describe("a document of phase4", () => {
  const theySend: Pair["theySend"] = (...message) => pair.theySend(...message);
  const invoice = (lines = 3): string => invoiceXml(THEIRS, pair.firm.participantId, { lines });
  const UNKNOWN = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:example:unknown::2.1";
  const stored = async (messageId: string): Promise<number> =>
    (await pair.us.db.sql`select 1 from received_document where as4_message_id = ${messageId}`).length;

  /** What our API gives out for a MessageId, once the document was judged. */
  async function payloadOf(messageId: string): Promise<string> {
    const [row] = await pair.us.db.sql<
      { id: string }[]
    >`select id from received_document where as4_message_id = ${messageId}`;
    return eventually("the receiver sees the document", async () => {
      const { status, json } = await sapi(pair.us.sandbox, pair.firm, "GET", `/document/receive/${row?.id ?? ""}`);
      return status === 200 ? String(json["payload"]) : undefined;
    });
  }

  test.each([
    ["an ordinary invoice", 3, undefined],
    ["an invoice of 5 MB", 6_600, undefined],
    ["an invoice that was not compressed", 3, "plain"],
  ] as const)("%s is received byte for byte, and our receipt satisfies phase4", async (_, lines, payload) => {
    const sent = await theySend(invoice(lines), payload === undefined ? {} : { payload });
    expect(sent).toMatchObject({ result: "SUCCESS", receipt: ["matches"], errors: [] });
    expect(await payloadOf(sent.messageId)).toBe(payloadIn(sent.file));
  });

  test.each(["chunked", "content-length"] as const)("that is transferred %s is received", async (framing) => {
    const relayed = await serve(({ contentType, body }) =>
      post(`${pair.us.engine.publicUrl}/as4`, contentType, body, framing),
    );
    expect(await theySend(invoice(), { url: relayed.url })).toMatchObject({ result: "SUCCESS", receipt: ["matches"] });
    await relayed.close();
  });

  test("whose recipient phase4 has looked up in our metadata is received: its signature, address and certificate satisfy phase4", async () => {
    const sent = await theySend(invoice(), {
      smp: `${pair.us.engine.publicUrl}/smp/`,
      url: "",
      certificate: Buffer.alloc(0),
    });
    expect(sent).toMatchObject({ result: "SUCCESS", receipt: ["matches"], errors: [], exceptions: [] });
    expect(await stored(sent.messageId)).toBe(1);
  });

  test("whose type our metadata do not name is not sent by phase4", async () => {
    const sent = await theySend(invoice(), {
      smp: `${pair.us.engine.publicUrl}/smp/`,
      doctype: UNKNOWN,
      url: "",
      certificate: Buffer.alloc(0),
    });
    expect(sent.result).not.toBe("SUCCESS");
    expect(sent.exceptions.join()).toContain("SMP");
  });

  test("that comes twice is stored once, and both times phase4 has a receipt that fits", async () => {
    const first = await theySend(invoice());
    const second = await theySend("<x/>", { messageId: first.messageId, resend: first.file });
    expect([first, second]).toMatchObject([
      { result: "SUCCESS", receipt: ["matches"] },
      { result: "SUCCESS", receipt: ["matches"] },
    ]);
    expect(await stored(first.messageId)).toBe(1);
  });

  test("that comes under a MessageId of another document is refused", async () => {
    const first = await theySend(invoice());
    expect(await theySend(invoice(), { messageId: first.messageId })).toMatchObject({
      result: "AS4_ERROR_MESSAGE_RECEIVED",
      errors: [{ code: "EBMS:0003", signed: true }],
    });
    expect(await stored(first.messageId)).toBe(1);
  });

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
    const sent = await theySend(invoice(), { certificate: pair.pki.stranger.certificate });
    expect(sent).toMatchObject({ result: "AS4_ERROR_MESSAGE_RECEIVED", errors: [{ code: "EBMS:0102", signed: true }] });
    expect(await stored(sent.messageId)).toBe(0);
  });

  test(`of 100 MB is above our cap of ${LIMITS.as4_payload_bytes_max / MiB} MiB: refused with EBMS:0303, and the next one is received`, async () => {
    const sent = await theySend(invoiceOf(100 * MiB, 8));
    expect(sent).toMatchObject({ result: "AS4_ERROR_MESSAGE_RECEIVED", errors: [{ code: "EBMS:0303", signed: true }] });
    expect((await theySend(invoice())).result).toBe("SUCCESS");
  });

  test("to the test service has a receipt, and nobody receives it", async () => {
    const sent = await theySend(invoice(), { service: "test" });
    expect(sent).toMatchObject({ result: "SUCCESS", receipt: ["matches"], errors: [] });
    expect(await stored(sent.messageId)).toBe(0);
  });

  test("that was sent to us is in the evidence with the bytes that phase4 signed", async () => {
    const sent = await theySend(invoice());
    const [row] = await pair.us.db.sql<
      { outcome: string }[]
    >`select outcome from evidence where message_id = ${sent.messageId}`;
    expect(row?.outcome).toBe("stored");
    const [document] = await pair.us.db.sql<
      { sha: string }[]
    >`select encode(payload_sha256, 'hex') as sha from received_document where as4_message_id = ${sent.messageId}`;
    expect(document?.sha).toBe(createHash("sha256").update(payloadIn(sent.file)).digest("hex"));
  });
});
