/**
 * Goal: the grammar table and libxml2 with the official schemas give the same verdict on every document.
 * Method: all conformance documents, then seeded damage to them. `MUTATIONS=20000 SEED=7` runs more, or repeats a run.
 *
 * Known differences, which the inputs here avoid:
 * - Content in the XML signature, XAdES and UBL signature namespaces is only checked for well-formedness; libxml2
 *   validates it, because the extension module imports those schemas. We do not verify such signatures: refusing a
 *   document for their shape would help nobody, and their schemas have choices that the table cannot hold.
 * - xsi:type on an element without declaration may name any type of those schemas unchecked.
 * - A document element other than Invoice, CreditNote and ApplicationResponse has no grammar; libxml2 would take any
 *   global element.
 * - The scanner refuses what XML allows and Peppol does not need: DTDs, processing instructions before the root.
 */
import { beforeAll, expect, test } from "vitest";
import { checkGrammar, isKnownRoot } from "../../validators/ubl/check.js";
import { NS } from "../../validators/xml/names.js";
import { SCAN_LIMITS, Scanner } from "../../validators/xml/scanner.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { openOracle, ORACLE_ROOTS } from "../support/grammar-oracle.js";
import type { Oracle, OracleRoot } from "../support/grammar-oracle.js";
import { Random, seedFrom } from "../support/random.js";
import { mutate } from "../support/xml-mutations.js";

const FOLDERS = ["en16931", "invoice-response", "peppol-3.0.19", "peppol-3.0.21", "self-billing-3.0.21"] as const;
const MUTATIONS = Number(process.env["MUTATIONS"] ?? 2_000);
const SEED = seedFrom(20_261_120);
/** Documents that are mutated; a large attachment would only slow every case down. */
const MUTATED_BYTES_MAX = 100_000;

const scanner = new Scanner();

