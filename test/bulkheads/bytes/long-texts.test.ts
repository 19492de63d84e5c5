/**
 * Texts that are long for no reason: whoever asks for one, and however many ask, its length is paid a few times.
 * What is looked at is counted, not timed.
 */
import { expect, test } from "vitest";

import { validateDocument } from "../../../validators/validate.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { bytesOf, cloneTree, treeOf } from "../../support/documents/mutate.js";
import type { Tree } from "../../support/documents/mutate.js";
import { octetsRead } from "../../support/validators/octets-read.js";
import { richInvoice, richInvoiceWith } from "../../support/documents/rich-invoice.js";

/** One finding of each layer: what is said about a document is not what is looked at here. */
const OPTIONS = { limits: { ...SCAN_LIMITS, findings: 3 }, day: "2026-11-20" } as const;
/** All findings, each with the value that it is about. */
const TALKATIVE = { limits: SCAN_LIMITS, day: "2026-11-20", details: true, language: "sk" } as const;
const LONG = 300;
const BLANKS = " ".repeat(LONG);
/** Copies of one element beside it: that a rule fails and all is looked at once more is so with the few, too. */
const [FEW, MANY] = [2, 12];

const isNumber = ({ name }: Tree): boolean => /(?:Amount|Quantity|Percent|Numeric)$/u.test(name);
const isCode = ({ name }: Tree): boolean => /(?:Code|ID|Indicator|Description)$/u.test(name);

/** What lengthens a text of a document and leaves it the worth that it has for most rules. */
type Lengthen = (text: string, element: Tree, i: number) => string;
const LENGTHENED = {
  "of blanks": (text) => BLANKS + text,
  "of blanks where no code stands": (text, element) => (isCode(element) ? text : text + BLANKS),
  "of blanks in half of the elements": (text, _, i) => (i % 2 === 0 ? BLANKS + text : text),
  "of blanks in the other half": (text, _, i) => (i % 2 === 1 ? text + BLANKS : text),
  "of digits": (text, element) => (isNumber(element) ? "0".repeat(LONG) + text : `${text}${"0".repeat(LONG)}`),
  "of letters beyond ASCII": (text, element) => (isNumber(element) ? text : text + "é".repeat(LONG)),
} as const satisfies Readonly<Record<string, Lengthen>>;

function lengthened(tree: Tree, lengthen: Lengthen): Tree {
  const long = cloneTree(tree);
  for (const [i, { element }] of elementsOf(long).entries())
    if (element.children.length === 0) element.text = lengthen(element.text, element, i);
  return long;
}

interface Place {
  readonly element: Tree;
  readonly parent: Tree;
  readonly path: string;
}

/** The elements of a tree in document order. */
function elementsOf(tree: Tree, above = ""): Place[] {
  return tree.children.flatMap((element) => {
    const path = `${above}/${element.name}`;
    return [{ element, parent: tree, path }, ...elementsOf(element, path)];
  });
}

/** The first element of each path, by its place among the elements. */
const placesOf = (tree: Tree): number[] => {
  const paths = elementsOf(tree).map(({ path }) => path);
  return paths.flatMap((path, i) => (paths.indexOf(path) === i ? [i] : []));
};

const judged = (tree: Tree): number => {
  const bytes = bytesOf(tree);
  return octetsRead(() => validateDocument(bytes, OPTIONS));
};

/** What each copy of one element adds to what is looked at. */
function added(tree: Tree, i: number, copy: Tree): number {
  const place = elementsOf(tree)[i];
  if (place === undefined) throw new Error("no such element");
  const { children } = place.parent;
  const at = children.indexOf(place.element);
  const [few = 0, many = 0] = [FEW, MANY].map((copies) => {
    place.parent.children = children.toSpliced(at, 0, ...Array.from({ length: copies }, () => copy));
    return judged(tree);
  });
  place.parent.children = children;
  return (many - few) / (MANY - FEW);
}

/** Elements of which each copy has long texts looked at that stand elsewhere. */
function dearElements(plain: Tree, hows: readonly (keyof typeof LENGTHENED)[]): string[] {
  const originals = elementsOf(plain);
  const long = hows.map((how) => ({ how, tree: lengthened(plain, LENGTHENED[how]) }));
  return placesOf(plain).flatMap((i) => {
    const { element = plain, path = "" } = originals[i] ?? {};
    const usual = added(plain, i, element);
    return long.flatMap(({ how, tree }) => {
      const more = added(tree, i, element) - usual;
      return more < LONG / 2 ? [] : [`${how}: ${path}: ${Math.round(more)}`];
    });
  });
}

