/** Which reports are due, and what months are. */
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { classifyInbound } from "../../../engine/peppol/responses/inbound-kind.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { INVOICE_RESPONSE_DOCUMENT_TYPE } from "../../../engine/peppol/responses/invoice-response.js";
import { MLS_DOCUMENT_TYPE } from "../../../engine/peppol/responses/mls.js";
import {
  addMonths,
  dueReports,
  isCountry,
  monthBounds,
  monthOf,
  parseMonth,
  REPORT_DOCUMENT_TYPES,
} from "../../../engine/peppol/reporting.js";

const at = (text: string): number => Date.parse(text) + LIMITS.report_delay_ms;

test("a month is a UTC month, whatever the local day", () => {
  expect(monthOf(Date.parse("2026-12-31T23:59:59.999Z"))).toBe("2026-12");
  expect(monthOf(Date.parse("2027-01-01T00:30:00+01:00"))).toBe("2026-12");
  expect(monthBounds("2027-02")).toEqual({
    from: Date.parse("2027-02-01T00:00:00Z"),
    to: Date.parse("2027-03-01T00:00:00Z"),
  });
  expect([addMonths("2026-12", 1), addMonths("2026-01", -1), addMonths("2026-11", -23)]).toEqual([
    "2027-01",
    "2025-12",
    "2024-12",
  ]);
  expect(["2026-13", "2026-00", "2026-1", "26-01", "2026-01-01", ""].map(parseMonth)).toEqual(
    Array.from({ length: 6 }, () => undefined),
  );
});

test("both reports of the month that is over are due, some hours after its end, and not before", () => {
  expect(dueReports(at("2026-12-01T00:00:00Z") - 1, { TSR: "2026-10", EUSR: "2026-10" })).toEqual([]);
  expect(dueReports(at("2026-12-01T00:00:00Z"), { TSR: "2026-10", EUSR: "2026-10" })).toEqual([
    { type: "TSR", month: "2026-11" },
    { type: "EUSR", month: "2026-11" },
  ]);
});

test("what was reported is not due again; what a standstill left out is made up for, oldest first", () => {
  expect(dueReports(at("2026-12-20T00:00:00Z"), { TSR: "2026-11", EUSR: "2026-08" })).toEqual([
    { type: "EUSR", month: "2026-09" },
    { type: "EUSR", month: "2026-10" },
    { type: "EUSR", month: "2026-11" },
  ]);
});

test("a new provider begins with the last month; a standstill of years is made up for in steps", () => {
  expect(dueReports(at("2026-12-20T00:00:00Z"), {}).map(({ month }) => month)).toEqual(["2026-11", "2026-11"]);
  const months = dueReports(at("2036-01-01T00:00:00Z"), { TSR: "2026-12", EUSR: "2035-12" });
  expect(months).toHaveLength(LIMITS.report_months_max);
  expect(months[0]).toEqual({ type: "TSR", month: "2027-01" });
});

test("countries are those of the code list", () => {
  expect(["SK", "EL", "XK", "1A", "XI", "QQ", "ZZ", "sk"].map(isCountry)).toEqual([
    true,
    true,
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test.each([
  [BILLING_CAPABILITIES[0]?.documentTypeId ?? "", "business"],
  [`busdox-docid-qns::${MLS_DOCUMENT_TYPE}`, "mls"],
  [MLS_DOCUMENT_TYPE, "mls"],
  [MLS_DOCUMENT_TYPE.replace("mls:1.0", "mls:1.1"), "mls"],
  [MLS_DOCUMENT_TYPE.replace("mls:1.0", "mls:2.0"), "business"],
  [INVOICE_RESPONSE_DOCUMENT_TYPE, "invoice_response"],
  [REPORT_DOCUMENT_TYPES.TSR, "report"],
  [REPORT_DOCUMENT_TYPES.EUSR, "report"],
  [
    "urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2::ApplicationResponse##urn:fdc:peppol.eu:poacc:trns:mlr:3::2.1",
    "business",
  ],
  ["nonsense", "business"],
] as const)("a document type is counted as what it is: %s is %s", (documentTypeId, kind) => {
  expect(classifyInbound(documentTypeId)).toBe(kind);
});
