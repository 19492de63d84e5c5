/**
 * Goal: what we sign is what others verify. xml-crypto judges whole signatures, libxml2 makes the canonical forms that
 * they are over; neither shares a line with validators/wss.
 */
import { createHash, verify, X509Certificate } from "node:crypto";
import { XmlC14NMode, XmlDocument as Libxml } from "libxml2-wasm";
import { describe, expect, test } from "vitest";
import { SignedXml } from "xml-crypto";

import { buildError, buildReceipt } from "../../../../engine/peppol/as4/messages.js";
import { readMultipart } from "../../../../engine/peppol/as4/mime.js";
import { signEnveloped } from "../../../../validators/wss/enveloped.js";
import { build, inThread, open } from "../../../support/as4/as4.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../../support/as4/as4-keys.js";

const EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#";
const alice = accessPoint("PSK000001");
const bob = accessPoint("PSK000002");

const pemOf = ({ certificate }: AccessPoint): string => new X509Certificate(certificate).toString();

/** The exclusive canonical form of the first element that an expression finds, as libxml2 makes it. */
function canonicalOf(text: string, expression: string): string {
  const document = Libxml.fromString(text);
  try {
    const element = document.get(expression);
    if (element === null) throw new Error(`nothing is ${expression}`);
    return element.canonicalizeToString({ mode: XmlC14NMode.XML_C14N_EXCLUSIVE_1_0 });
  } finally {
    document.dispose();
  }
}

const byId = (id: string): string => `//*[@*[local-name()='Id']='${id}']`;

/** What is read of an element of xml-crypto's own tree. */
interface SignedElement {
  readonly localName: string;
  readonly attributes: ArrayLike<{ readonly localName: string; readonly value: string }>;
}

/**
 * Whether xml-crypto believes a signature. It orders namespaces as a language would, S12 behind eb, and not by code
 * points as the standard says: the exclusive canonical forms are libxml2's therefore, where `canonical` is "libxml2".
 */
function believes(text: string, signer: AccessPoint, canonical: "its own" | "libxml2"): boolean {
  const signature = /<(?:ds:)?Signature[ >].*<\/(?:ds:)?Signature>/s.exec(text)?.[0];
  if (signature === undefined) throw new Error("nothing is signed");
  const judge = new SignedXml({ publicCert: pemOf(signer), getCertFromKeyInfo: () => null });
  if (canonical === "libxml2")
    judge.CanonicalizationAlgorithms[EXCLUSIVE] = class {
      process(node: unknown): string {
        const { localName, attributes } = node as SignedElement;
        if (localName === "SignedInfo") return canonicalOf(text, "//*[local-name()='SignedInfo']");
        return canonicalOf(text, byId(Array.from(attributes).find((one) => one.localName === "Id")?.value ?? ""));
      }
      getAlgorithmName(): string {
        return EXCLUSIVE;
      }
    };
  judge.loadSignature(signature);
  try {
    return judge.checkSignature(text);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("invalid signature")) return false;
    throw error;
  }
}

test("metadata that our SMP signs is believed by xml-crypto with canonical forms of its own, and no other text is", () => {
  const signed = signEnveloped(
    Buffer.from(
      '<?xml version="1.0" encoding="UTF-8"?>\n<smp:Signed xmlns:smp="urn:smp" xmlns:id="urn:id">\n <id:Name>Čerešňa &amp; syn</id:Name></smp:Signed>',
    ),
    alice,
  ).toString();
  expect(believes(signed, alice, "its own")).toBe(true);
  expect(believes(signed, bob, "its own")).toBe(false);
  expect(believes(signed.replace("Čerešňa", "Višňa"), alice, "its own")).toBe(false);
});

describe("signals", () => {
  const about = { id: "1", signer: bob, messageId: "r@kurier.test", timestamp: "2026-11-20T10:00:00.000Z" };

  test("a receipt of ours is believed by xml-crypto over libxml2's canonical forms, and no other text is", async () => {
    const opened = await open(bob, await build(alice, bob));
    if (opened.kind === "refused") throw new Error(opened.reason);
    const { body } = await buildReceipt({ ...about, refToMessageId: "m@kurier.test" }, opened.references, inThread);
    const text = Buffer.from(body).toString();
    expect(believes(text, bob, "libxml2")).toBe(true);
    expect(believes(text, alice, "libxml2")).toBe(false);
    expect(believes(text.replace("m@kurier.test", "n@kurier.test"), bob, "libxml2")).toBe(false);
  });

  test("an error of ours is believed by xml-crypto over libxml2's canonical forms, and no other text is", async () => {
    const { body } = await buildError(about, { code: "EBMS:0003" }, inThread);
    const text = Buffer.from(body).toString();
    expect(believes(text, bob, "libxml2")).toBe(true);
    expect(believes(text.replace("EBMS:0003", "EBMS:0004"), bob, "libxml2")).toBe(false);
  });
});

test("every digest of a message of ours is that of libxml2's canonical form or of the packed payload, and its signature is over libxml2's SignedInfo", async () => {
  const message = await build(alice, bob);
  const parts = readMultipart(message.body, message.contentType);
  if (parts.kind === "refused") throw new Error(parts.fault);
  const text = parts.parts[0]?.body.toString() ?? "";
  const sha256 = (content: Uint8Array | string): string => createHash("sha256").update(content).digest("base64");
  const uris = message.references.map(({ uri }) => uri);
  expect(uris.filter((uri) => uri.startsWith("#"))).toHaveLength(2);
  expect(uris.filter((uri) => uri.startsWith("cid:"))).toHaveLength(1);
  for (const { uri, digest } of message.references) {
    expect(sha256(uri.startsWith("#") ? canonicalOf(text, byId(uri.slice(1))) : message.compressed)).toBe(digest);
    expect(text).toContain(`URI="${uri}"`);
    expect(text).toContain(`>${digest}</ds:DigestValue>`);
  }
  const value = /<ds:SignatureValue>([^<]+)</.exec(text)?.[1] ?? "";
  const info = canonicalOf(text, "//*[local-name()='SignedInfo']");
  const { publicKey } = new X509Certificate(alice.certificate);
  expect(verify("sha256", Buffer.from(info), publicKey, Buffer.from(value, "base64"))).toBe(true);
});
