/** What can be doubtful about a mapped document, and what to do about it. */
import { LIMITS } from "../../base/limits.js";

/**
 * `error`: the document cannot be created like this. `warning`: a value was taken, and a person must confirm it.
 * `information`: nothing is to be done.
 */
type IssueSeverity = "error" | "warning" | "information";

interface IssueRow {
  readonly severity: IssueSeverity;
  readonly message: string;
}

const ISSUES = {
  MISSING: { severity: "error", message: "The source does not say it, and the document needs it." },
  INVALID: { severity: "error", message: "The builder of the invoice refuses this value." },
  NOT_A_NUMBER: { severity: "error", message: "This is no number that can be read; the member is left out." },
  NOT_EXACT: {
    severity: "error",
    message: "This number has more digits than are exact; send it as text with at most 8 decimals.",
  },
  NOT_A_DATE: { severity: "error", message: "This is no day of the calendar; the member is left out." },
  NOT_A_CODE: { severity: "error", message: "No value of this member has this name; the member is left out." },
  NOT_AN_IDENTIFIER: {
    severity: "error",
    message: "This is no identifier of this kind, or its check digits do not fit; the member is left out.",
  },
  SENDER_DIFFERS: { severity: "error", message: "The source names another sender than the firm of customerRef." },
  TOTALS_DIFFER: {
    severity: "error",
    message: "The lines do not come to the amount that the source states: something is missing or was misread.",
  },
  SEVERAL_DOCUMENTS: {
    severity: "error",
    message: "The source holds several documents; only the first is in the preview. Send them one by one.",
  },
  TOO_MANY_LINES: { severity: "error", message: `An invoice has at most ${LIMITS.invoice_lines_max} lines.` },
  UNSAYABLE: {
    severity: "error",
    message: "A create body has no member for this, and the invoice would be another one without it.",
  },
  VAT_REASON_MISSING: {
    severity: "error",
    message: "A rate of 0 needs its reason: say which taxTreatment it is.",
  },
  UNCERTAIN: { severity: "warning", message: "It is not certain that the source means this member." },
  AMBIGUOUS_DATE: {
    severity: "warning",
    message: "Day and month can be read both ways; day before month was taken.",
  },
  AMBIGUOUS_NUMBER: {
    severity: "warning",
    message: "The sign in this number can mark thousands or decimals; decimals were taken.",
  },
  TWO_DIGIT_YEAR: { severity: "warning", message: "The year has two digits; this century was taken." },
  SERIAL_DATE: { severity: "warning", message: "The number was read as a day of a spreadsheet." },
  FRACTION_RATE: { severity: "warning", message: "The rate is a fraction; it was read as a share of 1." },
  CONFLICT: { severity: "warning", message: "The source says two different things; the more certain one was taken." },
  FORMULA: {
    severity: "warning",
    message: "The text begins like a formula of a spreadsheet; it was kept as text.",
  },
  TEXT_CUT: { severity: "warning", message: "The text is longer than a member may be; its end was left out." },
  UNIT_UNKNOWN: { severity: "warning", message: "The unit is not known; the member is left out." },
  DERIVED: { severity: "warning", message: "The source does not say it; it was computed from what it says." },
  FIELD_MAP_UNUSED: { severity: "warning", message: "fieldMap names what the source does not have." },
  TYPE_CHANGED: { severity: "warning", message: "A create body has no type for this; it is sent as another." },
  REASON_CHANGED: {
    severity: "warning",
    message: "A create body has no member for the reason why no tax is due; the invoice says the usual one instead.",
  },
  EXTERNAL_ID_DERIVED: {
    severity: "information",
    message: "The source has no id of its own; the number of the document was taken.",
  },
  FILLED_IN: { severity: "information", message: "The source does not say it; the Connector fills it in." },
  IMPLIED: { severity: "information", message: "It follows from another member." },
  LOST: { severity: "information", message: "A create body has no member for this; the invoice is right without it." },
  CONVERTED: { severity: "information", message: "Said in another way, with the same amounts." },
} as const satisfies Readonly<Record<string, IssueRow>>;
export type IssueCode = keyof typeof ISSUES;

/** One thing to know about a mapped document. */
export interface MapIssue {
  readonly code: IssueCode;
  readonly severity: IssueSeverity;
  /** Member of the document, `lines[0].unitPrice`. */
  readonly field?: string;
  /** Member, column or place of the source. */
  readonly source?: string;
  readonly message: string;
}

/** Where an issue belongs. */
export interface IssuePlace {
  readonly field?: string | undefined;
  readonly source?: string | undefined;
  /** What is said beside the sentence of the code. */
  readonly detail?: string | undefined;
}

export function issueOf(code: IssueCode, { field, source, detail }: IssuePlace): MapIssue {
  const { severity, message } = ISSUES[code];
  return {
    code,
    severity,
    ...(field === undefined ? {} : { field }),
    ...(source === undefined ? {} : { source }),
    message: detail === undefined ? message : `${message} ${detail}`,
  };
}
