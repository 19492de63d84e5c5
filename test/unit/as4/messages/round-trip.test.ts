/** Goal: what one access point builds another opens, and the receipt proves it. Throw-away keys, made here. */
import { randomUUID } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import {
  buildError,
  buildReceipt,
  envelopeMismatch,
  openUserMessage,
  readAnswer,
} from "../../../../engine/peppol/as4/messages.js";
import type { BuiltMessage, UnansweredMessage, SignalOptions } from "../../../../engine/peppol/as4/messages.js";
import { NOT_SERVICED } from "../../../../engine/peppol/as4/ebms-errors.js";
import { TEST_ACTION, TEST_SERVICE } from "../../../../engine/peppol/as4/user-message.js";
import { build, inThread, invoiceBytes, open, userMessage } from "../../../support/as4/as4.js";
import { encryptContentKey } from "../../../../validators/wss/coding/oaep.js";
import type { SignedReference } from "../../../../validators/wss/protocol.js";
import { forge, legacyOaep } from "../../../support/as4/as4-forge.js";
import type { Edits } from "../../../support/as4/as4-forge.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../../support/as4/as4-keys.js";

let alice: AccessPoint;
let bob: AccessPoint;
let eve: AccessPoint;

beforeAll(() => {
  alice = accessPoint("PSK000001");
  bob = accessPoint("PSK000002");
  eve = accessPoint("PSK000666");
});

const MESSAGE_ID = "11111111-2222-4333-8444-555555555555@kurier.test";
const signal = (signer: AccessPoint, ref: string | undefined = MESSAGE_ID): SignalOptions => ({
  id: randomUUID(),
  signer,
  messageId: `${randomUUID()}@kurier.test`,
  timestamp: "2026-11-20T10:00:01.000Z",
  ...(ref === undefined ? {} : { refToMessageId: ref }),
});
const sent = (message: BuiltMessage, recipient: AccessPoint = bob): UnansweredMessage => ({
  messageId: MESSAGE_ID,
  references: message.references,
  recipient: recipient.certificate,
});

describe("a user message", () => {
  test("a user message arrives with the same bytes and the same header values", async () => {
    const values = userMessage(alice, bob, { messageId: MESSAGE_ID, conversationId: 'a <b> & "c"' });
    const opened = await open(bob, await build(alice, bob, values));
    expect(opened).toMatchObject({ kind: "message", message: values, testService: false });
    if (opened.kind !== "message") return;
    expect(Buffer.from(opened.payload ?? []).equals(invoiceBytes)).toBe(true);
    expect(Buffer.from(opened.signer).equals(alice.certificate)).toBe(true);
  });

  test("a user message keeps the gzip octets that were signed, so that the digest can be recomputed in ten years", async () => {
    const message = await build(alice, bob);
    const opened = await open(bob, message);
    expect(opened.kind === "message" && Buffer.from(opened.signedPayload ?? []).equals(message.compressed)).toBe(true);
  });

  test("a user message is opened with the previous key while that key is still known", async () => {
    const renewed = accessPoint("PSK000002");
    const message = await build(alice, bob);
    const opened = await openUserMessage(
      message.body,
      message.contentType,
      { keys: [renewed, bob], payloadBytesMax: 1e6 },
      inThread,
    );
    expect(opened.kind).toBe("message");
  });

  test("a user message to another access point cannot be opened, and the answer is the generic decryption error", async () => {
    expect(await open(bob, await build(alice, eve, { toParty: "PSK000002" }))).toMatchObject({
      kind: "refused",
      error: "EBMS:0102",
      reason: "decryption",
    });
  });

  test("a user message whose From is not the signer's common name is refused", async () => {
    expect(await open(bob, await build(eve, bob, { fromParty: "PSK000001" }))).toMatchObject({
      error: "EBMS:0101",
      reason: "party_mismatch",
    });
  });

  test("a user message whose To is not our common name is refused", async () => {
    expect(await open(bob, await build(alice, bob, { toParty: "PSK000003" }))).toMatchObject({
      error: "EBMS:0003",
      reason: "party_mismatch",
    });
  });

  test("a user message of the test service is recognised", async () => {
    const opened = await open(
      bob,
      await build(alice, bob, { service: TEST_SERVICE, serviceType: undefined, action: TEST_ACTION }),
    );
    expect(opened).toMatchObject({ kind: "message", testService: true });
  });

  test("one octet above the payload cap is refused with EBMS:0303, at the cap it is accepted", async () => {
    const message = await build(alice, bob, {}, Buffer.alloc(5_000, 0x41));
    const at = (payloadBytesMax: number): ReturnType<typeof openUserMessage> =>
      openUserMessage(message.body, message.contentType, { keys: [bob], payloadBytesMax }, inThread);
    expect((await at(5_000)).kind).toBe("message");
    expect(await at(4_999)).toMatchObject({ error: "EBMS:0303", reason: "decompression" });
  });

  test("a user message that unpacks a thousandfold is stopped at the cap", async () => {
    expect(await open(bob, await build(alice, bob, {}, Buffer.alloc(50_000_000)))).toMatchObject({
      error: "EBMS:0303",
    });
  });

  test("a user message signed with an RSA key of 1024 bits is refused", async () => {
    const weak = accessPoint("PSK000001", 1024);
    expect(await open(bob, await build(weak, bob))).toMatchObject({ error: "EBMS:0103", reason: "key_too_small" });
  });
});

