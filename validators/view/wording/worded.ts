/** What the parts of a sheet are worded with: the reader's language, rows and cells of values that may be missing. */
import type { Language } from "../../report.js";
import { amountText, dateText, negated, NO_BREAK, numberText } from "./format.js";
import type { AllowanceView, PeriodView, Said } from "../invoice-view.js";
import type { Cell, Row } from "../sheet.js";
import type { Words } from "./words.js";

export interface Wording {
  readonly language: Language;
  readonly words: Words;
  /** An amount with the document's currency. */
  money(amount: string): string;
}

/** A row, or none where nothing is said. */
export const row = (label: string, value: Said, shown: (value: string) => string = (text) => text): readonly Row[] =>
  value === null ? [] : [{ label, value: shown(value) }];

export const cell = (text: Said, more: readonly string[] = []): Cell => ({ text: text ?? "", more });

/** From – to; one of them where only that is said. */
export const periodText = ({ start, end }: PeriodView, language: Language): string =>
  `${start === null ? "" : dateText(start, language)} – ${end === null ? "" : dateText(end, language)}`.trim();

export const percentText = (percent: string, language: Language): string =>
  `${numberText(percent, language)}${NO_BREAK}%`;

/** The rate of a line or an allowance; the letter of its category where it is not the ordinary one. */
export function rateText(
  { category, rate }: { readonly category: Said; readonly rate: Said },
  language: Language,
): string {
  const percent = rate === null ? "" : percentText(rate, language);
  return [percent, category === null || category === "S" ? "" : `(${category})`]
    .filter((text) => text !== "")
    .join(NO_BREAK);
}

/** Why an amount is taken off or added. */
export const allowanceReason = ({ isCharge, reason, reasonCode }: AllowanceView, words: Words): string =>
  reason ?? `${words(isCharge ? "a_charge" : "a_discount")}${reasonCode === null ? "" : ` (${reasonCode})`}`;

/** What an allowance takes off is negative, what a charge adds is not. */
export const allowanceAmount = ({ isCharge, amount }: AllowanceView, language: Language): string =>
  amount === null ? "" : amountText(isCharge ? amount : negated(amount), language);
