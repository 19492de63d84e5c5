/** The items of an invoice as JSON: quantities, prices, discounts and VAT. */
import type { LocalDay } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import type { Line, LineVat, Party } from "./draft.js";
import { exactText, percentOf, product, toCents } from "./exact.js";
import type { Members } from "./members.js";
import { mayBe } from "./problems.js";
import { slovakRates, TAX_TREATMENTS, UNIT_DEFAULT, UNITS, VAT_CATEGORIES } from "./terms.js";
import type { VatCategory } from "./terms.js";

const MEMBERS: ReadonlySet<string> = new Set([
  "description",
  "quantity",
  "unit",
  "unitPrice",
  "vatRate",
  "discount",
  "vatCategoryCode",
  "taxTreatment",
]);
/** Codes of UNECE Recommendation 20 and 21; the rules know which of them exist. */
const UNIT_CODE = /^[A-Z0-9]{2,3}$/u;
const CATEGORIES = Object.fromEntries(Object.keys(VAT_CATEGORIES).map((code) => [code, code as VatCategory]));

/** What members of a line may hold, and why others are needed. */
const UNIT_WORDS = Object.keys(UNITS).join(", ");
const HINTS = {
  line: { en: "It has at least one.", sk: "Má aspoň jednu." },
  unit: {
    en: `It may be a code of UNECE Recommendation 20 or 21 in capitals, such as C62 or KGM, or: ${UNIT_WORDS}.`,
    sk: `Môže byť kód UNECE Recommendation 20 alebo 21 veľkými písmenami, napríklad C62 alebo KGM, alebo: ${UNIT_WORDS}.`,
  },
  category: { en: "vatCategoryCode names another one.", sk: "vatCategoryCode uvádza inú." },
  vatId: { en: "The VAT category of a line needs it.", sk: "Potrebuje ho kategória DPH riadka." },
  delivery: {
    en: "An intra-community supply has a day of delivery.",
    sk: "Dodanie do iného členského štátu má deň dodania.",
  },
} as const;

/** What of the document the lines depend on. */
interface LineContext {
  readonly seller: Party;
  readonly buyer: Party;
  readonly isSelfBilling: boolean;
  /** The day of the supply. */
  readonly day: LocalDay;
  /** Whether the document corrects an earlier one. */
  readonly corrects: boolean;
  readonly deliveryDate: LocalDay | undefined;
}

export function readLines(invoice: Members, context: LineContext): readonly Line[] {
  const items = invoice.entries("items", LIMITS.invoice_lines_max);
  const written = invoice.value("items");
  if (written === undefined) invoice.fails("items", "JSON-MISSING");
  if (Array.isArray(written) && written.length === 0) invoice.fails("items", "JSON-LIST", HINTS.line);
  const lines = items.map((item) => readLine(item, context));
  if (lines.some(({ category }) => category === "O"))
    for (const [index, { category }] of lines.entries())
      if (category !== "O") items[index]?.fails("vatCategoryCode", "JSON-VAT-MIXED");
  needIdentifiers(invoice, lines, context);
  return lines;
}

function readLine(item: Members, context: LineContext): Line {
  item.knowsOnly(MEMBERS);
  const quantity = item.quantity("quantity");
  const unitPrice = item.quantity("unitPrice");
  if (unitPrice.coefficient < 0n) item.fails("unitPrice", "JSON-NEGATIVE");
  const discount = item.percent("discount");
  const gross = toCents(product(quantity, unitPrice));
  const most = BigInt(LIMITS.invoice_line_cents_max);
  if (gross > most || gross < -most) item.fails("unitPrice", "JSON-TOO-LARGE");
  return {
    ...readVat(item, context),
    description: item.required("description"),
    quantity,
    unit: readUnit(item),
    unitPrice,
    discount: discount?.coefficient === 0n ? undefined : discount,
    gross,
    discountAmount: discount === undefined ? 0n : percentOf(gross, discount),
  };
}

