/** Reads one value of a source as its member wants it: the value, how sure it is, and what is doubtful about it. */
import { parseParticipantId, participantParts } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { firstChars } from "../../base/text.js";
import { exactOf, exactText } from "../exact.js";
import { hasCheckDigits } from "../iban.js";
import { readDay } from "./dates.js";
import type { ValueKind } from "./fields.js";
import type { IssueCode } from "./issues.js";
import { readNumber } from "./numbers.js";
import type { DecimalMark } from "./numbers.js";
import { countryOf, currencyOf, paymentOf, treatmentOf, typeOf, unitOf } from "./words.js";

/** A value of a source. */
export type SourceValue = string | number | boolean;

/** What a value became. */
interface ReadValue {
  /** Undefined where it could not be read; `doubt` then says why. */
  readonly value: string | undefined;
  /** 0 to 1, beside the certainty of its name. */
  readonly certainty: number;
  readonly doubt?: IssueCode;
  /** Another member that the value tells of: the currency of an amount, the unit of a quantity. */
  readonly beside?: { readonly target: string; readonly value: string };
  /** The member to which the value belongs instead. */
  readonly instead?: string;
}

type Reader = (text: string, mark: DecimalMark | undefined) => ReadValue;

const sure = (value: string): ReadValue => ({ value, certainty: 1 });
const not = (doubt: IssueCode): ReadValue => ({ value: undefined, certainty: 0, doubt });
const doubted = (value: string, certainty: number, doubt: IssueCode): ReadValue => ({ value, certainty, doubt });
const orNot = (value: string | undefined, doubt: IssueCode): ReadValue =>
  value === undefined ? not(doubt) : sure(value);

/** How sure a value is that can be read in two ways. */
const EITHER = 0.5;
const CONVENTION = 0.7;

