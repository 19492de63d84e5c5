/** Invoices drawn for people, as tests look at them. */
import { readFileSync } from "node:fs";

import { invoiceWithLines } from "../../../bench/documents.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import type { Language } from "../../../validators/report.js";
import { renderDocument } from "../../../validators/view/render.js";
import type { ViewFormat } from "../../../validators/view/render.js";
import { conformance } from "../conformance.js";

/** Official examples of all kinds: credit notes, corrections, self-billing, categories of VAT, everything that may be said. */
export const VIEW_EXAMPLES: readonly (readonly [name: string, ...path: string[]])[] = [
  ["an invoice", "documents", "peppol-3.0.21", "base-example.xml"],
  ["allowances and charges", "documents", "peppol-3.0.21", "Allowance-example.xml"],
  ["a credit note", "documents", "peppol-3.0.21", "base-creditnote-correction.xml"],
  ["a negative invoice", "documents", "peppol-3.0.21", "base-negative-inv-correction.xml"],
  ["a sales order", "documents", "peppol-3.0.21", "sales-order-example.xml"],
  ["exempt from VAT", "documents", "peppol-3.0.21", "vat-category-E.xml"],
  ["not subject to VAT", "documents", "peppol-3.0.21", "vat-category-O.xml"],
  ["self-billing", "documents", "self-billing-3.0.21", "SB-base-example.xml"],
  ["a self-billed credit note", "documents", "self-billing-3.0.21", "SB-base-creditnote-correction.xml"],
  ["everything that an invoice may say", "documents", "en16931", "Invoice-Max_content.xml"],
];

export const exampleBytes = (path: readonly string[]): Buffer => readFileSync(conformance(...path));

/** @throws Error for a document that is refused */
export function drawn(bytes: Uint8Array, language: Language, format: ViewFormat): Buffer {
  const view = renderDocument({ bytes, limits: SCAN_LIMITS, language, format });
  if (view.kind === "refused") throw new Error(`refused: ${JSON.stringify(view.findings)}`);
  return Buffer.from(view.bytes);
}

/** A Slovak invoice of our own; what is named replaces the content of the elements of that name. */
export function invoiceSaying(values: Readonly<Record<string, string>>, lines = 2): Buffer {
  let xml = invoiceWithLines(lines).toString("utf8");
  for (const [element, content] of Object.entries(values)) {
    const changed = xml.replace(
      new RegExp(`(<cbc:${element}(?: [^>]*)?>)[^<]*(</cbc:${element}>)`, "gu"),
      (_, open: string, close: string) => open + content + close,
    );
    if (changed === xml) throw new Error(`the sample has no ${element}`);
    xml = changed;
  }
  return Buffer.from(xml, "utf8");
}

/** Amounts of a document by element, as they are written. */
export const amountsIn = (xml: string, ...elements: readonly string[]): readonly string[] =>
  elements.flatMap((element) =>
    [...xml.matchAll(new RegExp(`<cbc:${element}(?: [^>]*)?>\\s*([^<]*?)\\s*</cbc:${element}>`, "gu"))].map(
      ([, amount = ""]) => amount,
    ),
  );

/** An amount as readers of a language see it, by the standard library: blanks that do not break in Slovak. */
export const asRead = (amount: string, language: Language): string =>
  Number(amount)
    .toLocaleString(language, { minimumFractionDigits: 2, maximumFractionDigits: 8, useGrouping: "always" })
    .replaceAll(/[\u202f\u00a0]/gu, "\u00a0")
    .replace("\u2212", "-");
