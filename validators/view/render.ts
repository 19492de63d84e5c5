/** Shows a document to people: as a page of HTML or as PDF. Bytes in, bytes out. */
import type { Finding, Language } from "../report.js";
import { isKnownRoot } from "../ubl/check.js";
import type { ScanLimits } from "../xml/limits.js";
import { roots } from "../xml/names.js";
import { scan } from "../xml/scanner.js";
import { composeSheet } from "./wording/compose.js";
import { drawHtml } from "./html.js";
import { drawPdf } from "./pdf/sheet-pages.js";
import { readInvoice } from "./read.js";

/** What a document can be shown as. */
export const VIEW_FORMATS = ["html", "pdf"] as const;
export type ViewFormat = (typeof VIEW_FORMATS)[number];

export interface ViewInput {
  readonly bytes: Uint8Array;
  readonly limits: ScanLimits;
  readonly language: Language;
  readonly format: ViewFormat;
}

export type ViewOutput =
  | {
      readonly kind: "shown";
      readonly bytes: Uint8Array;
      /** The document's number, as it says. */ readonly number: string;
    }
  | { readonly kind: "refused"; readonly findings: readonly Finding[] };

/** A response is an answer to an invoice; there is nothing on it to be paid or filed. */
const NOT_SHOWN: Finding = {
  ruleId: "UBL-ROOT",
  layer: "schema",
  severity: "fatal",
  location: "/",
  line: 1,
  message: "Send a UBL 2.1 Invoice or CreditNote.",
};

/** Draws an invoice or a credit note without judging it. */
export function renderDocument({ bytes, limits, language, format }: ViewInput): ViewOutput {
  const scanned = scan(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limits);
  if (scanned.kind === "refused") return scanned;
  const root = scanned.document.name(0);
  if (!isKnownRoot(root) || root === roots.ApplicationResponse) return { kind: "refused", findings: [NOT_SHOWN] };
  const sheet = composeSheet(readInvoice(scanned.document), language);
  return { kind: "shown", bytes: DRAWERS[format](sheet), number: sheet.number };
}

const DRAWERS = {
  html: (sheet) => Buffer.from(drawHtml(sheet), "utf8"),
  pdf: drawPdf,
} as const satisfies Readonly<Record<ViewFormat, (sheet: ReturnType<typeof composeSheet>) => Uint8Array>>;
