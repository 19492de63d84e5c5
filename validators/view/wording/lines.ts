/** Words the lines of an invoice. */
import { countryName, unitName } from "./codes.js";
import { amountText, NO_BREAK, numberText } from "./format.js";
import type { InvoiceView, LineView } from "../invoice-view.js";
import type { Cell, Column, Table } from "../sheet.js";
import { allowanceAmount, allowanceReason, cell, percentText, periodText, rateText } from "./worded.js";
import type { Wording } from "./worded.js";

export function linesTable({ lines, lineCount }: InvoiceView, wording: Wording): Table {
  const { words } = wording;
  const hasDiscounts = lines.some(({ allowances }) => allowances.length > 0);
  const columns: readonly (Column | false)[] = [
    { label: words("line"), isNumber: false, width: 6 },
    { label: words("item"), isNumber: false, width: hasDiscounts ? 36 : 46 },
    { label: words("quantity"), isNumber: true, width: 10 },
    { label: words("unit"), isNumber: false, width: 9 },
    { label: words("price"), isNumber: true, width: 12 },
    hasDiscounts && { label: words("discount"), isNumber: true, width: 11 },
    { label: words("rate"), isNumber: true, width: hasDiscounts ? 8 : 9 },
    { label: words("amount"), isNumber: true, width: hasDiscounts ? 13 : 14 },
  ];
  const omitted = lineCount - lines.length;
  return {
    heading: words("lines"),
    columns: columns.filter((column) => column !== false),
    rows: lines.map((line) => lineCells(line, hasDiscounts, wording)),
    ...(omitted === 0 ? {} : { omitted: words("lines_omitted", { count: omitted, all: lineCount }) }),
  };
}

function lineCells(line: LineView, hasDiscounts: boolean, wording: Wording): readonly Cell[] {
  const { language } = wording;
  const cells: readonly (Cell | false)[] = [
    cell(line.id),
    itemCell(line, wording),
    cell(line.quantity === null ? null : numberText(line.quantity, language)),
    cell(line.unit === null ? null : unitName(line.unit, language)),
    priceCell(line, wording),
    hasDiscounts && discountCell(line, wording),
    cell(rateText(line, language)),
    cell(line.amount === null ? null : amountText(line.amount, language)),
  ];
  return cells.filter((shown) => shown !== false);
}

/** What is sold, with everything by which the reader may know it. */
function itemCell(line: LineView, { language, words }: Wording): Cell {
  const said = (label: string, value: string | null): readonly string[] =>
    value === null ? [] : [`${label}: ${value}`];
  const { name, description, standardId } = line;
  return cell(name ?? description, [
    ...(name === null || description === null || description === name ? [] : [description]),
    ...said(words("sellers_id"), line.sellersId),
    ...said(words("buyers_id"), line.buyersId),
    ...said(words(standardId?.scheme === "0160" ? "gtin" : "standard_id"), standardId?.id ?? null),
    ...line.classifications.flatMap(({ id, scheme }) =>
      said(words("classification"), scheme === null ? id : `${id} (${scheme})`),
    ),
    ...said(words("origin"), line.origin === null ? null : countryName(line.origin, language)),
    ...line.properties.map(({ name: property, value }) => `${property ?? ""}: ${value ?? ""}`),
    ...(line.period === null ? [] : [`${words("period")}: ${periodText(line.period, language)}`]),
    ...said(words("order_line"), line.orderLine),
    ...said(words("ref_costs"), line.costs),
    ...line.objects.flatMap((id) => said(words("ref_object"), id)),
    ...(line.note === null ? [] : [line.note]),
  ]);
}

function priceCell({ price, priceQuantity, priceUnit, priceDiscount }: LineView, { language, words }: Wording): Cell {
  const per =
    priceQuantity === null || Number(priceQuantity) === 1
      ? []
      : [
          words("price_per", {
            quantity: [numberText(priceQuantity, language), priceUnit === null ? "" : unitName(priceUnit, language)]
              .join(NO_BREAK)
              .trimEnd(),
          }),
        ];
  const isDiscounted = priceDiscount !== null && Number(priceDiscount) !== 0;
  return cell(price === null ? null : amountText(price, language), [
    ...per,
    ...(isDiscounted ? [words("price_discount", { amount: amountText(priceDiscount, language) })] : []),
  ]);
}

/** The first amount stands large, further ones below it, each with its percentage and reason. */
function discountCell({ allowances }: LineView, { language, words }: Wording): Cell {
  const [first, ...others] = allowances.map((allowance) => ({
    amount: allowanceAmount(allowance, language),
    why: [allowance.percent === null ? "" : percentText(allowance.percent, language), allowanceReason(allowance, words)]
      .filter((text) => text !== "")
      .join(" "),
  }));
  return cell(first?.amount ?? null, [
    ...(first === undefined ? [] : [first.why]),
    ...others.map(({ amount, why }) => `${amount} ${why}`),
  ]);
}
