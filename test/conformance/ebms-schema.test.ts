/** Goal: every eb:Messaging we write is valid against the corrected OASIS schema, and the table of errors is section 7's. */
import {
  ParseOption,
  XmlBufferInputProvider,
  xmlCleanupInputProvider,
  XmlDocument,
  xmlRegisterInputProvider,
  XsdValidator,
} from "libxml2-wasm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EBMS_ERRORS, isEbmsErrorCode, meaningOf, NOT_SERVICED } from "../../engine/peppol/as4/ebms-errors.js";
import { errorXml, receiptXml } from "../../engine/peppol/as4/signal.js";
import { TEST_ACTION, TEST_SERVICE, userMessageXml } from "../../engine/peppol/as4/user-message.js";
import type { UserMessage } from "../../engine/peppol/as4/user-message.js";
import { conformanceBytes, describeConformance } from "../support/conformance.js";

const XML_NS = "http://www.w3.org/XML/1998/namespace";
const XML_XSD = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="${XML_NS}"><xs:attribute name="lang" type="xs:language"/></xs:schema>`;
const FILES = ["ebms-header-3_0-200704.xsd", "soap11.xsd", "soap12.xsd"];

const message: UserMessage = {
  messageId: "a@b",
  timestamp: "2026-11-20T10:00:00.000Z",
  fromParty: "PSK000001",
  toParty: "PSK000002",
  service: "urn:p",
  serviceType: "cenbii-procid-ubl",
  action: "busdox-docid-qns::urn:x",
  conversationId: "1",
  originalSender: "0245:1",
  finalRecipient: "0245:2",
};
const outgoing = { ...message, payloadHref: "cid:x@y", payloadMimeType: "application/xml" };
const info = { messageId: "r@b", timestamp: "2026-11-20T10:00:00Z", refToMessageId: "a@b" };
const references = [
  { uri: "#x", transform: "urn:t", prefixList: "S12 eb", digestMethod: "urn:d", digest: "AAAA" },
  { uri: "cid:x@y", transform: "urn:t", digestMethod: "urn:d", digest: "AAAA" },
];

describeConformance("headers against ebms-header-3_0-200704.xsd", "as4/xsd", () => {
  let provider: XmlBufferInputProvider;
  let validator: XsdValidator;
  beforeAll(() => {
    // The import of the xml namespace names no file, and the file is not among the data: one attribute is all it needs.
    const texts = FILES.map((name): [string, string] => [
      `mem:///${name}`,
      conformanceBytes("as4/xsd", name)
        .toString("utf8")
        .replace(`<xsd:import namespace="${XML_NS}" />`, `<xsd:import namespace="${XML_NS}" schemaLocation="xml.xsd"/>`)
        .replace(`<xs:import namespace="${XML_NS}" />`, `<xs:import namespace="${XML_NS}" schemaLocation="xml.xsd"/>`),
    ]);
    provider = new XmlBufferInputProvider(
      Object.fromEntries(
        [...texts, ["mem:///xml.xsd", XML_XSD] as const].map(([url, text]) => [url, Buffer.from(text)]),
      ),
    );
    xmlRegisterInputProvider(provider);
    const schema = XmlDocument.fromString(texts[0]?.[1] ?? "", {
      url: "mem:///ebms.xsd",
      option: ParseOption.XML_PARSE_DEFAULT,
    });
    validator = XsdValidator.fromDoc(schema);
    schema.dispose();
  });
  afterAll(() => {
    validator.dispose();
    xmlCleanupInputProvider();
  });

  const validate = (xml: string): void => {
    const document = XmlDocument.fromString(xml);
    try {
      validator.validate(document);
    } finally {
      document.dispose();
    }
  };

  test("the schema is at work: a header with a changed element is refused", () => {
    expect(() => validate(userMessageXml("M-1", outgoing).replaceAll("eb:PartyId", "eb:Party"))).toThrow();
  });

  test("user messages that we write are valid by the schema", () => {
    validate(userMessageXml("M-1", outgoing));
    validate(
      userMessageXml("M-1", { ...outgoing, service: TEST_SERVICE, serviceType: undefined, action: TEST_ACTION }),
    );
  });

  test("receipts that we write are valid by the schema", () => validate(receiptXml("M-1", info, references)));

  test("every error that we write is valid by the schema, with and without detail and reference", () => {
    const anonymous = { messageId: info.messageId, timestamp: info.timestamp };
    for (const code of Object.keys(EBMS_ERRORS).filter(isEbmsErrorCode)) {
      validate(errorXml("M-1", info, { code }));
      validate(errorXml("M-1", anonymous, { code, detail: NOT_SERVICED }));
    }
  });
});

test("the codes of the ebMS and AS4 tables are all known, and phase4's own", () => {
  const names = Object.entries(EBMS_ERRORS).map(
    ([code, row]) => `${code.slice(5)} ${row.name}${row.severity === "warning" ? " (warning)" : ""}`,
  );
  expect(names.join(" · ")).toBe(
    "0001 ValueNotRecognized · 0002 FeatureNotSupported (warning) · 0003 ValueInconsistent · 0004 Other · 0005 ConnectionFailure (warning) · " +
      "0006 EmptyMessagePartitionChannel (warning) · 0007 MimeInconsistency · 0008 FeatureNotSupportedInconsistency · 0009 InvalidHeader · " +
      "0010 ProcessingModeMismatch · 0011 ExternalPayloadError · 0101 FailedAuthentication · 0102 FailedDecryption · 0103 PolicyNoncompliance · " +
      "0201 DysfunctionalReliability · 0202 DeliveryFailure · 0301 MissingReceipt · 0302 InvalidReceipt · 0303 DecompressionFailure · 4001 DuplicateDetected",
  );
});

test("a code nobody knows is permanent, and one named like a member of every object as well", () => {
  for (const code of ["EBMS:9999", "", "constructor", "__proto__"]) {
    expect(
      meaningOf({ code, severity: "failure", detail: undefined, description: undefined, refToMessageId: undefined }),
    ).toBe("permanent");
  }
});
