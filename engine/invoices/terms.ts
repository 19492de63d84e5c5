/** The closed lists of an invoice as JSON: kinds of documents, VAT, units, means of payment. */
import type { LocalDay } from "../base/clock.js";

const BILLING = {
  customization: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
  profile: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
  isSelfBilling: false,
};
const SELF_BILLING = {
  customization: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0",
  profile: "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0",
  isSelfBilling: true,
};
const INVOICE = { root: "Invoice", line: "InvoiceLine", quantity: "InvoicedQuantity" };
const CREDIT_NOTE = { root: "CreditNote", line: "CreditNoteLine", quantity: "CreditedQuantity" };

/** What each document type is in UBL. Self-billing is written by the buyer. @source spec/shapes.md, section 6 */
export const DOCUMENT_KINDS = {
  invoice: { ...BILLING, ...INVOICE, typeCode: "380" },
  credit_note: { ...BILLING, ...CREDIT_NOTE, typeCode: "381" },
  self_billing: { ...SELF_BILLING, ...INVOICE, typeCode: "389" },
  self_billing_credit_note: { ...SELF_BILLING, ...CREDIT_NOTE, typeCode: "261" },
} as const;
export type InvoiceKind = keyof typeof DOCUMENT_KINDS;

/** VAT categories; `exemption` is what the breakdown must say, `seller` and `buyer` which ids they need. */
export const VAT_CATEGORIES = {
  S: { seller: "vat", buyer: "none", exemption: undefined },
  Z: { seller: "any", buyer: "none", exemption: undefined },
  E: { seller: "any", buyer: "none", exemption: { code: undefined, reason: "Exempt from VAT" } },
  AE: { seller: "any", buyer: "any", exemption: { code: "VATEX-EU-AE", reason: "Reverse charge" } },
  K: { seller: "vat", buyer: "vat", exemption: { code: "VATEX-EU-IC", reason: "Intra-community supply" } },
  G: { seller: "vat", buyer: "none", exemption: { code: "VATEX-EU-G", reason: "Export outside the EU" } },
  O: { seller: "legal", buyer: "none", exemption: { code: "VATEX-EU-O", reason: "Not subject to VAT" } },
} as const;
export type VatCategory = keyof typeof VAT_CATEGORIES;

/** `taxTreatment` in words. */
export const TAX_TREATMENTS: Readonly<Record<string, VatCategory>> = {
  standard: "S",
  zero_rated: "Z",
  exempt: "E",
  reverse_charge: "AE",
  intra_community: "K",
  // The Connector's word.
  intra_community_supply: "K",
  export: "G",
  out_of_scope: "O",
};

/** The Slovak rates of VAT in percent, the latest first. @source zákon 222/2004 Z. z., § 27 */
const SLOVAK_RATES: readonly { readonly from: LocalDay; readonly rates: readonly string[] }[] = [
  { from: "2025-01-01", rates: ["23", "19", "5"] },
  { from: "2023-01-01", rates: ["20", "10", "5"] },
  { from: "2011-01-01", rates: ["20", "10"] },
];

/**
 * The positive rates that a supply of a day may have.
 * @param corrects  whether the document corrects an earlier one, which keeps the rate of its own day
 */
export function slovakRates(day: LocalDay, corrects: boolean): readonly string[] {
  const inForce = SLOVAK_RATES.filter(({ from }) => from <= day);
  return [...new Set((corrects ? inForce : inForce.slice(0, 1)).flatMap(({ rates }) => rates))];
}

/** UNECE Recommendation 20 and 21 codes of units as Slovak programs write them. */
export const UNITS: Readonly<Record<string, string>> = {
  ks: "H87",
  pcs: "H87",
  hod: "HUR",
  h: "HUR",
  deň: "DAY",
  den: "DAY",
  mes: "MON",
  kg: "KGM",
  g: "GRM",
  t: "TNE",
  m: "MTR",
  km: "KMT",
  m2: "MTK",
  m3: "MTQ",
  l: "LTR",
  kwh: "KWH",
  bal: "XPK",
  súbor: "SET",
};
export const UNIT_DEFAULT = "C62";

/** UNTDID 4461. Direct debits are missing: they need a mandate, for which there is no member. */
export const PAYMENT_METHODS: Readonly<Record<string, string>> = {
  bank_transfer: "30",
  credit_transfer: "30",
  transfer: "30",
  sepa: "58",
  cash: "10",
  card: "48",
  "30": "30",
  "58": "58",
  "10": "10",
  "48": "48",
  "57": "57",
  "97": "97",
  "1": "1",
};
/** Those that pay to an account. */
export const TRANSFERS: ReadonlySet<string> = new Set(["30", "58"]);
export const PAYMENT_UNDEFINED = "1";

const ZIP = /^PK\u0003\u0004/u;
/** What may be attached, and how the first octets of such a file read as Latin-1. @source EN 16931, BR-CL-24 */
export const ATTACHMENT_TYPES: Readonly<Record<string, RegExp>> = {
  // Readers of PDF look for the beginning in the first kilobyte.
  "application/pdf": /%PDF-/u,
  "image/png": /^\u0089PNG\r\n\u001a\n/u,
  "image/jpeg": /^\u00ff\u00d8\u00ff/u,
  // Text without control characters, or in UTF-16 with its mark.
  "text/csv": /^(?:\u00ff\u00fe|\u00fe\u00ff|[^\u0000-\u0008\u000e-\u001f\u007f]*$)/u,
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ZIP,
  "application/vnd.oasis.opendocument.spreadsheet": ZIP,
};

/** How files of these types are called. */
export const ATTACHMENT_EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  "application/pdf": ["pdf"],
  "image/png": ["png"],
  "image/jpeg": ["jpg", "jpeg"],
  "text/csv": ["csv", "txt", "tsv"],
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ["xlsx"],
  "application/vnd.oasis.opendocument.spreadsheet": ["ods"],
};

/** What a discount is called. @source UNTDID 5189 */
export const DISCOUNT = { code: "95", reason: "Discount" } as const;

/** ICD code of the Slovak business id. */
export const ICO_SCHEME = "0158";

/** Participants of Slovakia are named by their tax id under this scheme. */
export const SLOVAK_SCHEME = "0245";