const numbers = (prefix: string, many: number): string => `<cbc:CompanyID>${prefix}1</cbc:CompanyID>`.repeat(many);
const FIRST_SCHEME = "<cac:TaxScheme><cbc:ID>VAT<";
const INDICATED = "<cbc:ChargeIndicator>false<";
const reasons = (many: number): string =>
  "<cbc:AllowanceChargeReasonCode>95</cbc:AllowanceChargeReasonCode>".repeat(many);
const nested = (content: string): string =>
  `<ext:UBLExtensions><ext:UBLExtension><ext:ExtensionContent><Invoice>${content}</Invoice>` +
  "</ext:ExtensionContent></ext:UBLExtension></ext:UBLExtensions>";

/** A document in which `asking` elements look at a text that is `padding` longer than it need be. */
type Asked = (padding: string, asking: number) => string;
const ASKED: Readonly<Record<string, Asked>> = {
  "PEPPOL-COMMON-R056: the tax scheme of the number": (padding, many) =>
    richInvoiceWith("SK", FIRST_SCHEME, `${numbers("NL", many)}<cac:TaxScheme><cbc:ID>${padding}VAT<`),
  "SE-R-005: the tax scheme of the registration": (padding, many) =>
    richInvoiceWith("SE", "<cac:TaxScheme><cbc:ID>TAX<", `${numbers("", many)}<cac:TaxScheme><cbc:ID>${padding}TAX<`),
  "SE-R-007: the payment means of the account": (padding, many) =>
    richInvoiceWith(
      "SE",
      "<cbc:PaymentMeansCode>30<",
      `<cbc:PaymentMeansCode>${padding}30<`,
      "<cac:PayeeFinancialAccount>",
      `$&${"<cbc:ID>1</cbc:ID>".repeat(many)}`,
    ),
  "SE-R-009: the branch of the account": (padding, many) =>
    richInvoiceWith(
      "SE",
      "<cac:FinancialInstitutionBranch><cbc:ID>",
      `${"<cbc:ID>1</cbc:ID>".repeat(many)}$&${padding}`,
    ),
  "GR-R-003: the tax scheme of the number": (padding, many) =>
    richInvoiceWith("GR", FIRST_SCHEME, `${numbers("EL", many)}<cac:TaxScheme><cbc:ID>${padding}VAT<`),
  "GR-R-001-3: the issue date": (padding, many) =>
    richInvoiceWith(
      "GR",
      "<cbc:IssueDate>",
      `${"<cbc:ID>094259216|21/11/2026|1|1.1|A|1</cbc:ID>".repeat(many)}$&${padding}`,
    ),
  "PEPPOL-EN16931-R005: the currency beside": (padding, many) =>
    richInvoiceWith(
      "SK",
      "<cbc:UBLVersionID>",
      `${nested(
        `<cbc:DocumentCurrencyCode>EUR${padding}</cbc:DocumentCurrencyCode>${"<cbc:TaxCurrencyCode>EUR</cbc:TaxCurrencyCode>".repeat(many)}`,
      )}$&`,
    ),
  "PEPPOL-EN16931-R005: the currency beside, with a comment": (padding, many) =>
    richInvoiceWith(
      "SK",
      "<cbc:UBLVersionID>",
      `${nested(
        `<cbc:DocumentCurrencyCode>EUR${padding}<!----></cbc:DocumentCurrencyCode>${"<cbc:TaxCurrencyCode>EUR</cbc:TaxCurrencyCode>".repeat(many)}`,
      )}$&`,
    ),
  "PEPPOL-EN16931-R046: the net price": (padding, many) =>
    richInvoiceWith(
      "SK",
      /<cac:Price>.*?<\/cbc:BaseQuantity>(.*?)<\/cac:Price>/u,
      `<cac:Price><cbc:PriceAmount currencyID="EUR">${padding}100</cbc:PriceAmount>${"$1".repeat(many)}</cac:Price>`,
    ),
  "BR-E-08: the taxable amount": (padding, many) =>
    richInvoiceWith("SK", SUBTOTAL, subtotalOf(`${padding}100.00`, "0", many)),
  "BR-E-09: the tax amount": (padding, many) =>
    richInvoiceWith("SK", SUBTOTAL, subtotalOf("-110.00", `${padding}0`, many)),
  "PEPPOL-EN16931-R110: the period of an invoice in the invoice": (padding, many) =>
    richInvoiceWith(
      "SK",
      "<cbc:UBLVersionID>",
      `${nested(
        `<cac:InvoicePeriod><cbc:StartDate>2026-11-01${padding}</cbc:StartDate></cac:InvoicePeriod>${linesFrom("StartDate", many)}`,
      )}$&`,
    ),
  "PEPPOL-EN16931-R111: the period of an invoice in the invoice": (padding, many) =>
    richInvoiceWith(
      "SK",
      "<cbc:UBLVersionID>",
      `${nested(
        `<cac:InvoicePeriod><cbc:EndDate>2026-11-30${padding}</cbc:EndDate></cac:InvoicePeriod>${linesFrom("EndDate", many)}`,
      )}$&`,
    ),
  "PEPPOL-EN16931-CL002: the indicator of the allowance": (padding, many) =>
    richInvoiceWith(
      "SK",
      INDICATED,
      `<cbc:ChargeIndicator>${padding}false<`,
      "<cbc:AllowanceChargeReasonCode>",
      `${reasons(many)}$&`,
    ),
  "BR-CL-07: the type of the reference": (padding, many) =>
    richInvoiceWith(
      "SK",
      /(<cac:DocumentReference>)(.*?)130</u,
      `$1${'<cbc:ID schemeID="AUN">1</cbc:ID>'.repeat(many)}$2${padding}130<`,
    ),
  "PEPPOL-EN16931-R130: the unit of the line": (padding, many) =>
    richInvoiceWith(
      "SK",
      "<cbc:UBLVersionID>",
      `${nested(
        `<cac:LineItem><cbc:InvoicedQuantity unitCode="C62${padding}">1</cbc:InvoicedQuantity>${'<cac:Price><cbc:BaseQuantity unitCode="C62">1</cbc:BaseQuantity></cac:Price>'.repeat(many)}</cac:LineItem>`,
      )}$&`,
    ),
};

