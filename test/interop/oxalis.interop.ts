/**
 * Our AS4 library against Oxalis, both ways, over HTTP. Every code in these tables is what was measured with the version
 * that the first test names.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import type { Answer, OpenedMessage } from "../../engine/peppol/as4/messages.js";
import { forge } from "../support/as4/as4-forge.js";
import type { Edits } from "../support/as4/as4-forge.js";
import type { AccessPoint } from "../support/as4/as4-keys.js";
import { post, serve } from "./peers/http.js";
import type { Exchanged } from "./peers/http.js";
import { startOxalis } from "./peers/oxalis.js";
import type { Oxalis, SendParameters, SendResult } from "./peers/oxalis.js";
import { hasHarness } from "./peers/harness.js";
import { writeOxalisFixtures } from "./peers/oxalis-fixtures.js";
import { issueSmpKey, serveOxalisSmp } from "./peers/oxalis-smp.js";
import type { OxalisSmp } from "./peers/oxalis-smp.js";
import { INVOICE_TYPE, invoiceOf, KiB, MiB, NOT_SERVED, RECEIVER, SENDER, wrap } from "./peers/payloads.js";
import { makePki } from "./peers/pki.js";
import type { InteropPki } from "./peers/pki.js";
import { bySubjectKey, changed, digestsIn, flipPayload } from "./peers/tampering.js";
import { judge, ourEndpoint, ourSend } from "./peers/us.js";
import type { OurEndpointOptions, OurSend, OurSent } from "./peers/us.js";

const SIZES = [
  ["1 KB", KiB],
  ["5 MB", 5 * MiB],
] as const;
const PAYLOAD_BYTES_MAX = 6 * MiB;
/** What Oxalis takes for its own address when it reads metadata, and another one. */
const OWN_ADDRESS = "http://oxalis.interop/as4";
const OTHER_ADDRESS = "http://elsewhere.interop/as4";
const UNKNOWN_TYPE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:example:unknown::2.1";

