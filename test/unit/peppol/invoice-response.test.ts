/** Peppol Invoice Response: what we write passes grammar and rules; what buyers write is read. */
import { expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { buildInvoiceResponse } from "../../../engine/peppol/responses/invoice-response.js";
import { RESPONSE_CODES, RESPONSE_OF_STATUS } from "../../../engine/lifecycle/response.js";
import type { ResponseStatus } from "../../../engine/lifecycle/response.js";
import type { NewInvoiceResponse } from "../../../engine/peppol/responses/invoice-response.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import { validateDocument } from "../../../validators/validate.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../../support/conformance.js";
import { invoiceResponseIn } from "../../support/as4/responses.js";

const BASE: NewInvoiceResponse = {
  id: "0197a000-0000-7000-8000-000000000001",
  issuedAt: Date.parse("2026-11-20T09:00:00Z"),
  code: "AB",
  note: undefined,
  sender: { participant: "0245:2020202020" as ParticipantId, name: "Buyer & sons" },
  receiver: { participant: "0245:1010101010" as ParticipantId, name: "Seller <a.s.>" },
  invoice: { number: "F-2026/1", issueDate: "2026-11-19", typeCode: "380" },
};
const findings = (bytes: Buffer): string[] =>
  validateDocument(bytes, { day: "2026-11-20", limits: SCAN_LIMITS }).findings.map(({ ruleId }) => ruleId);

test.each(
  RESPONSE_CODES.flatMap((code) =>
    [undefined, "", "The order number is missing.", "x\u{1}".repeat(5_000)].map((note) => [code, note] as const),
  ),
)("a response %s with note %j passes grammar and rules without a warning, and is read back", (code, note) => {
  const bytes = buildInvoiceResponse({ ...BASE, code, note });
  expect(findings(bytes)).toEqual([]);
  expect(invoiceResponseIn(bytes)).toMatchObject({
    id: BASE.id,
    issuedAt: BASE.issuedAt,
    code,
    sender: BASE.sender.participant,
    receiver: BASE.receiver.participant,
    invoice: BASE.invoice,
  });
});

test.each([
  ["2026-11-22T22:59:59Z", "2026-11-22", "23:59:59+01:00"],
  ["2026-11-22T23:17:51.900Z", "2026-11-23", "00:17:51+01:00"],
  ["2026-07-01T22:00:00Z", "2026-07-02", "00:00:00+02:00"],
])("an answer made at %s bears the day and the time in Slovakia, as invoices do: %s %s", (at, day, time) => {
  const issuedAt = Date.parse(at);
  const bytes = buildInvoiceResponse({ ...BASE, issuedAt });
  expect(bytes.toString()).toContain(`<cbc:IssueDate>${day}</cbc:IssueDate><cbc:IssueTime>${time}</cbc:IssueTime>`);
  expect(findings(bytes)).toEqual([]);
  expect(invoiceResponseIn(bytes)).toMatchObject({ issuedOn: day, issuedAt: Math.floor(issuedAt / 1_000) * 1_000 });
});

test("the invoice of an answer is its first reference; what stands behind it is kept, up to a limit", () => {
  const text = buildInvoiceResponse(BASE).toString();
  const naming = (ids: readonly string[]) =>
    invoiceResponseIn(
      Buffer.from(
        text.replace("</cac:DocumentReference>", (end) =>
          [end, ...ids.map((id) => `<cac:DocumentReference><cbc:ID>${id}</cbc:ID></cac:DocumentReference>`)].join(""),
        ),
      ),
    );
  expect(naming([])).toMatchObject({ invoice: BASE.invoice, otherReferences: [] });
  expect(naming([" PO-1 ", "", "C-1"])).toMatchObject({ invoice: BASE.invoice, otherReferences: ["PO-1", "C-1"] });
  const many = Array.from({ length: LIMITS.response_references_max + 5 }, (_, i) => `R-${i}`);
  expect(naming(many)).toMatchObject({ otherReferences: many.slice(0, LIMITS.response_references_max) });
});

test("each answer of a firm has its code", () => {
  const expected: Record<ResponseStatus, string> = {
    received: "AB",
    in_process: "IP",
    under_query: "UQ",
    conditionally_accepted: "CA",
    rejected: "RE",
    accepted: "AP",
    paid: "PD",
  };
  expect(RESPONSE_OF_STATUS).toEqual(expected);
});

test("an answer without the number of its invoice, or of another kind, is refused", () => {
  const text = buildInvoiceResponse(BASE).toString();
  expect(invoiceResponseIn(Buffer.from(text.replace("F-2026/1", " ")))).toBe("invoice");
  expect(invoiceResponseIn(Buffer.from(text.replace(">AB<", ">ZZ<")))).toBe("code");
  expect(invoiceResponseIn(Buffer.from(text.replace("trns:invoice_response:3", "trns:order_response:3")))).toBe(
    "customization",
  );
  expect(invoiceResponseIn(Buffer.from(text.replace("2026-11-20", "2026-11-31")))).toBe("issued");
  expect(invoiceResponseIn(Buffer.from("<x/>"))).toBe("not_readable");
});

describeConformance("published invoice responses", "documents/invoice-response", () => {
  test("every published Invoice Response is read, with its reasons", () => {
    const files = conformanceFiles("documents/invoice-response", ".xml");
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const read = invoiceResponseIn(conformanceBytes("documents/invoice-response", file));
      expect({ file, fault: typeof read === "string" ? read : undefined }).toEqual({ file, fault: undefined });
    }
    const rejected = invoiceResponseIn(
      conformanceBytes("documents/invoice-response", "T111-uc004b-Rejected requesting reissue.xml"),
    );
    expect(rejected).toMatchObject({
      code: "RE",
      invoice: { number: "inv021", issueDate: undefined, typeCode: "380" },
      reasons: [
        { list: "OPStatusReason", code: "REF", text: undefined },
        { list: "OPStatusAction", code: "NIN", text: undefined },
      ],
    });
  });
});
