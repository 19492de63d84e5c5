/**
 * The ebMS errors: what we send, and what a received one means for the document. A code is one row of the table; what
 * becomes of a document by each meaning stands in outcomes.ts.
 * @source design/as4.md section 7; ebMS 3.0 Core section 6.7; AS4 Profile section 3
 */

/** What an error of the peer means for the document: only these five lead to different steps. */
export type ErrorMeaning = "duplicate" | "not_serviced" | "retry" | "permanent" | "warning";

interface ErrorRow {
  readonly name: string;
  readonly severity: "failure" | "warning";
  readonly category: "Content" | "Unpackaging" | "Processing" | "Communication";
  /** What a failure with this code means; a warning with it means no more than that. */
  readonly meaning: Exclude<ErrorMeaning, "not_serviced" | "warning">;
  /** After it the recipient is looked up anew: the peer has another key, or no longer serves the recipient. */
  readonly looksUpAgain?: true;
}

/** Every error of ebMS and of the AS4 profile. @source design/as4.md section 7 */
export const EBMS_ERRORS = {
  "EBMS:0001": { name: "ValueNotRecognized", severity: "failure", category: "Content", meaning: "permanent" },
  "EBMS:0002": { name: "FeatureNotSupported", severity: "warning", category: "Content", meaning: "permanent" },
  "EBMS:0003": { name: "ValueInconsistent", severity: "failure", category: "Content", meaning: "permanent" },
  // "Other" is what peers answer while their own database is away; NOT_SERVICED, also 0004, is told apart by its
  // detail.
  "EBMS:0004": {
    name: "Other",
    severity: "failure",
    category: "Content",
    meaning: "retry",
    looksUpAgain: true,
  },
  "EBMS:0005": { name: "ConnectionFailure", severity: "warning", category: "Communication", meaning: "retry" },
  "EBMS:0006": {
    name: "EmptyMessagePartitionChannel",
    severity: "warning",
    category: "Communication",
    meaning: "permanent",
  },
  "EBMS:0007": { name: "MimeInconsistency", severity: "failure", category: "Unpackaging", meaning: "permanent" },
  "EBMS:0008": {
    name: "FeatureNotSupportedInconsistency",
    severity: "failure",
    category: "Unpackaging",
    meaning: "permanent",
  },
  "EBMS:0009": { name: "InvalidHeader", severity: "failure", category: "Unpackaging", meaning: "permanent" },
  "EBMS:0010": { name: "ProcessingModeMismatch", severity: "failure", category: "Processing", meaning: "permanent" },
  "EBMS:0011": { name: "ExternalPayloadError", severity: "failure", category: "Content", meaning: "permanent" },
  // Nothing of it is about the document. phase4 answers so, even with "certificate is revoked", when its revocation
  // check could ask nobody; a certificate of ours that is to blame is renewed while the plan of attempts lasts.
  "EBMS:0101": { name: "FailedAuthentication", severity: "failure", category: "Processing", meaning: "retry" },
  // The peer may have changed its key since our look-up: the next attempt looks it up again. phase4 answers so for
  // whatever WSS4J refuses, a signature and an unknown authority included; they cannot be told apart, and the plan ends
  // it.
  "EBMS:0102": {
    name: "FailedDecryption",
    severity: "failure",
    category: "Processing",
    meaning: "retry",
    looksUpAgain: true,
  },
  "EBMS:0103": { name: "PolicyNoncompliance", severity: "failure", category: "Processing", meaning: "permanent" },
  "EBMS:0201": { name: "DysfunctionalReliability", severity: "failure", category: "Processing", meaning: "retry" },
  "EBMS:0202": { name: "DeliveryFailure", severity: "failure", category: "Communication", meaning: "retry" },
  "EBMS:0301": { name: "MissingReceipt", severity: "failure", category: "Communication", meaning: "retry" },
  "EBMS:0302": { name: "InvalidReceipt", severity: "failure", category: "Communication", meaning: "retry" },
  "EBMS:0303": { name: "DecompressionFailure", severity: "failure", category: "Communication", meaning: "permanent" },
  /** Private to phase4 since 4.5.0: the peer has this MessageId already. */
  "EBMS:4001": { name: "DuplicateDetected", severity: "failure", category: "Content", meaning: "duplicate" },
} as const satisfies Record<string, ErrorRow>;

/** A code of the table, such as `EBMS:0004`. */
export type EbmsErrorCode = keyof typeof EBMS_ERRORS;

/** Whether a code that came with a message is one of the table. */
export const isEbmsErrorCode = (code: string): code is EbmsErrorCode => Object.hasOwn(EBMS_ERRORS, code);

/**
 * errorDetail of EBMS:0004 for a recipient we do not serve. @source Peppol AS4 Profile 2.0.3; design/as4.md section 2
 */
export const NOT_SERVICED = "PEPPOL:NOT_SERVICED";
/** Stands behind that in the code of an attempt where nobody has proved who says so. */
export const UNPROVEN = "UNPROVEN";

/** One eb:Error as received. Texts are the peer's: compare them, never show them to a client. */
export interface ReceivedError {
  /** As sent, also when it is not in our table. */
  readonly code: string;
  readonly severity: string;
  readonly detail: string | undefined;
  readonly description: string | undefined;
  /** The MessageId the error is about. */
  readonly refToMessageId: string | undefined;
}

