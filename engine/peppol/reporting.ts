/**
 * Monthly reports of a service provider to OpenPEPPOL: Transaction Statistics (TSR 1.0) and End User Statistics (EUSR
 * 1.1). Months are UTC; an empty month is reported too.
 * @source design/as4.md, section 12; structure and conditions of conformance/schematron/reporting
 */
import { escapeAttribute, escapeText } from "../../validators/xml/c14n.js";
import type { Instant } from "../base/clock.js";
import { isoInstant } from "../base/clock.js";
import type { ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { DOCUMENT_TYPE_SCHEME, PROCESS_SCHEME, WILDCARD_SCHEME } from "./envelope/identifiers.js";

/** The reports of a service provider: transaction statistics and end user statistics. */
export const REPORT_TYPES = ["TSR", "EUSR"] as const;
/** Which of the two reports. */
export type ReportType = (typeof REPORT_TYPES)[number];

/** The namespace of Transaction Statistics Reports. */
export const TSR_NS = "urn:fdc:peppol:transaction-statistics-report:1.0";
/** The namespace of End User Statistics Reports. */
export const EUSR_NS = "urn:fdc:peppol:end-user-statistics-report:1.1";
const TSR_CUSTOMIZATION = "urn:fdc:peppol.eu:edec:trns:transaction-statistics-reporting:1.0";
const EUSR_CUSTOMIZATION = "urn:fdc:peppol.eu:edec:trns:end-user-statistics-report:1.1";

/** Where reports go, and in which process. */
export const REPORT_RECEIVER = "9925:be0848934496" as ParticipantId;
/** The process in which reports are sent. */
export const REPORT_PROCESS = "urn:fdc:peppol.eu:edec:bis:reporting:1.0";
/** The document types of the reports, without scheme. */
export const REPORT_DOCUMENT_TYPES: Readonly<Record<ReportType, string>> = {
  TSR: `${TSR_NS}::TransactionStatisticsReport##${TSR_CUSTOMIZATION}::1.0`,
  EUSR: `${EUSR_NS}::EndUserStatisticsReport##${EUSR_CUSTOMIZATION}::1.1`,
};

/** A month in UTC, `2026-11`. */
export type Month = string;

const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;

/** Reads `2026-11`; undefined for anything else, and where the calendar of the database begins and ends. */
export const parseMonth = (text: string): Month | undefined =>
  MONTH.test(text) && text >= "0001-01" && text < "9999-12" ? text : undefined;
/** The month of an instant, in UTC. */
export const monthOf = (instant: Instant): Month => isoInstant(instant).slice(0, 7);

/** The month `by` months later; negative: earlier. */
export function addMonths(month: Month, by: number): Month {
  const index = Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1 + by;
  return `${String(Math.floor(index / 12)).padStart(4, "0")}-${String((index % 12) + 1).padStart(2, "0")}`;
}

/** First instant of a month, and first instant of the next. */
export const monthBounds = (month: Month): { readonly from: Instant; readonly to: Instant } => ({
  from: Date.parse(`${month}-01T00:00:00Z`),
  to: Date.parse(`${addMonths(month, 1)}-01T00:00:00Z`),
});

/** A report that must be made and sent. */
export interface DueReport {
  readonly type: ReportType;
  readonly month: Month;
}

/**
 * The reports that are due: of each type every month after its last report, up to the last month that ended at least
 * LIMITS.report_delay_ms ago. Where there was no report yet, only that last month. Oldest first, at most
 * LIMITS.report_months_max of a type.
 */
export function dueReports(now: Instant, last: Readonly<Partial<Record<ReportType, Month>>>): readonly DueReport[] {
  const over = addMonths(monthOf(now - LIMITS.report_delay_ms), -1);
  return REPORT_TYPES.flatMap((type) => {
    const done = last[type];
    const from = done === undefined ? over : addMonths(done, 1);
    const months: DueReport[] = [];
    for (let month = from; month <= over && months.length < LIMITS.report_months_max; month = addMonths(month, 1))
      months.push({ type, month });
    return months;
  });
}

/** What stands at the head of both reports. */
interface ReportHead {
  readonly month: Month;
  /** Our seat, `POP000123`. */
  readonly reporter: string;
}

/** How many exchanges of a month are alike in everything that the transaction report distinguishes. */
export interface TransactionCount {
  readonly direction: "incoming" | "outgoing";
  /** Seat of the other access point. */
  readonly peerSeat: string;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly transportProfile: string;
  /** Countries of the sender and of the receiver; known of incoming exchanges only. */
  readonly c1Country: string;
  readonly c4Country: string | undefined;
  readonly count: number;
}

/**
 * How many distinct end users exchanged documents in one combination; a member that is undefined was not distinguished.
 */
export interface EndUserCount {
  readonly documentTypeId: string | undefined;
  readonly processId: string | undefined;
  readonly country: string | undefined;
  readonly sending: number;
  readonly receiving: number;
  readonly either: number;
}

const element = (name: string, text: string, attributes = ""): string =>
  `<${name}${attributes}>${escapeText(text)}</${name}>`;
const key = (metaSchemeId: string, schemeId: string, text: string): string =>
  element("Key", text, ` metaSchemeID="${escapeAttribute(metaSchemeId)}" schemeID="${escapeAttribute(schemeId)}"`);

/** Identifiers are stored without the usual scheme; another one stands before `::` of the value. */
const documentTypeKey = (id: string): string =>
  id.startsWith(`${WILDCARD_SCHEME}::`)
    ? key("DT", WILDCARD_SCHEME, id.slice(WILDCARD_SCHEME.length + 2))
    : key("DT", DOCUMENT_TYPE_SCHEME, id);
const processKey = (id: string): string => key("PR", PROCESS_SCHEME, id);

function header({ month, reporter }: ReportHead): string {
  const { to } = monthBounds(month);
  const period = element("StartDate", `${month}-01`) + element("EndDate", isoInstant(to - 1).slice(0, 10));
  return `<Header><ReportPeriod>${period}</ReportPeriod>${element("ReporterID", reporter, ' schemeID="CertSubjectCN"')}</Header>`;
}

interface ReportKind {
  readonly root: string;
  readonly ns: string;
  readonly customization: string;
}
const TSR: ReportKind = { root: "TransactionStatisticsReport", ns: TSR_NS, customization: TSR_CUSTOMIZATION };
const EUSR: ReportKind = { root: "EndUserStatisticsReport", ns: EUSR_NS, customization: EUSR_CUSTOMIZATION };

const document = ({ root, ns, customization }: ReportKind, head: ReportHead, inside: string): Buffer =>
  Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="${ns}">${element("CustomizationID", customization)}${element("ProfileID", REPORT_PROCESS)}${header(head)}${inside}</${root}>\n`,
    "utf8",
  );

/** ISO 3166-1 alpha-2, with the codes that the network also knows for Greece and Kosovo. */
const COUNTRIES: ReadonlySet<string> = new Set(
  `
  1A AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR
  CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH EL ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU
  ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR
  MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK
  SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XI XK YE YT ZA ZM ZW
`
    .trim()
    .split(/\s+/u),
);

/** Whether a code is a country's; COUNTRY_C1 on the wire may be any two characters. */
export const isCountry = (code: string): boolean => COUNTRIES.has(code);
/** The code that the transaction report uses where a sender's country is not a real one. */
const COUNTRY_UNKNOWN = "ZZ";
const countryOf = (code: string | undefined): string =>
  code !== undefined && isCountry(code) ? code : COUNTRY_UNKNOWN;

interface Tally {
  readonly incoming: number;
  readonly outgoing: number;
}
const tally = ({ incoming, outgoing }: Tally): string =>
  element("Incoming", String(incoming)) + element("Outgoing", String(outgoing));

/** Adds up the counts that share a key; sorted by key, so that a report is the same whenever it is made. */
function sums(counts: readonly TransactionCount[], keysOf: (count: TransactionCount) => string): [string, Tally][] {
  const found = new Map<string, Tally>();
  for (const count of counts) {
    const at = keysOf(count);
    const before = found.get(at) ?? { incoming: 0, outgoing: 0 };
    found.set(at, { ...before, [count.direction]: before[count.direction] + count.count });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

const provider = (seat: string): string => key("SP", "CertSubjectCN", seat);

/** The Transaction Statistics Report of a month. */
export function buildTsr(head: ReportHead, counts: readonly TransactionCount[]): Buffer {
  const subtotals = (type: string, found: readonly [string, Tally][]): string =>
    found.map(([keys, counted]) => `<Subtotal type="${type}">${keys}${tally(counted)}</Subtotal>`).join("");
  const byType = (count: TransactionCount): string =>
    provider(count.peerSeat) + documentTypeKey(count.documentTypeId) + processKey(count.processId);
  const incoming = counts.filter(({ direction }) => direction === "incoming");
  const total = sums(counts, () => "")[0]?.[1] ?? { incoming: 0, outgoing: 0 };
  const inside =
    `<Total>${tally(total)}</Total>` +
    subtotals(
      "PerTP",
      sums(counts, ({ transportProfile }) => key("TP", "Peppol", transportProfile)),
    ) +
    subtotals("PerSP-DT-PR", sums(counts, byType)) +
    subtotals(
      "PerSP-DT-PR-CC",
      sums(
        incoming,
        (count) =>
          byType(count) +
          key("CC", "SenderCountry", countryOf(count.c1Country)) +
          key("CC", "ReceiverCountry", countryOf(count.c4Country)),
      ),
    );
  return document(TSR, head, inside);
}

/** The subsets that the report wants, each by the members of a combination that it distinguishes. */
const SUBSETS = [
  { type: "PerDT-PR", documentType: true, process: true, country: false },
  { type: "PerDT-PR-EUC", documentType: true, process: true, country: true },
  { type: "PerDT-EUC", documentType: true, process: false, country: true },
  { type: "PerEUC", documentType: false, process: false, country: true },
] as const;

/** The End User Statistics Report of a month. */
export function buildEusr(head: ReportHead, counts: readonly EndUserCount[]): Buffer {
  const users = ({ sending, receiving, either }: EndUserCount): string =>
    element("SendingEndUsers", String(sending)) +
    element("ReceivingEndUsers", String(receiving)) +
    element("SendingOrReceivingEndUsers", String(either));
  const isOf = (
    count: EndUserCount,
    subset: { readonly documentType: boolean; readonly process: boolean; readonly country: boolean },
  ): boolean =>
    (count.documentTypeId !== undefined) === subset.documentType &&
    (count.processId !== undefined) === subset.process &&
    (count.country !== undefined) === subset.country;
  const keys = (count: EndUserCount): string =>
    (count.documentTypeId === undefined ? "" : documentTypeKey(count.documentTypeId)) +
    (count.processId === undefined ? "" : processKey(count.processId)) +
    (count.country === undefined ? "" : key("CC", "EndUserCountry", count.country));
  const all = counts.find((count) => isOf(count, { documentType: false, process: false, country: false })) ?? {
    documentTypeId: undefined,
    processId: undefined,
    country: undefined,
    sending: 0,
    receiving: 0,
    either: 0,
  };
  const subsets = SUBSETS.flatMap((subset) =>
    counts
      .filter((count) => isOf(count, subset) && count.either > 0)
      .map((count) => `<Subset type="${subset.type}">${keys(count)}${users(count)}</Subset>`)
      .sort(),
  );
  return document(EUSR, head, `<FullSet>${users(all)}</FullSet>${subsets.join("")}`);
}