describe.runIf(hasHarness("oxalis"))("Oxalis", () => {
  let folder: string;
  let pki: InteropPki;
  let smp: OxalisSmp;
  let oxalis: Oxalis;
  const open: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kurier-oxalis-"));
    pki = await makePki(folder);
    smp = await serveOxalisSmp(pki, await issueSmpKey(folder), {
      [RECEIVER]: OWN_ADDRESS,
      [NOT_SERVED]: OTHER_ADDRESS,
    });
    oxalis = await startOxalis(pki, join(folder, "oxalis"), { smp: smp.url, ownUrl: OWN_ADDRESS });
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((endpoint) => endpoint.close()));
  });
  afterAll(async () => {
    await oxalis.stop();
    await smp.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Our endpoint behind a relay that keeps our answers. */
  async function listen({
    us = pki.ours,
    framing,
    ...options
  }: Partial<OurEndpointOptions> & { us?: AccessPoint; framing?: "chunked" | "content-length" } = {}): Promise<
    Awaited<ReturnType<typeof ourEndpoint>> & { readonly answers: Exchanged[]; readonly relay: string }
  > {
    const endpoint = await ourEndpoint(us, { payloadBytesMax: PAYLOAD_BYTES_MAX, ...options });
    const answers: Exchanged[] = [];
    const relay = await serve(async ({ body, contentType }) => {
      const answer = await post(endpoint.url, contentType, body, framing);
      answers.push(answer);
      return answer;
    });
    open.push(endpoint, relay);
    return { ...endpoint, answers, relay: relay.url };
  }

  const theySend = (url: string, payload: Buffer, parameters: Partial<SendParameters> = {}): Promise<SendResult> =>
    oxalis.send(
      { to: { url, certificate: pki.ours.certificate }, sender: SENDER, receiver: RECEIVER, ...parameters },
      payload,
    );

  const weSend = (document: Buffer, options: Partial<OurSend> = {}): Promise<OurSent> =>
    ourSend({ from: pki.ours, to: pki.theirs, url: oxalis.url, document, ...options });

  const document = (payload = invoiceOf(KiB), overrides: { receiver?: string; documentType?: string } = {}): Buffer =>
    wrap(payload, { instanceId: randomUUID(), ...overrides });

  const unknownType = (): Promise<OurSent> =>
    weSend(document(invoiceOf(KiB), { documentType: UNKNOWN_TYPE }), {
      overrides: { action: `busdox-docid-qns::${UNKNOWN_TYPE}` },
    });
  const notServed = (): Promise<OurSent> =>
    weSend(document(invoiceOf(KiB), { receiver: NOT_SERVED }), { overrides: { finalRecipient: NOT_SERVED } });

  interface Forged {
    readonly messageId: string;
    readonly status: number;
    /** Undefined for a receipt: the forger does not keep what it signed, so the digests are compared as text. */
    readonly refusal: Answer | undefined;
  }

  async function weForge(
    edits: Edits,
    {
      from = pki.ours,
      to = pki.theirs,
      mangle = (body: Buffer) => body,
    }: { from?: AccessPoint; to?: AccessPoint; mangle?: (body: Buffer) => Buffer } = {},
  ): Promise<Forged> {
    const { contentType, body } = await forge(from, to, { signedPayload: gzipSync(document()), ...edits });
    const messageId = /<eb:MessageId>([^<]*)/.exec(body.toString("latin1"))?.[1] ?? "";
    const response = await post(oxalis.url, contentType, mangle(body));
    const answer = await judge(messageId, { references: [] }, pki.theirs, response);
    if (answer.kind !== "unconfirmed" || answer.reason !== "references")
      return { messageId, status: response.status, refusal: answer };
    expect(digestsIn(response.body, "NonRepudiationInformation")).toEqual(digestsIn(body, "SignedInfo"));
    return { messageId, status: response.status, refusal: undefined };
  }

  test("the peer is the Oxalis that these tables were measured with", () => {
    expect(oxalis.version).toBe("7.2.0-RC3");
  });

  describe("sends, we receive", () => {
    test.each(SIZES)(
      "%s arrives as it was sent, and our receipt, which Oxalis takes, repeats its digests",
      async (_, bytes) => {
        const us = await listen();
        const sent = await theySend(us.relay, invoiceOf(bytes));
        const [outcome] = us.outcomes;
        expect(outcome).toMatchObject({
          kind: "message",
          testService: false,
          message: {
            messageId: sent.messageId,
            originalSender: SENDER,
            finalRecipient: RECEIVER,
            fromParty: "PSK000002",
            toParty: "PSK000001",
            action: `busdox-docid-qns::${INVOICE_TYPE}`,
          },
        });
        expect(Buffer.compare(Buffer.from((outcome as OpenedMessage).payload ?? []), readFileSync(sent.file))).toBe(0);
        expect(sent.result).toBe("SUCCESS");
        const proved = digestsIn(us.answers[0]?.body ?? Buffer.alloc(0), "NonRepudiationInformation");
        expect(proved).toHaveLength(3);
        expect(proved).toEqual(digestsIn(us.arrived[0]?.body ?? Buffer.alloc(0), "SignedInfo"));
      },
    );

    test.each(["chunked", "content-length"] as const)("a message that is transferred %s", async (framing) => {
      const us = await listen({ framing });
      expect((await theySend(us.relay, invoiceOf(200 * KiB))).result).toBe("SUCCESS");
      expect(us.arrived[0]?.headers[framing === "chunked" ? "transfer-encoding" : "content-length"]).toBeDefined();
    });

    test("the same message twice: both are opened as the same message, and Oxalis takes both receipts", async () => {
      const us = await listen();
      const first = await theySend(us.relay, invoiceOf(KiB));
      const again = await theySend(us.relay, Buffer.from("<x/>"), {
        messageId: first.messageId ?? "",
        resend: first.file,
      });
      expect([first.result, again.result, again.messageId]).toEqual(["SUCCESS", "SUCCESS", first.messageId]);
      const [one, two] = us.outcomes as OpenedMessage[];
      expect(two?.message.messageId).toBe(one?.message.messageId);
      expect(Buffer.compare(Buffer.from(two?.payload ?? []), Buffer.from(one?.payload ?? []))).toBe(0);
    });

    const renamed = (body: Buffer): Buffer =>
      Buffer.from(body.toString("latin1").replace(`>${SENDER}<`, ">0245:2020202021<"), "latin1");
    const refusals: [string, string, string, { mangle?: (body: Buffer) => Buffer; us?: () => AccessPoint }][] = [
      ["one octet of the payload was changed on the way", "EBMS:0102", "decryption", { mangle: flipPayload }],
      ["one octet of the header was changed on the way", "EBMS:0101", "digest_mismatch", { mangle: renamed }],
      ["it was encrypted to another key", "EBMS:0102", "decryption", { us: () => pki.stranger }],
    ];
    test.each(refusals)(
      "refused when %s, and Oxalis reads %s in our answer",
      async (_, code, reason, { mangle, us }) => {
        const endpoint = await listen({ ...(mangle === undefined ? {} : { mangle }), us: us?.() ?? pki.ours });
        const sent = await theySend(endpoint.relay, invoiceOf(KiB));
        expect(endpoint.outcomes).toMatchObject([{ kind: "refused", error: code, reason }]);
        expect(sent).toMatchObject({ result: "ERROR_RECEIVED", code });
      },
    );

    const spoilt: [string, (answer: Exchanged) => Exchanged][] = [
      ["has a changed signature", changed((soap) => soap.replace(/(SignatureValue>)(.)/s, other))],
      [
        "has a changed digest",
        changed((soap) => soap.replace(/(NonRepudiationInformation.*?DigestValue>)(.)/s, other)),
      ],
      ["is not signed", changed((soap) => soap.replace(/<wsse:Security.*<\/wsse:Security>/s, ""))],
    ];
    test.each(spoilt)(
      "a receipt of ours that %s is none for Oxalis: the signature is what makes it one",
      async (_, tamper) => {
        const us = await listen({ tamper });
        expect((await theySend(us.relay, invoiceOf(KiB))).result).toBe("FAILED");
      },
    );
  });

  describe("receives, we send", () => {
    test.each(SIZES)("%s arrives as it was sent, and the receipt of Oxalis proves it", async (_, bytes) => {
      const sbd = document(invoiceOf(bytes));
      const sent = await weSend(sbd);
      expect(sent.answer).toMatchObject({ kind: "receipt", sameCertificate: true });
      expect(Buffer.compare(oxalis.stored(sent.message.messageId) ?? Buffer.alloc(0), sbd)).toBe(0);
    });

    test.each(["chunked", "content-length"] as const)("a message that we transfer %s", async (framing) => {
      expect((await weSend(document(invoiceOf(200 * KiB)), { framing })).answer.kind).toBe("receipt");
    });

    test("an uncompressed payload", async () => {
      const sbd = document();
      const plain = (xml: string): string =>
        xml.replace('<eb:Property name="CompressionType">application/gzip</eb:Property>', "");
      const { messageId, refusal } = await weForge({ signedPayload: sbd, messaging: plain });
      expect(refusal).toBeUndefined();
      expect(oxalis.stored(messageId)).toEqual(sbd);
    });

    test("the same message twice has a receipt twice, and is one document: Oxalis looks for no duplicates, it writes the same file", async () => {
      const messageId = `${randomUUID()}@kurier.test`;
      const sbd = document();
      const before = oxalis.storedCount();
      for (let time = 0; time < 2; time += 1)
        expect((await weSend(sbd, { overrides: { messageId } })).answer.kind).toBe("receipt");
      expect(oxalis.storedCount()).toBe(before + 1);
      expect(oxalis.stored(messageId)).toEqual(sbd);
    });

    test("for a recipient whose metadata name another access point: NOT_SERVICED, signed, with HTTP status 500; so Oxalis has read and believed metadata of ours", async () => {
      const sent = await notServed();
      expect(sent.answer).toMatchObject({
        kind: "error",
        meaning: "not_serviced",
        sameCertificate: true,
        errors: [{ code: "EBMS:0004", severity: "failure", detail: "PEPPOL:NOT_SERVICED" }],
      });
      expect(sent.response.status).toBe(500);
      expect(oxalis.stored(sent.message.messageId)).toBeUndefined();
      expect(smp.asked.at(-1)).toBe(`${NOT_SERVED} busdox-docid-qns::${INVOICE_TYPE}`);
    });

    test("of an unknown document type: a receipt, for metadata that are not there forbid nothing", async () => {
      const sent = await unknownType();
      expect(sent.answer.kind).toBe("receipt");
      expect(smp.asked.at(-1)).toContain(UNKNOWN_TYPE);
    });

    test.each(["originalSender", "finalRecipient"] as const)(
      "%s that differs from the standard business document: a receipt, Oxalis does not compare",
      async (property) => {
        expect((await weSend(document(), { overrides: { [property]: "0245:3030303030" } })).answer.kind).toBe(
          "receipt",
        );
      },
    );

    test("the test service has a receipt, and nothing is stored", async () => {
      const sent = await weSend(document(), { overrides: { service: `${EBMS}/service`, action: `${EBMS}/test` } });
      expect(sent.answer.kind).toBe("receipt");
      expect(oxalis.stored(sent.message.messageId)).toBeUndefined();
    });

    test("a MessageId that is none: EBMS:0009, signed", async () => {
      const sent = await weSend(document(), { overrides: { messageId: "no-at-sign" } });
      expect(sent.answer).toMatchObject({
        kind: "error",
        meaning: "permanent",
        sameCertificate: true,
        errors: [{ code: "EBMS:0009", severity: "error" }],
      });
    });

    test("a recipient named by its subject key identifier passes: Oxalis judges the signer's token only", async () => {
      expect((await weForge({ envelope: bySubjectKey(pki.theirs, "recipient") })).refusal).toBeUndefined();
    });

    /** What Oxalis answers, always with HTTP status 500. It says NOT_SERVICED for whatever WSS4J calls a failed check, and does not sign what it says before it has verified us. */
    const refused: [
      string,
      {
        code: string;
        meaning: string;
        signed: boolean;
        edits?: () => Edits;
        from?: () => AccessPoint;
        to?: () => AccessPoint;
        mangle?: (body: Buffer) => Buffer;
      },
    ][] = [
      [
        "one octet of the payload was changed on the way",
        { code: "EBMS:0004", meaning: "not_serviced", signed: false, mangle: flipPayload },
      ],
      [
        "the payload is not what was signed",
        {
          code: "EBMS:0004",
          meaning: "not_serviced",
          signed: false,
          edits: () => ({ signedInfo: (xml) => xml.replace(/(URI="cid:.*?DigestValue>)(.)/s, other) }),
        },
      ],
      [
        "it is encrypted to another key",
        { code: "EBMS:0004", meaning: "not_serviced", signed: false, to: () => pki.stranger },
      ],
      [
        "the signer is named by its subject key identifier",
        {
          code: "EBMS:0004",
          meaning: "not_serviced",
          signed: true,
          edits: () => ({ envelope: bySubjectKey(pki.ours, "signer") }),
        },
      ],
      [
        "the payload says gzip and is not",
        {
          code: "EBMS:0303",
          meaning: "permanent",
          signed: true,
          edits: () => ({ signedPayload: Buffer.from("this is no gzip") }),
        },
      ],
      [
        "the signer's authority is that of metadata publishers",
        { code: "EBMS:0004", meaning: "not_serviced", signed: true, from: () => pki.misplaced },
      ],
      [
        "the signer's authority is unknown",
        { code: "EBMS:0009", meaning: "permanent", signed: false, from: () => pki.outsider },
      ],
    ];
    test.each(refused)("refused when %s", async (_, { code, meaning, signed, edits, from, to, mangle }) => {
      const { status, refusal, messageId } = await weForge(edits?.() ?? {}, {
        from: from?.() ?? pki.ours,
        to: to?.() ?? pki.theirs,
        ...(mangle === undefined ? {} : { mangle }),
      });
      expect(refusal).toMatchObject({
        kind: "error",
        meaning,
        sameCertificate: signed,
        errors: [{ code, refToMessageId: messageId }],
      });
      expect(status).toBe(500);
      expect(oxalis.stored(messageId)).toBeUndefined();
    });
  });

  describe("gives a receipt that does not prove our message", () => {
    const cases: [string, string, (receipt: Exchanged) => Exchanged][] = [
      [
        "one digest in it was changed",
        "digest_mismatch",
        changed((soap) => soap.replace(/(NonRepudiationInformation.*?DigestValue>)(.)/s, other)),
      ],
      [
        "its signature was changed",
        "signature_invalid",
        changed((soap) => soap.replace(/(SignatureValue>)(.)/s, other)),
      ],
      [
        "its signature was taken away",
        "unsigned",
        changed((soap) => soap.replace(/<wsse:Security.*<\/wsse:Security>/s, "")),
      ],
    ];
    test.each(cases)("because %s", async (_, reason, tamper) => {
      const { message, built: ours, response } = await weSend(document());
      expect(await judge(message.messageId, ours, pki.theirs, tamper(response))).toEqual({
        kind: "unconfirmed",
        error: "EBMS:0302",
        reason,
      });
    });

    test("because it is for another message", async () => {
      const [first, second] = [await weSend(document()), await weSend(document())];
      expect(await judge(first.message.messageId, first.built, pki.theirs, second.response)).toEqual({
        kind: "unconfirmed",
        error: "EBMS:0302",
        reason: "other_message",
      });
    });
  });

  test.runIf(process.env["GENERATE_FIXTURES"] === "1")("writes the fixtures of npm test", async () => {
    const us = await listen();
    const { result, messageId, file } = await theySend(us.relay, invoiceOf(KiB));
    const [[message], [receipt]] = [us.arrived, us.answers];
    if (result !== "SUCCESS" || messageId === undefined || message === undefined || receipt === undefined)
      throw new Error("the message was not taken");
    writeOxalisFixtures(
      oxalis.version,
      pki,
      { messageId, file, message, receipt },
      {
        "receipt.http": await weSend(document()),
        "not-serviced.http": await notServed(),
        "wrong-key.http": await weSend(document(), { to: pki.stranger }),
      },
    );
  });
});

const EBMS = "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704";

/** A replacer that keeps what comes before a character and changes the character. */
const other = (_: string, head: string, first: string): string => head + (first === "A" ? "B" : "A");
