/** What codes of a document mean to a reader. A code without a row is shown as it stands. */
import type { Language } from "../../report.js";
import { textRow } from "./words.js";
import type { TextRow } from "./words.js";

type Names = Readonly<Record<string, TextRow>>;

/** UNTDID 1001: what kind of document it is. */
const DOCUMENT_TYPES: Names = {
  "71": textRow("Request for payment", "Žiadosť o platbu"),
  "80": textRow("Debit note", "Ťarchopis"),
  "82": textRow("Metered services invoice", "Faktúra za merané služby"),
  "84": textRow("Debit note", "Ťarchopis"),
  "261": textRow("Self-billed credit note", "Dobropis vyhotovený odberateľom"),
  "326": textRow("Partial invoice", "Čiastková faktúra"),
  "380": textRow("Invoice", "Faktúra"),
  "381": textRow("Credit note", "Dobropis"),
  "383": textRow("Debit note", "Ťarchopis"),
  "384": textRow("Corrected invoice", "Opravná faktúra"),
  "386": textRow("Prepayment invoice", "Zálohová faktúra"),
  "389": textRow("Self-billed invoice", "Faktúra vyhotovená odberateľom"),
  "393": textRow("Factored invoice", "Faktúra s postúpením pohľadávky"),
  "395": textRow("Consignment invoice", "Konsignačná faktúra"),
  "396": textRow("Factored credit note", "Dobropis s postúpením pohľadávky"),
  "471": textRow("Self-billed corrected invoice", "Opravná faktúra vyhotovená odberateľom"),
  "500": textRow("Self-billed prepayment invoice", "Zálohová faktúra vyhotovená odberateľom"),
  "503": textRow("Prepayment credit note", "Dobropis k zálohovej faktúre"),
  "527": textRow("Self-billed debit note", "Ťarchopis vyhotovený odberateľom"),
  "751": textRow("Invoice information for accounting", "Údaje faktúry na účtovanie"),
};

/** UNTDID 5305: how VAT applies. The Slovak words are those that the law on VAT asks for on an invoice. */
const VAT_CATEGORIES: Names = {
  S: textRow("Taxed", "Zdaniteľné plnenie"),
  Z: textRow("Zero rated", "Nulová sadzba"),
  E: textRow("Exempt from VAT", "Oslobodené od dane"),
  AE: textRow("Reverse charge", "Prenesenie daňovej povinnosti"),
  K: textRow("Intra-Community supply", "Dodanie do iného členského štátu"),
  G: textRow("Export outside the EU", "Vývoz mimo EÚ"),
  O: textRow("Not subject to VAT", "Nepodlieha DPH"),
  L: textRow("Canary Islands tax (IGIC)", "Daň Kanárskych ostrovov (IGIC)"),
  M: textRow("Ceuta and Melilla tax (IPSI)", "Daň Ceuty a Melilly (IPSI)"),
  B: textRow("Split payment", "Delená platba"),
};

/** UNTDID 2005: the day on which VAT becomes due. */
const TAX_POINTS: Names = {
  "3": textRow("Day of issue", "Deň vystavenia"),
  "35": textRow("Day of delivery", "Deň dodania"),
  "432": textRow("Day of payment", "Deň úhrady"),
};

/** UNTDID 4461: how it is paid. */
const PAYMENT_MEANS: Names = {
  "10": textRow("Cash", "V hotovosti"),
  "20": textRow("Cheque", "Šekom"),
  "30": textRow("Credit transfer", "Prevodným príkazom"),
  "31": textRow("Debit transfer", "Inkasným prevodom"),
  "42": textRow("To a bank account", "Na bankový účet"),
  "48": textRow("Bank card", "Platobnou kartou"),
  "49": textRow("Direct debit", "Inkasom"),
  "54": textRow("Credit card", "Kreditnou kartou"),
  "55": textRow("Debit card", "Debetnou kartou"),
  "57": textRow("Standing agreement", "Podľa trvalej dohody"),
  "58": textRow("SEPA credit transfer", "SEPA prevodom"),
  "59": textRow("SEPA direct debit", "SEPA inkasom"),
  "68": textRow("Online payment", "Online platbou"),
  "97": textRow("Clearing between partners", "Vzájomným zápočtom"),
};

/** UN/ECE Recommendation 20 and 21, those that invoices use most. */
const UNITS: Names = {
  ANN: textRow("year", "rok"),
  C62: textRow("pc", "ks"),
  CMT: textRow("cm", "cm"),
  DAY: textRow("day", "deň"),
  E48: textRow("service", "služba"),
  EA: textRow("pc", "ks"),
  GRM: textRow("g", "g"),
  H87: textRow("pc", "ks"),
  HUR: textRow("h", "hod."),
  KGM: textRow("kg", "kg"),
  KMT: textRow("km", "km"),
  KWH: textRow("kWh", "kWh"),
  LS: textRow("lump sum", "paušál"),
  LTR: textRow("l", "l"),
  MIN: textRow("min", "min."),
  MMT: textRow("mm", "mm"),
  MON: textRow("month", "mesiac"),
  MTK: textRow("m²", "m²"),
  MTQ: textRow("m³", "m³"),
  MTR: textRow("m", "m"),
  MWH: textRow("MWh", "MWh"),
  NAR: textRow("pc", "ks"),
  P1: textRow("%", "%"),
  PR: textRow("pair", "pár"),
  SET: textRow("set", "súprava"),
  TNE: textRow("t", "t"),
  WEE: textRow("week", "týždeň"),
  XBX: textRow("box", "škatuľa"),
  XCT: textRow("carton", "kartón"),
  XPK: textRow("package", "balenie"),
  XPX: textRow("pallet", "paleta"),
};

const nameIn = (names: Names, code: string, language: Language): string | undefined =>
  Object.hasOwn(names, code) ? names[code]?.[language] : undefined;

/** @returns the kind of a document; that of its root element, with the code, where the code has no name here */
export function documentTypeName(code: string | null, isCreditNote: boolean, language: Language): string {
  const general = nameIn(DOCUMENT_TYPES, isCreditNote ? "381" : "380", language) ?? "";
  return code === null ? general : (nameIn(DOCUMENT_TYPES, code, language) ?? `${general} (${code})`);
}

export const vatCategoryName = (code: string, language: Language): string =>
  nameIn(VAT_CATEGORIES, code, language) ?? code;

export const taxPointName = (code: string, language: Language): string => nameIn(TAX_POINTS, code, language) ?? code;

export const paymentMeansName = (code: string, language: Language): string | undefined =>
  nameIn(PAYMENT_MEANS, code, language);

export const unitName = (code: string, language: Language): string => nameIn(UNITS, code, language) ?? code;

const COUNTRY_NAMES: Readonly<Record<Language, Intl.DisplayNames>> = {
  en: new Intl.DisplayNames("en", { type: "region", fallback: "code" }),
  sk: new Intl.DisplayNames("sk", { type: "region", fallback: "code" }),
};

/** The name of a country; what is no code of one stays as it is. */
export const countryName = (code: string, language: Language): string =>
  /^[A-Z]{2}$/u.test(code) ? (COUNTRY_NAMES[language].of(code) ?? code) : code;
