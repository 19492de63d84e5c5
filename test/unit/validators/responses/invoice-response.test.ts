/** The Peppol Invoice Response: every published rule has a document that breaks it, made from one that breaks none. */
import { expect, test } from "vitest";
import { invoiceResponseRules } from "../../../../validators/rules/invoice-response/invoice-response.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../../../support/conformance.js";
import { documentOf } from "../../../support/validators/packs.js";

const rules = invoiceResponseRules();

const failed = (xml: string | Buffer): string[] =>
  rules.run(documentOf(Buffer.from(xml)), 1_000).findings.map(({ ruleId }) => ruleId);

const party = (role: string, endpoint: string): string =>
  `<cac:${role}><cbc:EndpointID schemeID="0088">${endpoint}</cbc:EndpointID><cac:PartyIdentification><cbc:ID schemeID="0184">DK88776655</cbc:ID>` +
  `</cac:PartyIdentification><cac:PartyLegalEntity><cbc:RegistrationName>Name</cbc:RegistrationName></cac:PartyLegalEntity></cac:${role}>`;
const named = (role: string): string =>
  `<cac:${role}><cac:PartyIdentification><cbc:ID schemeID="0192">987654325</cbc:ID></cac:PartyIdentification><cac:PartyName><cbc:Name>Name</cbc:Name></cac:PartyName></cac:${role}>`;
const CONTACT =
  "<cac:Contact><cbc:Name>Jens</cbc:Name><cbc:Telephone>23</cbc:Telephone><cbc:ElectronicMail>a@b.c</cbc:ElectronicMail></cac:Contact>";
const REASON =
  '<cac:Status><cbc:StatusReasonCode listID="OPStatusReason">REF</cbc:StatusReasonCode><cbc:StatusReason>Text</cbc:StatusReason>' +
  "<cac:Condition><cbc:AttributeID>BT-48</cbc:AttributeID><cbc:Description>EU1</cbc:Description></cac:Condition></cac:Status>";
const RESPONSE = `<?xml version="1.0" encoding="UTF-8"?><ApplicationResponse xmlns="urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2"
  xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <cbc:CustomizationID>urn:fdc:peppol.eu:poacc:trns:invoice_response:3</cbc:CustomizationID>
  <cbc:ProfileID>urn:fdc:peppol.eu:poacc:bis:invoice_response:3</cbc:ProfileID>
  <cbc:ID>1</cbc:ID><cbc:IssueDate>2026-11-20</cbc:IssueDate><cbc:IssueTime>12:00:00</cbc:IssueTime><cbc:Note>Note</cbc:Note>
  ${party("SenderParty", "7330001000000").replace("</cac:SenderParty>", `${CONTACT}</cac:SenderParty>`)}${party("ReceiverParty", "5798000012349")}
  <cac:DocumentResponse><cac:Response><cbc:ResponseCode>RE</cbc:ResponseCode><cbc:EffectiveDate>2026-11-20</cbc:EffectiveDate>${REASON}</cac:Response>
  <cac:DocumentReference><cbc:ID>inv</cbc:ID><cbc:IssueDate>2026-11-01</cbc:IssueDate><cbc:DocumentTypeCode>380</cbc:DocumentTypeCode></cac:DocumentReference>
  ${named("IssuerParty")}${named("RecipientParty")}</cac:DocumentResponse></ApplicationResponse>`;

/** Cuts the n-th (from 1) occurrence of a piece of the response, or replaces it. */
function change(piece: RegExp, by = "", occurrence = 1): string {
  let seen = 0;
  const changed = RESPONSE.replace(new RegExp(piece.source, "gsu"), (text) => ((seen += 1) === occurrence ? by : text));
  expect(changed).not.toBe(RESPONSE);
  return changed;
}

const UNKNOWN = "<cbc:Description>unknown here</cbc:Description>";
const SENDER = /(?<=<cac:SenderParty>)/u,
  RECEIVER = /(?<=<cac:ReceiverParty>)/u;

