/**
 * Seeded damage to invoices that rules can see: amounts, rates, dates, codes, indicators, missing and repeated parts,
 * forbidden paths, exceeded counts. The grammar's own damage is in xml-mutations.ts.
 *
 * A document is turned into a tree, changed and written again with the prefixes cbc, cac and ext, so that a result
 * differs from its source in nothing but the mutation.
 */
import {
  FORBIDDEN_ANYWHERE,
  FORBIDDEN_ATTRIBUTES,
  FORBIDDEN_ELEMENTS,
  SINGLE_ELEMENTS,
} from "../../../validators/rules/en16931/restrictions.js";
import { scan } from "../../../validators/xml/scanner.js";
import { NONE } from "../../../validators/xml/document.js";
import type { XmlDocument } from "../../../validators/xml/document.js";
import { NS } from "../../../validators/xml/names.js";
import type { Random } from "../random.js";

/** An element of the tree. `text` is the string value of a leaf, "" with children. */
export interface Tree {
  name: string;
  attributes: [name: string, value: string][];
  children: Tree[];
  text: string;
}

/** The tree of a document. @throws Error when it is not well-formed */
export function treeOf(bytes: Buffer): Tree {
  const scanned = scan(bytes);
  if (scanned.kind === "refused") throw new Error(`not well-formed: ${scanned.findings[0]?.ruleId ?? ""}`);
  return elementOf(scanned.document, 0);
}

function elementOf(doc: XmlDocument, e: number): Tree {
  const children: Tree[] = [];
  for (let c = doc.first(e); c !== NONE; c = doc.next(c)) children.push(elementOf(doc, c));
  const attributes = Array.from({ length: doc.attrCount(e) }, (_, i): [string, string] => [
    doc.expanded(doc.attrName(e, i)).local,
    doc.attrValue(e, i),
  ]);
  return { name: doc.prefixed(doc.name(e)), attributes, children, text: children.length === 0 ? doc.text(e) : "" };
}

export const cloneTree = (tree: Tree): Tree => ({
  ...tree,
  attributes: tree.attributes.map(([n, v]) => [n, v]),
  children: tree.children.map(cloneTree),
});

/** The document as bytes. Names with other prefixes are written without and stand in no namespace. */
export function bytesOf(tree: Tree): Buffer {
  const root = NS[tree.name as keyof typeof NS] ?? NS.Invoice;
  const declarations = ` xmlns="${root}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}" xmlns:ext="${NS.ext}"`;
  return Buffer.from(write(tree, declarations));
}

const KNOWN = /^(?:cbc|cac|ext):/u;

function write(tree: Tree, declarations: string): string {
  const name = KNOWN.test(tree.name) || declarations !== "" ? tree.name : tree.name.replace(/^.*:/u, "");
  const foreign = KNOWN.test(name) || declarations !== "" ? "" : ' xmlns=""';
  const seen = new Set<string>();
  const attributes = tree.attributes
    .filter(([key]) => !seen.has(key) && seen.add(key))
    .map(([key, value]) => ` ${key}="${escaped(value)}"`)
    .join("");
  return `<${name}${declarations}${foreign}${attributes}>${tree.children.length > 0 ? tree.children.map((child) => write(child, "")).join("") : escaped(tree.text)}</${name}>`;
}

