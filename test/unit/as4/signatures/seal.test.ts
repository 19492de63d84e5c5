/** Goal: a mistake of ours in a header stops the message before it is signed. */
import { expect, test } from "vitest";
import { userMessageXml } from "../../../../engine/peppol/as4/user-message.js";
import { encodeCid, sealMessage, signSignal } from "../../../../validators/wss/seal.js";
import { userMessage } from "../../../support/as4/as4.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";

const alice = accessPoint("PSK000001");
const messaging = userMessageXml("M-1", {
  ...userMessage(alice, alice),
  payloadHref: "cid:a@b",
  payloadMimeType: "application/xml",
});
const input = { messaging, messagingId: "M-1", id: "1", signer: alice };

test("a header that is not well-formed, has another id, or is something else is not signed", () => {
  expect(signSignal(input).kind).toBe("signed");
  expect(() => signSignal({ ...input, messaging: messaging.slice(1) })).toThrow("well-formed");
  expect(() => signSignal({ ...input, messaging: messaging.replace(' xmlns:eb="', ' xmlns:e="') })).toThrow(
    "well-formed",
  );
  expect(() => signSignal({ ...input, messagingId: "M-2" })).toThrow("wsu:Id");
  expect(() => signSignal({ ...input, messaging: "<a/>" })).toThrow("wsu:Id");
});

test("an id that would break out of its attribute is refused", () => {
  for (const id of ['1"', "", "a b", "<", "ž"]) expect(() => signSignal({ ...input, id }), id).toThrow("NCName");
});

test("a recipient without an RSA certificate is refused", () => {
  expect(() =>
    sealMessage({ ...input, payload: { cid: "a@b", bytes: Buffer.from("x") }, recipient: Buffer.from("x") }),
  ).toThrow("certificate");
});

test("a Content-ID becomes a URL as RFC 2392 has it", () => {
  expect(encodeCid("a+b,c:d;e=f$@x")).toBe("a+b,c:d;e=f$@x");
  expect(encodeCid('a%b"c')).toBe("a%25b%22c");
});
