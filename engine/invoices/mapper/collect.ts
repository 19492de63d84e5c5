/** Reads the values that were found and keeps the best of each member; everything doubtful becomes an issue. */
import { LIMITS } from "../../base/limits.js";
import type { Party } from "../draft.js";
import type { ValueKind } from "./fields.js";
import { issueOf } from "./issues.js";
import type { IssueCode, IssuePlace, MapIssue } from "./issues.js";
import { CERTAINTY } from "./names.js";
import { markOf } from "./numbers.js";
import type { DecimalMark } from "./numbers.js";
import { placeOf } from "./sources/path.js";
import type { FoundValue, Reading, StatedTax } from "./sources/reading.js";
import { readValue } from "./values.js";

/** A member with its value as text, and how sure it is. */
export interface FieldValue {
  readonly value: string;
  readonly certainty: number;
  readonly source: string | undefined;
}

/** The members of the head or of one line, by their names. */
export type FieldValues = Map<string, FieldValue>;

/** Below it, a person must look. */
export const LOOK_AT = 0.8;
/** So much surer than another value is one that needs no word about the other. */
const MUCH_SURER = 0.2;

const NUMERIC: ReadonlySet<ValueKind> = new Set(["number", "percent", "quantity", "rate"]);

/** The members of a document while it is put together. */
export class Collection {
  readonly head: FieldValues = new Map();
  readonly lines: readonly FieldValues[];
  readonly attachments: readonly Readonly<Record<string, string>>[];
  readonly taxes: readonly StatedTax[];
  readonly #mark: DecimalMark | undefined;
  // All three are bounded by the values of one source, which its reader bounds.
  readonly #issues: MapIssue[];
  readonly #unmapped: Set<string>;
  // Bounded by the same values.
  readonly #said = new Set<string>();

  readonly #own: Party;

  /** @param own  the firm that sends: what stands under no heading and is its own is not the recipient's */
  constructor(reading: Reading, own: Party) {
    this.#own = own;
    this.#issues = [...reading.issues];
    this.attachments = reading.attachments ?? [];
    this.taxes = reading.taxes ?? [];
    this.#unmapped = new Set(reading.unmapped);
    this.#mark = reading.mark ?? markOf(numbersOf(reading));
    const lines = reading.lines.filter((line) => line.length > 0);
    if (lines.length > LIMITS.invoice_lines_max)
      this.tell("TOO_MANY_LINES", { field: "lines", detail: `The source has ${lines.length}.` });
    this.lines = lines.filter((_, at) => at < LIMITS.invoice_lines_max).map(() => new Map<string, FieldValue>());
    for (const found of reading.head) this.take(found);
    for (const [at, line] of this.lines.entries()) for (const found of lines[at] ?? []) this.take(found, line);
  }

  get issues(): readonly MapIssue[] {
    return this.#issues;
  }

  get unmapped(): readonly string[] {
    return [...this.#unmapped];
  }

  tell(code: IssueCode, place: IssuePlace): void {
    // The same doubt about a column is told once, not for each of its lines.
    const said = `${code}\n${place.field ?? ""}\n${place.source ?? ""}`;
    if (this.#said.has(said)) return;
    this.#said.add(said);
    this.#issues.push(issueOf(code, place));
  }

  /** Takes back what was said of a member before something proved it right. */
  settle(field: string, codes: ReadonlySet<IssueCode>): void {
    for (let at = this.#issues.length - 1; at >= 0; at--) {
      const issue = this.#issues[at];
      if (issue?.field === field && codes.has(issue.code)) this.#issues.splice(at, 1);
    }
  }

  passOver(source: string): void {
    this.#unmapped.add(placeOf(source));
  }

  /** The name of a member in the document. */
  fieldOf(target: string, line: FieldValues | undefined): string {
    return line === undefined ? headField(target) : `lines[${this.lines.indexOf(line)}].${target}`;
  }

  /** @param line  the members of the line in which it was found; undefined for the head */
  take(found: FoundValue, line?: FieldValues): void {
    const read = readValue(found.kind, found.value, this.#mark);
    const target = this.#ownerOf(targetOf(found.target, read.instead), read.value, found.certainty);
    const field = this.fieldOf(target, line);
    const isCompared = /^(?:check|supplier)/u.test(target);
    // What is only compared is not worth a word when it cannot be read.
    if (read.doubt !== undefined && !(isCompared && read.value === undefined))
      this.tell(read.doubt, { field, source: found.source });
    if (read.value === undefined) {
      this.passOver(found.source);
      return;
    }
    const certainty = Math.min(found.certainty, read.certainty);
    this.put(target, { value: read.value, certainty, source: found.source }, line);
    if (read.beside === undefined) return;
    const members = read.beside.target === "unit" ? line : this.head;
    const name = read.beside.target;
    if (members !== undefined && !members.has(name))
      this.put(name, { value: read.beside.value, certainty: CERTAINTY.named, source: found.source }, members);
  }

  #ownerOf(target: string, value: string | undefined, certainty: number): string {
    const { ico, dic, icDph } = this.#own;
    const own: Readonly<Record<string, string | undefined>> = {
      "recipient.companyId": ico,
      "recipient.taxId": dic,
      "recipient.vatId": icDph,
    };
    const isOurs = certainty < LOOK_AT && value !== undefined && Object.hasOwn(own, target) && own[target] === value;
    return isOurs ? target.replace("recipient", "supplier") : target;
  }

  put(target: string, member: FieldValue, line?: FieldValues): void {
    const members = line ?? this.head;
    const before = members.get(target);
    if (before === undefined || before.value === member.value) {
      const isSurer = before === undefined || member.certainty > before.certainty;
      members.set(target, isSurer ? member : before);
      return;
    }
    const [better, other] = member.certainty > before.certainty ? [member, before] : [before, member];
    members.set(target, better);
    if (other.source !== undefined) this.passOver(other.source);
    if (better.certainty - other.certainty < MUCH_SURER && !target.startsWith("check")) {
      const place = { field: this.fieldOf(target, members === this.head ? undefined : members), source: other.source };
      this.tell("CONFLICT", place);
      members.set(target, { ...better, certainty: Math.min(better.certainty, CERTAINTY.weak) });
    }
  }
}

const targetOf = (target: string, instead: string | undefined): string =>
  instead === undefined ? target : target.replace(/[^.]*$/u, instead);

const IN_ADDRESS: ReadonlySet<string> = new Set(["street", "city", "postalCode"]);

/** `recipient.city` stands in the recipient's address. */
export function headField(target: string): string {
  const [party, member = ""] = target.split(".");
  return IN_ADDRESS.has(member) ? `${party ?? ""}.address.${member}` : target;
}

function* numbersOf({ head, lines }: Reading): Iterable<string> {
  for (const founds of [head, ...lines])
    for (const { kind, value } of founds) if (NUMERIC.has(kind) && typeof value === "string") yield value;
}