/** Values at the edges of every type; each is tried in an element or attribute of each type. */
const EDGES = [
  "",
  " ",
  "0",
  "1",
  "-1",
  "+1",
  "-0",
  ".5",
  "5.",
  "+.5",
  "-.",
  ".",
  "1e3",
  "1,0",
  "1 2",
  "\t1\n",
  "--1",
  "NaN",
  "INF",
  "01",
  "+-1",
  "9".repeat(400),
  "0.".padEnd(50, "1"),
  "\u00a01",
  "\u0661",
  "2026-02-28",
  "2026-02-29",
  "2026-02-30",
  "2024-02-29",
  "2000-02-29",
  "1900-02-29",
  "-0004-02-29",
  "-0001-02-29",
  "2026-04-31",
  "2026-01-32",
  "2026-00-01",
  "2026-13-01",
  "2026-1-1",
  "2026-01-01Z",
  "2026-01-01z",
  "2026-01-01+14:00",
  "2026-01-01+14:01",
  "2026-01-01-13:59",
  "2026-01-01+15:00",
  "2026-01-01+1:00",
  "2026-01-01+01:60",
  "2026-01-01+0000",
  "2026-01-01 Z",
  "0000-01-01",
  "-0000-01-01",
  "0001-01-01",
  "-0001-01-01",
  "10000-01-01",
  "010000-01-01",
  "2147483647-01-01",
  "2147483648-01-01",
  "-2147483647-01-01",
  "-2147483648-01-01",
  "99999999999999999999-01-01",
  " 2026-01-01",
  "2026-01-01 ",
  "2026-01-01T00:00:00",
  "+2026-01-01",
  "026-01-01",
  "2026-01-011",
  "20260101",
  "2026-01-01+00:00",
  "2026-01-01-00:00",
  "12:00:00",
  "24:00:00",
  "24:00:01",
  "24:00:00.0",
  "24:00:00.5",
  "25:00:00",
  "12:60:00",
  "12:00:60",
  "12:00:59.999999999999",
  "12:00:00.",
  "12:00",
  "12:00:00Z",
  "12:00:00+14:00",
  "12:00:00+14:01",
  " 12:00:00",
  "\n12:00:00Z",
  "12:00:00 ",
  "1:00:00",
  "23:59:59-14:00",
  "12:00:000",
  "-12:00:00",
  "12:00:00.5-01:00",
  "true",
  "false",
  "TRUE",
  " true ",
  "yes",
  "QQ==",
  "QQ= =",
  "QQ",
  "QQ=",
  "QR==",
  "QUI=",
  "QUJ=",
  "QUJD",
  "Q U J D",
  "QU-D",
  "QU_D",
  "====",
  "Q===",
  "QQ==QQ==",
  "QUJD=",
  "QUJDQ",
  "Q Q = =",
  "\u00a0QUJD",
  "QUJD!",
  "=QUJD",
  "en",
  "en-US",
  "e1",
  "abcdefgh",
  "abcdefghi",
  "en-",
  "-en",
  "en-US-x1-123456789",
  " en ",
  "EN_us",
  "en us",
  "i-klingon",
  "x",
  "1a",
  "en-1a",
  "\u010d",
  "http://a",
  "a b",
  "%zz",
  "http://[::1]",
  "http://[",
  "a:b:c",
  "#a#b",
  "::",
  ":a",
  "1:a",
  "http://a:port",
  "http://a:80/",
  "http://a:2147483647/",
  "http://a:2147483648/",
  "http://\u00e4",
  "<",
  "a%20b",
  "//x",
  "?q",
  "#f",
  "http://u@h",
  "http://h/p?q#f",
  "mailto:x@y",
  "{",
  "|",
  "http://a/%",
  "%41",
  "a^b",
  "http://a:/",
  "http://[v1.x]",
  "http://a@b@c",
  "http://a[b",
  "[",
  "]",
  "a:[",
  "http:",
  "http:?",
  "http:#",
  "http://%zz",
  "http://a?[",
  "http://a#[",
  "\\a",
  '"',
  "`",
  "http://[::1",
  "http://[]",
  "a/b:c",
  "a:b/",
  "-:a",
  "a+b:x",
  "a_b:x",
  "\u00e9:x",
  "http://:80",
  "http://a:-1",
  "http://a:8 0",
  "//[",
  "//[x]y",
  "/[",
  "a#b?c",
  "a?b#c%",
  "a#%zz",
  "http://a/;=,@:",
  "/",
  "//",
  "///",
  "a//b",
  "./:a",
  "..",
  "http://a:80:80",
  "http://:@/",
  "x://",
  "x:/",
  "x://y?z#",
  "~",
  "*",
  "!",
  "$&'()*+,;=",
  "@",
  ":@",
  "%",
  "%4",
  "%4g",
  "\u007f",
] as const;
/** Places for a value: element content of each type, and attributes of the two types that can be wrong. */
const SLOTS: Readonly<Record<string, (value: string) => string>> = {
  decimal: (v) => `<cbc:LineCountNumeric>${v}</cbc:LineCountNumeric>`,
  normalizedString: (v) => `<cbc:BuyerReference>${v}</cbc:BuyerReference>`,
  date: (v) => `<cbc:TaxPointDate>${v}</cbc:TaxPointDate>`,
  time: (v) => `<cac:Delivery><cbc:ActualDeliveryTime>${v}</cbc:ActualDeliveryTime></cac:Delivery>`,
  boolean: (v) =>
    `<cac:Signature><cbc:ID>1</cbc:ID><cac:SignatoryParty><cbc:MarkCareIndicator>${v}</cbc:MarkCareIndicator></cac:SignatoryParty></cac:Signature>`,
  base64Binary: (v) =>
    `<cac:AdditionalDocumentReference><cbc:ID>1</cbc:ID><cac:Attachment><cbc:EmbeddedDocumentBinaryObject mimeCode="a/b">${v}</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>`,
  language: (v) => `<cbc:Note languageID="${v}"/>`,
  anyURI: (v) => `<cbc:TaxCurrencyCode listURI="${v}"/>`,
};
const escaped = (value: string): string => value.replace(/[&<"\t\n\r]/g, (c) => `&#${c.charCodeAt(0)};`);
/** The smallest invoice around one of the slots; what the slot needs before or behind it is optional in UBL. */
const invoiceAround = (slot: string): Buffer => {
  const before =
    /^<cbc:(?:Note|TaxPointDate|TaxCurrencyCode|LineCountNumeric|BuyerReference)/.test(slot) ||
    slot.startsWith("<cac:Signature") ||
    slot.startsWith("<cac:AdditionalDocumentReference")
      ? slot
      : "";
  return Buffer.from(
    `<Invoice xmlns="${NS.Invoice}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}"><cbc:ID>1</cbc:ID><cbc:IssueDate>2026-01-01</cbc:IssueDate>${before}<cac:AccountingSupplierParty/><cac:AccountingCustomerParty/>${before === "" ? slot : ""}<cac:LegalMonetaryTotal><cbc:PayableAmount currencyID="EUR">1</cbc:PayableAmount></cac:LegalMonetaryTotal><cac:InvoiceLine><cbc:ID>1</cbc:ID><cbc:LineExtensionAmount currencyID="EUR">1</cbc:LineExtensionAmount><cac:Item/></cac:InvoiceLine></Invoice>`,
  );
};

/** Our verdict, or undefined when the root is not one the grammar knows. */
function verdict(bytes: Buffer): { valid: boolean; message: string; root: OracleRoot | undefined } {
  const scanned = scanner.scan(bytes, SCAN_LIMITS);
  if (scanned.kind === "refused") return { valid: false, message: scanned.findings[0]?.ruleId ?? "", root: "Invoice" };
  const name = scanned.document.name(0);
  if (!isKnownRoot(name)) return { valid: false, message: "unknown root", root: undefined };
  const { findings } = checkGrammar(scanned.document, 100);
  const root = ORACLE_ROOTS.find((known) => known === scanned.document.prefixed(name));
  return { valid: findings.length === 0, message: findings.map((f) => `${f.ruleId}: ${f.message}`).join("\n"), root };
}

describeConformance("grammar against libxml2", "ubl-2.1-xsd", () => {
  const documents: { name: string; bytes: Buffer }[] = [];
  let oracle: Oracle;

  beforeAll(() => {
    oracle = openOracle();
    for (const folder of FOLDERS) {
      for (const file of conformanceFiles(`documents/${folder}`, ".xml")) {
        documents.push({ name: `${folder}/${file}`, bytes: conformanceBytes("documents", folder, file) });
      }
    }
    for (const kind of ["good", "bad"]) {
      for (const file of conformanceFiles(`as4/mls/${kind}`, ".xml")) {
        documents.push({ name: `mls/${kind}/${file}`, bytes: conformanceBytes("as4", "mls", kind, file) });
      }
    }
  });

  test("every conformance document gets the verdict of libxml2", () => {
    expect(documents.length).toBeGreaterThan(100);
    const differing = documents.filter(({ bytes }) => {
      const ours = verdict(bytes);
      return ours.root === undefined || ours.valid !== oracle(bytes, ours.root).valid;
    });
    expect(differing.map(({ name }) => name)).toEqual([]);
  });

  test.each(Object.entries(SLOTS))("values at the edges of %s get the verdict of libxml2", (_, slot) => {
    const verdicts = EDGES.map((value) => ({
      value,
      ours: verdict(invoiceAround(slot(escaped(value)))),
      theirs: oracle(invoiceAround(slot(escaped(value))), "Invoice"),
    }));
    expect(
      verdicts
        .filter(({ ours, theirs }) => ours.valid !== theirs.valid)
        .map(({ value, ours }) => `${JSON.stringify(value)} ours: ${ours.valid}`),
    ).toEqual([]);
    expect(verdicts.some(({ ours }) => ours.valid)).toBe(true);
  });

  test(`${MUTATIONS} damaged documents get the verdict of libxml2 (seed ${SEED})`, { timeout: 600_000 }, () => {
    const bases = documents.filter(({ bytes }) => bytes.length <= MUTATED_BYTES_MAX);
    const differing: string[] = [];
    let valid = 0;
    for (let n = 0; n < MUTATIONS; n++) {
      const random = new Random(SEED + n);
      const base = random.pick(bases);
      const { text, kinds } = mutate(base.bytes.toString("latin1"), random);
      const bytes = Buffer.from(text, "latin1");
      const ours = verdict(bytes);
      if (ours.root === undefined) continue;
      const theirs = oracle(bytes, ours.root);
      if (ours.valid) valid++;
      if (ours.valid !== theirs.valid)
        differing.push(
          `SEED=${SEED + n} MUTATIONS=1 ${base.name} ${kinds.join("+")}\n  ours: ${ours.message}\n  libxml2: ${theirs.message}`,
        );
    }
    // Both verdicts must occur, or the comparison shows nothing.
    if (MUTATIONS >= 100) expect(valid).toBeGreaterThan(MUTATIONS / 50);
    expect(differing.slice(0, 5).join("\n")).toBe("");
  });
});
