/** Words an invoice in a language: which values are shown, in which order, under which names. */
import type { Language } from "../../report.js";
import { documentTypeName, taxPointName, vatCategoryName } from "./codes.js";
import { attachmentsTable } from "./attachments.js";
import { linesTable } from "./lines.js";
import { partyCards } from "./parties.js";
import { paymentCards } from "./payment.js";
import { amountText, dateText, negated, NO_BREAK } from "./format.js";
import type { AllowanceView, InvoiceView, Said } from "../invoice-view.js";
import type { Card, Row, Sheet, Table } from "../sheet.js";
import { allowanceAmount, allowanceReason, cell, percentText, periodText, rateText, row } from "./worded.js";
import type { Wording } from "./worded.js";
import { wordsIn } from "./words.js";
import type { Word, Words } from "./words.js";

export function composeSheet(view: InvoiceView, language: Language): Sheet {
  const words = wordsIn(language);
  const wording: Wording = {
    language,
    words,
    money: (amount) => [amountText(amount, language), view.currency ?? ""].join(NO_BREAK).trimEnd(),
  };
  const payable = row(
    words(view.isCreditNote ? "total_credited" : "total_payable"),
    view.totals.payable,
    wording.money,
  );
  const due = row(words("due"), view.dueDate, (date) => dateText(date, language));
  return {
    language,
    kind: documentTypeName(view.typeCode, view.isCreditNote, language),
    number: view.number ?? "",
    ...remarkOf(view, words),
    headline: [...payable.map((first) => ({ ...first, isMain: true })), ...due],
    parties: partyCards(view, wording),
    details: detailsCard(view, wording),
    lines: linesTable(view, wording),
    ...(view.allowances.length === 0 ? {} : { allowances: allowancesTable(view.allowances, wording) }),
    ...(view.taxes.length === 0 ? {} : { taxes: taxesTable(view, wording) }),
    totals: { heading: words("totals"), rows: totalRows(view, wording) },
    payments: paymentCards(view, wording),
    ...(view.notes.length === 0 ? {} : { notes: { heading: words("notes"), text: view.notes, rows: [] } }),
    ...(view.attachments.length === 0 ? {} : { attachments: attachmentsTable(view.attachments, wording) }),
    footer: words("original"),
    pageText: (page, pages) => words("page", { page, pages }),
  };
}

/** What a reader must know of the whole before anything else. */
function remarkOf({ isSelfBilled, isCreditNote, omittedCount }: InvoiceView, words: Words): Pick<Sheet, "remark"> {
  const remarks = [
    ...(isSelfBilled ? [words(isCreditNote ? "self_billed_credit" : "self_billed")] : []),
    ...(omittedCount > 0 ? [words("entries_omitted", { count: omittedCount })] : []),
  ];
  return remarks.length === 0 ? {} : { remark: remarks.join(" ") };
}

function detailsCard(view: InvoiceView, { language, words }: Wording): Card {
  const date = (text: string): string => dateText(text, language);
  const references = view.references.map(({ kind, id, date: day }) => ({
    label: words(`ref_${kind}`),
    value: day === null ? id : words("ref_dated", { id, date: date(day) }),
  }));
  return {
    heading: words("details"),
    text: [],
    rows: [
      ...row(words("issued"), view.issueDate, date),
      ...row(words("delivered"), view.deliveryDate, date),
      ...row(words("tax_point"), view.taxPointDate, date),
      ...row(words("tax_point"), view.taxPointCode, (code) => taxPointName(code, language)),
      ...row(words("due"), view.dueDate, date),
      ...(view.period === null ? [] : [{ label: words("period"), value: periodText(view.period, language) }]),
      ...references,
    ],
  };
}

function allowancesTable(allowances: readonly AllowanceView[], { language, words }: Wording): Table {
  return {
    heading: words("allowances"),
    columns: [
      { label: words("reason"), isNumber: false, width: 46 },
      { label: words("base"), isNumber: true, width: 16 },
      { label: words("percent"), isNumber: true, width: 12 },
      { label: words("rate"), isNumber: true, width: 12 },
      { label: words("amount"), isNumber: true, width: 14 },
    ],
    rows: allowances.map((allowance) => [
      cell(allowanceReason(allowance, words)),
      cell(allowance.base === null ? null : amountText(allowance.base, language)),
      cell(allowance.percent === null ? null : percentText(allowance.percent, language)),
      cell(rateText(allowance, language)),
      cell(allowanceAmount(allowance, language)),
    ]),
  };
}

function taxesTable({ taxes }: InvoiceView, { language, words }: Wording): Table {
  return {
    heading: words("vat_breakdown"),
    columns: [
      { label: words("vat_rate"), isNumber: false, width: 46 },
      { label: words("taxable"), isNumber: true, width: 29 },
      { label: words("vat"), isNumber: true, width: 25 },
    ],
    rows: taxes.map(({ category, rate, taxable, tax, reason, reasonCode }) => {
      const because = [reason, reasonCode].filter((text) => text !== null);
      const kind = category === null || (category === "S" && rate !== null) ? "" : vatCategoryName(category, language);
      // Nobody pays a rate where nothing is taxed by it.
      const percent = rate === null || (category !== "S" && Number(rate) === 0) ? "" : percentText(rate, language);
      return [
        cell([percent, kind].filter((text) => text !== "").join(" "), because),
        cell(taxable === null ? null : amountText(taxable, language)),
        cell(tax === null ? null : amountText(tax, language)),
      ];
    }),
  };
}

function totalRows({ totals, taxCurrency, isCreditNote }: InvoiceView, wording: Wording): readonly Row[] {
  const { words, money, language } = wording;
  const sum = (word: Word, value: Said, takenOff = false): readonly Row[] =>
    row(words(word), value, (amount) => money(takenOff ? negated(amount) : amount));
  const payable = sum(isCreditNote ? "total_credited" : "total_payable", totals.payable);
  return [
    ...sum("total_lines", totals.lines),
    ...sum("total_allowances", totals.allowances, true),
    ...sum("total_charges", totals.charges),
    ...sum("total_net", totals.net),
    ...sum("total_vat", totals.tax),
    ...row(words("total_vat_in", { currency: taxCurrency ?? "" }), totals.taxConverted, (amount) =>
      [amountText(amount, language), taxCurrency ?? ""].join(NO_BREAK).trimEnd(),
    ),
    ...sum("total_gross", totals.gross),
    ...sum("total_prepaid", totals.prepaid, true),
    ...sum("total_rounding", totals.rounding),
    ...payable.map((last) => ({ ...last, isMain: true })),
  ];
}
