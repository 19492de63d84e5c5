/** Goal: SMP answers we sign verify, and no other document passes for a signed one. */
import { beforeAll, describe, expect, test } from "vitest";
import { signEnveloped, verifyEnveloped } from "../../../../validators/wss/enveloped.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../../support/as4/as4-keys.js";

const DOCUMENT =
  '<?xml version="1.0" encoding="UTF-8"?>\n<!-- c -->\n<smp:Signed xmlns:smp="urn:smp" xmlns:id="urn:id" xml:lang="sk">\n  <id:Participant scheme="x">0245:1</id:Participant><!-- inside -->\n  <id:Name>Čerešňa &amp; syn</id:Name>\n</smp:Signed><!-- after -->\n';

let smp: AccessPoint;
let signed: string;
beforeAll(() => {
  smp = accessPoint("PSK000010");
  signed = signEnveloped(Buffer.from(DOCUMENT), smp).toString();
});

const reasonOf = (text: string): string => {
  const result = verifyEnveloped(Buffer.from(text));
  return result.kind === "refused" ? result.reason : "verified";
};

test("a document we sign verifies, with the signer's certificate and the tree to read from", () => {
  const result = verifyEnveloped(Buffer.from(signed));
  expect(result).toMatchObject({ kind: "verified", root: { local: "Signed" }, chain: [] });
  expect(result.kind === "verified" && Buffer.from(result.signer).equals(smp.certificate)).toBe(true);
});

test("the octets before and behind the signature are those that were given", () => {
  expect(signed.replace(/<Signature.*<\/Signature>/s, "")).toBe(DOCUMENT);
});

test("the digest is over inclusive C14N with SHA-256, signed with RSA-SHA256", () => {
  for (const uri of [
    "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
    "xmldsig-more#rsa-sha256",
    "xmlenc#sha256",
    "enveloped-signature",
  ])
    expect(signed).toContain(uri);
});

test("a document that is signed already, or malformed, is not signed", () => {
  for (const text of [signed, "<a", "<a/>"])
    expect(() => signEnveloped(Buffer.from(text), smp), text.slice(0, 9)).toThrow("signEnveloped");
});

describe("refused", () => {
  const other = '<Signature xmlns="http://www.w3.org/2000/09/xmldsig#"/>';
  const cases: [string, (text: string) => string, string][] = [
    ["a changed value", (text) => text.replace("0245:1", "0245:2"), "digest_mismatch"],
    ["white space added", (text) => text.replace("<id:Name>", " <id:Name>"), "digest_mismatch"],
    [
      "a namespace declaration added to the root",
      (text) => text.replace('xmlns:id="urn:id"', 'xmlns:id="urn:id" xmlns:q="urn:q"'),
      "signature_invalid",
    ],
    [
      "a changed signature value",
      (text) =>
        text.replace(/<SignatureValue>(.)/, (_, first: string) => `<SignatureValue>${first === "A" ? "B" : "A"}`),
      "signature_invalid",
    ],
    ["no signature", (text) => text.replace(/<Signature.*<\/Signature>/s, ""), "signature_missing"],
    [
      "the signed document inside another",
      (text) =>
        `<smp:Signed xmlns:smp="urn:smp">${text.replace(/^.*?(?=<smp:Signed)/s, "").replace("<!-- after -->", "")}</smp:Signed>`,
      "signature_missing",
    ],
    ["a second signature", (text) => text.replace("</smp:Signed>", `${other}</smp:Signed>`), "nested_copy"],
    ["a signature deeper in the document", (text) => text.replace("<id:Name>", `<id:Name>${other}`), "nested_copy"],
    [
      "an object in the signature",
      (text) => text.replace("</Signature>", "<Object/></Signature>"),
      "signature_structure",
    ],
    ["a comment in the digest", (text) => text.replace("<DigestValue>", "<DigestValue><!---->"), "signature_structure"],
    ["a reference to an element", (text) => text.replace('URI=""', 'URI="#x"'), "transform_not_allowed"],
    ["a reference to the net", (text) => text.replace('URI=""', 'URI="http://example.org/"'), "transform_not_allowed"],
    [
      "a second transform",
      (text) =>
        text.replace("</Transforms>", '<Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/></Transforms>'),
      "transform_not_allowed",
    ],
    [
      "an XPath transform",
      (text) =>
        text.replace(
          "http://www.w3.org/2000/09/xmldsig#enveloped-signature",
          "http://www.w3.org/TR/1999/REC-xpath-19991116",
        ),
      "transform_not_allowed",
    ],
    [
      "SHA-1",
      (text) => text.replace("http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2000/09/xmldsig#sha1"),
      "algorithm_not_allowed",
    ],
    ["no certificate", (text) => text.replace(/<X509Certificate>.*<\/X509Certificate>/s, ""), "token_missing"],
    [
      "a certificate that is none",
      (text) => text.replace(/<X509Certificate>[^<]*/, "<X509Certificate>AAAA"),
      "token_invalid",
    ],
    ["a DOCTYPE", (text) => text.replace("<smp:Signed", "<!DOCTYPE x><smp:Signed"), "malformed"],
  ];
  test.each(cases)("a signed document is refused: %s", (_, change, reason) => {
    expect(change(signed)).not.toBe(signed);
    expect(reasonOf(change(signed))).toBe(reason);
  });

  test("a small key, and a signature of another key under the same certificate, are refused", () => {
    expect(reasonOf(signEnveloped(Buffer.from(DOCUMENT), accessPoint("PSK000010", 1024)).toString())).toBe(
      "key_too_small",
    );
    const forged = signEnveloped(Buffer.from(DOCUMENT), { ...smp, key: accessPoint("PSK000010").key });
    expect(reasonOf(forged.toString())).toBe("signature_invalid");
  });
});
