/** Goal: messages, receipts and errors of another stack under the exact Peppol suite are read as they are meant, without Java. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";

import type { Manifest } from "../../../interop/peers/fixtures.js";
import { DAMAGE, damagedAt, damagedPart } from "../../../support/as4/as4-damage.js";
import { recordedPeer } from "../../../support/as4/recorded-peer.js";

const { manifest: told, theirs, recorded, open, answerTo } = recordedPeer("phase4");
const manifest = told as Manifest;

test.each(Object.entries(manifest.received))(
  "%s of phase4 is opened, and holds the document that phase4 wrote",
  async (name, { messageId, sha256 }) => {
    const opened = await open(recorded(name));
    expect(opened).toMatchObject({
      kind: "message",
      testService: name === "message-test.http",
      message: { messageId, fromParty: "PSK000002", toParty: "PSK000001" },
    });
    if (opened.kind !== "message") return;
    expect(
      createHash("sha256")
        .update(opened.payload ?? "")
        .digest("hex"),
    ).toBe(sha256);
    expect(Buffer.from(opened.signer)).toEqual(theirs);
  },
);

test.each(DAMAGE)("a message with a change in %s is refused", async (_, before, expected) => {
  const { body, contentType } = recorded("message.http");
  const opened = await open({ body: damagedAt(body, before), contentType });
  expect(opened.kind === "refused" && `${opened.error} ${opened.reason}`).toBe(expected);
});

test("a message with a change in the encrypted part is refused", async () => {
  const { body, contentType } = recorded("message.http");
  expect(await open({ body: damagedPart(body), contentType })).toMatchObject({
    kind: "refused",
    error: "EBMS:0102",
    reason: "decryption",
  });
});

test("phase4's receipt proves our message, and only that one", async () => {
  expect(await answerTo("receipt.http")).toMatchObject({ kind: "receipt", sameCertificate: true });
  expect(await answerTo("not-serviced.http", recorded("receipt.http"))).toMatchObject({
    kind: "unconfirmed",
    reason: "other_message",
  });
});

test("phase4's answer to the same message again says that it has it", async () => {
  expect(await answerTo("duplicate.http")).toMatchObject({ kind: "already_handed_over", sameCertificate: true });
});

test("NOT_SERVICED in phase4's form is understood", async () => {
  expect(await answerTo("not-serviced.http")).toMatchObject({
    kind: "error",
    meaning: "not_serviced",
    sameCertificate: true,
    errors: [{ code: "EBMS:0004" }],
  });
});

test("phase4's word for a failure behind it asks for another attempt, and is not taken for a duplicate", async () => {
  expect(await answerTo("failure.http")).toMatchObject({
    kind: "error",
    meaning: "retry",
    sameCertificate: true,
    errors: [{ code: "EBMS:0004" }],
  });
});
