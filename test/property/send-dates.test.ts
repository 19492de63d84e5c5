/**
 * Rules on dates against whatever stands where a date should: malformed, extreme and valid texts in every date that a rule
 * reads, around 2027-01-01 and both changes of the clock. Nothing throws, a date that is none is a finding of the rules and
 * never SAPI-DOC-027 or SAPI-DOC-028, and for dates that are, a small model of its own says the code.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { bratislavaDay } from "../../engine/base/clock.js";
import { parseCalendarDay } from "../../engine/base/dates.js";
import type { ParticipantId } from "../../engine/base/ids.js";
import { refuseSend } from "../../engine/documents/accept/send-checks.js";
import { sampleInvoice } from "../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../engine/peppol/envelope/identifiers.js";
import { validateDocument } from "../../validators/validate.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { seedFrom } from "../support/random.js";

const [SENDER, RECEIVER] = ["0245:1111111111", "0245:2222222222"] as ParticipantId[] as [ParticipantId, ParticipantId];
const INSTANTS = [
  "2026-12-30T12:00:00Z",
  "2026-12-31T22:59:59.999Z",
  "2026-12-31T23:00:00Z",
  "2027-01-01T12:00:00Z",
  "2027-01-16T22:59:59Z",
  "2027-01-16T23:00:00Z",
  "2027-03-28T00:59:59Z",
  "2027-03-28T01:00:00Z",
  "2027-03-28T21:59:59Z",
  "2027-03-28T22:00:00Z",
  "2027-10-30T22:00:00Z",
  "2027-10-31T00:59:59Z",
  "2027-10-31T01:00:00Z",
  "2027-10-31T22:59:59Z",
  "2027-10-31T23:00:00Z",
].map((text) => Date.parse(text));

/** Texts and whether each is a day; those that are, as a Date can count them. */
const MALFORMED = [
  "2026-13-01",
  "2026-11-32",
  "2026-12-00",
  "2026-00-10",
  "2026-02-31",
  "2027-02-29",
  "2100-02-29",
  "26-01-01",
  "2026-1-1",
  "2026/01/01",
  "20270101",
  "2027-01-01T00:00:00",
  "0000-01-01",
  "-0000-01-01",
  "02027-01-01",
  "2027-01-01+14:01",
  "2027-01-01+2:00",
  "2027-01-01z",
  "yesterday",
  "NaN",
  "１２３４-01-01",
  "2147483648-01-01",
  "99999999999-01-01",
  "2027-01-01 CET",
  "2027-W01-1",
];
const EXTREME = [
  "0001-01-01",
  "9999-12-31",
  "10000-01-01",
  "999999-06-15",
  "2147483647-12-31",
  "-0001-12-31",
  "-9999-01-01",
  "275760-09-14",
];
const VALID = [
  "2026-12-15",
  "2026-12-16",
  "2026-12-17",
  "2026-12-30",
  "2026-12-31",
  "2027-01-01",
  "2027-01-02",
  "2027-01-16",
  "2027-01-17",
  "2027-03-12",
  "2027-03-13",
  "2027-03-28",
  "2027-03-29",
  "2027-10-15",
  "2027-10-16",
  "2027-10-31",
  "2027-11-01",
  "2028-02-29",
  "2027-01-01Z",
  "2027-03-28+01:00",
];

const place = {
  issueDate: (xml: string, text: string) => xml.replace(/<cbc:IssueDate>[^<]*</, `<cbc:IssueDate>${text}<`),
  taxPointDate: (xml: string, text: string) =>
    xml.replace(/(<cbc:DocumentCurrencyCode>)/, `<cbc:TaxPointDate>${text}</cbc:TaxPointDate>$1`),
  deliveryDate: (xml: string, text: string) =>
    xml.replace(
      /(<cac:PaymentMeans>)/,
      `<cac:Delivery><cbc:ActualDeliveryDate>${text}</cbc:ActualDeliveryDate></cac:Delivery>$1`,
    ),
  invoicePeriodEnd: (xml: string, text: string) =>
    xml.replace(
      /(<cac:OrderReference>)/,
      `<cac:InvoicePeriod><cbc:EndDate>${text}</cbc:EndDate></cac:InvoicePeriod>$1`,
    ),
  dueDate: (xml: string, text: string) => xml.replace(/<cbc:DueDate>[^<]*</, `<cbc:DueDate>${text}<`),
} as const;
type Field = keyof typeof place;

const sample = sampleInvoice({
  sender: SENDER,
  receiver: RECEIVER,
  senderName: "S",
  receiverName: "R",
  number: "1",
  issueDate: "2027-01-01",
  lines: 1,
}).replace(/<cac:Delivery>[^]*?<\/cac:Delivery>/, "");

function verdict(
  fields: Partial<Record<Field, string>>,
  receivedAt: number,
): { readonly reason: string | undefined; readonly details: readonly object[] } {
  const xml = (Object.keys(fields) as Field[]).reduce((text, field) => place[field](text, fields[field] ?? ""), sample);
  const report = validateDocument(Buffer.from(xml), { day: bratislavaDay(receivedAt), limits: SCAN_LIMITS });
  const refusal = refuseSend(
    {
      documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
      processId: BILLING_PROCESS,
      sender: SENDER,
      receiver: RECEIVER,
      receivedAt,
    },
    { ...report, ruleSet: "test" },
  );
  return { reason: refusal?.reason, details: refusal?.details ?? [] };
}

