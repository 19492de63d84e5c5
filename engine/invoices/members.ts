/** Reads single members of an invoice as JSON: a value, or a problem that names the member. */
import { parseCalendarDay } from "../base/dates.js";
import type { LocalDay } from "../base/clock.js";
import { parseParticipantId, whyUnreadable } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { firstChars, isLonger } from "../base/text.js";
import { exactOf, toCents } from "./exact.js";
import type { Cents, Exact } from "./exact.js";
import { mayBe } from "./problems.js";
import type { ProblemId, Problems, Sentence } from "./problems.js";

/** An object of JSON. */
export type InvoiceObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is InvoiceObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What XML 1.0 cannot hold. */
const NOT_XML = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;
const HUNDRED = 100n;

/** Whether XML can hold every character of a text. */
export const isXmlText = (text: string): boolean => !NOT_XML.test(text);

/** Reads the members of one object. A member that is null or only white space is a member that is not there. */
export class Members {
  readonly #object: InvoiceObject;
  readonly #prefix: string;
  readonly #problems: Problems;

  /** @param prefix  stands before each name in problems: `items[0].` */
  constructor(object: InvoiceObject, prefix: string, problems: Problems) {
    this.#object = object;
    this.#prefix = prefix;
    this.#problems = problems;
  }

  /** @param hint  what the member may hold, or why it is needed */
  fails(name: string, ruleId: ProblemId, hint?: Sentence): undefined {
    this.#problems.add(this.#prefix + name, ruleId, { hint });
    return undefined;
  }

  /** Warns of members that nobody reads: a discount under a wrong name must not vanish in silence. */
  knowsOnly(names: ReadonlySet<string>): void {
    for (const name of Object.keys(this.#object))
      if (!names.has(name)) this.fails(firstChars(name, LIMITS.invoice_name_chars_max), "JSON-UNKNOWN");
  }

  value(name: string): unknown {
    const value = Object.hasOwn(this.#object, name) ? this.#object[name] : undefined;
    return value === null || (typeof value === "string" && value.trim() === "") ? undefined : value;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const text = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
    if (typeof text !== "string" || isLonger(text, LIMITS.invoice_text_chars_max) || !isXmlText(text))
      return this.fails(name, "JSON-TEXT");
    return text.trim().replace(/\r\n?/gu, "\n");
  }

  required(name: string): string {
    const text = this.text(name);
    if (text === undefined && this.value(name) === undefined) this.fails(name, "JSON-MISSING");
    return text ?? "";
  }

  /** What names the document: two that differ can be told apart by whoever reads them. */
  documentNumber(name: string): string {
    const text = this.required(name);
    if (text !== "" && whyUnreadable(text) !== undefined) this.fails(name, "JSON-INVISIBLE");
    return text;
  }

  /** A text of a form, without its white space. */
  shaped(name: string, form: RegExp, ruleId: ProblemId, hint: Sentence): string | undefined {
    const text = this.text(name)?.replace(/\s/gu, "");
    return text === undefined || form.test(text) ? text : this.fails(name, ruleId, hint);
  }

  day(name: string): LocalDay | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return text.length === "YYYY-MM-DD".length && parseCalendarDay(text)?.day !== undefined
      ? text
      : this.fails(name, "JSON-DATE");
  }

  participant(name: string): ParticipantId | undefined {
    const text = this.required(name);
    return text === "" ? undefined : (parseParticipantId(text) ?? this.fails(name, "JSON-PARTICIPANT"));
  }

  /** The row of a table that a text names. */
  code<Row>(name: string, table: Readonly<Record<string, Row>>): Row | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const row = Object.hasOwn(table, text) ? table[text] : undefined;
    return row ?? this.fails(name, "JSON-CODE", mayBe(Object.keys(table)));
  }

  number(name: string): Exact | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : (exactOf(value) ?? this.fails(name, "JSON-NUMBER"));
  }

  /** A number that must be there. */
  quantity(name: string): Exact {
    if (this.value(name) === undefined) this.fails(name, "JSON-MISSING");
    return this.number(name) ?? { coefficient: 0n, scale: 0 };
  }

  percent(name: string): Exact | undefined {
    const percent = this.number(name);
    if (percent === undefined) return undefined;
    const isWithin = percent.coefficient >= 0n && percent.coefficient <= HUNDRED * 10n ** BigInt(percent.scale);
    return isWithin ? percent : this.fails(name, "JSON-PERCENT");
  }

  amount(name: string): Cents | undefined {
    const value = this.number(name);
    if (value === undefined) return undefined;
    const cents = toCents(value);
    const isExact = cents * 10n ** BigInt(value.scale) === value.coefficient * 100n;
    return isExact && cents >= 0n ? cents : this.fails(name, "JSON-AMOUNT");
  }

  /** The members of each entry of a list. */
  entries(name: string, atMost: number): readonly Members[] {
    const value = this.value(name) ?? [];
    if (!Array.isArray(value) || value.length > atMost) {
      this.fails(name, "JSON-LIST", { en: `It has at most ${atMost}.`, sk: `Má ich najviac ${atMost}.` });
      return [];
    }
    return value.flatMap((entry: unknown, index) => {
      const place = `${this.#prefix}${name}[${index}]`;
      if (isObject(entry)) return [new Members(entry, `${place}.`, this.#problems)];
      this.#problems.add(place, "JSON-OBJECT");
      return [];
    });
  }
}
