/**
 * What the Peppol rules need to know about the whole document, each worked out at most once and only when asked for.
 */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { cac, cbc } from "../../xml/names.js";
import { at } from "../path.js";
import type { Path } from "../path.js";
import { RuleError } from "../rule.js";
import type { Facts } from "../rule.js";
import type { Variant } from "./variant.js";
import { childText, normalizeSpace } from "../values.js";
import { childNormalized, pathText, pathTextNode, substring, textIs, toDate } from "./xpath.js";

/** A value of the document, or the dynamic error that its computation ends in; both are remembered. */
class Memo<T> {
  readonly #compute: (doc: XmlDocument) => T;
  #value: T | undefined;
  #error: RuleError | undefined;

  constructor(compute: (doc: XmlDocument) => T) {
    this.#compute = compute;
  }

  reset(): void {
    this.#value = undefined;
    this.#error = undefined;
  }

  of(doc: XmlDocument): T {
    if (this.#value !== undefined) return this.#value;
    if (this.#error !== undefined) throw this.#error;
    try {
      return (this.#value = this.#compute(doc));
    } catch (error) {
      if (error instanceof RuleError) this.#error = error;
      throw error;
    }
  }
}

/** Answers about elements, each worked out once. An error is not remembered: it ends the layer. */
class MemoOfElements<T> {
  readonly #compute: (doc: XmlDocument, e: ElementId) => T;
  readonly #values = new Map<ElementId, T>();

  constructor(compute: (doc: XmlDocument, e: ElementId) => T) {
    this.#compute = compute;
  }

  reset(): void {
    if (this.#values.size > 0) this.#values.clear();
  }

  of(doc: XmlDocument, e: ElementId): T {
    let value = this.#values.get(e);
    if (value === undefined) this.#values.set(e, (value = this.#compute(doc, e)));
    return value;
  }
}

const ROOT = 0;
const SUPPLIER_COUNTRY = at(
  "cac:AccountingSupplierParty/cac:Party/cac:PostalAddress/cac:Country/cbc:IdentificationCode",
);
const CUSTOMER_COUNTRY = at(
  "cac:AccountingCustomerParty/cac:Party/cac:PostalAddress/cac:Country/cbc:IdentificationCode",
);
const REPRESENTATIVE_COUNTRY = at("cac:TaxRepresentativeParty/cac:PostalAddress/cac:Country/cbc:IdentificationCode");
const SUPPLIER_SCHEMES = at("cac:AccountingSupplierParty/cac:Party/cac:PartyTaxScheme");
const CUSTOMER_SCHEMES = at("cac:AccountingCustomerParty/cac:Party/cac:PartyTaxScheme");
const REPRESENTATIVE_SCHEMES = at("cac:TaxRepresentativeParty/cac:PartyTaxScheme");
const ADDRESS_COUNTRY = at("cac:PostalAddress/cac:Country/cbc:IdentificationCode");
const SCHEME_ID = at("cac:TaxScheme/cbc:ID");
const ORDER_REFERENCE = at("cac:OrderReference/cbc:ID");
const DOCUMENT_CURRENCY = at("cbc:DocumentCurrencyCode");
const PERIOD_START = at("cac:InvoicePeriod/cbc:StartDate");
const PERIOD_END = at("cac:InvoicePeriod/cbc:EndDate");

/** Business processes that both rule sets know besides their own. */
const SHARED_PROFILES: ReadonlyMap<string, string> = new Map([
  ["urn:peppol:france:billing:regulated", "01"],
  ["urn:peppol:france:billing:non-regulated", "01"],
  ["urn:peppol:bis:billing_with_response", "02"],
]);

/**
 * One object per rule set. Values that many elements ask for are kept here also where a look-up would do: below a
 * document element with 100,000 lines a look-up is a walk.
 */
export class PeppolFacts implements Facts {
  readonly variant: Variant;
  /** "01", "02" or "Unknown". @throws RuleError XPTY0004 (when asked) for a second ProfileID */
  readonly profile: Memo<string>;
  /**
   * Country of the seller: VAT prefix, else that of the tax representative, else the address, else XX. In upper case.
   */
  readonly supplierCountry = new Memo(
    (doc) =>
      vatCountry(doc, SUPPLIER_SCHEMES) ??
      vatCountry(doc, REPRESENTATIVE_SCHEMES) ??
      addressCountry(doc, SUPPLIER_COUNTRY),
  );
  /** The same without the tax representative. */
  readonly accountingSupplierCountry = new Memo(
    (doc) => vatCountry(doc, SUPPLIER_SCHEMES) ?? addressCountry(doc, SUPPLIER_COUNTRY),
  );
  readonly customerCountry = new Memo(
    (doc) => vatCountry(doc, CUSTOMER_SCHEMES) ?? addressCountry(doc, CUSTOMER_COUNTRY),
  );
  /** Country of the address as written, "" without one. @throws RuleError XPTY0004 (when asked) for a second one */
  readonly supplierAddress = new Memo((doc) => pathText(doc, ROOT, SUPPLIER_COUNTRY));
  readonly customerAddress = new Memo((doc) => pathText(doc, ROOT, CUSTOMER_COUNTRY));
  readonly #supplierLand = new Memo((doc) => countryIn(this.supplierAddress.of(doc)));
  readonly #customerLand = new Memo((doc) => countryIn(this.customerAddress.of(doc)));
  readonly #representativeLand = new Memo((doc) => countryIn(pathText(doc, ROOT, REPRESENTATIVE_COUNTRY)));
  /** Some seller has a Swedish address; with a Swedish VAT number besides; some buyer has a Swedish address. */
  readonly supplierIsSwedish = new Memo((doc) => someParty(doc, cac.AccountingSupplierParty, isInSweden));
  readonly supplierHasSwedishVat = new Memo((doc) => someParty(doc, cac.AccountingSupplierParty, isInSwedenWithVat));
  readonly customerIsSwedish = new Memo((doc) => someParty(doc, cac.AccountingCustomerParty, isInSweden));
  readonly #sellerTins = new Memo(tinsOfSeller);
  /** Some seller address of the document is exactly GR. */
  readonly sellerIsInGreece = new Memo((doc) => SUPPLIER_COUNTRY.some(doc, ROOT, textIs, "GR"));
  readonly hasOrderReference = new Memo((doc) => ORDER_REFERENCE.exists(doc, ROOT));
  /** Every DocumentCurrencyCode: officially an amount may be in any of them. */
  readonly currencies = new Memo((doc): ReadonlySet<string> => new Set(textsAt(doc, ROOT, DOCUMENT_CURRENCY)));
  /** Of an invoice, nearly always the document element: the dates of its invoicing period. */
  readonly #periodStarts = new MemoOfElements((doc, invoice) => textsAt(doc, invoice, PERIOD_START));
  readonly #periodEnds = new MemoOfElements((doc, invoice) => textsAt(doc, invoice, PERIOD_END));
  readonly #periodStart = new MemoOfElements((doc, invoice) => dateIn(this.#periodStarts.of(doc, invoice)));
  readonly #periodEnd = new MemoOfElements((doc, invoice) => dateIn(this.#periodEnds.of(doc, invoice)));
  readonly #currencyBelow = new MemoOfElements((doc, e) => normalizeSpace(pathTextNode(doc, e, DOCUMENT_CURRENCY)));
  readonly #all: readonly { reset(): void }[];

  constructor(variant: Variant) {
    this.variant = variant;
    this.profile = new Memo((doc) => {
      const id = childNormalized(doc, ROOT, cbc.ProfileID);
      return id === variant.profile ? "01" : (SHARED_PROFILES.get(id) ?? "Unknown");
    });
    this.#all = [
      this.profile,
      this.supplierCountry,
      this.accountingSupplierCountry,
      this.customerCountry,
      this.supplierAddress,
      this.customerAddress,
      this.#supplierLand,
      this.#customerLand,
      this.#representativeLand,
      this.supplierIsSwedish,
      this.supplierHasSwedishVat,
      this.customerIsSwedish,
      this.#sellerTins,
      this.sellerIsInGreece,
      this.hasOrderReference,
      this.currencies,
      this.#periodStarts,
      this.#periodEnds,
      this.#periodStart,
      this.#periodEnd,
      this.#currencyBelow,
    ];
  }

  reset(): void {
    for (const memo of this.#all) memo.reset();
  }

  /** Whether the invoicing period of an invoice has a start date. */
  hasPeriodStart(doc: XmlDocument, invoice: ElementId): boolean {
    return this.#periodStarts.of(doc, invoice).length > 0;
  }

  hasPeriodEnd(doc: XmlDocument, invoice: ElementId): boolean {
    return this.#periodEnds.of(doc, invoice).length > 0;
  }

  /** That date. @throws RuleError XPTY0004 for several, FORG0001 for a text that is none */
  periodStart(doc: XmlDocument, invoice: ElementId): number {
    return this.#periodStart.of(doc, invoice);
  }

  periodEnd(doc: XmlDocument, invoice: ElementId): number {
    return this.#periodEnd.of(doc, invoice);
  }

  /**
   * `normalize-space(../cbc:DocumentCurrencyCode/text())`: beside an element, so below its parent.
   * @throws RuleError XPTY0004 for several
   */
  currencyBeside(doc: XmlDocument, e: ElementId): string {
    const parent = doc.parent(e);
    return parent === NONE ? "" : this.#currencyBelow.of(doc, parent);
  }

  supplierIs(doc: XmlDocument, country: string): boolean {
    return this.#supplierLand.of(doc) === country;
  }

  customerIs(doc: XmlDocument, country: string): boolean {
    return this.#customerLand.of(doc) === country;
  }

  representativeIs(doc: XmlDocument, country: string): boolean {
    return this.#representativeLand.of(doc) === country;
  }

  /** Seller and buyer have German addresses. */
  isWithinGermany(doc: XmlDocument): boolean {
    return this.supplierIs(doc, "DE") && this.customerIs(doc, "DE");
  }

  /**
   * Whether a TIN is that of the seller or of its tax representative: their VAT number without the country.
   * @throws RuleError XPTY0004 when a registration before it has several numbers
   */
  isTinOfSeller(doc: XmlDocument, tin: string): boolean {
    const { tins, error } = this.#sellerTins.of(doc);
    if (!tins.has(tin) && error !== undefined) throw error;
    return tins.has(tin);
  }

  isGreekSender(doc: XmlDocument): boolean {
    return isGreek(this.supplierCountry.of(doc));
  }

  isGreekBetween(doc: XmlDocument): boolean {
    return isGreek(this.supplierCountry.of(doc)) && isGreek(this.customerCountry.of(doc));
  }
}

/** The country of an address as rules compare it: in any case and with white space around it. */
const countryIn = (written: string): string => normalizeSpace(written).toUpperCase();

/** @throws RuleError XPTY0004 for several dates, FORG0001 for a text that is none */
function dateIn(dates: readonly string[]): number {
  if (dates.length > 1) throw new RuleError("XPTY0004");
  return toDate(dates[0] ?? "");
}

/** Greece is GR in addresses and EL in VAT numbers. */
export const isGreek = (country: string): boolean => country === "GR" || country === "EL";

/**
 * The first two characters of the only VAT number, in upper case; undefined when there is none or it is empty.
 * @throws RuleError FORG0006 for two VAT registrations, XPTY0004 for two numbers in one
 */
function vatCountry(doc: XmlDocument, schemes: Path): string | undefined {
  const prefixes: string[] = [];
  schemes.each(
    doc,
    ROOT,
    (_, scheme, into) => {
      if (isVatScheme(doc, scheme)) into.push(substring(childText(doc, scheme, cbc.CompanyID), 1, 2));
    },
    prefixes,
  );
  if (prefixes.length > 1) throw new RuleError("FORG0006");
  const prefix = prefixes[0] ?? "";
  return prefix === "" ? undefined : normalizeSpace(prefix).toUpperCase();
}

/** TINs in VAT numbers, up to the first that cannot be read; a document may have many numbers that ask for one. */
interface Tins {
  readonly tins: ReadonlySet<string>;
  readonly error?: RuleError;
}

function tinsOfSeller(doc: XmlDocument): Tins {
  const tins = new Set<string>();
  try {
    for (const schemes of [SUPPLIER_SCHEMES, REPRESENTATIVE_SCHEMES]) schemes.each(doc, ROOT, addTin, tins);
    return { tins };
  } catch (error) {
    if (error instanceof RuleError) return { tins, error };
    throw error;
  }
}

function addTin(doc: XmlDocument, scheme: ElementId, tins: Set<string>): void {
  if (isVatScheme(doc, scheme)) tins.add(substring(childText(doc, scheme, cbc.CompanyID), 3, 9));
}

/** PartyTaxScheme whose scheme is exactly "VAT". */
export const isVatScheme = (doc: XmlDocument, scheme: ElementId): boolean => SCHEME_ID.some(doc, scheme, textIs, "VAT");

function addressCountry(doc: XmlDocument, path: Path): string {
  if (!path.exists(doc, ROOT)) return "XX";
  return countryIn(pathText(doc, ROOT, path));
}

/** Whether a Party below some element of that name, anywhere in the document, passes. */
function someParty(doc: XmlDocument, role: number, passes: (doc: XmlDocument, party: ElementId) => boolean): boolean {
  const roles = doc.all(role);
  for (let i = 0; i < roles.length; i += 1) {
    for (let party = doc.child(roles[i] ?? ROOT, cac.Party); party !== NONE; party = doc.nextSame(party)) {
      if (passes(doc, party)) return true;
    }
  }
  return false;
}

/** Whether the address of a party names Sweden. */
export const isInSweden = (doc: XmlDocument, party: ElementId): boolean =>
  ADDRESS_COUNTRY.some(doc, party, textIs, "SE");

/** Whether a party in Sweden is also registered for VAT there; the Swedish rules on rates concern only such parties. */
export function isInSwedenWithVat(doc: XmlDocument, party: ElementId): boolean {
  if (!isInSweden(doc, party)) return false;
  for (let scheme = doc.child(party, cac.PartyTaxScheme); scheme !== NONE; scheme = doc.nextSame(scheme)) {
    if (isVatScheme(doc, scheme) && substring(childText(doc, scheme, cbc.CompanyID), 1, 2) === "SE") return true;
  }
  return false;
}

/** Texts of all elements at a path. */
function textsAt(doc: XmlDocument, e: ElementId, path: Path): readonly string[] {
  const texts: string[] = [];
  path.each(doc, e, pushText, texts);
  return texts;
}

const pushText = (doc: XmlDocument, e: ElementId, texts: string[]): void => {
  texts.push(doc.text(e));
};