/** rule → a response that breaks it; the other rules it breaks come behind it. */
const BROKEN: Readonly<Record<string, readonly [document: string, ...also: string[]]>> = {
  "PEPPOL-T111-B00101": [change(/<cbc:CustomizationID>.*<\/cbc:CustomizationID>/u)],
  "PEPPOL-T111-B00102": [change(/<cbc:ProfileID>.*<\/cbc:ProfileID>/u)],
  "PEPPOL-T111-B00103": [change(/<cbc:ID>1<\/cbc:ID>/u)],
  "PEPPOL-T111-B00104": [change(/<cbc:IssueDate>2026-11-20<\/cbc:IssueDate>/u)],
  "PEPPOL-T111-B00105": [change(/<cac:SenderParty>.*<\/cac:SenderParty>/u)],
  "PEPPOL-T111-B00106": [change(/<cac:ReceiverParty>.*<\/cac:ReceiverParty>/u)],
  "PEPPOL-T111-B00107": [change(/<cac:DocumentResponse>.*<\/cac:DocumentResponse>/u)],
  "PEPPOL-T111-B00108": [
    change(
      /<ApplicationResponse /u,
      '<ApplicationResponse xmlns:x="http://www.w3.org/2001/XMLSchema-instance" x:schemaLocation="a b" ',
    ),
    "PEPPOL-COMMON-R003",
  ],
  "PEPPOL-T111-B00109": [change(/<cac:SenderParty>/u, `${UNKNOWN}<cac:SenderParty>`)],
  "PEPPOL-T111-B00801": [change(/<cbc:EndpointID.*?<\/cbc:EndpointID>/u)],
  "PEPPOL-T111-B00802": [change(/<cac:PartyLegalEntity>.*?<\/cac:PartyLegalEntity>/u)],
  "PEPPOL-T111-B00803": [change(SENDER, UNKNOWN)],
  "PEPPOL-T111-B00901": [change(/<cbc:EndpointID schemeID="0088">/u, "<cbc:EndpointID>")],
  "PEPPOL-T111-B00902": [change(/<cbc:EndpointID schemeID="0088">/u, '<cbc:EndpointID schemeID="9999">')],
  "PEPPOL-T111-B01101": [
    change(
      /<cac:PartyIdentification>.*?<\/cac:PartyIdentification>/u,
      `<cac:PartyIdentification>${UNKNOWN}</cac:PartyIdentification>`,
    ),
  ],
  "PEPPOL-T111-B01201": [change(/<cbc:ID schemeID="0184">/u, '<cbc:ID schemeID="9999">')],
  "PEPPOL-T111-B01401": [change(/<cbc:RegistrationName>Name<\/cbc:RegistrationName>/u, UNKNOWN), "PEPPOL-T111-B01402"],
  "PEPPOL-T111-B01402": [change(/<cac:PartyLegalEntity>/u, `<cac:PartyLegalEntity>${UNKNOWN}`)],
  "PEPPOL-T111-B01601": [change(/<cac:Contact>/u, `<cac:Contact>${UNKNOWN}`)],
  "PEPPOL-T111-B02001": [change(/<cbc:EndpointID.*?<\/cbc:EndpointID>/u, "", 2)],
  "PEPPOL-T111-B02002": [change(/<cac:PartyLegalEntity>.*?<\/cac:PartyLegalEntity>/u, "", 2)],
  "PEPPOL-T111-B02003": [change(RECEIVER, UNKNOWN)],
  "PEPPOL-T111-B02101": [change(/<cbc:EndpointID schemeID="0088">/u, "<cbc:EndpointID>", 2)],
  "PEPPOL-T111-B02102": [change(/<cbc:EndpointID schemeID="0088">/u, '<cbc:EndpointID schemeID="9999">', 2)],
  "PEPPOL-T111-B02301": [
    change(
      /<cac:PartyIdentification>.*?<\/cac:PartyIdentification>/u,
      `<cac:PartyIdentification>${UNKNOWN}</cac:PartyIdentification>`,
      2,
    ),
  ],
  "PEPPOL-T111-B02401": [change(/<cbc:ID schemeID="0184">/u, '<cbc:ID schemeID="9999">', 2)],
  "PEPPOL-T111-B02601": [
    change(/<cbc:RegistrationName>Name<\/cbc:RegistrationName>/u, UNKNOWN, 2),
    "PEPPOL-T111-B02602",
  ],
  "PEPPOL-T111-B02602": [change(/<cac:PartyLegalEntity>/u, `<cac:PartyLegalEntity>${UNKNOWN}`, 2)],
  "PEPPOL-T111-B02801": [change(/<cac:Response>.*<\/cac:Response>/u)],
  "PEPPOL-T111-B02802": [change(/<cac:DocumentReference>.*<\/cac:DocumentReference>/u)],
  "PEPPOL-T111-B02803": [change(/<cac:DocumentResponse>/u, `<cac:DocumentResponse>${UNKNOWN}`)],
  "PEPPOL-T111-B02901": [change(/<cbc:ResponseCode>RE<\/cbc:ResponseCode>/u)],
  "PEPPOL-T111-B02902": [change(/<cac:Response>/u, `<cac:Response>${UNKNOWN}`)],
  "PEPPOL-T111-B03001": [change(/<cbc:ResponseCode>RE/u, "<cbc:ResponseCode>ZZ")],
  "PEPPOL-T111-B03201": [change(/<cac:Status>/u, `<cac:Status>${UNKNOWN}`)],
  "PEPPOL-T111-B03301": [change(/>REF</u, ">ZZZ<"), "PEPPOL-T111-R007"],
  "PEPPOL-T111-B03302": [change(/ listID="OPStatusReason"/u)],
  "PEPPOL-T111-B03303": [change(/ listID="OPStatusReason"/u, ' listID="Other"')],
  "PEPPOL-T111-B03601": [change(/<cbc:AttributeID>BT-48<\/cbc:AttributeID>/u)],
  "PEPPOL-T111-B03602": [change(/<cac:Condition>/u, "<cac:Condition><cbc:PositionID>1</cbc:PositionID>")],
  "PEPPOL-T111-B03901": [change(/<cbc:ID>inv<\/cbc:ID>/u)],
  "PEPPOL-T111-B03902": [change(/<cbc:DocumentTypeCode>380<\/cbc:DocumentTypeCode>/u)],
  "PEPPOL-T111-B03903": [change(/<cac:DocumentReference>/u, `<cac:DocumentReference>${UNKNOWN}`)],
  "PEPPOL-T111-B04201": [change(/>380</u, ">875<")],
  "PEPPOL-T111-B04301": [change(/<cac:PartyName>.*?<\/cac:PartyName>/u)],
  "PEPPOL-T111-B04302": [change(/<cac:IssuerParty>/u, `<cac:IssuerParty>${UNKNOWN}`)],
  "PEPPOL-T111-B04401": [change(/<cbc:ID schemeID="0192">.*?<\/cbc:ID>/u, UNKNOWN)],
  "PEPPOL-T111-B04501": [change(/<cbc:ID schemeID="0192">/u, '<cbc:ID schemeID="9999">')],
  "PEPPOL-T111-B04701": [change(/(?<=<cac:PartyName>)<cbc:Name>Name<\/cbc:Name>/u, UNKNOWN)],
  "PEPPOL-T111-B04901": [change(/<cac:PartyName>.*?<\/cac:PartyName>/u, "", 2)],
  "PEPPOL-T111-B04902": [change(/<cac:RecipientParty>/u, `<cac:RecipientParty>${UNKNOWN}`)],
  "PEPPOL-T111-B05001": [change(/<cbc:ID schemeID="0192">.*?<\/cbc:ID>/u, UNKNOWN, 2)],
  "PEPPOL-T111-B05101": [change(/<cbc:ID schemeID="0192">/u, '<cbc:ID schemeID="9999">', 2)],
  "PEPPOL-T111-B05301": [change(/(?<=<cac:PartyName>)<cbc:Name>Name<\/cbc:Name>/u, UNKNOWN, 2)],
  "PEPPOL-T111-R001": [change(/<cac:Status>.*<\/cac:Status>/u)],
  "PEPPOL-T111-R002": [change(/>REF<.*?<cac:Condition>/u, ">OTH</cbc:StatusReasonCode><cac:Condition>")],
  "PEPPOL-T111-R003": [change(/invoice_response:3<\/cbc:C/u, "other:3</cbc:C")],
  "PEPPOL-T111-R004": [change(/>REF<.*?<cac:Condition>/u, ">PPD</cbc:StatusReasonCode><cac:Condition>")],
  "PEPPOL-T111-R006": [change(/listID="OPStatusReason"/u, 'listID="OPStatusAction"')],
  "PEPPOL-T111-R007": [change(/>REF</u, ">PIN<")],
  "PEPPOL-T111-R008": [change(/bis:invoice_response:3/u, "bis:other:3")],
  "PEPPOL-COMMON-R001": [change(/>Note</u, "><")],
  "PEPPOL-COMMON-R030": [change(/2026-11-01/u, "2026-11-31")],
  "PEPPOL-COMMON-R040": [change(/7330001000000/u, "7330001000001")],
};