const SUBTOTAL = /<cac:TaxSubtotal>.*<\/cac:TaxSubtotal>/u;
const EXEMPT =
  "<cac:TaxCategory><cbc:ID>E</cbc:ID><cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:TaxCategory>";
const subtotalOf = (taxable: string, tax: string, many: number): string =>
  `<cac:TaxSubtotal><cbc:TaxableAmount currencyID="EUR">${taxable}</cbc:TaxableAmount>` +
  `<cbc:TaxAmount currencyID="EUR">${tax}</cbc:TaxAmount>${EXEMPT.repeat(many)}</cac:TaxSubtotal>`;
const linesFrom = (date: string, many: number): string =>
  `<cac:InvoiceLine><cac:InvoicePeriod><cbc:${date}>2026-11-02</cbc:${date}></cac:InvoicePeriod></cac:InvoiceLine>`.repeat(
    many,
  );

test.each(Object.entries(ASKED))("%s is looked at as much for 200 that ask as for 20", (_, asked) => {
  const work = (padding: string, asking: number): number => {
    const bytes = Buffer.from(asked(padding, asking));
    return octetsRead(() => validateDocument(bytes, TALKATIVE));
  };
  const [short, long] = ["", " ".repeat(10_000)].map((padding) => work(padding, 200) - work(padding, 20)) as [
    number,
    number,
  ];
  expect(long - short).toBeLessThan(20_000);
});

/** Rules of all countries look at lines and totals alike: those of the first are enough. */
const ALIKE = new Set(["cac:InvoiceLine", "cac:LegalMonetaryTotal", "cac:TaxTotal", "cac:Delivery", "cac:PayeeParty"]);

test.each([
  ["SK", ["of blanks", "of blanks where no code stands"]],
  ["DE", ["of blanks where no code stands"]],
  ["DK", ["of blanks in half of the elements"]],
  ["SE", ["of blanks in half of the elements", "of blanks in the other half"]],
  ["GR", ["of blanks where no code stands", "of letters beyond ASCII"]],
  ["IS", ["of blanks where no code stands"]],
  ["IT", ["of digits"]],
  ["NL", ["of blanks where no code stands"]],
  ["NO", ["of blanks in the other half"]],
] as const)("an element more costs what it is long, whatever texts an invoice of %s has beside it", (country, hows) => {
  const tree = treeOf(Buffer.from(richInvoice(country)));
  if (country !== "SK") tree.children = tree.children.filter(({ name }) => !ALIKE.has(name));
  expect(dearElements(tree, hows)).toEqual([]);
});
