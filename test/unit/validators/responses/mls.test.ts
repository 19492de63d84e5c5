/** Message Level Status: what a provider may and may not say about a document it was given. */
import { expect, test } from "vitest";
import { mlsRules } from "../../../../validators/rules/mls/mls.js";
import { documentOf } from "../../../support/validators/packs.js";

const rules = mlsRules();

interface Status {
  code?: string;
  description?: string;
  sender?: string;
  scheme?: string;
  time?: string;
  issues?: readonly string[];
}

const issue = (reason: string, description = "text"): string =>
  `<cac:LineResponse><cac:LineReference><cbc:LineID>NA</cbc:LineID></cac:LineReference><cac:Response>` +
  `<cbc:Description>${description}</cbc:Description><cac:Status><cbc:StatusReasonCode>${reason}</cbc:StatusReasonCode></cac:Status></cac:Response></cac:LineResponse>`;

const status = ({
  code = "AP",
  description = "",
  sender = "987654",
  scheme = "0242",
  time = "12:00:00Z",
  issues = [],
}: Status): string =>
  `<ApplicationResponse xmlns="urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"><cbc:CustomizationID>urn:peppol:edec:mls:1.0</cbc:CustomizationID>
    <cbc:ProfileID>urn:peppol:edec:mls</cbc:ProfileID><cbc:ID>1</cbc:ID><cbc:IssueDate>2026-11-20</cbc:IssueDate><cbc:IssueTime>${time}</cbc:IssueTime>
    <cac:SenderParty><cbc:EndpointID schemeID="${scheme}">${sender}</cbc:EndpointID></cac:SenderParty><cac:ReceiverParty><cbc:EndpointID schemeID="0242">123456</cbc:EndpointID></cac:ReceiverParty>
    <cac:DocumentResponse><cac:Response><cbc:ResponseCode>${code}</cbc:ResponseCode>${description === "" ? "" : `<cbc:Description>${description}</cbc:Description>`}</cac:Response>
    <cac:DocumentReference><cbc:ID>instance</cbc:ID></cac:DocumentReference>${issues.join("")}</cac:DocumentResponse></ApplicationResponse>`;

const failed = (fields: Status): string[] =>
  rules.run(documentOf(Buffer.from(status(fields))), 100).findings.map(({ ruleId }) => ruleId);

test.each(["AP", "AB"])("a positive status %s may carry warnings and no failure", (code) => {
  expect(failed({ code })).toEqual([]);
  expect(failed({ code, issues: [issue("BW")] })).toEqual([]);
  for (const reason of ["BV", "FD", "SV"])
    expect(failed({ code, issues: [issue("BW"), issue(reason)] }), reason).toEqual(["SCH-MLS-25"]);
});

test("a rejection explains itself and names at least one failure", () => {
  for (const reason of ["BV", "FD", "SV"])
    expect(failed({ code: "RE", description: "text", issues: [issue(reason)] }), reason).toEqual([]);
  expect(failed({ code: "RE" })).toEqual(["SCH-MLS-20", "SCH-MLS-21", "SCH-MLS-23", "SCH-MLS-24"]);
  expect(failed({ code: "RE", description: " ", issues: [issue("BV")] })).toEqual(["SCH-MLS-21"]);
  expect(failed({ code: "RE", description: "text", issues: [issue("BW")] })).toEqual(["SCH-MLS-24"]);
});

test("codes are the published ones, in capitals and alone", () => {
  for (const code of ["XX", "re", "AP AB", ""]) expect(failed({ code }), code).toContain("SCH-MLS-19");
  for (const reason of ["XX", "bw", "BW FD", ""])
    expect(failed({ issues: [issue(reason)] }), reason).toEqual(["SCH-MLS-31"]);
});

test("providers are known by six digits and two optional parts, letters in any case, in scheme 0242", () => {
  for (const sender of ["987654", "987654-ABC", "987654-abc_1", "987654-ABC.X-1"])
    expect(failed({ sender }), sender).toEqual([]);
  for (const sender of ["98765", "9876543", "987654-AB", "987654.ABC", "POP987654"])
    expect(failed({ sender }), sender).toEqual(["SCH-MLS-09"]);
  expect(failed({ scheme: "0088" })).toEqual(["SCH-MLS-11"]);
});

test("the time of issue has a time zone", () => {
  for (const time of ["12:00:00Z", "12:00:00+02:00", "12:00:00.5-11:30"]) expect(failed({ time }), time).toEqual([]);
  expect(failed({ time: "12:00:00" })).toEqual(["SCH-MLS-06"]);
});