function readUnit(item: Members): string {
  const written = item.text("unit");
  if (written === undefined) return UNIT_DEFAULT;
  const word = written.toLowerCase().replace(/\.$/u, "");
  const known = Object.hasOwn(UNITS, word) ? UNITS[word] : undefined;
  if (known !== undefined) return known;
  return UNIT_CODE.test(written) ? written : (item.fails("unit", "JSON-CODE", HINTS.unit) ?? UNIT_DEFAULT);
}

/** The category: as written, by its treatment, or standard where there is a rate. */
function readVat(item: Members, context: LineContext): LineVat {
  const percent = item.percent("vatRate");
  const rate = percent === undefined ? "0" : exactText(percent);
  const code = item.code("vatCategoryCode", CATEGORIES);
  const treatment = item.code("taxTreatment", TAX_TREATMENTS);
  if (code !== undefined && treatment !== undefined && code !== treatment)
    item.fails("taxTreatment", "JSON-CODE", HINTS.category);
  // What is no rate has been told so; whether it is zero nobody knows.
  if (percent === undefined && item.value("vatRate") !== undefined) return { category: code ?? treatment ?? "S", rate };
  const category = code ?? treatment ?? (rate === "0" ? undefined : "S");
  if (category === undefined) {
    if (percent === undefined) item.fails("vatRate", "JSON-MISSING");
    else item.fails("vatCategoryCode", "JSON-VAT-ZERO");
  } else if ((category === "S") === (rate === "0")) item.fails("vatRate", "JSON-VAT-CATEGORY");
  else if (category === "S") checkRate(item, rate, context);
  return { category: category ?? "S", rate };
}

function checkRate(item: Members, rate: string, { seller, isSelfBilling, day, corrects }: LineContext): void {
  // A rate below 1 is what the rules take for none.
  const rates = seller.country === "SK" ? slovakRates(day, corrects) : undefined;
  const exists = rates === undefined ? /^[1-9]/u.test(rate) : rates.includes(rate);
  if (!exists && day !== "")
    item.fails("vatRate", "JSON-VAT-RATE", rates === undefined || rates.length === 0 ? undefined : mayBe(rates));
  if (seller.icDph === undefined && !isSelfBilling) item.fails("vatRate", "JSON-VAT-SELLER");
}

/** Which identifiers satisfy the rules 02 to 04 of the VAT categories; outside VAT only the legal one is left. */
const SELLER_HAS = {
  vat: ({ icDph }: Party) => icDph !== undefined,
  any: ({ icDph, dic }: Party) => (icDph ?? dic) !== undefined,
  legal: ({ ico }: Party) => ico !== undefined,
} as const;
const BUYER_HAS = {
  none: () => true,
  vat: ({ icDph }: Party) => icDph !== undefined,
  any: ({ icDph, ico }: Party) => (icDph ?? ico) !== undefined,
} as const;

/** What the categories ask of the parties, told once for the whole document. */
function needIdentifiers(
  invoice: Members,
  lines: readonly Line[],
  { seller, buyer, isSelfBilling, deliveryDate }: LineContext,
): void {
  const rows = [...new Set(lines.map(({ category }) => category))].map((category) => VAT_CATEGORIES[category]);
  const sellerMissing = rows.some((row) => !SELLER_HAS[row.seller](seller));
  const buyerMissing = rows.some((row) => !BUYER_HAS[row.buyer](buyer));
  if (sellerMissing) {
    const isOutside = lines.some(({ category }) => category === "O");
    if (isSelfBilling) invoice.fails(isOutside ? "receiverIco" : "receiverIcDph", "JSON-MISSING", HINTS.vatId);
    // Lines with a rate have told it themselves.
    else if (lines.every(({ category }) => category !== "S")) invoice.fails("items", "JSON-VAT-SELLER");
  }
  if (buyerMissing && isSelfBilling) invoice.fails("items", "JSON-VAT-BUYER");
  else if (buyerMissing) invoice.fails("receiverIcDph", "JSON-MISSING", HINTS.vatId);
  if (lines.some(({ category }) => category === "K") && deliveryDate === undefined)
    invoice.fails("deliveryDate", "JSON-MISSING", HINTS.delivery);
}
