/** Goal: a message, receipts and errors of Oxalis under the exact Peppol suite are read as they are meant, without Java. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";

import { buildReceipt, readAnswer } from "../../../../engine/peppol/as4/messages.js";
import type { OpenedMessage } from "../../../../engine/peppol/as4/messages.js";
import { outcomeOfAnswer } from "../../../../engine/peppol/as4/outcomes.js";
import { readSbd } from "../../../../engine/peppol/envelope/read.js";
import type { OxalisManifest } from "../../../interop/peers/oxalis-fixtures.js";
import { DAMAGE, damagedAt, damagedPart } from "../../../support/as4/as4-damage.js";
import { inThread } from "../../../support/as4/as4.js";
import { recordedPeer } from "../../../support/as4/recorded-peer.js";

const { manifest: told, ours, theirs, recorded, open, answerTo } = recordedPeer("oxalis");
const manifest = told as OxalisManifest;

async function opened(): Promise<OpenedMessage> {
  const message = await open(recorded("message.http"));
  if (message.kind === "refused") throw new Error(`${message.error} ${message.reason}`);
  return message;
}

/** The names of all elements in their order. */
const elementsOf = (soap: Uint8Array): string[] =>
  Buffer.from(soap)
    .toString()
    .match(/<[\w:.-]+/g) ?? [];

test("a message of Oxalis is opened, and holds the document that Oxalis wrote", async () => {
  const message = await opened();
  expect(message).toMatchObject({
    testService: false,
    message: { messageId: manifest.received.messageId, fromParty: "PSK000002", toParty: "PSK000001" },
  });
  expect(
    createHash("sha256")
      .update(message.payload ?? "")
      .digest("hex"),
  ).toBe(manifest.received.sha256);
  expect(Buffer.from(message.signer)).toEqual(theirs);
});

test("the standard business document of Oxalis passes the strict reader, and says what the ebMS header says", async () => {
  const { message, payload } = await opened();
  expect(readSbd(Buffer.from(payload ?? ""), { mode: "strict" })).toMatchObject({
    kind: "sbd",
    header: { sender: message.originalSender, receiver: message.finalRecipient, countryC1: "SK" },
  });
});

test.each(DAMAGE)("a message with a change in %s is refused", async (_, before, expected) => {
  const { body, contentType } = recorded("message.http");
  const found = await open({ body: damagedAt(body, before), contentType });
  expect(found.kind === "refused" && `${found.error} ${found.reason}`).toBe(expected);
});

test("a message with a change in the encrypted part is refused", async () => {
  const { body, contentType } = recorded("message.http");
  expect(await open({ body: damagedPart(body), contentType })).toMatchObject({
    kind: "refused",
    error: "EBMS:0102",
    reason: "decryption",
  });
});

test("the receipt of ours that Oxalis took proves its message, and has the elements of the one that we would write today", async () => {
  const { message, references } = await opened();
  const { body, contentType } = recorded("our-receipt.http");
  expect(
    await readAnswer(
      body,
      contentType,
      { messageId: message.messageId, references, recipient: ours.certificate },
      inThread,
    ),
  ).toMatchObject({ kind: "receipt", sameCertificate: true });
  const today = await buildReceipt(
    {
      id: "today",
      signer: ours,
      messageId: "today@kurier.test",
      timestamp: "2026-11-20T12:00:00Z",
      refToMessageId: message.messageId,
    },
    references,
    inThread,
  );
  expect(elementsOf(today.body)).toEqual(elementsOf(body));
});

test("the receipt of Oxalis proves our message, and only that one", async () => {
  expect(await answerTo("receipt.http")).toMatchObject({ kind: "receipt", sameCertificate: true });
  expect(await answerTo("not-serviced.http", recorded("receipt.http"))).toMatchObject({
    kind: "unconfirmed",
    reason: "other_message",
  });
});

test("NOT_SERVICED in the form of Oxalis is understood", async () => {
  expect(await answerTo("not-serviced.http")).toMatchObject({
    kind: "error",
    meaning: "not_serviced",
    sameCertificate: true,
    errors: [{ code: "EBMS:0004" }],
  });
});

/** Answers before, line, and what the answer means for the document. */
const UNSIGNED: readonly [number, "open" | "TLS", string][] = [
  [0, "TLS", "peer_busy"],
  [4, "TLS", "peer_busy"],
  [5, "TLS", "peer_refused"],
  [5, "open", "peer_busy"],
  [9, "open", "peer_busy"],
];
test.each(UNSIGNED)(
  "NOT_SERVICED that Oxalis does not sign, because it cannot decrypt, means after %i answers on an %s line: %s",
  async (answers, line, kind) => {
    const answer = await answerTo("wrong-key.http");
    expect(answer).toMatchObject({ kind: "error", meaning: "not_serviced", sameCertificate: false });
    expect(outcomeOfAnswer(answer, { answers, secure: line === "TLS", signerTrusted: false }).kind).toBe(kind);
  },
);

test("NOT_SERVICED that Oxalis signs is final at the second time of asking", async () => {
  const answer = await answerTo("not-serviced.http");
  expect(
    [0, 1].map((answers) => outcomeOfAnswer(answer, { answers, secure: false, signerTrusted: false }).kind),
  ).toEqual(["peer_busy", "peer_refused"]);
});
