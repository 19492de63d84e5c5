/**
 * Every text of a shown invoice, in English and Slovak; `{name}` stands for a value that is put in.
 *
 * A text that lacks a language does not compile.
 */
import type { Language } from "../../report.js";

/** One text in each language. */
export type TextRow = Readonly<Record<Language, string>>;
export const textRow = (en: string, sk: string): TextRow => ({ en, sk });

const WORDS = {
  // Parties
  seller: textRow("Seller", "Dodávateľ"),
  buyer: textRow("Buyer", "Odberateľ"),
  payee: textRow("Payee", "Príjemca platby"),
  tax_representative: textRow("Seller's tax representative", "Daňový zástupca dodávateľa"),
  deliver_to: textRow("Delivered to", "Miesto dodania"),
  trading_name: textRow("Trading name", "Obchodné meno"),
  company_ico: textRow("Company ID (IČO)", "IČO"),
  company_id: textRow("Company ID", "Registračné číslo"),
  tax_dic: textRow("Tax ID (DIČ)", "DIČ"),
  tax_id: textRow("Tax registration", "Daňová registrácia"),
  vat_id: textRow("VAT ID", "IČ DPH"),
  peppol_id: textRow("Peppol ID", "Peppol ID"),
  gln: textRow("GLN", "GLN"),
  creditor_id: textRow("Creditor identifier", "Identifikátor príjemcu inkasa"),
  other_id: textRow("Identifier", "Identifikátor"),
  legal_form: textRow("Legal information", "Právne údaje"),
  contact: textRow("Contact", "Kontakt"),

  // Dates and references
  details: textRow("Details", "Údaje"),
  issued: textRow("Issued", "Dátum vystavenia"),
  due: textRow("Due", "Dátum splatnosti"),
  tax_point: textRow("Tax point", "Vznik daňovej povinnosti"),
  delivered: textRow("Delivered", "Dátum dodania"),
  period: textRow("Period", "Obdobie"),
  ref_buyer: textRow("Buyer's reference", "Značka odberateľa"),
  ref_order: textRow("Order", "Objednávka"),
  ref_salesOrder: textRow("Sales order", "Predajná objednávka"),
  ref_preceding: textRow("Earlier invoice", "Pôvodná faktúra"),
  ref_contract: textRow("Contract", "Zmluva"),
  ref_project: textRow("Project", "Projekt"),
  ref_despatch: textRow("Despatch advice", "Dodací list"),
  ref_receipt: textRow("Receipt advice", "Príjemka"),
  ref_tender: textRow("Tender or lot", "Verejné obstarávanie"),
  ref_object: textRow("Invoiced object", "Predmet fakturácie"),
  ref_costs: textRow("Buyer's account", "Účtovanie odberateľa"),
  ref_dated: textRow("{id} of {date}", "{id} zo dňa {date}"),

  // Lines
  lines: textRow("Lines", "Položky"),
  line: textRow("No.", "Č."),
  item: textRow("Description", "Popis"),
  quantity: textRow("Quantity", "Množstvo"),
  unit: textRow("Unit", "MJ"),
  price: textRow("Unit price", "Jedn. cena"),
  discount: textRow("Discount or charge", "Zľava alebo prirážka"),
  rate: textRow("VAT", "DPH"),
  amount: textRow("Amount", "Suma bez DPH"),
  price_per: textRow("for {quantity}", "za {quantity}"),
  price_discount: textRow("after a discount of {amount}", "po zľave {amount}"),
  sellers_id: textRow("Seller's item number", "Číslo položky dodávateľa"),
  buyers_id: textRow("Buyer's item number", "Číslo položky odberateľa"),
  standard_id: textRow("Item number", "Číslo položky"),
  gtin: textRow("GTIN", "GTIN"),
  classification: textRow("Classification", "Klasifikácia"),
  origin: textRow("Country of origin", "Krajina pôvodu"),
  order_line: textRow("Order line", "Riadok objednávky"),
  lines_omitted: textRow(
    "{count} more lines are not shown here. The XML document holds all {all}.",
    "Ďalších riadkov, ktoré tu nie sú: {count}. Všetkých {all} je v dokumente XML.",
  ),

  entries_omitted: textRow(
    "{count} more entries of this document are not shown here. The XML document holds all.",
    "Ďalších údajov, ktoré tu nie sú: {count}. Všetky sú v dokumente XML.",
  ),

  // Sums
  allowances: textRow("Discounts and charges on the whole document", "Zľavy a prirážky k celému dokladu"),
  reason: textRow("Reason", "Dôvod"),
  base: textRow("Base", "Základ"),
  percent: textRow("Percent", "Percento"),
  a_discount: textRow("Discount", "Zľava"),
  a_charge: textRow("Charge", "Prirážka"),
  vat_breakdown: textRow("VAT breakdown", "Rekapitulácia DPH"),
  vat_rate: textRow("VAT rate", "Sadzba DPH"),
  taxable: textRow("Taxable amount", "Základ dane"),
  vat: textRow("VAT", "DPH"),
  totals: textRow("Totals", "Súčty"),
  total_lines: textRow("Sum of lines", "Súčet položiek"),
  total_allowances: textRow("Discounts", "Zľavy"),
  total_charges: textRow("Charges", "Prirážky"),
  total_net: textRow("Total without VAT", "Spolu bez DPH"),
  total_vat: textRow("VAT", "DPH"),
  total_vat_in: textRow("VAT in {currency}", "DPH v mene {currency}"),
  total_gross: textRow("Total with VAT", "Spolu s DPH"),
  total_prepaid: textRow("Already paid", "Uhradené zálohy"),
  total_rounding: textRow("Rounding", "Zaokrúhlenie"),
  total_payable: textRow("Amount due", "Na úhradu"),
  total_credited: textRow("Amount credited", "Suma dobropisu"),

  // Payment
  payment: textRow("Payment", "Platba"),
  means: textRow("How", "Spôsob úhrady"),
  iban: textRow("IBAN", "IBAN"),
  account: textRow("Account", "Číslo účtu"),
  account_name: textRow("Account holder", "Majiteľ účtu"),
  bank: textRow("Bank (BIC)", "Banka (BIC)"),
  variable_symbol: textRow("Reference (variable symbol)", "Variabilný symbol"),
  constant_symbol: textRow("Constant symbol", "Konštantný symbol"),
  specific_symbol: textRow("Specific symbol", "Špecifický symbol"),
  payment_reference: textRow("Payment reference", "Referencia platby"),
  card: textRow("Card", "Karta"),
  mandate: textRow("Mandate", "Mandát na inkaso"),
  debited: textRow("Account to be debited", "Účet na inkaso"),
  terms: textRow("Terms", "Platobné podmienky"),

  // The rest
  notes: textRow("Notes", "Poznámky"),
  attachments: textRow("Attachments", "Prílohy"),
  file: textRow("File", "Súbor"),
  description: textRow("Description", "Popis"),
  kind: textRow("Type", "Typ"),
  size: textRow("Size", "Veľkosť"),
  elsewhere: textRow("not in the document: {location}", "mimo dokladu: {location}"),
  self_billed: textRow("Self-billing: issued by the buyer.", "Vyhotovenie faktúry odberateľom."),
  self_billed_credit: textRow("Self-billing: issued by the buyer.", "Vyhotovenie dobropisu odberateľom."),
  original: textRow(
    "A picture of the electronic document for reading. The document itself is its XML.",
    "Zobrazenie elektronického dokladu na čítanie. Samotným dokladom je jeho XML.",
  ),
  page: textRow("Page {page} of {pages}", "Strana {page} z {pages}"),
} as const satisfies Readonly<Record<string, TextRow>>;

/** Name of a text. */
export type Word = keyof typeof WORDS;
/** Says a text in the language of the reader, with values put in. */
export type Words = (word: Word, values?: Readonly<Record<string, string | number>>) => string;

export const wordsIn =
  (language: Language): Words =>
  (word, values = {}) =>
    WORDS[word][language].replace(/\{(\w+)\}/gu, (_, name: string) => String(values[name] ?? ""));
