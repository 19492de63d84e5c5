/** Code lists of the Peppol Invoice Response. Facts of the release; editions in each comment. */

/**
 * Invoice status codes (UNCL 4343, subset): received, in process, under query, conditionally accepted, rejected,
 * accepted, paid.
 */
export const RESPONSE_CODES: ReadonlySet<string> = new Set(["AB", "IP", "UQ", "CA", "RE", "AP", "PD"]);

/** Statuses that owe a reason. */
export const CLARIFIED_CODES = " CA UQ RE ";

/** OPStatusReason: why. */
export const STATUS_REASONS: ReadonlySet<string> = new Set([
  "NON",
  "REF",
  "LEG",
  "REC",
  "QUA",
  "DEL",
  "PRI",
  "QTY",
  "ITM",
  "PAY",
  "UNR",
  "FIN",
  "PPD",
  "OTH",
]);

/** OPStatusAction: what is asked for. */
export const STATUS_ACTIONS: ReadonlySet<string> = new Set(["NOA", "PIN", "NIN", "CNF", "CNP", "CNA", "OTH"]);

/** Names of the two lists, as listID. */
export const CLARIFICATION_LISTS: ReadonlySet<string> = new Set(["OPStatusAction", "OPStatusReason"]);

/**
 * UNTDID 1001, edition D.17A, as ranges. The published list of the Invoice Response also has 1999, the year in the
 * description of code 423, and lacks 817, 875, 876 and 877.
 */
const DOCUMENT_RANGES = `1-470 481-491 493-499 520-539 550-554 575-589 610 621-659 700-751 760-761 763-766 770 775 780-799
  810-812 820-825 830 833 840-841 850-853 855-856 860-865 870 890 895-896 901 910-911 913-917 925-927 929-938 940-941
  950-955 960-966 970-972 974-979 990-991 995-996 998 1999`;

export const DOCUMENT_CODES: ReadonlySet<string> = new Set(
  DOCUMENT_RANGES.split(/\s+/u).flatMap((range) => {
    const [from, to = from] = range.split("-").map(Number);
    return Array.from({ length: (to ?? 0) - (from ?? 0) + 1 }, (_, i) => String((from ?? 0) + i));
  }),
);
