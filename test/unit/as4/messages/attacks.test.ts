/**
 * Goal: every way of making a verifier check one thing and use another is refused. Each message is right but for the
 * attack: where the attacker could be a legitimate peer, the message is signed anew after the edit.
 * @source design/reliability.md X-07, X-09; design/as4.md section 18
 */
import { createHmac, createPublicKey } from "node:crypto";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import type { OpenedMessage, RefusedMessage } from "../../../../engine/peppol/as4/messages.js";
import { openUserMessage } from "../../../../engine/peppol/as4/messages.js";
import { inThread, invoiceBytes, open } from "../../../support/as4/as4.js";
import { forge } from "../../../support/as4/as4-forge.js";
import type { Edits } from "../../../support/as4/as4-forge.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../../support/as4/as4-keys.js";

let alice: AccessPoint;
let bob: AccessPoint;
beforeAll(() => {
  alice = accessPoint("PSK000001");
  bob = accessPoint("PSK000002");
});

const attempt = async (edits: Edits): Promise<OpenedMessage | RefusedMessage> =>
  open(bob, await forge(alice, bob, edits));
const reasonOf = async (edits: Edits): Promise<string> => {
  const result = await attempt(edits);
  return result.kind === "refused" ? `${result.error} ${result.reason}` : "ACCEPTED";
};

const messagingOf = (soap: string): string => /<eb:Messaging.*<\/eb:Messaging>/s.exec(soap)?.[0] ?? "";
const bodyOf = (soap: string): string => /<S12:Body.*<\/S12:Body>/s.exec(soap)?.[0] ?? "";
const forged = (messaging: string): string => messaging.replaceAll("0245:2020202020", "0245:6666666666");
const withoutId = (xml: string): string => xml.replace(/ wsu:Id="[^"]*"/, "");
const beforeMessaging = (soap: string, inserted: string): string =>
  soap.replace("<eb:Messaging", () => `${inserted}<eb:Messaging`);

test("the message the attacks start from is accepted", async () => {
  expect((await attempt({})).kind).toBe("message");
});

