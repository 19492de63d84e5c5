/** What a send is refused for once its UBL is read; each test quotes its row. */
import { describe, expect, test } from "vitest";

import type { DocumentFacts, Inspection } from "../../../../engine/documents/accept/facts.js";
import { issueDeadline, refuseSend, SEND_CHECKS } from "../../../../engine/documents/accept/send-checks.js";
import type { SendSubject } from "../../../../engine/documents/accept/send-checks.js";
import type { ParticipantId } from "../../../../engine/base/ids.js";
import { parseCalendarDay } from "../../../../engine/base/dates.js";
import {
  BILLING_CAPABILITIES,
  BILLING_CUSTOMIZATION,
  BILLING_PROCESS,
  SELF_BILLING_CUSTOMIZATION,
  SELF_BILLING_PROCESS,
  UBL_CREDIT_NOTE,
  UBL_INVOICE,
} from "../../../../engine/peppol/envelope/identifiers.js";

const invoiceType = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
const facts = (changes: Partial<DocumentFacts> = {}): DocumentFacts => ({
  rootNamespace: UBL_INVOICE,
  rootLocal: "Invoice",
  customizationId: BILLING_CUSTOMIZATION,
  profileId: BILLING_PROCESS,
  documentNumber: "1",
  issueDate: "2027-01-01",
  dueDate: undefined,
  taxPointDate: undefined,
  deliveryDate: undefined,
  invoicePeriodEnd: undefined,
  typeCode: "380",
  supplierEndpoint: { schemeId: "0245", value: "1111111111" },
  customerEndpoint: { schemeId: "0245", value: "2222222222" },
  precedingInvoiceIds: [],
  currency: "EUR",
  payableAmount: "1.00",
  buyerReference: undefined,
  orderReference: undefined,
  supplierCountry: "SK",
  customerCountry: "SK",
  supplierName: "S",
  customerName: "C",
  ...changes,
});
const inspection = (changes: Partial<Inspection> = {}): Inspection => ({
  valid: true,
  wellFormed: true,
  findings: [],
  facts: facts(),
  payloadSha256: "",
  ruleSet: "test",
  ...changes,
});
const subject = (changes: Partial<SendSubject> = {}): SendSubject => ({
  documentTypeId: invoiceType,
  processId: BILLING_PROCESS,
  sender: "0245:1111111111" as ParticipantId,
  receiver: "0245:2222222222" as ParticipantId,
  receivedAt: Date.parse("2026-11-20T10:00:00Z"),
  ...changes,
});
const finding = { ruleId: "BR-01", layer: "en16931", severity: "fatal", location: "/Invoice", message: "m" } as const;
const refusalOf = (s: SendSubject, i: Inspection) => {
  const refusal = refuseSend(s, i);
  return refusal === undefined ? undefined : [refusal.reason, refusal.details[0]?.issue];
};

describe("order", () => {
  test("rulings §2: well-formedness → type → endpoints → hand-off date → debit note → rules", () => {
    expect(SEND_CHECKS.map((check) => check.reason)).toEqual([
      "DOCUMENT_INVALID",
      "DOCUMENT_TYPE_MISMATCH",
      "SAPI-DOC-025",
      "SAPI-DOC-027",
      "SAPI-DOC-028",
      "SAPI-DOC-029",
      "DOCUMENT_INVALID",
    ]);
  });

  test("a document that breaks everything is refused by the first, and by the next one when that is mended", () => {
    const late = {
      receivedAt: Date.parse("2027-03-01T10:00:00Z"),
      documentTypeId: "x",
      sender: "0245:9" as ParticipantId,
    };
    const broken = facts({ issueDate: "2027-02-01", taxPointDate: "2027-01-01", typeCode: "383" });
    const bad = (f: DocumentFacts): Inspection => inspection({ valid: false, findings: [finding], facts: f });
    const steps: [Partial<SendSubject>, Inspection, string][] = [
      [
        late,
        inspection({ valid: false, wellFormed: false, findings: [finding], facts: undefined }),
        "DOCUMENT_INVALID",
      ],
      [late, bad(broken), "DOCUMENT_TYPE_MISMATCH"],
      [{ ...late, documentTypeId: invoiceType }, bad(broken), "SAPI-DOC-025"],
      [{ receivedAt: late.receivedAt }, bad(broken), "SAPI-DOC-027"],
      [{ receivedAt: late.receivedAt }, bad({ ...broken, issueDate: "2027-03-01", typeCode: "380" }), "SAPI-DOC-028"],
      [
        { receivedAt: late.receivedAt },
        bad({ ...broken, issueDate: "2027-03-01", taxPointDate: "2027-03-01" }),
        "SAPI-DOC-029",
      ],
      [
        { receivedAt: late.receivedAt },
        bad({ ...broken, issueDate: "2027-03-01", taxPointDate: "2027-03-01", typeCode: "380" }),
        "DOCUMENT_INVALID",
      ],
    ];
    for (const [changes, i, reason] of steps) expect(refuseSend(subject(changes), i)?.reason).toBe(reason);
  });
});