test("a complete response breaks no rule", () => {
  expect(failed(RESPONSE)).toEqual([]);
});

test.each(Object.entries(BROKEN))("%s is broken alone, or with the rules it goes with", (id, [document, ...also]) => {
  expect(failed(document).sort()).toEqual([id, ...also].sort());
});

test("every published rule is there, and every one but those that cannot fail or are shared with billing has its document", () => {
  const ids = rules.catalogue.map(({ id }) => id);
  expect(ids).toHaveLength(82);
  expect(new Set(ids).size).toBe(82);
  const shared = ids.filter((id) => /^PEPPOL-COMMON-R0(?:4[1-9]|5\d)/u.test(id));
  const untested = ids.filter((id) => !(id in BROKEN) && !shared.includes(id));
  expect(untested).toEqual(["PEPPOL-COMMON-R003", "PEPPOL-T111-R005"]);
});

test("the billing process with response is a process of its own", () => {
  expect(
    failed(change(/urn:fdc:peppol.eu:poacc:bis:invoice_response:3/u, "urn:peppol:bis:billing_with_response")),
  ).toEqual([]);
});

test("a reason PPD without explanation is one finding, whatever the status", () => {
  expect(failed(change(/>REF<.*?<cac:Condition>/u, ">PPD</cbc:StatusReasonCode><cac:Condition>"))).toEqual([
    "PEPPOL-T111-R004",
  ]);
});

describeConformance("published invoice responses", "documents/invoice-response", () => {
  test("published invoice responses break no rule", () => {
    const files = conformanceFiles("documents/invoice-response", ".xml");
    for (const file of files)
      expect({ file, found: failed(conformanceBytes("documents/invoice-response", file)) }).toEqual({
        file,
        found: [],
      });
    expect(files.length).toBeGreaterThan(0);
  });
});
