/** Goal: a message in the exact Peppol suite by an independent implementation opens. Origin: test/fixtures/as4/README.md. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { commonName, openUserMessage } from "../../../../engine/peppol/as4/messages.js";
import type { OpenedMessage, RefusedMessage } from "../../../../engine/peppol/as4/messages.js";
import { wrapPrivateKey } from "../../../../validators/wss/keys.js";
import { inThread, invoiceBytes } from "../../../support/as4/as4.js";

const fixture = (name: string): Buffer =>
  readFileSync(fileURLToPath(new URL(`../../../fixtures/as4/${name}`, import.meta.url)));
const pem = fixture("receiver.pem").toString();
const receiver = {
  certificate: new X509Certificate(pem.slice(pem.indexOf("-----BEGIN CERTIFICATE-----"))).raw,
  key: wrapPrivateKey(createPrivateKey(pem)),
};
const open = (body: Buffer): Promise<OpenedMessage | RefusedMessage> =>
  openUserMessage(
    body,
    'multipart/related; boundary="----=_Part_wss4j"; type="application/soap+xml"',
    { keys: [receiver], payloadBytesMax: 1e6 },
    inThread,
  );

test("a message signed and encrypted by Apache WSS4J opens with its payload unchanged", async () => {
  const opened = await open(fixture("wss4j-4.0.0.mime"));
  if (opened.kind === "refused") throw new Error(opened.reason);
  expect(Buffer.from(opened.payload ?? []).equals(invoiceBytes)).toBe(true);
  expect(commonName(opened.signer)).toBe("PSK000001");
  expect(opened.references).toHaveLength(3);
  expect(opened.references[0]).toMatchObject({ uri: "#phase4-msg-1", prefixList: "S12" });
});

test("a message of Apache WSS4J with one digit of its finalRecipient changed does not open", async () => {
  const body = Buffer.from(
    fixture("wss4j-4.0.0.mime").toString("latin1").replace("0245:1234567890", "0245:1234567891"),
    "latin1",
  );
  expect(await open(body)).toMatchObject({ kind: "refused", error: "EBMS:0101", reason: "digest_mismatch" });
});