/** What Date counts: its years reach far enough for every text but the largest years, which lie after any deadline. */
const dayNumber = (text: string): number => {
  const [, year = "", month, day] = /^(-?\d+)-(\d\d)-(\d\d)/.exec(text) ?? [];
  const written = Number(year);
  const date = new Date(0).setUTCFullYear(written < 0 ? written + 1 : written, Number(month) - 1, Number(day));
  return Number.isNaN(date) ? Infinity : Math.round(date / 86_400_000);
};

/** The code by rulings.md §14 for texts of which we know whether they are dates. */
function expected(fields: Partial<Record<Field, string>>, receivedAt: number): string | undefined {
  const today = bratislavaDay(receivedAt);
  const none = (text: string | undefined): boolean => text !== undefined && MALFORMED.includes(text);
  const issue = fields.issueDate ?? "2027-01-01";
  const isRuled = today >= "2027-01-01";
  if (isRuled && !none(issue) && !(issue.startsWith(today) && /^\d{4}-\d\d-\d\d(?!\d)/.test(issue)))
    return "SAPI-DOC-027";
  const supply = fields.taxPointDate ?? fields.deliveryDate ?? fields.invoicePeriodEnd;
  if (isRuled && supply !== undefined && !none(supply) && dayNumber(today) > dayNumber(supply) + 15)
    return "SAPI-DOC-028";
  return Object.values(fields).some(none) ? "DOCUMENT_INVALID" : undefined;
}

const FIELDS = Object.keys(place) as Field[];
const text = fc.oneof(fc.constantFrom(...MALFORMED), fc.constantFrom(...EXTREME), fc.constantFrom(...VALID));
const fields = fc.record(Object.fromEntries(FIELDS.map((field) => [field, text])) as Record<Field, typeof text>, {
  requiredKeys: [],
});

describe("rules on dates", () => {
  test("every field with every text on every day around the borders: the code of the ruling, and never a throw", () => {
    for (const field of FIELDS)
      for (const written of [...MALFORMED, ...EXTREME, ...VALID])
        for (const instant of INSTANTS) {
          const { reason } = verdict({ [field]: written }, instant);
          const code = expected({ [field]: written }, instant);
          // Valid dates may still break a rule of the release, such as a zone or a due date before the issue.
          const allowed = code === undefined ? [undefined, "DOCUMENT_INVALID"] : [code];
          expect(allowed, `${field}=${written} at ${new Date(instant).toISOString()}`).toContain(reason);
        }
  });

  test("several dates at once are judged as the ruling says", () => {
    const seed = seedFrom(2_027);
    fc.assert(
      fc.property(fields, fc.constantFrom(...INSTANTS), (chosen, instant) => {
        const code = expected(chosen, instant);
        expect(code === undefined ? [undefined, "DOCUMENT_INVALID"] : [code]).toContain(
          verdict(chosen, instant).reason,
        );
      }),
      { seed, numRuns: 1_000 },
    );
  });

  test("the engine and the grammar agree on what is a day", () => {
    const shape = fc
      .tuple(
        fc.constantFrom("", "-"),
        fc.integer({ min: 0, max: 12_000 }),
        fc.integer({ min: 0, max: 13 }),
        fc.integer({ min: 0, max: 32 }),
        fc.constantFrom("", "Z", "+14:00", "-14:01", "+09:60"),
      )
      .map(
        ([minus, y, m, d, zone]) =>
          `${minus}${String(y).padStart(4, "0")}-${String(m).padStart(2, "0")}-${String(d).padStart(2, "0")}${zone}`,
      );
    fc.assert(
      fc.property(fc.oneof(shape, text), (written) => {
        const report = validateDocument(Buffer.from(place.taxPointDate(sample, written)), {
          day: "2027-01-01",
          limits: SCAN_LIMITS,
        });
        const isFound = report.findings.some(
          ({ layer, location }) => layer === "schema" && location.endsWith("TaxPointDate"),
        );
        expect(parseCalendarDay(written) === undefined, written).toBe(isFound);
      }),
      { seed: seedFrom(2_028), numRuns: 2_000 },
    );
  });

  test("the latest of several deliveries counts", () => {
    const delivered = (...days: string[]): string =>
      days
        .map((day) => `<cac:Delivery><cbc:ActualDeliveryDate>${day}</cbc:ActualDeliveryDate></cac:Delivery>`)
        .join("");
    const of = (...days: string[]) =>
      validateDocument(Buffer.from(sample.replace(/(<cac:PaymentMeans>)/, `${delivered(...days)}$1`)), {
        day: "2027-01-01",
        limits: SCAN_LIMITS,
      }).facts?.deliveryDate;
    expect(of("2026-01-01", "2026-12-31", "2026-02-01")).toBe("2026-12-31");
    expect(of("2026-12-31", "2026-02-31")).toBe("2026-02-31");
  });
});
