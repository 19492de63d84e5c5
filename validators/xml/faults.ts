/** What the scanner refuses, by rule id. The first fault ends the scan: nothing behind it can be trusted. */

/** Rule id → what is wrong and what to do. */
export const XML_FAULTS = {
  "XML-EMPTY": "The payload is empty. Send the XML document.",
  "XML-LIMIT-PAYLOAD": "The payload is larger than the limit. Send a smaller document.",
  "XML-ENCODING": "The document is not encoded in UTF-8. Encode it in UTF-8 and declare no other encoding.",
  "XML-UTF8":
    "From this line on the payload holds bytes that are not valid UTF-8, as Latin-1 or Windows-1250 text does. Encode the document in UTF-8.",
  "XML-IS-GZIP": "The payload is compressed with gzip. Send the XML document uncompressed.",
  "XML-IS-PDF": "The payload is a PDF. Send the UBL XML document; a PDF can be attached inside it.",
  "XML-IS-ZIP": "The payload is a ZIP archive. Send the XML document that is in it.",
  "XML-IS-JSON": "The payload is JSON. Send a UBL 2.1 XML document.",
  "XML-DECLARATION":
    'The XML declaration is malformed, or not the first thing of the document. Write <?xml version="1.0" encoding="UTF-8"?>.',
  "XML-DOCTYPE": "Document type declarations are not accepted. Remove the DOCTYPE.",
  "XML-INSTRUCTION": "A processing instruction is malformed. Correct or remove it.",
  "XML-COMMENT": "A comment is malformed: two hyphens may only end it. Correct or remove it.",
  "XML-NO-ELEMENT": "There is no document element. Send an XML document.",
  "XML-CHARACTER": "The document holds a character that XML 1.0 does not allow. Remove it.",
  "XML-REFERENCE":
    "An ampersand begins no reference that XML knows. Write &amp; where the character itself is meant; besides there are only &lt; &gt; &apos; &quot; and references to allowed characters.",
  "XML-TAG": "A tag is malformed. Correct the markup.",
  "XML-NAME": "A name is malformed. Use an XML name with at most one colon.",
  "XML-ATTRIBUTE": 'An attribute is malformed. Write name="value" with white space before it and no < inside.',
  "XML-ATTRIBUTE-REPEATED": "An element has the same attribute twice. Keep one of them.",
  "XML-PREFIX": "A namespace prefix is not declared. Declare it with xmlns:prefix, or correct its spelling.",
  "XML-NAMESPACE":
    "A namespace declaration is not allowed: the prefixes xml and xmlns are reserved, and a prefix needs a namespace.",
  "XML-END-TAG":
    "An end tag does not match the open element. Write its name exactly as in the start tag, capitals included, and close elements in the reverse order in which they were opened.",
  "XML-TRUNCATED": "The document ends before it is complete. Send all of it.",
  "XML-CDATA-END": "Text must not hold ]]>. Write ]]&gt;.",
  "XML-SECOND-ROOT": "There is more than one document element. Send one document per payload.",
  "XML-TRAILING": "Something other than comments and white space follows the document element. Remove it.",
  "XML-LIMIT-DEPTH": "Elements are nested more deeply than the limit. Send a flatter document.",
  "XML-LIMIT-ATTRIBUTES": "An element has more attributes than the limit. Remove attributes.",
  "XML-LIMIT-NAME-LENGTH": "A name is longer than the limit. Use shorter names.",
  "XML-LIMIT-NAMES": "The document uses more different names than the limit. Use fewer names.",
  "XML-LIMIT-ELEMENTS": "The document has more elements than the limit. Split it.",
  "XML-LIMIT-NAMESPACES":
    "The document has more namespace declarations than the limit. Declare namespaces once, on the document element.",
} as const;

export type XmlFaultId = keyof typeof XML_FAULTS;

/** Thrown inside the scanner, never out of it. */
export class ScanFault extends Error {
  readonly ruleId: XmlFaultId;
  /** Byte offset of the fault. */
  readonly offset: number;
  constructor(ruleId: XmlFaultId, offset: number) {
    super(ruleId);
    this.ruleId = ruleId;
    this.offset = offset;
  }
}
