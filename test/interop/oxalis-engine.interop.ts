/**
 * A whole engine against Oxalis, both ways: keys from a PKCS#12 file of OpenSSL, trust from a folder, the peer from SMP_ROUTES.
 * What the library suite shows of bytes, this shows of documents: what is stored, what is delivered, what is not.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../engine/base/clock.js";
import { auditEvidence } from "../../engine/peppol/evidence/audit.js";
import { readSbd } from "../../engine/peppol/envelope/read.js";
import { unwrapDocument } from "../../engine/peppol/envelope/byte-exact.js";
import { createEvidenceArchive } from "../../engine/storage/evidence/archive.js";
import { openEvidenceStore } from "../../engine/storage/evidence/stores.js";
import { createSealer } from "../../engine/storage/sealer.js";
import { inThread } from "../support/as4/as4.js";
import { accessToken, invoiceXml, sapi, send, sendParts, startTestEngine } from "../support/engines/engine.js";
import type { Mailbox, TestEngine } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";
import { post, serve } from "./peers/http.js";
import type { Endpoint, Exchanged } from "./peers/http.js";
import { startOxalis } from "./peers/oxalis.js";
import type { Oxalis, SendParameters, SendResult } from "./peers/oxalis.js";
import { hasHarness } from "./peers/harness.js";
import { issueSmpKey, joinKeyStores, serveOxalisSmp } from "./peers/oxalis-smp.js";
import type { OxalisSmp } from "./peers/oxalis-smp.js";
import { INVOICE_TYPE, NOT_SERVED } from "./peers/payloads.js";
import { makePki, PASSWORD } from "./peers/pki.js";
import type { InteropPki } from "./peers/pki.js";
import { changed } from "./peers/tampering.js";

/** A customer of Oxalis, and one whose metadata names another key than Oxalis has. */
const THEIRS = "0245:3131313131";
const WRONG_KEY = "0245:3232323232";
const UNKNOWN_TYPE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:example:unknown::2.1";
/** Of startTestEngine. */
const MASTER_KEY = Buffer.alloc(32, 7);
const OWN_ADDRESS = "http://oxalis.interop/as4";