/** What stands behind a message that is named: no noun that makes something else of it, such as a "message part". */
const NAMED_END = String.raw`(?![\w$(]|\.[\w<]|['"]? (?!ids?\b|with\b|(?:was|is|has been) |detected|received|found|rejected|ignored|discarded|dropped|eliminated|will be |\S{0,200}[@\d])[a-z])`;

/** Duplicates by their name: words, an exception or a code, not who looks for them in a trace, wherever that is cut. */
const DUPLICATE_NAMED: readonly RegExp[] = [
  new RegExp(String.raw`(?<![\w$])duplicated?[ _-](?:[a-z0-9]+[ _-])?message(?:[ _-]?ids?)?${NAMED_END}`, "i"),
  new RegExp(String.raw`(?<![\w$])duplicate sbdh instance(?:[ _-]?ids?)?${NAMED_END}`, "i"),
  /(?<![\w$])duplicatemessage(?:exception|error)(?![\w$(]|\.[\w<])/i,
  /(?<![\w$.(])duplicatemessage(?![\w$(]|\.[\w<])/i,
  /message (?:is|was|has been determined to be) (?:a )?duplicate(?![\w-])/i,
];
const ID = "id(?:entifier)?";
/** What errors call our message: itself, its id, or the instance id of its envelope. */
const MESSAGE = String.raw`(?:(?:(?:user ?)?message|transmission)(?:[ -]?${ID})?|instance[ -]?${ID})`;
/** An id that stands behind that: in quotes, or a word with a digit or an @ in it. */
const ITS_ID = String.raw`[ =](?:['"][^'"]{0,400}['"]|(?=\S{0,200}[@\d])\S{1,400}(?!\S))`;
/**
 * A message that is there already, by itself or by its id: not its body or header, which is read once, and no invoice,
 * of whose number the receiver may have another.
 */
const ALREADY_THERE = new RegExp(
  String.raw`\b${MESSAGE}(?: with [^\n]{0,200}?${ID}\b)?:?(?:${ITS_ID})?,? ` +
    "(?:(?:was|is|has|had) )?(?:been already|already|already been) (?:received|processed|handled)",
  "i",
);
/** Of whoever could not find out, or found out the contrary. */
const UNSURE =
  /\b(?:check|look|search|quer|detection|fail|unable|cannot|could|unavailable|time[ds]? ?out|while|whether|not a\b|no\b)/i;

/**
 * Whether a text words a duplicate, as phase4 before 4.5.0 does inside EBMS:0004. The word alone is not enough:
 * databases that have not taken a message speak of duplicate keys, a look for duplicate messages may have failed, and a
 * stream may be what was processed already.
 */
const wordsDuplicate = (text: string): boolean =>
  text.split(/\n|(?<!\bid): /i).some((clause) => {
    if (UNSURE.test(clause)) return false;
    return ALREADY_THERE.test(clause) || DUPLICATE_NAMED.some((named) => named.test(clause));
  });

/**
 * What a received error says to the sender of the message. An unknown code is permanent: repeating would not teach us.
 */
export function meaningOf(error: ReceivedError): ErrorMeaning {
  const texts = `${error.detail ?? ""}\n${error.description ?? ""}`;
  const meaning = rowOf(error.code)?.meaning ?? "permanent";
  if (meaning === "duplicate") return "duplicate";
  if (error.code === "EBMS:0004" && texts.includes(NOT_SERVICED)) return "not_serviced";
  if (error.code === "EBMS:0004" && wordsDuplicate(texts)) return "duplicate";
  return error.severity === "warning" ? "warning" : meaning;
}

/** Whether the recipient should be looked up anew after an error with this code. */
export const looksUpAgain = (code: string): boolean => rowOf(code)?.looksUpAgain === true;

const rowOf = (code: string): ErrorRow | undefined => (isEbmsErrorCode(code) ? EBMS_ERRORS[code] : undefined);

/** Where several errors come at once, the first of this list decides: beside a refusal nothing proves a delivery. */
const MEANING_PRECEDENCE: readonly ErrorMeaning[] = ["not_serviced", "permanent", "retry", "duplicate", "warning"];

/** What errors that came together mean, with the one that decides first. */
interface Decided {
  readonly meaning: ErrorMeaning;
  readonly errors: ReceivedError[];
}

/** Decides what errors mean that came in one signal; undefined where there are none. */
export function decideErrors(errors: readonly ReceivedError[]): Decided | undefined {
  const judged = errors.map((error) => ({ error, meaning: meaningOf(error) }));
  const first = MEANING_PRECEDENCE.map((wanted) => judged.find(({ meaning }) => meaning === wanted)).find(
    (found) => found !== undefined,
  );
  if (first === undefined) return undefined;
  // Who calls it a duplicate may have it all the same: the refusal beside that is no final one.
  const isContradicted = first.meaning === "permanent" && judged.some(({ meaning }) => meaning === "duplicate");
  return {
    meaning: isContradicted ? "retry" : first.meaning,
    errors: [first.error, ...errors.filter((error) => error !== first.error)],
  };
}