/** What a cell of a spreadsheet would run: an equals sign or an at sign in front, or a sign before a command. */
const FORMULA = /^[=@]|^[+-].*[|(!]/u;

const text: Reader = (written) => {
  const value = firstChars(written.trim(), LIMITS.invoice_text_chars_max);
  if (value.length < written.trim().length) return doubted(value, EITHER, "TEXT_CUT");
  return FORMULA.test(value) ? doubted(value, CONVENTION, "FORMULA") : sure(value);
};

const number: Reader = (written, mark) => {
  const read = readNumber(written, mark);
  if (read === undefined) return not("NOT_A_NUMBER");
  const currency = read.around === "" ? undefined : currencyOf(read.around);
  if (read.around !== "" && currency === undefined) return not("NOT_A_NUMBER");
  return {
    ...(read.isCertain ? sure(read.text) : doubted(read.text, EITHER, "AMBIGUOUS_NUMBER")),
    ...(currency === undefined ? {} : { beside: { target: "currency", value: currency } }),
  };
};

const percent: Reader = (written, mark) => {
  const read = readNumber(written, mark);
  if (read === undefined || !/^%?$/u.test(read.around)) return not("NOT_A_NUMBER");
  return read.isCertain ? sure(read.text) : doubted(read.text, EITHER, "AMBIGUOUS_NUMBER");
};

/** A rate; a positive one below 1 is a share of 1 in every country that writes rates so. */
const rate: Reader = (written, mark) => {
  const treatment = treatmentOf(written);
  if (treatment !== undefined) return { ...sure(treatment), instead: "taxTreatment" };
  const read = percent(written, mark);
  const exact = exactOf(read.value);
  if (read.value === undefined || exact === undefined || written.includes("%")) return read;
  const isShare = exact.coefficient > 0n && exact.coefficient < 10n ** BigInt(exact.scale);
  if (!isShare) return read;
  const hundredfold = exactText({ coefficient: exact.coefficient * 100n, scale: exact.scale });
  return doubted(hundredfold, EITHER, "FRACTION_RATE");
};

const quantity: Reader = (written, mark) => {
  const read = readNumber(written, mark);
  if (read === undefined) return not("NOT_A_NUMBER");
  const unit = read.around === "" ? undefined : unitOf(read.around);
  if (read.around !== "" && unit === undefined) return not("NOT_A_NUMBER");
  return {
    ...(read.isCertain ? sure(read.text) : doubted(read.text, EITHER, "AMBIGUOUS_NUMBER")),
    ...(unit === undefined ? {} : { beside: { target: "unit", value: unit } }),
  };
};

const DOUBTS_OF_DAYS = { AMBIGUOUS_DATE: EITHER, TWO_DIGIT_YEAR: CONVENTION, SERIAL_DATE: EITHER } as const;

const date: Reader = (written) => {
  const read = readDay(written);
  if (read === undefined) return not("NOT_A_DATE");
  const { day, doubt } = read;
  return doubt === undefined ? sure(day) : doubted(day, doubtOfDay(doubt), doubt);
};
const doubtOfDay = (doubt: IssueCode): number =>
  Object.hasOwn(DOUBTS_OF_DAYS, doubt) ? DOUBTS_OF_DAYS[doubt as keyof typeof DOUBTS_OF_DAYS] : EITHER;

const iban: Reader = (written) => {
  const value = written.replace(/[\s\u{a0}-]+/gu, "").toUpperCase();
  return /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/u.test(value) && hasCheckDigits(value)
    ? sure(value)
    : not("NOT_AN_IDENTIFIER");
};

const symbol: Reader = (written) => {
  const value = written.replace(/\s+/gu, "");
  return /^\d{1,10}$/u.test(value) ? sure(value) : not("NOT_AN_IDENTIFIER");
};

/** A tax id, or a VAT id: which of them it is, its form says better than its name. */
const taxId: Reader = (written) => {
  const value = written.replace(/[\s\u{a0}./-]+/gu, "").toUpperCase();
  if (/^[A-Z]{2}[A-Z0-9]{2,13}$/u.test(value)) return { ...sure(value), instead: "vatId" };
  if (/^\d{5,13}$/u.test(value)) return { ...sure(value), instead: "taxId" };
  return not("NOT_AN_IDENTIFIER");
};

const ACTOR_SCHEME = /^iso6523-actorid-upis::/u;
const participant: Reader = (written) => {
  const parsed = parseParticipantId(written.trim().replace(ACTOR_SCHEME, ""));
  if (parsed === undefined) return not("NOT_AN_IDENTIFIER");
  const { scheme, value } = participantParts(parsed);
  return sure(`${scheme}:${value}`);
};

const unit: Reader = (written) => {
  const code = unitOf(written);
  return code === undefined ? not("UNIT_UNKNOWN") : sure(code);
};

const READERS: Readonly<Record<ValueKind, Reader>> = {
  text,
  number,
  percent,
  quantity,
  rate,
  date,
  iban,
  symbol,
  taxId,
  participant,
  unit,
  address: text,
  currency: (written) => orNot(currencyOf(written), "NOT_A_CODE"),
  country: (written) => orNot(countryOf(written), "NOT_A_CODE"),
  type: (written) => orNot(typeOf(written), "NOT_A_CODE"),
  payment: (written) => orNot(paymentOf(written), "NOT_A_CODE"),
  treatment: (written) => orNot(treatmentOf(written), "NOT_A_CODE"),
};

/** Kinds whose JSON number is what it is, not what a person wrote. */
const NUMBERS: ReadonlySet<ValueKind> = new Set(["number", "percent", "quantity", "rate"]);

/** @param mark  the sign before decimals that the other numbers of the source show */
export function readValue(kind: ValueKind, value: SourceValue, mark: DecimalMark | undefined): ReadValue {
  if (typeof value === "number" && NUMBERS.has(kind)) {
    const exact = exactOf(value);
    // The point is that of JSON, whatever marks decimals in the texts around it.
    return exact === undefined ? not("NOT_EXACT") : READERS[kind](exactText(exact), ".");
  }
  // Digits that a double may have made, as of a number of twenty digits, are nobody's text.
  if (typeof value === "number" && !Number.isSafeInteger(value) && exactOf(value) === undefined)
    return not("NOT_EXACT");
  // `reverseCharge: true`; where it is false there is nothing to say.
  if (typeof value === "boolean" && kind === "treatment")
    return value ? sure("reverse_charge") : { value: undefined, certainty: 0 };
  return READERS[kind](String(value), mark);
}