describe.runIf(hasHarness("oxalis"))("Oxalis and an engine", () => {
  let folder: string;
  let pki: InteropPki;
  let smp: OxalisSmp;
  let oxalis: Oxalis;
  let relay: Endpoint;
  /** What becomes of the next answer of Oxalis on its way to us. */
  let tamper: ((answer: Exchanged) => Exchanged) | undefined;
  let us: TestEngine;
  let sender: Mailbox;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kurier-oxalis-"));
    pki = await makePki(folder);
    const smpKey = await issueSmpKey(folder);
    smp = await serveOxalisSmp(
      pki,
      smpKey,
      { [THEIRS]: OWN_ADDRESS, [WRONG_KEY]: OWN_ADDRESS, [NOT_SERVED]: "http://elsewhere.interop/as4" },
      () => `${us.engine.publicUrl}/smp`,
    );
    oxalis = await startOxalis(pki, join(folder, "oxalis"), { smp: smp.url, ownUrl: OWN_ADDRESS });
    relay = await serve(async ({ contentType, body }) => {
      const edit = tamper ?? ((answer: Exchanged): Exchanged => answer);
      tamper = undefined;
      return edit(await post(oxalis.url, contentType, body, "chunked"));
    });
    const route = (certificate: Buffer): object => ({
      url: relay.url,
      certificate: certificate.toString("base64"),
      documentTypes: [INVOICE_TYPE],
    });
    const routes = join(folder, "routes.json");
    writeFileSync(
      routes,
      JSON.stringify({
        [THEIRS]: route(pki.theirs.certificate),
        [NOT_SERVED]: route(pki.theirs.certificate),
        [WRONG_KEY]: route(pki.stranger.certificate),
      }),
    );
    us = await startTestEngine({
      transport: "as4",
      config: {
        AS4_KEYSTORE: await joinKeyStores(folder, pki.ourKeyStore, smpKey.keyStore),
        AS4_KEYSTORE_PASSWORD: PASSWORD,
        PEPPOL_TRUST_DIR: pki.trustFolder,
        SMP_MODE: "static",
        SMP_ROUTES: routes,
      },
    });
    sender = {
      participantId: us.sandbox.sender.participantId,
      token: await accessToken(us.sandbox, us.sandbox.sender),
    };
  });
  afterAll(async () => {
    await us.stop();
    await relay.close();
    await oxalis.stop();
    await smp.close();
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

  const reaches = (id: string, status: string): Promise<Row> =>
    eventually(`${id} is ${status}`, async () => {
      const row = await rowOf(id);
      return row.status === status ? row : undefined;
    });

  /** Waits for the end of an attempt; then the next one is due. The plan would wait 10 s. */
  async function retryAfter(id: string, attempts: number): Promise<void> {
    await eventually(`attempt ${attempts} has ended`, async () => {
      const [row] = await us.db.sql<
        { ended: boolean }[]
      >`select attempts >= ${attempts} and next_attempt_at is not null and coalesce(lease_until <= clock_timestamp(), true) as ended from document where id = ${id}`;
      return row?.ended === true;
    });
    await us.db
      .sql`update document set next_attempt_at = clock_timestamp() where id = ${id} and next_attempt_at is not null`;
  }

  const outcomesOf = async (messageId: string): Promise<string[]> =>
    (
      await us.db.sql<
        { outcome: string }[]
      >`select outcome from evidence where message_id = ${messageId} order by index`
    ).map(({ outcome }) => outcome);

  /** The business document inside a standard business document. */
  function payloadIn(bytes: Buffer | undefined): string {
    if (bytes === undefined) throw new Error("nothing was stored");
    const read = readSbd(bytes, { mode: "strict" });
    if (read.kind === "refused") throw new Error(read.fault);
    return unwrapDocument(bytes, read.payload).toString();
  }

  describe("a document of ours", () => {
    async function weSend(
      receiver: string,
      payload = invoiceXml(sender.participantId, receiver),
    ): Promise<{ readonly id: string; readonly payload: string }> {
      const answer = await send(us.sandbox, sender, sendParts(sender.participantId, receiver, payload));
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
      return { id: String(answer.json["providerDocumentId"]), payload };
    }

    test.each([
      ["an ordinary invoice", 3],
      ["an invoice of 5 MB", 6_600],
    ])("%s is delivered, and Oxalis has its bytes", async (_, lines) => {
      const sent = await weSend(THEIRS, invoiceXml(sender.participantId, THEIRS, { lines }));
      const { as4_message_id: messageId } = await reaches(sent.id, "delivered");
      expect(payloadIn(oxalis.stored(messageId))).toBe(sent.payload);
      expect(await outcomesOf(messageId)).toEqual(["receipt"]);
    });

    test("a document is not delivered by a receipt with a changed digest, and stays one document when it is sent again", async () => {
      tamper = changed((soap) =>
        soap.replace(
          /(NonRepudiationInformation.*?DigestValue>)(.)/s,
          (__, head: string, first: string) => head + (first === "A" ? "B" : "A"),
        ),
      );
      const before = oxalis.storedCount();
      const sent = await weSend(THEIRS);
      const { as4_message_id: messageId } = await reaches(sent.id, "sent");
      await retryAfter(sent.id, 1);
      expect(await reaches(sent.id, "delivered")).toMatchObject({ attempts: 2, as4_message_id: messageId });
      expect(oxalis.storedCount()).toBe(before + 1);
      expect(await outcomesOf(messageId)).toEqual(["unconfirmed", "receipt"]);
    });

    test("for a recipient that Oxalis does not serve is refused at the second time of asking", async () => {
      const { id } = await weSend(NOT_SERVED);
      await retryAfter(id, 1);
      expect(await reaches(id, "rejected")).toMatchObject({ attempts: 2 });
    });

    test("under the wrong key is tried again later: Oxalis calls it NOT_SERVICED, but it does not sign that", async () => {
      const { id } = await weSend(WRONG_KEY);
      await retryAfter(id, 1);
      await retryAfter(id, 2);
      const { status, as4_message_id: messageId } = await rowOf(id);
      expect(status).toBe("queued");
      expect(oxalis.stored(messageId)).toBeUndefined();
    });
  });

  describe("a document of Oxalis", () => {
    const as4 = (): string => `${us.engine.publicUrl}/as4`;
    const theySend = (payload: string, parameters: Partial<SendParameters> = {}): Promise<SendResult> =>
      oxalis.send(
        {
          to: { url: as4(), certificate: pki.ours.certificate },
          sender: THEIRS,
          receiver: sender.participantId,
          ...parameters,
        },
        Buffer.from(payload),
      );
    const invoice = (lines = 3): string => invoiceXml(THEIRS, sender.participantId, { lines });
    const stored = async (messageId: string): Promise<number> =>
      (await us.db.sql`select 1 from received_document where as4_message_id = ${messageId}`).length;
    const messageIdOf = ({ messageId }: SendResult): string => messageId ?? "none";

    /** What our API gives out for a MessageId, once the document has been judged. */
    async function payloadOf(messageId: string): Promise<string> {
      const [row] = await us.db.sql<
        { id: string }[]
      >`select id from received_document where as4_message_id = ${messageId}`;
      return eventually(`${messageId} is given out`, async () => {
        const { status, json } = await sapi(us.sandbox, sender, "GET", `/document/receive/${row?.id ?? ""}`);
        return status === 200 ? String(json["payload"]) : undefined;
      });
    }

    test.each([
      ["an ordinary invoice", 3],
      ["an invoice of 5 MB", 6_600],
    ])("%s is received byte for byte, and Oxalis takes our receipt", async (_, lines) => {
      const sent = await theySend(invoice(lines));
      expect(sent.result).toBe("SUCCESS");
      expect(await payloadOf(messageIdOf(sent))).toBe(payloadIn(readFileSync(sent.file)));
    });

    test.each(["chunked", "content-length"] as const)("that is transferred %s is received", async (framing) => {
      const relayed = await serve(({ contentType, body }) => post(as4(), contentType, body, framing));
      expect((await theySend(invoice(), { to: { url: relayed.url, certificate: pki.ours.certificate } })).result).toBe(
        "SUCCESS",
      );
      await relayed.close();
    });

    test("that comes twice is stored once, and Oxalis takes the receipt both times", async () => {
      const first = await theySend(invoice());
      const second = await theySend("<x/>", { messageId: messageIdOf(first), resend: first.file });
      expect([first.result, second.result]).toEqual(["SUCCESS", "SUCCESS"]);
      expect(await stored(messageIdOf(first))).toBe(1);
    });

    test("of the test service has a receipt, and nothing is stored: Oxalis names its service without a type", async () => {
      const messageId = `${randomUUID()}@oxalis.interop`;
      expect(await theySend(invoice(), { messageId, ping: "true" })).toMatchObject({ result: "SUCCESS", messageId });
      expect(await stored(messageId)).toBe(0);
    });

    const refusals: [string, string, Partial<SendParameters>][] = [
      ["is for a participant that we do not serve", "EBMS:0004", { receiver: "0245:9898989898" }],
      ["is of a type that its receiver does not take", "EBMS:0004", { doctype: UNKNOWN_TYPE }],
      ["names another sender in its header than inside", "EBMS:0003", { sbdhSender: "0245:9797979797" }],
      ["names another recipient in its header than inside", "EBMS:0003", { sbdhReceiver: "0245:9797979797" }],
    ];
    test.each(refusals)("that %s is refused with %s, and leaves nothing behind", async (_, code, parameters) => {
      const messageId = `${randomUUID()}@oxalis.interop`;
      const sent = await theySend(invoice(), { messageId, ...parameters });
      expect(sent).toMatchObject({
        result: "ERROR_RECEIVED",
        code,
        detail: code === "EBMS:0004" ? "PEPPOL:NOT_SERVICED" : "null",
      });
      expect(await stored(messageId)).toBe(0);
    });

    test("encrypted to another key of our name is refused with EBMS:0102", async () => {
      const messageId = `${randomUUID()}@oxalis.interop`;
      expect(
        await theySend(invoice(), { messageId, to: { url: as4(), certificate: pki.stranger.certificate } }),
      ).toMatchObject({ result: "ERROR_RECEIVED", code: "EBMS:0102" });
      expect(await stored(messageId)).toBe(0);
    });

    test("whose recipient Oxalis has looked up in our metadata is received: it believes our SMP, and finds address and key", async () => {
      const sent = await oxalis.send({ sender: THEIRS, receiver: sender.participantId }, Buffer.from(invoice()));
      expect(sent.result).toBe("SUCCESS");
      expect(smp.asked.at(-1)).toBe(`${sender.participantId} busdox-docid-qns::${INVOICE_TYPE}`);
      expect(await stored(messageIdOf(sent))).toBe(1);
    });

    test("that was sent to us is in the evidence with the bytes that Oxalis signed", async () => {
      const sent = await theySend(invoice());
      expect(await outcomesOf(messageIdOf(sent))).toEqual(["stored"]);
      const [document] = await us.db.sql<
        { sha: string }[]
      >`select encode(payload_sha256, 'hex') as sha from received_document where as4_message_id = ${messageIdOf(sent)}`;
      expect(document?.sha).toBe(
        createHash("sha256")
          .update(payloadIn(readFileSync(sent.file)))
          .digest("hex"),
      );
    });
  });

  test("the evidence of all that was exchanged, refusals included, holds when it is checked again", async () => {
    const store = openEvidenceStore(undefined, us.dataDir, systemClock);
    const archive = createEvidenceArchive({
      sql: us.db.sql,
      store,
      sealer: createSealer([MASTER_KEY]),
      clock: systemClock,
    });
    const { entries, faults } = await auditEvidence({
      sql: us.db.sql,
      store,
      archive,
      crypto: inThread,
      now: systemClock.now(),
    });
    expect(faults).toEqual([]);
    const outcomes = await us.db.sql<{ outcome: string }[]>`select distinct outcome from evidence order by outcome`;
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      "duplicate",
      "peer_busy",
      "peer_refused",
      "receipt",
      "stored",
      "unconfirmed",
    ]);
    expect(entries).toBeGreaterThan(10);
  });
});