describe("older OAEP (SHA-256 with MGF1-SHA1)", () => {
  const legacy = (sealKey: NonNullable<Edits["sealKey"]> = legacyOaep): ReturnType<typeof forge> =>
    forge(alice, bob, {
      signedPayload: gzipSync(invoiceBytes),
      sealKey,
      envelope: (soap) => soap.replace(/<xenc11:MGF[^>]*\/>/, ""),
    });
  const openWith = async (
    legacyOaep: boolean,
    message: Awaited<ReturnType<typeof forge>>,
  ): ReturnType<typeof openUserMessage> =>
    openUserMessage(message.body, message.contentType, { keys: [bob], payloadBytesMax: 1e6, legacyOaep }, inThread);

  test("older OAEP (SHA-256 with MGF1-SHA1) is accepted when the operator allows it, and refused by default", async () => {
    const message = await legacy();
    expect((await openWith(true, message)).kind).toBe("message");
    expect(await openWith(false, message)).toMatchObject({ error: "EBMS:0103", reason: "encryption_structure" });
  });

  test("older OAEP (SHA-256 with MGF1-SHA1) does not loosen the usual form, and its faults have the one answer", async () => {
    expect((await openWith(true, await forge(alice, bob))).kind).toBe("message");
    const broken = [
      (key: Buffer, to: KeyObject): Buffer => legacyOaep(Buffer.concat([key, key]), to),
      (key: Buffer, to: KeyObject): Buffer => legacyOaep(key.subarray(1), to),
      (key: Buffer, to: KeyObject): Buffer => encryptContentKey(to, key),
      (key: Buffer, to: KeyObject): Buffer => {
        const sealed = legacyOaep(key, to);
        sealed.writeUInt8(sealed.readUInt8(9) ^ 1, 9);
        return sealed;
      },
      (): Buffer => Buffer.alloc(256, 0xff),
      (): Buffer => Buffer.alloc(256),
    ];
    for (const sealKey of broken)
      expect(await openWith(true, await legacy(sealKey))).toMatchObject({ error: "EBMS:0102", reason: "decryption" });
  });
});

describe("header rules, each refused with its error", () => {
  const cases: [string, Record<string, string>, string][] = [
    ["a MessageId with spaces", { messageId: "a b@c" }, "EBMS:0009"],
    ["a Timestamp that is no time", { timestamp: "yesterday" }, "EBMS:0009"],
    ["an empty Service", { service: "" }, "EBMS:0009"],
    ["an empty Action", { action: "" }, "EBMS:0009"],
    ["a ConversationId that is too long", { conversationId: "x".repeat(1_025) }, "EBMS:0009"],
    ["an empty originalSender", { originalSender: "" }, "EBMS:0003"],
    ["an empty finalRecipient", { finalRecipient: "" }, "EBMS:0003"],
  ];
  test.each(cases)(
    "a header that breaks a rule is refused with the error of the rule: %s",
    async (_, overrides, error) => {
      expect(await open(bob, await build(alice, bob, overrides))).toMatchObject({
        kind: "refused",
        error,
        reason: "header",
      });
    },
  );
});