describe("signature wrapping", () => {
  const wrap = (inner: string): string => `<w:Wrapper xmlns:w="urn:w">${inner}</w:Wrapper>`;
  const attacks: [string, (soap: string) => string][] = [
    [
      "XSW 1: the signed Body in a wrapper, a new Body with another id in its place",
      (soap) =>
        beforeMessaging(
          soap.replace(bodyOf(soap), () => '<S12:Body><x xmlns="urn:x"/></S12:Body>'),
          wrap(bodyOf(soap)),
        ),
    ],
    [
      "XSW 2: the signed Messaging in a wrapper header, a forged one without id in its place",
      (soap) => soap.replace(messagingOf(soap), (found) => wrap(found) + withoutId(forged(found))),
    ],
    [
      "XSW 3: a forged Messaging with the same id before the signed one",
      (soap) => beforeMessaging(soap, forged(messagingOf(soap))),
    ],
    [
      "XSW 4: the signed Messaging inside the forged one",
      (soap) =>
        soap.replace(messagingOf(soap), (found) =>
          withoutId(forged(found)).replace("</eb:Messaging>", () => `${found}</eb:Messaging>`),
        ),
    ],
    [
      "XSW 5: the signed Messaging in a ds:Object of the signature",
      (soap) =>
        soap
          .replace(messagingOf(soap), (found) => withoutId(forged(found)))
          .replace("</ds:Signature>", () => `<ds:Object>${messagingOf(soap)}</ds:Object></ds:Signature>`),
    ],
    [
      "XSW 6: the signed Messaging inside the Security header",
      (soap) =>
        soap
          .replace(messagingOf(soap), (found) => withoutId(forged(found)))
          .replace("</wsse:Security>", () => `${messagingOf(soap)}</wsse:Security>`),
    ],
    [
      "XSW 7: forged and signed Messaging with one id, the signed one in an extension behind",
      (soap) => soap.replace(messagingOf(soap), (found) => forged(found) + wrap(found)),
    ],
    [
      "XSW 8: the whole signed envelope inside a forged one",
      (soap) => {
        const inner = soap.replace(/^<\?xml[^>]*\?>/, "");
        const outer = forged(inner)
          .replace(/<wsse:Security.*<\/wsse:Security>/s, "")
          .replace(/ wsu:Id="[^"]*"/g, "");
        return outer.replace("<S12:Header>", () => `<S12:Header>${wrap(inner)}`);
      },
    ],
    [
      "the signed Messaging behind another element with its id in an attribute called Id",
      (soap) => beforeMessaging(soap, wrap(`<x Id="${/wsu:Id="(M-[^"]*)"/.exec(soap)?.[1]}"/>`)),
    ],
    [
      "the same id in an attribute called ID",
      (soap) => soap.replace("<eb:UserMessage>", () => `<eb:UserMessage ID="${/wsu:Id="(M-[^"]*)"/.exec(soap)?.[1]}">`),
    ],
    [
      "the forged Messaging takes over the name of a namespace prefix",
      (soap) =>
        soap.replace(
          messagingOf(soap),
          (found) => wrap(found) + withoutId(forged(found)).replaceAll("eb:", "e:").replace("xmlns:eb", "xmlns:e"),
        ),
    ],
    ["two Body elements", (soap) => soap.replace("</S12:Envelope>", () => `${bodyOf(soap)}</S12:Envelope>`)],
    ["two Header elements", (soap) => soap.replace("<S12:Body", "<S12:Header/><S12:Body")],
    [
      "two Security headers",
      (soap) =>
        soap.replace("<eb:Messaging", () => `${/<wsse:Security.*<\/wsse:Security>/s.exec(soap)?.[0]}<eb:Messaging`),
    ],
    [
      "two signatures",
      (soap) =>
        soap.replace(
          "</wsse:Security>",
          () => `${/<ds:Signature .*<\/ds:Signature>/s.exec(soap)?.[0]}</wsse:Security>`,
        ),
    ],
    [
      "a Security header for somebody else",
      (soap) => soap.replace('S12:mustUnderstand="true">', 'S12:mustUnderstand="true" S12:role="urn:other">'),
    ],
  ];
  test.each(attacks)("%s is refused", async (_, envelope) => {
    const result = await attempt({ envelope });
    expect(result.kind).toBe("refused");
    if (result.kind === "refused") expect(["EBMS:0009", "EBMS:0101", "EBMS:0103"]).toContain(result.error);
  });
});

