/** Goal: an uncompressed payload of XML is accepted as WSS4J signs it, and nothing else becomes acceptable by that. */
import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";

import { isXml } from "../../../../validators/wss/part-content.js";
import { open } from "../../../support/as4/as4.js";
import { forge } from "../../../support/as4/as4-forge.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../../support/as4/as4-keys.js";

let alice: AccessPoint;
let bob: AccessPoint;
beforeAll(() => {
  alice = accessPoint("PSK000001");
  bob = accessPoint("PSK000002");
});

const PAYLOAD = Buffer.from(
  "<?xml version='1.0' encoding='UTF-8'?>\r\n<a:I xmlns:b='urn:b' xmlns:a='urn:a' z='1' b='2'><!-- x --><a:Empty/>\u010d&#x41;<![CDATA[<]]></a:I>\n",
);
/** Written by hand from the specification. @source https://www.w3.org/TR/xml-exc-c14n/ */
const CANONICAL = '<a:I xmlns:a="urn:a" b="2" z="1"><a:Empty></a:Empty>\u010dA&lt;</a:I>';

async function attempt(signedText: string, mediaType: string, payload = PAYLOAD): ReturnType<typeof open> {
  const digest = createHash("sha256").update(signedText).digest("base64");
  return open(
    bob,
    await forge(alice, bob, {
      signedPayload: payload,
      messaging: (xml) => xml.replace(/<eb:Property name="CompressionType">[^<]*<\/eb:Property>/, ""),
      signedInfo: (xml) => xml.replace(/(cid:.*<ds:DigestValue>)[^<]*/s, (_, head: string) => head + digest),
      envelope: (soap) => soap.replace('MimeType="application/gzip"', `MimeType="${mediaType}"`),
    }),
  );
}

describe("a payload of XML that was not compressed", () => {
  test.each(["application/xml", "text/xml", "application/xml; charset=utf-8", "application/ubl+xml"])(
    "a payload of XML that was not compressed, signed in its canonical form under %s, arrives with its own bytes",
    async (mediaType) => {
      const opened = await attempt(CANONICAL, mediaType);
      expect(opened).toMatchObject({ kind: "message" });
      if (opened.kind !== "message") return;
      expect(Buffer.from(opened.payload ?? [])).toEqual(PAYLOAD);
      expect(Buffer.from(opened.signedPayload ?? []).toString()).toBe(CANONICAL);
    },
  );

  test("a payload of XML that was not compressed, signed as the octets that it has, is accepted too", async () => {
    const opened = await attempt(PAYLOAD.toString(), "application/xml");
    expect(opened.kind === "message" && Buffer.from(opened.signedPayload ?? [])).toEqual(PAYLOAD);
  });

  test.each([
    ["other text", CANONICAL.replace('b="2"', 'b="3"'), "application/xml", PAYLOAD],
    ["its canonical form, but not called XML", CANONICAL, "application/gzip", PAYLOAD],
    [
      "a canonical form of bytes that are not XML",
      CANONICAL,
      "application/xml",
      Buffer.concat([PAYLOAD, Buffer.from("<")]),
    ],
    ["a document with a document type", CANONICAL, "application/xml", Buffer.from(`<!DOCTYPE a>${CANONICAL}`)],
  ])("a payload of XML that was not compressed, signed as %s, is refused", async (_, signed, mediaType, payload) => {
    expect(await attempt(signed, mediaType, payload)).toMatchObject({
      kind: "refused",
      error: "EBMS:0101",
      reason: "digest_mismatch",
    });
  });
});

test.each([
  ["application/xml", true],
  ["TEXT/XML;charset=x", true],
  ["image/svg+xml", true],
  ["application/gzip", false],
  ["application/xmlish", false],
  ["text/plain", false],
  [undefined, false],
])("the media type %s is one of XML: %s", (mediaType, expected) => {
  expect(isXml(mediaType)).toBe(expected);
});