describe("a receipt", () => {
  const exchange = async (
    receiptBy: AccessPoint = bob,
    ref?: string,
  ): Promise<{ message: BuiltMessage; body: Buffer; type: string }> => {
    const message = await build(alice, bob, { messageId: MESSAGE_ID });
    const opened = await open(bob, message);
    if (opened.kind !== "message") throw new Error(opened.reason);
    const receipt = await buildReceipt(signal(receiptBy, ref), opened.references, inThread);
    return { message, body: Buffer.from(receipt.body), type: receipt.contentType };
  };

  test("a receipt proves the message: signed by the receiver, for this MessageId, over the references we signed", async () => {
    const { message, body, type } = await exchange();
    expect(await readAnswer(body, type, sent(message), inThread)).toMatchObject({
      kind: "receipt",
      sameCertificate: true,
    });
  });

  test("a receipt signed by a renewed certificate of the same seat is reported as such", async () => {
    const renewed = accessPoint("PSK000002");
    const { message, body, type } = await exchange(renewed);
    expect(await readAnswer(body, type, sent(message), inThread)).toMatchObject({
      kind: "receipt",
      sameCertificate: false,
    });
  });

  test("a receipt signed by somebody else does not count", async () => {
    const { message, body, type } = await exchange(eve);
    expect(await readAnswer(body, type, sent(message), inThread)).toMatchObject({
      kind: "unconfirmed",
      error: "EBMS:0302",
      reason: "other_signer",
    });
  });

  test("a receipt for another message does not count", async () => {
    const { message, body, type } = await exchange(bob, "other@kurier.test");
    expect(await readAnswer(body, type, sent(message), inThread)).toMatchObject({
      error: "EBMS:0302",
      reason: "other_message",
    });
  });

  test("a receipt over other references does not count", async () => {
    const { body, type } = await exchange();
    expect(await readAnswer(body, type, sent(await build(alice, bob)), inThread)).toMatchObject({
      error: "EBMS:0302",
      reason: "references",
    });
  });

  /** One of another number or kind of parts proves another message, however right the parts are that it has. */
  const multiplicities: [string, boolean, (references: readonly SignedReference[]) => SignedReference[]][] = [
    ["each part once, in any order", true, (all) => [...all].reverse()],
    ["the payload only", false, (all) => all.slice(2)],
    ["all but the payload", false, (all) => all.slice(0, 2)],
    ["one part twice", false, (all) => [...all, ...all.slice(2)]],
    ["one part twice instead of another", false, (all) => [...all.slice(0, 1), ...all.slice(0, 2)]],
    ["everything twice", false, (all) => [...all, ...all]],
    [
      "one part besides that we never signed",
      false,
      (all) => [...all, ...all.slice(2).map((one) => ({ ...one, digest: "A".repeat(43) + "=" }))],
    ],
    [
      "the right digests under another method",
      false,
      (all) => all.map((one) => ({ ...one, digestMethod: "http://www.w3.org/2001/04/xmlenc#sha512" })),
    ],
    ["no part", false, () => []],
  ];
  test.each(multiplicities)("a receipt over %s: counts %s", async (_, counts, choose) => {
    const message = await build(alice, bob, { messageId: MESSAGE_ID });
    const opened = await open(bob, message);
    if (opened.kind !== "message") throw new Error(opened.reason);
    expect(opened.references).toHaveLength(3);
    const receipt = await buildReceipt(signal(bob), choose(opened.references), inThread);
    expect(await readAnswer(Buffer.from(receipt.body), receipt.contentType, sent(message), inThread)).toMatchObject(
      counts
        ? { kind: "receipt", sameCertificate: true }
        : { kind: "unconfirmed", error: "EBMS:0302", reason: "references" },
    );
  });

  test("a receipt tampered with does not count", async () => {
    const { message, body, type } = await exchange();
    const changed = Buffer.from(body.toString().replace("2026-11-20T10:00:01", "2026-11-20T10:00:02"));
    expect(await readAnswer(changed, type, sent(message), inThread)).toMatchObject({
      error: "EBMS:0302",
      reason: "digest_mismatch",
    });
  });

  test("a receipt without its signature does not count", async () => {
    const { message, body, type } = await exchange();
    const unsigned = Buffer.from(body.toString().replace(/<wsse:Security.*<\/wsse:Security>/s, ""));
    expect(await readAnswer(unsigned, type, sent(message), inThread)).toMatchObject({
      error: "EBMS:0302",
      reason: "unsigned",
    });
  });

  test.each([
    ["", "text/plain", "empty"],
    ["Internal Server Error", "text/plain", "mime_content_type"],
    ["<a", "application/soap+xml", "envelope_malformed"],
  ])("a receipt that is missing, %j, is EBMS:0301", async (text, type, reason) => {
    const message = await build(alice, bob);
    expect(await readAnswer(Buffer.from(text), type, sent(message), inThread)).toEqual({
      kind: "unconfirmed",
      error: "EBMS:0301",
      reason,
    });
  });
});