describe("SignedInfo", () => {
  test("several SignedInfo are refused (CVE-2025-29774)", async () => {
    const twice = (soap: string): string => soap.replace(/<ds:SignedInfo.*<\/ds:SignedInfo>/s, (info) => info + info);
    expect(await reasonOf({ envelope: twice })).toBe("EBMS:0101 nested_copy");
  });

  test("a comment inside a DigestValue is refused (CVE-2025-29775)", async () => {
    const signedInfo = (xml: string): string => xml.replace("<ds:DigestValue>", "<ds:DigestValue><!--x-->");
    expect(await reasonOf({ signedInfo })).toBe("EBMS:0103 signature_structure");
  });

  test("a comment anywhere else in SignedInfo is refused", async () => {
    expect(await reasonOf({ signedInfo: (xml) => xml.replace("<ds:Reference", "<!--x--><ds:Reference") })).toBe(
      "EBMS:0103 signature_structure",
    );
  });

  test("HMAC keyed with the public RSA key is refused", async () => {
    const spki = createPublicKey(alice.privateKey).export({ type: "spki", format: "pem" });
    const edits: Edits = {
      signedInfo: (xml) => xml.replace("xmldsig-more#rsa-sha256", "xmldsig-more#hmac-sha256"),
      value: (octets) => createHmac("sha256", spki).update(octets).digest(),
    };
    expect(await reasonOf(edits)).toBe("EBMS:0103 algorithm_not_allowed");
  });

  test("HMACOutputLength under the signature method is refused (CVE-2009-0217)", async () => {
    const signedInfo = (xml: string): string =>
      xml.replace(/(<ds:SignatureMethod[^>]*>)/, "$1<ds:HMACOutputLength>0</ds:HMACOutputLength>");
    expect(await reasonOf({ signedInfo })).toBe("EBMS:0103 signature_structure");
  });

  const algorithms: [string, Edits][] = [
    [
      "RSA-SHA1",
      {
        hash: "sha1",
        signedInfo: (xml) =>
          xml.replace(
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
          ),
      },
    ],
    ["RSA-MD5", { hash: "md5", signedInfo: (xml) => xml.replace("#rsa-sha256", "#rsa-md5") }],
    ["RSA-SHA384", { hash: "sha384", signedInfo: (xml) => xml.replace("#rsa-sha256", "#rsa-sha384") }],
    [
      "a SHA-1 digest",
      {
        signedInfo: (xml) =>
          xml.replace("http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2000/09/xmldsig#sha1"),
      },
    ],
    [
      "an MD5 digest",
      {
        signedInfo: (xml) =>
          xml.replace("http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2001/04/xmldsig-more#md5"),
      },
    ],
    [
      "inclusive C14N of SignedInfo",
      {
        method: "inclusive",
        signedInfo: (xml) =>
          xml.replace("http://www.w3.org/2001/10/xml-exc-c14n#", "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"),
      },
    ],
    [
      "C14N with comments",
      {
        comments: true,
        signedInfo: (xml) =>
          xml.replace("http://www.w3.org/2001/10/xml-exc-c14n#", "http://www.w3.org/2001/10/xml-exc-c14n#WithComments"),
      },
    ],
    [
      "an algorithm named constructor",
      { signedInfo: (xml) => xml.replace("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "constructor") },
    ],
  ];
  test.each(algorithms)("a signature with %s is refused", async (_, edits) => {
    expect(await reasonOf(edits)).toBe("EBMS:0103 algorithm_not_allowed");
  });

  const transform =
    (replacement: string) =>
    (xml: string): string =>
      xml.replace(/<ds:Transform [^>]*><\/ds:Transform>/, replacement);
  const transforms: [string, Edits["signedInfo"]][] = [
    [
      "XSLT",
      transform(
        '<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xslt-19991116"><x:stylesheet xmlns:x="http://www.w3.org/1999/XSL/Transform" version="1.0"></x:stylesheet></ds:Transform>',
      ),
    ],
    [
      "XPath",
      transform(
        '<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"><ds:XPath>not(.)</ds:XPath></ds:Transform>',
      ),
    ],
    [
      "XPath filter 2",
      transform('<ds:Transform Algorithm="http://www.w3.org/2002/06/xmldsig-filter2"></ds:Transform>'),
    ],
    ["base64", transform('<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#base64"></ds:Transform>')],
    [
      "enveloped signature",
      transform('<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"></ds:Transform>'),
    ],
    [
      "C14N with comments",
      transform('<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#WithComments"></ds:Transform>'),
    ],
    [
      "the attachment transform on an element",
      transform(
        '<ds:Transform Algorithm="http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform"></ds:Transform>',
      ),
    ],
    [
      "the STR transform",
      transform(
        '<ds:Transform Algorithm="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#STR-Transform"></ds:Transform>',
      ),
    ],
    [
      "two transforms",
      transform(
        '<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform><ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"></ds:Transform>',
      ),
    ],
  ];
  test.each(transforms)("a transform is refused: %s", async (_, signedInfo) => {
    expect(await reasonOf({ ...(signedInfo && { signedInfo }) })).toBe("EBMS:0103 transform_not_allowed");
  });

  const uris = [
    "http://169.254.169.254/latest",
    "file:///etc/passwd",
    "",
    "#xpointer(/)",
    "#xpointer(id('x'))",
    "//host/x",
    "#",
  ];
  test.each(uris)("a Reference to %j is refused", async (uri) => {
    expect(await reasonOf({ signedInfo: (xml) => xml.replace(/URI="#M-[^"]*"/, `URI="${uri}"`) })).toBe(
      "EBMS:0103 transform_not_allowed",
    );
  });

  test("a signature without a reference to Messaging, Body, or the part is refused", async () => {
    for (const uri of ["#M-", "#B-", "cid:"]) {
      const signedInfo = (xml: string): string =>
        xml.replace(new RegExp(`<ds:Reference URI="${uri}.*?</ds:Reference>`, "s"), "");
      expect(await reasonOf({ signedInfo }), uri).toBe("EBMS:0103 part_unsigned");
    }
  });

  test("a reference to something else besides is refused", async () => {
    const signedInfo = (xml: string): string =>
      xml.replace(/(<ds:Reference URI="#M-.*?<\/ds:Reference>)/s, (found) => found + found.replace("#M-", "#X-"));
    expect(await reasonOf({ signedInfo })).toBe("EBMS:0101 reference_unknown");
  });

  test("one target referenced twice is refused", async () => {
    const signedInfo = (xml: string): string => xml.replace(/(<ds:Reference URI="#M-.*?<\/ds:Reference>)/s, "$1$1");
    expect(await reasonOf({ signedInfo })).toBe("EBMS:0101 reference_unknown");
  });
});

describe("signer and key reference", () => {
  test("a valid signature of another key under the sender's certificate is refused", async () => {
    const eve = accessPoint("PSK000001");
    const swap = (soap: string): string =>
      soap.replaceAll(eve.certificate.toString("base64"), () => alice.certificate.toString("base64"));
    const message = await forge(eve, bob, { envelope: swap });
    expect(await open(bob, message)).toMatchObject({ error: "EBMS:0101", reason: "signature_invalid" });
  });

  const withKeyInfo =
    (replacement: string) =>
    (soap: string): string =>
      soap.replace(
        /(<ds:KeyInfo Id="KI-[^"]*">).*?(<\/ds:KeyInfo>)/s,
        (_, head: string, tail: string) => head + replacement + tail,
      );
  const references: [string, string][] = [
    [
      "a subject key identifier",
      '<wsse:SecurityTokenReference><wsse:KeyIdentifier ValueType="x">AAAA</wsse:KeyIdentifier></wsse:SecurityTokenReference>',
    ],
    [
      "issuer and serial number",
      "<wsse:SecurityTokenReference><ds:X509Data><ds:X509IssuerSerial/></ds:X509Data></wsse:SecurityTokenReference>",
    ],
    ["X509Data in KeyInfo", "<ds:X509Data><ds:X509Certificate>AAAA</ds:X509Certificate></ds:X509Data>"],
    ["an RSA key value", "<ds:KeyValue><ds:RSAKeyValue/></ds:KeyValue>"],
    [
      "a token that is not there",
      '<wsse:SecurityTokenReference><wsse:Reference URI="#nowhere"/></wsse:SecurityTokenReference>',
    ],
    [
      "a token on the net",
      '<wsse:SecurityTokenReference><wsse:Reference URI="http://example.org/c"/></wsse:SecurityTokenReference>',
    ],
  ];
  test.each(references)("%s is refused", async (_, replacement) => {
    expect(await reasonOf({ envelope: withKeyInfo(replacement) })).toBe("EBMS:0103 token_missing");
  });

  test("octets behind the certificate in its token are refused", async () => {
    const { certificate } = alice;
    const longer = Buffer.concat([certificate, Buffer.alloc(2)]).toString("base64");
    const envelope = (soap: string): string => soap.replace(certificate.toString("base64"), () => longer);
    expect(await reasonOf({ envelope })).toBe("EBMS:0101 token_invalid");
  });
});

describe("the document", () => {
  const documents: [string, (soap: string) => string][] = [
    ["a DOCTYPE", (soap) => soap.replace("<S12:Envelope", "<!DOCTYPE x><S12:Envelope")],
    [
      "an entity bomb",
      (soap) =>
        soap.replace("<S12:Envelope", '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><S12:Envelope'),
    ],
    ["a processing instruction", (soap) => soap.replace("<eb:UserMessage>", "<?x y?><eb:UserMessage>")],
    [
      "a stylesheet instruction before the root",
      (soap) => soap.replace("<S12:Envelope", '<?xml-stylesheet href="http://example.org"?><S12:Envelope'),
    ],
    ["an undeclared entity", (soap) => soap.replace("PSK000001", "&x;")],
    ["depth beyond the cap", (soap) => soap.replace("<S12:Header>", `<S12:Header>${"<a>".repeat(5000)}`)],
    ["another encoding", (soap) => soap.replace('encoding="UTF-8"', 'encoding="UTF-16"')],
    [
      "an attribute twice through two prefixes",
      (soap) => soap.replace("<eb:UserMessage>", '<eb:UserMessage xmlns:p="urn:p" xmlns:q="urn:p" p:a="1" q:a="2">'),
    ],
  ];
  test.each(documents)("%s is refused", async (_, envelope) => {
    expect(await reasonOf({ envelope })).toBe("EBMS:0009 envelope_malformed");
  });

  test("a SOAP part above its cap is refused", async () => {
    expect(await reasonOf({ envelope: (soap) => `${soap}${" ".repeat(300_000)}` })).toBe(
      "EBMS:0009 envelope_too_large",
    );
  });

  test("a comment that splits a signed value keeps the digest, and the value is refused", async () => {
    const envelope = (soap: string): string => soap.replace(">0245:2020202020<", ">0245:2020202020<!--0-->0<");
    const digestKept = (soap: string): string => soap.replace(">0245:2020202020<", ">0245:20202<!--x-->02020<");
    expect(await reasonOf({ envelope })).toBe("EBMS:0101 digest_mismatch");
    expect(await reasonOf({ envelope: digestKept })).toBe("EBMS:0003 header");
  });

  test("a mandatory header block we do not know is refused, an optional one is not", async () => {
    const block =
      (must: string) =>
      (soap: string): string =>
        beforeMessaging(soap, `<x:Y xmlns:x="urn:x"${must}/>`);
    expect(await reasonOf({ envelope: block(' S12:mustUnderstand="true"') })).toBe(
      "EBMS:0009 envelope_must_understand",
    );
    expect(await reasonOf({ envelope: block("") })).toBe("ACCEPTED");
  });

  test("a Body changed after it was signed is refused, be it by an attribute", async () => {
    expect(await reasonOf({ envelope: (soap) => soap.replace("<S12:Body ", '<S12:Body x="1" ') })).toBe(
      "EBMS:0101 digest_mismatch",
    );
  });

  test("a digest in another spelling of the same octets is refused", async () => {
    for (const spell of [
      (value: string) => `${value}*`,
      (value: string) =>
        value.replace(/.=$/, (last) => `${last === "A=" ? "B" : String.fromCharCode(last.charCodeAt(0) + 1)}=`),
    ]) {
      const signedInfo = (xml: string): string =>
        xml.replace(/(<ds:DigestValue>)([^<]*)/, (_, open: string, value: string) => open + spell(value));
      expect(await reasonOf({ signedInfo })).toBe("EBMS:0103 signature_structure");
    }
  });

  test.each(["<x></x>", "x", " \n x", "<!---->"])("a signed Body that holds %j is refused", async (content) => {
    expect(await reasonOf({ body: (xml) => xml.replace("></S12:Body>", `>${content}</S12:Body>`) })).toBe(
      "EBMS:0009 body_not_empty",
    );
  });

  test("a signed Body that holds nothing but white space is empty", async () => {
    expect(await reasonOf({ body: (xml) => xml.replace("></S12:Body>", ">\n  </S12:Body>") })).toBe("ACCEPTED");
  });

  test("two user messages, or a signal beside one, are refused", async () => {
    const twice = (xml: string): string => xml.replace(/(<eb:UserMessage>.*<\/eb:UserMessage>)/s, "$1$1");
    expect(await reasonOf({ messaging: twice })).toBe("EBMS:0009 envelope_structure");
    expect(
      await reasonOf({
        messaging: (xml) => xml.replace("</eb:Messaging>", "<eb:SignalMessage></eb:SignalMessage></eb:Messaging>"),
      }),
    ).toBe("EBMS:0009 envelope_structure");
  });
});

describe("header values a peer may sign but Peppol does not allow", () => {
  const values: [string, (xml: string) => string, string][] = [
    ["a pmode attribute", (xml) => xml.replace("<eb:AgreementRef>", '<eb:AgreementRef pmode="x">'), "EBMS:0010"],
    ["another agreement", (xml) => xml.replace("agreements:tia:ap_provider", "agreements:other"), "EBMS:0010"],
    ["a PartyId of another type", (xml) => xml.replace("2017:identifiers:ap", "2017:identifiers:x"), "EBMS:0003"],
    ["two PartyIds", (xml) => xml.replace(/(<eb:PartyId.*?<\/eb:PartyId>)/s, "$1$1"), "EBMS:0009"],
    ["a party that is no seat", (xml) => xml.replace(">PSK000001<", ">Kurier<"), "EBMS:0003"],
    ["roles exchanged", (xml) => xml.replace("200704/initiator", "200704/responder"), "EBMS:0003"],
    ["originalSender without type", (xml) => xml.replace(' type="iso6523-actorid-upis"', ""), "EBMS:0003"],
    [
      "a property twice",
      (xml) => xml.replace(/(<eb:Property name="finalRecipient".*?<\/eb:Property>)/s, "$1$1"),
      "EBMS:0009",
    ],
    [
      "no MessageProperties",
      (xml) => xml.replace(/<eb:MessageProperties>.*<\/eb:MessageProperties>/s, ""),
      "EBMS:0003",
    ],
    ["a Service without type", (xml) => xml.replace(' type="cenbii-procid-ubl"', ""), "EBMS:0003"],
  ];
  test.each(values)(
    "a header value that a peer may sign but Peppol does not allow is refused: %s",
    async (_, messaging, error) => {
      expect(await reasonOf({ messaging })).toBe(`${error} header`);
    },
  );
});

describe("encryption", () => {
  const gzip = gzipSync(invoiceBytes);

  test("a message that is signed but not encrypted is refused", async () => {
    const envelope = (soap: string): string => soap.replace(/<xenc:EncryptedKey.*<\/xenc:EncryptedData>/s, "");
    expect(await reasonOf({ envelope })).toBe("EBMS:0103 encryption_missing");
  });

  const structures: [string, (soap: string) => string][] = [
    [
      "two EncryptedKeys",
      (soap) =>
        soap.replace(/(<xenc:EncryptedKey.*<\/xenc:EncryptedKey>)/s, (key) => key + key.replace(/Id="EK-/, 'Id="E2-')),
    ],
    [
      "an EncryptedKey without EncryptedData",
      (soap) => soap.replace(/<xenc:EncryptedData.*<\/xenc:EncryptedData>/s, ""),
    ],
    [
      "OAEP with SHA-1",
      (soap) => soap.replace(/(<xenc:EncryptionMethod[^>]*rsa-oaep">).*?(<\/xenc:EncryptionMethod>)/s, "$1$2"),
    ],
    ["the legacy MGF without the switch", (soap) => soap.replace(/<xenc11:MGF[^>]*\/>/, "")],
    [
      "RSA 1.5",
      (soap) =>
        soap
          .replace("xmlenc11#rsa-oaep", "xmlenc#rsa-1_5")
          .replace("http://www.w3.org/2009/xmlenc#rsa-1_5", "http://www.w3.org/2001/04/xmlenc#rsa-1_5"),
    ],
    ["an OAEP label", (soap) => soap.replace("<xenc11:MGF", "<xenc:OAEPparams>AAAA</xenc:OAEPparams><xenc11:MGF")],
    [
      "AES-CBC",
      (soap) =>
        soap.replace("http://www.w3.org/2009/xmlenc11#aes128-gcm", "http://www.w3.org/2001/04/xmlenc#aes128-cbc"),
    ],
    [
      "a ciphertext transform that is none",
      (soap) => soap.replace("Attachment-Ciphertext-Transform", "Attachment-Complete-Transform"),
    ],
    [
      "a CipherReference to the net",
      (soap) => soap.replace(/CipherReference URI="cid:[^"]*"/, 'CipherReference URI="http://example.org/"'),
    ],
    [
      "a CipherReference with a broken percent escape",
      (soap) => soap.replace(/CipherReference URI="cid:[^"]*"/, 'CipherReference URI="cid:%zz"'),
    ],
    [
      "an EncryptedData the key does not list",
      (soap) => soap.replace(/DataReference URI="#ED-/, 'DataReference URI="#EX-'),
    ],
  ];
  test.each(structures)("%s is refused", async (_, envelope) => {
    expect(await reasonOf({ envelope })).toBe("EBMS:0103 encryption_structure");
  });

  test("a recipient named by key identifier is refused", async () => {
    const envelope = (soap: string): string =>
      soap.replace(/<wsse:Reference URI="#X-[^>]*>/, '<wsse:KeyIdentifier ValueType="x">AAAA</wsse:KeyIdentifier>');
    expect(await reasonOf({ envelope })).toBe("EBMS:0103 token_missing");
  });

  test("every decryption fault has one answer: key, padding, tag, length, other certificate", async () => {
    const eve = accessPoint("PSK000002");
    const flip =
      (at: number) =>
      (soap: string): string =>
        soap.replace(/<xenc:CipherValue>([^<]*)/, (_, value: string) => {
          const bytes = Buffer.from(value, "base64");
          bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
          return `<xenc:CipherValue>${bytes.toString("base64")}`;
        });
    const cases: Edits[] = [
      { envelope: flip(0) },
      { envelope: flip(255) },
      { envelope: (soap) => soap.replace(/<xenc:CipherValue>[^<]*/, "<xenc:CipherValue>AAAA") },
      { envelope: (soap) => soap.replaceAll(bob.certificate.toString("base64"), eve.certificate.toString("base64")) },
      {
        parts: ([soap, part]) =>
          [soap, part].flatMap((p) =>
            p === undefined ? [] : p.cid === undefined ? [p] : [{ ...p, body: p.body.subarray(0, 20) }],
          ),
      },
      {
        parts: (parts) =>
          parts.map((part) =>
            part.cid === undefined ? part : { ...part, body: Buffer.concat([part.body, Buffer.alloc(1)]) },
          ),
      },
      { parts: (parts) => parts.map((part) => (part.cid === undefined ? part : { ...part, body: Buffer.alloc(0) })) },
    ];
    const answers = new Set<string>();
    for (const edits of cases) answers.add(JSON.stringify({ ...(await attempt(edits)), messageId: "" }));
    expect([...answers]).toEqual(['{"kind":"refused","error":"EBMS:0102","reason":"decryption","messageId":""}']);
  });

  test("other octets under the right key, not those that were signed, are refused", async () => {
    const one = await forge(alice, bob, { signedPayload: gzip });
    const info = /<ds:SignedInfo.*<\/ds:SignatureValue>/s.exec(one.body.toString("latin1"))?.[0] ?? "";
    expect(info).not.toBe("");
    // The attacker re-encrypts a payload of his own to us; the digest is the sender's.
    const signedInfo = (xml: string): string =>
      xml.replace(/(cid:.*<ds:DigestValue>)[^<]*/s, "$1AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    expect(await reasonOf({ signedPayload: gzip, signedInfo })).toBe("EBMS:0101 digest_mismatch");
  });
});

describe("compression", () => {
  const noCompression = (xml: string): string =>
    xml.replace(/<eb:Property name="CompressionType">[^<]*<\/eb:Property>/, "");

  test("an uncompressed payload is accepted", async () => {
    const result = await attempt({ messaging: noCompression, signedPayload: invoiceBytes });
    expect(result.kind === "message" && Buffer.from(result.payload ?? []).equals(invoiceBytes)).toBe(true);
  });

  const payloads: [string, Edits][] = [
    ["a gzip with octets behind it", { signedPayload: Buffer.concat([gzipSync("x"), Buffer.from("trailing")]) }],
    [
      "a gzip with zeros behind it, which zlib passes over in silence",
      { signedPayload: Buffer.concat([gzipSync("x"), Buffer.alloc(5)]) },
    ],
    ["half a gzip", { signedPayload: gzipSync(invoiceBytes).subarray(0, 100) }],
    ["no gzip at all", { signedPayload: invoiceBytes }],
    ["an empty part", { signedPayload: Buffer.alloc(0) }],
    [
      "a gzip with a wrong checksum",
      {
        signedPayload: ((): Buffer => {
          const bytes = gzipSync(invoiceBytes);
          bytes.writeUInt32LE(1, bytes.length - 8);
          return bytes;
        })(),
      },
    ],
    ["CompressionType application/rar", { messaging: (xml) => xml.replace(">application/gzip<", ">application/rar<") }],
  ];
  test.each(payloads)("%s is EBMS:0303", async (_, edits) => {
    expect(await reasonOf(edits)).toBe("EBMS:0303 decompression");
  });
});

describe("parts and references", () => {
  test("a part whose Content-ID is not the one that was signed is refused", async () => {
    const parts: Edits["parts"] = (all) =>
      all.map((part) => (part.cid === undefined ? part : { ...part, cid: "other@x" }));
    expect(await reasonOf({ parts })).toBe("EBMS:0103 part_unsigned");
  });

  test("an href that names no part is refused", async () => {
    expect(await reasonOf({ messaging: (xml) => xml.replace(/href="cid:[^"]*"/, 'href="cid:nothing@x"') })).toBe(
      "EBMS:0007 part_missing",
    );
  });

  test("an href outside the message is refused", async () => {
    expect(
      await reasonOf({ messaging: (xml) => xml.replace(/href="cid:[^"]*"/, 'href="http://example.org/invoice"') }),
    ).toBe("EBMS:0009 envelope_structure");
  });

  test("a part that was signed but is missing is refused", async () => {
    expect(await reasonOf({ parts: (all) => all.slice(0, 1) })).toBe("EBMS:0101 reference_unknown");
  });

  test("an unsigned part besides is refused", async () => {
    const parts: Edits["parts"] = (all) => [
      ...all,
      { cid: "extra@x", contentType: "text/plain", body: Buffer.from("x") },
    ];
    expect(await reasonOf({ parts })).toBe("EBMS:0103 part_unsigned");
  });

  test("two parts with one Content-ID are refused", async () => {
    expect(await reasonOf({ parts: (all) => [...all, ...all.slice(1)] })).toBe("EBMS:0007 mime_content_id");
  });

  test("a percent-escaped href means the same part", async () => {
    const messaging = (xml: string): string => xml.replace(/href="cid:([^"]*)@kurier"/, 'href="cid:$1%40kurier"');
    expect(await reasonOf({ messaging })).toBe("ACCEPTED");
  });

  test("a Content-ID without angle brackets means the same part", async () => {
    const message = await forge(alice, bob);
    const body = Buffer.from(
      message.body.toString("latin1").replace(/Content-ID: <([^>]*)>/, "Content-ID: $1"),
      "latin1",
    );
    expect((await open(bob, { ...message, body })).kind).toBe("message");
  });

  test("two payload parts, both signed, are one too many", async () => {
    const edits: Edits = {
      messaging: (xml) =>
        xml.replace(
          /<eb:PartInfo.*<\/eb:PartInfo>/s,
          (part) => part + part.replace(/href="cid:[^"]*"/, 'href="cid:second@x"'),
        ),
      signedInfo: (xml) =>
        xml.replace(
          /<ds:Reference URI="cid:.*<\/ds:Reference>/s,
          (part) => part + part.replace(/URI="cid:[^"]*"/, 'URI="cid:second@x"'),
        ),
      parts: (all) => [...all, { cid: "second@x", contentType: "application/octet-stream", body: Buffer.from("x") }],
    };
    expect(await reasonOf(edits)).toBe("EBMS:0007 part_count");
  });

  test("an ordinary message without its payload part is refused", async () => {
    const edits: Edits = {
      messaging: (xml) => xml.replace(/<eb:PayloadInfo>.*<\/eb:PayloadInfo>/s, ""),
      signedInfo: (xml) => xml.replace(/<ds:Reference URI="cid:.*<\/ds:Reference>/s, ""),
      parts: (all) => all.slice(0, 1),
    };
    expect(await reasonOf(edits)).toBe("EBMS:0007 payload_missing");
  });
});

test("no answer tells more than its code: the reason stays out of what the peer gets", async () => {
  const result = await openUserMessage(Buffer.from("x"), "text/plain", { keys: [bob], payloadBytesMax: 1 }, inThread);
  expect(result).toEqual({ kind: "refused", error: "EBMS:0007", reason: "mime_content_type" });
});