describe("rows", () => {
  test("422 VALIDATION: metadata.documentTypeId does not match the UBL root element, for example Invoice against CreditNote", () => {
    expect(
      refusalOf(subject(), inspection({ facts: facts({ rootNamespace: UBL_CREDIT_NOTE, rootLocal: "CreditNote" }) })),
    ).toEqual(["DOCUMENT_TYPE_MISMATCH", "document_type_mismatch"]);
    expect(refusalOf(subject({ documentTypeId: `busdox-docid-qns::${invoiceType}` }), inspection())).toBeUndefined();
  });

  test("422 SAPI-DOC-025: supplier or customer EndpointID differs from the metadata participants", () => {
    expect(refusalOf(subject({ sender: "0245:1111111112" as ParticipantId }), inspection())).toEqual([
      "SAPI-DOC-025",
      "supplier_endpoint_mismatch",
    ]);
    expect(refusalOf(subject({ receiver: "0158:2222222222" as ParticipantId }), inspection())).toEqual([
      "SAPI-DOC-025",
      "customer_endpoint_mismatch",
    ]);
    expect(
      refuseSend(subject(), inspection({ facts: facts({ supplierEndpoint: undefined, customerEndpoint: undefined }) }))
        ?.details,
    ).toHaveLength(2);
  });

  test("in self-billing the customer sends", () => {
    const swapped = facts({
      customizationId: SELF_BILLING_CUSTOMIZATION,
      profileId: SELF_BILLING_PROCESS,
      supplierEndpoint: { schemeId: "0245", value: "2222222222" },
      customerEndpoint: { schemeId: "0245", value: "1111111111" },
    });
    const declared = {
      documentTypeId: invoiceType.replace(BILLING_CUSTOMIZATION, SELF_BILLING_CUSTOMIZATION),
      processId: SELF_BILLING_PROCESS,
    };
    expect(refusalOf(subject(declared), inspection({ facts: swapped }))).toBeUndefined();
    const extension = `${SELF_BILLING_CUSTOMIZATION}#conformant#urn:x`;
    const extended = { ...declared, documentTypeId: invoiceType.replace(BILLING_CUSTOMIZATION, extension) };
    expect(
      refusalOf(subject(extended), inspection({ facts: { ...swapped, customizationId: extension } })),
    ).toBeUndefined();
    expect(
      refusalOf(
        subject(extended),
        inspection({ facts: facts({ customizationId: extension, profileId: SELF_BILLING_PROCESS }) }),
      ),
    ).toEqual(["SAPI-DOC-025", "customer_endpoint_mismatch"]);
  });

  test("422 SAPI-DOC-029: a debit note (383) lacks the original invoice number (BT-25)", () => {
    expect(refusalOf(subject(), inspection({ facts: facts({ typeCode: "383" }) }))).toEqual([
      "SAPI-DOC-029",
      "original_invoice_missing",
    ]);
    expect(
      refusalOf(subject(), inspection({ facts: facts({ typeCode: "383", precedingInvoiceIds: ["F-1"] }) })),
    ).toBeUndefined();
  });
});

describe("422 SAPI-DOC-027 and SAPI-DOC-028: from 1 January 2027, Europe/Bratislava", () => {
  test.each([
    ["2026-12-31T22:59:59Z", "2020-01-01", undefined],
    ["2026-12-31T23:00:00Z", "2027-01-01", undefined],
    ["2026-12-31T23:00:00Z", "2026-12-31", "SAPI-DOC-027"],
    ["2027-03-28T21:59:59Z", "2027-03-28", undefined],
    ["2027-03-28T22:00:00Z", "2027-03-28", "SAPI-DOC-027"],
    ["2027-10-30T22:00:00Z", "2027-10-31", undefined],
    ["2027-10-31T22:59:59Z", "2027-10-31", undefined],
    ["2027-10-31T23:00:00Z", "2027-11-01", undefined],
  ])("handed over at %s with IssueDate %s: %s", (instant, issueDate, reason) => {
    expect(
      refusalOf(subject({ receivedAt: Date.parse(instant) }), inspection({ facts: facts({ issueDate }) })),
    ).toEqual(reason === undefined ? undefined : [reason, "handoff_date_mismatch"]);
  });

  test.each([
    ["2027-01-20", "2027-01-05", undefined],
    ["2027-01-21", "2027-01-05", "SAPI-DOC-028"],
    ["2027-03-15", "2027-02-28", undefined],
    ["2028-03-15", "2028-02-29", undefined],
    ["2028-03-16", "2028-02-29", "SAPI-DOC-028"],
    ["2030-07-11", "2030-07-01", undefined],
    ["2030-07-12", "2030-07-01", "SAPI-DOC-028"],
  ])("issued on %s for a supply of %s: %s", (day, taxPointDate, reason) => {
    expect(
      refusalOf(
        subject({ receivedAt: Date.parse(`${day}T10:00:00Z`) }),
        inspection({ facts: facts({ issueDate: day, taxPointDate }) }),
      ),
    ).toEqual(reason === undefined ? undefined : [reason, "handoff_date_mismatch"]);
  });

  test("the day of supply is the tax point, else the delivery, else the end of the period; without any there is no deadline", () => {
    const of = (changes: Partial<DocumentFacts>) => issueDeadline(facts(changes), "2027-06-01")?.ordinal;
    const ordinal = (day: string) => parseCalendarDay(day)?.ordinal;
    expect(of({ taxPointDate: "2027-01-01", deliveryDate: "2027-02-01" })).toBe(ordinal("2027-01-16"));
    expect(of({ deliveryDate: "2027-02-01", invoicePeriodEnd: "2027-03-01" })).toBe(ordinal("2027-02-16"));
    expect(of({ invoicePeriodEnd: "2027-03-01" })).toBe(ordinal("2027-03-16"));
    expect(of({})).toBeUndefined();
  });

  test.each(["381", "383", "384", "457", "527"])(
    "a document of kind %s corrects or charges what was supplied before and has no deadline",
    (typeCode) => {
      expect(issueDeadline(facts({ typeCode, taxPointDate: "2020-01-01" }), "2027-06-01")).toBeUndefined();
    },
  );

  test("no credit note has a deadline", () => {
    const credit = { rootNamespace: UBL_CREDIT_NOTE, rootLocal: "CreditNote", taxPointDate: "2020-01-01" };
    expect(issueDeadline(facts({ ...credit, typeCode: "381" }), "2027-06-01")).toBeUndefined();
  });
});