const escaped = (text: string): string =>
  text
    .replace(/&/gu, "&amp;")
    .replace(/</gu, "&lt;")
    .replace(/"/gu, "&quot;")
    .replace(/[\t\n\r]/gu, (c) => `&#${c.charCodeAt(0)};`);

interface Place {
  readonly element: Tree;
  readonly parent: Tree;
  readonly index: number;
}

/** Every element but the root. */
function places(tree: Tree): Place[] {
  return tree.children.flatMap((element, index) => [{ element, parent: tree, index }, ...places(element)]);
}

const leaf = (name: string, text: string, ...attributes: [string, string][]): Tree => ({
  name,
  attributes,
  children: [],
  text,
});
const group = (name: string, ...children: Tree[]): Tree => ({ name, attributes: [], children, text: "" });

const NUMBERS = [
  "0",
  "0.00",
  "1",
  "-1",
  "100.00",
  "-100.00",
  "0.005",
  "1.005",
  "10.123",
  "99999999999999.99",
  "123456789012345678901234567890.12",
  "5.",
  ".5",
  "+5",
  " 7 ",
] as const;
const NO_NUMBERS = ["", "abc", "1e2", "NaN", "INF", "1,5", "--1", "1 2"] as const;
const RATES = ["0", "0.0", "25", "25.00", "20", "-5", "0.4", "0.5", "19.123456789012345678901", "100", ""] as const;
const DATES = [
  "2017-01-01",
  "2030-12-31",
  "2017-11-13",
  "2017-02-30",
  "2017-11-13Z",
  "2017-11-13+02:00",
  "13.11.2017",
  "",
  "20171113",
] as const;
const INDICATORS = ["true", "false", "1", "0", " true ", "TRUE", "", "yes"] as const;
export const CATEGORIES = ["AE", "E", "G", "K", "L", "M", "O", "S", "Z", "B", "s", " S ", "", "X"] as const;
const SCHEMES = ["VAT", "vat", " VAT ", "GST", "TAX", ""] as const;
const CODES = [
  "380",
  "381",
  "326",
  "384",
  "30",
  "58",
  "49",
  "59",
  "1",
  "31",
  "130",
  "50",
  "916",
  "3",
  "35",
  "432",
  "EUR",
  "SEK",
  "DKK",
  "eur",
  "XYZ",
  "NO",
  "DK",
  "SE",
  "IT",
  "DE",
  "GR",
  "EL",
  "IS",
  "NL",
  "FR",
  "1A",
  "XI",
  "0",
  "95",
  "100",
  "AA",
  "FC",
  "ZZZ",
  "VATEX-EU-O",
  "vatex-eu-ae",
  "VATEX-EU-G",
  "VATEX-EU-IC",
  "MP",
  " 380 ",
  "3 8 0",
  "",
] as const;
const SCHEME_IDS = [
  "0088",
  "0192",
  "0184",
  "0007",
  "0002",
  "0106",
  "9906",
  "9930",
  "EM",
  "SEPA",
  "sepa",
  "0007 ",
  "",
  "AAA",
  "ABZ",
  "XX",
  "130",
  "GLN",
] as const;
const IDENTIFIERS = [
  "",
  " ",
  "1",
  "7300010000001",
  "7300010000002",
  "DK16356706",
  "NO999888777MVA",
  "SE123456789701",
  "DE123456789",
  "GR123456789",
  "EL123456789",
  "E",
  "D ",
  "zz1",
  "IT01234567890",
  "923829644",
  "5567321707",
  "FR 1",
  "#AAI#note",
  "#XXX#note",
  "#AA#",
  "A#B",
  "##",
  "äöü€😀",
] as const;
const ATTRIBUTES: readonly [string, readonly string[]][] = [
  ["schemeID", SCHEME_IDS],
  ["listID", ["MP", "SRV", "XX", ""]],
  ["currencyID", ["EUR", "SEK", "DKK", "XXL", " EUR", ""]],
  ["unitCode", ["C62", "H87", "XBX", "EA", "QQ", ""]],
  ["mimeCode", ["application/pdf", "text/csv", "text/xml", ""]],
  ["filename", ["a.pdf", ""]],
  ["name", ["x"]],
  ["format", ["x"]],
  ["languageID", ["sk"]],
  ["listAgencyID", ["6"]],
  ["schemeAgencyID", ["9"]],
  ["schemeName", ["x"]],
  ["unitCodeListID", ["UNECERec20"]],
  ["uri", ["urn:x"]],
  ["listName", ["x"]],
  ["schemeURI", ["urn:x"]],
];

/** A new text for a leaf, of the kind its name promises. */
function valueFor(name: string, random: Random): string {
  if (random.int(12) === 0) return random.pick(NO_NUMBERS);
  if (/Percent$/u.test(name)) return random.pick(RATES);
  if (/(?:Amount|Quantity|Numeric)$/u.test(name)) return random.pick(NUMBERS);
  if (/Date$/u.test(name)) return random.pick(DATES);
  if (/Indicator$/u.test(name)) return random.pick(INDICATORS);
  if (/Code$/u.test(name)) return random.pick(CODES);
  return random.pick(IDENTIFIERS);
}

/** A number near the old one: rules compare sums, so that small steps matter more than wild values. */
function nearby(text: string, random: Random): string {
  const value = Number(text);
  if (!Number.isFinite(value) || text.trim() === "") return random.pick(NUMBERS);
  const moved =
    value + random.pick([0.01, -0.01, 0.5, -0.5, 0.99, -0.99, 1, -1, 1.01, -1.01, 0.001, 10, -2 * value, 0]);
  return moved.toFixed(random.pick([2, 2, 2, 0, 3]));
}

const isNumber = (name: string): boolean => /(?:Amount|Quantity|Percent|Numeric)$/u.test(name);

/** Paths of the restriction tables, "cac:InvoicePeriod/cbc:StartTime" or "cbc:ID/@schemeID". */
export function restrictedPaths(): string[] {
  let parent = "";
  const elements = FORBIDDEN_ELEMENTS.trim()
    .split(/\s+/u)
    .flatMap((word) => {
      const [child = "", number] = word.split("=");
      if (number !== undefined) return [(parent + child).replace("LINE", "cac:InvoiceLine")];
      parent = child === "/" ? "" : child;
      return [];
    });
  const others = [FORBIDDEN_ATTRIBUTES, FORBIDDEN_ANYWHERE, SINGLE_ELEMENTS].flatMap((table) =>
    table
      .trim()
      .split(/\s+/u)
      .filter((word) => /[:@]/u.test(word)),
  );
  return [...elements, ...others.map((path) => path.replace(/^\/\//u, ""))];
}

const RESTRICTED = restrictedPaths();

/** Parts that invoices may have and examples seldom do. */
const OPTIONAL = [
  "cac:InvoiceLine/cbc:Note",
  "cac:InvoiceLine/cac:Item/cbc:Description",
  "cac:InvoiceLine/cac:Price/cac:AllowanceCharge/cbc:BaseAmount",
  "cac:InvoiceLine/cac:Price/cac:AllowanceCharge/cbc:Amount",
  "cac:InvoiceLine/cac:OrderLineReference/cbc:LineID",
  "cac:InvoiceLine/cac:DocumentReference/cbc:ID",
  "cac:InvoiceLine/cac:Item/cac:AdditionalItemProperty/cbc:Name",
  "cac:InvoiceLine/cac:Item/cac:OriginCountry/cbc:IdentificationCode",
  "cac:InvoiceLine/cac:Item/cac:CommodityClassification/cbc:ItemClassificationCode",
  "cac:InvoiceLine/cac:Item/cac:StandardItemIdentification/cbc:ID",
  "cac:AccountingSupplierParty/cac:Party/cac:PostalAddress/cac:AddressLine",
  "cac:Delivery/cac:DeliveryLocation/cac:Address/cac:AddressLine",
  "cac:Delivery/cac:DeliveryLocation/cbc:ID/@schemeID",
  "cac:Delivery/cac:DeliveryParty/cac:PartyName/cbc:Name",
  "cac:Delivery/cac:DeliveryLocation/cac:Address/cac:Country/cbc:IdentificationCode",
  "cac:Delivery/cbc:ActualDeliveryDate",
  "cac:LegalMonetaryTotal/cbc:PayableRoundingAmount",
  "cac:LegalMonetaryTotal/cbc:PrepaidAmount",
  "cac:LegalMonetaryTotal/cbc:ChargeTotalAmount",
  "cac:LegalMonetaryTotal/cbc:AllowanceTotalAmount",
  "cac:AdditionalDocumentReference/cbc:DocumentDescription",
  "cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory/cbc:TaxExemptionReason",
  "cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory/cbc:TaxExemptionReasonCode",
  "cac:PaymentMeans/cac:PaymentMandate/cbc:ID",
  "cac:PaymentMeans/cac:CardAccount/cbc:PrimaryAccountNumberID",
  "cac:BillingReference/cac:InvoiceDocumentReference/cbc:ID",
  "cac:BillingReference/cac:InvoiceDocumentReference",
  "cac:TaxRepresentativeParty/cac:PartyName/cbc:Name",
  "cac:TaxRepresentativeParty/cac:PartyTaxScheme/cbc:CompanyID",
  "cac:PayeeParty/cac:PartyLegalEntity/cbc:CompanyID/@schemeID",
] as const;

/** Makes sure that the path exists below the root, adding a last element of its own; an attribute goes on that element. */
export function insertPath(root: Tree, path: string): Tree {
  const line = root.name === "CreditNote" ? "cac:CreditNoteLine" : "cac:InvoiceLine";
  const steps = path.replace("cac:InvoiceLine", line).split("/");
  const attribute = steps.at(-1)?.startsWith("@") === true ? steps.pop()?.slice(1) : undefined;
  const last = steps.pop();
  let at = root;
  for (const step of steps) at = at.children.find((child) => child.name === step) ?? appended(at, group(step));
  if (last === undefined) {
    if (attribute !== undefined) at.attributes.push([attribute, "x"]);
    return at;
  }
  const existing = at.children.find((child) => child.name === last);
  const element =
    attribute !== undefined && existing !== undefined
      ? existing
      : appended(at, last.startsWith("cac:") ? group(last, leaf("cbc:ID", "1")) : leaf(last, "1"));
  if (attribute !== undefined) element.attributes.push([attribute, "x"]);
  return element;
}

function appended(parent: Tree, child: Tree): Tree {
  parent.children.push(child);
  return child;
}

const taxCategory = (name: string, random: Random): Tree =>
  group(
    name,
    leaf("cbc:ID", random.pick(CATEGORIES)),
    ...(random.int(4) === 0 ? [] : [leaf("cbc:Percent", random.pick(RATES))]),
    group("cac:TaxScheme", leaf("cbc:ID", random.int(4) === 0 ? random.pick(SCHEMES) : "VAT")),
  );

const allowance = (random: Random): Tree =>
  group(
    "cac:AllowanceCharge",
    leaf("cbc:ChargeIndicator", random.int(6) === 0 ? random.pick(INDICATORS) : random.pick(["true", "false"])),
    ...(random.int(2) === 0 ? [leaf("cbc:AllowanceChargeReasonCode", random.pick(CODES))] : []),
    ...(random.int(2) === 0 ? [leaf("cbc:AllowanceChargeReason", "reason")] : []),
    leaf("cbc:Amount", random.pick(NUMBERS), ["currencyID", "EUR"]),
    ...(random.int(2) === 0 ? [leaf("cbc:BaseAmount", random.pick(NUMBERS), ["currencyID", "EUR"])] : []),
    ...(random.int(5) === 0 ? [] : [taxCategory("cac:TaxCategory", random)]),
  );

const subtotal = (random: Random): Tree =>
  group(
    "cac:TaxSubtotal",
    leaf("cbc:TaxableAmount", random.pick(NUMBERS), ["currencyID", "EUR"]),
    leaf("cbc:TaxAmount", random.pick(NUMBERS), ["currencyID", "EUR"]),
    taxCategory("cac:TaxCategory", random),
  );

/** Whole groups that rules speak about. */
const GROUPS: readonly ((random: Random) => Tree)[] = [
  allowance,
  allowance,
  subtotal,
  (random) => taxCategory("cac:ClassifiedTaxCategory", random),
  (random) => taxCategory("cac:TaxCategory", random),
  (random) =>
    group(
      "cac:TaxTotal",
      leaf("cbc:TaxAmount", random.pick(NUMBERS), ["currencyID", random.pick(["EUR", "SEK"])]),
      subtotal(random),
    ),
  (random) =>
    group(
      "cac:PayeeParty",
      group("cac:PartyIdentification", leaf("cbc:ID", random.pick(IDENTIFIERS), ["schemeID", random.pick(SCHEME_IDS)])),
      group("cac:PartyName", leaf("cbc:Name", random.pick(["SupplierTradingName Ltd.", "Payee"]))),
      group("cac:PartyLegalEntity", leaf("cbc:CompanyID", "1")),
    ),
  (random) =>
    group(
      "cac:TaxRepresentativeParty",
      group("cac:PartyName", leaf("cbc:Name", "Rep")),
      group("cac:PostalAddress", group("cac:Country", leaf("cbc:IdentificationCode", random.pick(CODES)))),
      group(
        "cac:PartyTaxScheme",
        leaf("cbc:CompanyID", random.pick(IDENTIFIERS)),
        group("cac:TaxScheme", leaf("cbc:ID", random.pick(SCHEMES))),
      ),
    ),
  (random) =>
    group(
      "cac:InvoicePeriod",
      leaf("cbc:StartDate", random.pick(DATES)),
      leaf("cbc:EndDate", random.pick(DATES)),
      ...(random.int(2) === 0 ? [leaf("cbc:DescriptionCode", random.pick(CODES))] : []),
    ),
  (random) =>
    group(
      "cac:AdditionalDocumentReference",
      leaf("cbc:ID", "1", ...(random.int(2) === 0 ? [["schemeID", random.pick(SCHEME_IDS)] as [string, string]] : [])),
      leaf("cbc:DocumentTypeCode", random.pick(["130", "50", "380"])),
      ...(random.int(2) === 0 ? [leaf("cbc:DocumentDescription", "x")] : []),
      ...(random.int(2) === 0
        ? [group("cac:Attachment", leaf("cbc:EmbeddedDocumentBinaryObject", "QUJD", ["mimeCode", "text/csv"]))]
        : []),
    ),
  (random) =>
    group(
      "cac:PaymentMeans",
      leaf("cbc:PaymentMeansCode", random.pick(CODES)),
      leaf("cbc:PaymentID", random.pick(IDENTIFIERS)),
      group("cac:PayeeFinancialAccount", leaf("cbc:ID", random.pick(IDENTIFIERS))),
    ),
  (random) =>
    group(
      "cac:PartyTaxScheme",
      leaf("cbc:CompanyID", random.pick(IDENTIFIERS)),
      group("cac:TaxScheme", leaf("cbc:ID", random.pick(SCHEMES))),
    ),
  (random) =>
    group("cac:PartyIdentification", leaf("cbc:ID", random.pick(IDENTIFIERS), ["schemeID", random.pick(SCHEME_IDS)])),
  // An amount that carries its own currency as an element: what BR-DEC-13 and BR-DEC-15 look at, strangely.
  (random) =>
    group("cac:TaxTotal", {
      ...group(
        "cbc:TaxAmount",
        leaf(random.pick(["cbc:DocumentCurrencyCode", "cbc:TaxCurrencyCode"]), "EUR"),
        leaf("cbc:Note", random.pick([".1", ".123"])),
      ),
      attributes: [["currencyID", "EUR"]],
    }),
  (random) => leaf("cbc:UBLVersionID", random.pick(["2.1", "2.0"])),
  (random) => leaf("cbc:TaxCurrencyCode", random.pick(CODES)),
  (random) => leaf("cbc:Note", random.pick(IDENTIFIERS)),
  () => leaf("cbc:TaxPointDate", "2017-11-13"),
];

type Mutation = (root: Tree, random: Random) => void;

const somewhere = (root: Tree, random: Random): Tree =>
  random.pick([
    root,
    ...places(root)
      .map(({ element }) => element)
      .filter(({ name }) => name.startsWith("cac:")),
  ]);
const anyPlace = (root: Tree, random: Random): Place | undefined => {
  const all = places(root);
  return all.length === 0 ? undefined : random.pick(all);
};
const anyLeaf = (root: Tree, random: Random, test: (name: string) => boolean = () => true): Tree | undefined => {
  const all = places(root)
    .map(({ element }) => element)
    .filter((element) => element.children.length === 0 && test(element.name));
  return all.length === 0 ? undefined : random.pick(all);
};

export const MUTATIONS = {
  drop: (root, random) => {
    const at = anyPlace(root, random);
    at?.parent.children.splice(at.index, 1);
  },
  repeat: (root, random) => {
    const at = anyPlace(root, random);
    at?.parent.children.splice(at.index, 0, cloneTree(at.element));
  },
  swap: (root, random) => {
    const at = anyPlace(root, random);
    const other = at === undefined ? undefined : random.int(at.parent.children.length);
    const second = at?.parent.children[other ?? 0];
    if (at === undefined || second === undefined || other === undefined) return;
    at.parent.children[at.index] = second;
    at.parent.children[other] = at.element;
  },
  copyElsewhere: (root, random) => {
    const at = anyPlace(root, random);
    if (at !== undefined) somewhere(root, random).children.push(cloneTree(at.element));
  },
  number: (root, random) => {
    const at = anyLeaf(root, random, isNumber);
    if (at !== undefined) at.text = nearby(at.text, random);
  },
  value: (root, random) => {
    const at = anyLeaf(root, random);
    if (at !== undefined) at.text = valueFor(at.name, random);
  },
  code: (root, random) => {
    const at = anyLeaf(root, random, (name) => name.endsWith("Code"));
    if (at !== undefined) at.text = random.pick(CODES);
  },
  category: (root, random) => {
    const all = places(root).filter(
      ({ element, parent }) => element.name === "cbc:ID" && /TaxCategory$/u.test(parent.name),
    );
    const code = random.pick(CATEGORIES);
    const rate = random.pick(RATES);
    for (const { element, parent } of random.int(2) === 0 ? all : all.slice(0, 1)) {
      element.text = code;
      const percent = parent.children.find(({ name }) => name === "cbc:Percent");
      if (percent !== undefined && random.int(2) === 0) percent.text = rate;
    }
  },
  country: (root, random) => {
    const code = random.pick(["NO", "DK", "SE", "IT", "DE", "GR", "EL", "IS", "NL", "SK", "ES"]);
    for (const { element } of places(root))
      if (element.name === "cbc:IdentificationCode" && random.int(4) !== 0) element.text = code;
  },
  attribute: (root, random) => {
    const at = anyPlace(root, random)?.element;
    const [name, values] = random.pick(ATTRIBUTES);
    if (at !== undefined)
      at.attributes = [[name, random.pick(values)], ...at.attributes.filter(([key]) => key !== name)];
  },
  attributeValue: (root, random) => {
    const at = places(root).filter(({ element }) => element.attributes.length > 0);
    if (at.length === 0) return;
    const { attributes } = random.pick(at).element;
    const one = random.pick(attributes);
    one[1] = random.pick(ATTRIBUTES.find(([name]) => name === one[0])?.[1] ?? ["x"]);
  },
  dropAttribute: (root, random) => {
    const at = places(root).filter(({ element }) => element.attributes.length > 0);
    if (at.length > 0) random.pick(at).element.attributes.pop();
  },
  insert: (root, random) => insertPath(root, random.pick(RESTRICTED)),
  insertTwice: (root, random) => {
    const path = random.pick(RESTRICTED);
    insertPath(root, path);
    insertPath(root, path);
  },
  optional: (root, random) => {
    const path = random.pick(OPTIONAL);
    for (let n = 1 + random.int(2); n > 0; n -= 1) {
      const element = insertPath(root, path);
      if (element.children.length === 0) element.text = valueFor(element.name, random);
    }
  },
  group: (root, random) => {
    (random.int(2) === 0 ? root : somewhere(root, random)).children.push(random.pick(GROUPS)(random));
  },
  lineAllowance: (root, random) => {
    const lines = root.children.filter(({ name }) => name.endsWith("Line"));
    if (lines.length > 0) random.pick(lines).children.push(allowance(random));
  },
  scheme: (root, random) => {
    const all = places(root).filter(
      ({ element, parent }) => element.name === "cbc:ID" && parent.name === "cac:TaxScheme",
    );
    if (all.length > 0) random.pick(all).element.text = random.pick(SCHEMES);
  },
  root: (root) => {
    const credit = root.name === "Invoice";
    root.name = credit ? "CreditNote" : "Invoice";
    for (const { element } of places(root)) {
      element.name = credit
        ? element.name
            .replace("InvoiceLine", "CreditNoteLine")
            .replace("InvoicedQ", "CreditedQ")
            .replace("InvoiceType", "CreditNoteType")
        : element.name
            .replace("CreditNoteLine", "InvoiceLine")
            .replace("CreditedQ", "InvoicedQ")
            .replace("CreditNoteType", "InvoiceType");
    }
  },
} as const satisfies Readonly<Record<string, Mutation>>;
export type MutationKind = keyof typeof MUTATIONS;
const KINDS = Object.keys(MUTATIONS) as MutationKind[];
/** Turning the document into another kind is one mutation among many, and the others all apply to both. */
const WEIGHTED = KINDS.flatMap((kind) => (kind === "root" ? [kind] : [kind, kind, kind, kind]));

/** Attempts of one shrinking; each runs the test once. */
const SHRINK_ATTEMPTS_MAX = 2_000;

/**
 * The smallest document that greedy removal of elements and attributes finds and that still fails.
 * @param fails  true for `source`
 */
export function shrink(source: Tree, fails: (tree: Tree) => boolean): Tree {
  const tree = cloneTree(source);
  let attempts = 0;
  const tryWithout = <T>(list: T[], index: number): boolean => {
    attempts += 1;
    const removed = list.splice(index, 1);
    const stillFails = attempts <= SHRINK_ATTEMPTS_MAX && fails(tree);
    if (!stillFails) list.splice(index, 0, ...removed);
    return stillFails;
  };
  const walk = (element: Tree): void => {
    for (let i = element.children.length - 1; i >= 0; i -= 1) {
      const child = element.children[i];
      if (child !== undefined && !tryWithout(element.children, i)) walk(child);
    }
    for (let i = element.attributes.length - 1; i >= 0; i -= 1) tryWithout(element.attributes, i);
  };
  walk(tree);
  return tree;
}

/**
 * A changed copy with one to four random mutations.
 * @returns the copy as tree and as bytes, and the kinds applied in order
 */
export function mutate(
  source: Tree,
  random: Random,
): { readonly tree: Tree; readonly bytes: Buffer; readonly kinds: readonly MutationKind[] } {
  const tree = cloneTree(source);
  const kinds = Array.from({ length: 1 + random.int(4) }, () => random.pick(WEIGHTED));
  for (const kind of kinds) MUTATIONS[kind](tree, random);
  return { tree, bytes: bytesOf(tree), kinds };
}