describe("an error signal", () => {
  const answer = async (
    error: Parameters<typeof buildError>[1],
    ref: string | undefined = MESSAGE_ID,
    by: AccessPoint = bob,
  ): ReturnType<typeof readAnswer> => {
    const built = await buildError(signal(by, ref), error, inThread);
    return readAnswer(Buffer.from(built.body), built.contentType, sent(await build(alice, bob)), inThread);
  };

  test("an error signal is signed, names the message, and says whether another try may help", async () => {
    expect(await answer({ code: "EBMS:0202" })).toMatchObject({
      kind: "error",
      meaning: "retry",
      sameCertificate: true,
    });
    expect(await answer({ code: "EBMS:0103" })).toMatchObject({
      kind: "error",
      meaning: "permanent",
      sameCertificate: true,
    });
  });

  test("NOT_SERVICED is told apart from other uses of EBMS:0004", async () => {
    expect(await answer({ code: "EBMS:0004", detail: NOT_SERVICED })).toMatchObject({
      kind: "error",
      meaning: "not_serviced",
    });
    expect(await answer({ code: "EBMS:0004" })).toMatchObject({ kind: "error", meaning: "retry" });
  });

  test("an error signal of a duplicate means the message was handed over already, in phase4's new and old wording", async () => {
    expect(await answer({ code: "EBMS:4001" })).toMatchObject({ kind: "already_handed_over", sameCertificate: true });
    expect(
      await answer({ code: "EBMS:0004", detail: "Another message with the same Message ID was already received!" }),
    ).toMatchObject({ kind: "already_handed_over" });
  });

  test("an error signal of a duplicate that names another message, or none, does not end the sending", async () => {
    expect(await answer({ code: "EBMS:4001" }, "other@kurier.test")).toMatchObject({
      kind: "unconfirmed",
      reason: "other_message",
    });
    const built = await buildError(
      { id: randomUUID(), signer: bob, messageId: "x@y", timestamp: "2026-11-20T10:00:01Z" },
      { code: "EBMS:4001" },
      inThread,
    );
    expect(
      await readAnswer(Buffer.from(built.body), built.contentType, sent(await build(alice, bob)), inThread),
    ).toMatchObject({ kind: "error", meaning: "retry" });
  });

  test("an error signal by somebody else is read, but not taken for the receiver's word", async () => {
    expect(await answer({ code: "EBMS:0202" }, MESSAGE_ID, eve)).toMatchObject({
      kind: "error",
      signer: undefined,
      sameCertificate: false,
    });
  });

  test("an error signal marks both header blocks mustUnderstand, as ebMS asks, and carries no third one", async () => {
    const built = await buildError(signal(bob), { code: "EBMS:0004", detail: NOT_SERVICED }, inThread);
    expect(
      Buffer.from(built.body)
        .toString()
        .match(/mustUnderstand="true"/g),
    ).toHaveLength(2);
  });
});

test("header and standard business document must name the same parties, type and process", () => {
  const message = userMessage(alice, bob);
  const [scheme = "", ...type] = message.action.split("::");
  const facts = {
    sender: "0245:2020202020",
    receiver: "0245:1234567890",
    documentType: type.join("::"),
    documentTypeScheme: scheme,
    process: message.service,
    processScheme: "cenbii-procid-ubl",
  };
  expect(envelopeMismatch(message, facts)).toBeUndefined();
  expect(envelopeMismatch(message, { ...facts, sender: "0245:1" })).toBe("originalSender");
  expect(envelopeMismatch(message, { ...facts, receiver: "0245:1" })).toBe("finalRecipient");
  expect(envelopeMismatch(message, { ...facts, documentType: "x" })).toBe("Action");
  expect(envelopeMismatch(message, { ...facts, processScheme: "x" })).toBe("Service");
});
