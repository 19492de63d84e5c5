/**
 * A failing and a passing fragment for each rule: our own sample invoices are changed in one place at a time, and the
 * change after which the least else is wrong is kept, with the lines around it before and after.
 */
import { invoiceWithLines } from "../../../bench/documents.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import { validateDocument } from "../../../validators/validate.js";
import { ALLOWANCES, FILE_MISTAKES, moreSamples, put } from "./samples.js";
import { NONE } from "../../../validators/xml/document.js";
import { scan } from "../../../validators/xml/scanner.js";

/** What a page shows of a rule. */
interface Example {
  readonly fails: string;
  readonly passes: string;
}

/** A fragment shows this many lines before and behind what was changed. */
const LINES_AROUND = 3;
const DAY = "2026-11-20";

/** Values that leaf elements and attributes are given in turn: wrong codes, numbers, dates, identifiers. */
const VALUES = [
  "",
  "0",
  "-1",
  "1.234",
  "abc",
  "1e2",
  "ZZ",
  "E",
  "O",
  "AE",
  "2030-01-01",
  "2020-01-01",
  "20.11.2026",
  "381",
  "999",
  "58",
  "59",
  "48",
  "USD",
  "true",
  "0088",
  "-0.00",
  "49",
  "SK3112000000198742637542",
  "VATEX-EU-G",
  "#QQQ#Text",
  "a::b",
] as const;

/** The plain sample with an allowance and a charge of one amount, a payee, a tax representative and references. */
function richSample(): string {
  const plain = invoiceWithLines(1).toString();
  const named = put(
    plain,
    "  <cac:Delivery>",
    `  <cac:PayeeParty>
    <cac:PartyName>
      <cbc:Name>Factoring s.r.o.</cbc:Name>
    </cac:PartyName>
  </cac:PayeeParty>
  <cac:TaxRepresentativeParty>
    <cac:PartyName>
      <cbc:Name>Zástupca s.r.o.</cbc:Name>
    </cac:PartyName>
    <cac:PostalAddress>
      <cac:Country>
        <cbc:IdentificationCode>SK</cbc:IdentificationCode>
      </cac:Country>
    </cac:PostalAddress>
    <cac:PartyTaxScheme>
      <cbc:CompanyID>SK2023232323</cbc:CompanyID>
      <cac:TaxScheme>
        <cbc:ID>VAT</cbc:ID>
      </cac:TaxScheme>
    </cac:PartyTaxScheme>
  </cac:TaxRepresentativeParty>
`,
  );
  return put(named, "  <cac:TaxTotal>", ALLOWANCES)
    .replace(
      /(<cbc:TaxInclusiveAmount[^>]*>[^<]*<\/cbc:TaxInclusiveAmount>\s*)/u,
      '$1<cbc:AllowanceTotalAmount currencyID="EUR">10.00</cbc:AllowanceTotalAmount>\n    <cbc:ChargeTotalAmount currencyID="EUR">10.00</cbc:ChargeTotalAmount>\n    ',
    )
    .replace(
      "  <cac:AccountingSupplierParty>",
      `  <cac:BillingReference>
    <cac:InvoiceDocumentReference>
      <cbc:ID>K-0</cbc:ID>
    </cac:InvoiceDocumentReference>
  </cac:BillingReference>
  <cac:AdditionalDocumentReference>
    <cbc:ID>TS-1</cbc:ID>
    <cac:Attachment>
      <cbc:EmbeddedDocumentBinaryObject mimeCode="text/csv" filename="hours.csv">YSxi</cbc:EmbeddedDocumentBinaryObject>
    </cac:Attachment>
  </cac:AdditionalDocumentReference>
  <cac:AccountingSupplierParty>`,
    );
}

/** Those of them that are tried in every further sample: all of them would take three times as long. */
const FEW_VALUES = ["", "0", "ZZ", "999", "58", "2020-01-01"] as const;

/** What no element but a value may hold, put at its beginning. */
const ADDITIONS = ["\n    <cbc:Description>Not expected here</cbc:Description>", "text between elements"] as const;

/** One change: what stands between two offsets of a sample becomes another text. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function changesOf(source: Buffer, tried: readonly string[]): Change[] {
  const scanned = scan(source, SCAN_LIMITS);
  if (scanned.kind === "refused") throw new Error("a sample is not well-formed");
  const { document } = scanned;
  return Array.from({ length: document.count - 1 }, (_, i) => i + 1).flatMap((e): Change[] => {
    const [start, from, to] = [document.starts[e] ?? 0, document.contentStarts[e] ?? 0, document.contentEnds[e] ?? 0];
    const end = source.indexOf(">", to) + 1;
    const whole = source.toString("utf8", start, end);
    const tag = source.toString("utf8", start, from);
    const attributes = Array.from(tag.matchAll(/ ([\w:]+)="[^"]*"/gu)).flatMap((match): Change[] => {
      const at = start + Buffer.byteLength(tag.slice(0, match.index));
      const length = Buffer.byteLength(match[0]);
      return [
        { from: at, to: at + length, text: "" },
        { from: at, to: at + length, text: ` ${match[1] ?? ""}="ZZZ"` },
        { from: at + length, to: at + length, text: ' schemeID="ZZZ"' },
      ];
    });
    const isLeaf = document.first(e) === NONE;
    const values = isLeaf ? tried.map((text) => ({ from, to, text })) : [];
    const additions = isLeaf ? [] : ADDITIONS.map((text) => ({ from, to: from, text }));
    const next = document.next(e);
    const nextEnd = next === NONE ? NONE : source.indexOf(">", document.contentEnds[next] ?? 0) + 1;
    return [
      ...(next === NONE ? [] : [{ from: start, to: nextEnd, text: "" }]),
      ...additions,
      { from: end, to: end, text: `\n    ${whole}\n    ${whole}` },
      { from: start, to: end, text: "" },
      { from: end, to: end, text: `\n    ${whole}` },
      ...attributes,
      ...values,
    ];
  });
}

/** The lines around a change, a mark where more stands before or behind. */
function around(text: string, from: number, to: number): string {
  const before = text.slice(0, from).split("\n");
  const changed = text.slice(from, to);
  const behind = text.slice(to).split("\n");
  const kept = [...before.slice(-1 - LINES_AROUND).slice(0, -1), (before.at(-1) ?? "") + changed + (behind[0] ?? "")];
  const lines = [...kept.join("\n").split("\n"), ...behind.slice(1, 1 + LINES_AROUND)].filter(
    (line) => line.trim() !== "",
  );
  const indent = Math.min(...lines.map((line) => line.length - line.trimStart().length));
  return lines.map((line) => line.slice(indent).trimEnd()).join("\n");
}

interface Found extends Example {
  readonly score: number;
}

/** A rule that fails besides weighs as much as this many characters to read. */
const OTHER_WEIGHT = 200;

/** The best example of each rule that some change of a sample breaks, or mends. */
export function minedExamples(): ReadonlyMap<string, Example> {
  /** Bounded by the rules there are. */
  const best = new Map<string, Found>();
  for (const sample of [invoiceWithLines(1).toString(), richSample()]) mine(sample, VALUES, best);
  for (const sample of moreSamples()) mine(sample, FEW_VALUES, best);
  return best;
}

const rulesBrokenBy = (document: Buffer): ReadonlySet<string> =>
  new Set(validateDocument(document, { limits: SCAN_LIMITS, day: DAY }).findings.map(({ ruleId }) => ruleId));

/** Looks at each change of a sample: which rules it breaks that the sample keeps, and the other way round. */
function mine(sample: string, tried: readonly string[], best: Map<string, Found>): void {
  const source = Buffer.from(sample);
  const before = rulesBrokenBy(source);
  const mistakes = FILE_MISTAKES.flatMap(([text, instead]): Change[] => {
    const from = source.indexOf(text);
    return from < 0 ? [] : [{ from, to: from + Buffer.byteLength(text), text: instead }];
  });
  for (const { from, to, text } of [...changesOf(source, tried), ...mistakes]) {
    const changed = Buffer.concat([source.subarray(0, from), Buffer.from(text), source.subarray(to)]);
    const after = rulesBrokenBy(changed);
    const broken = [...after].filter((id) => !before.has(id));
    const isUnreadable = [...after].some((id) => id.startsWith("XML-") || id.startsWith("UBL-") || id.startsWith("!"));
    const mended = isUnreadable ? [] : [...before].filter((id) => !after.has(id));
    if (broken.length + mended.length === 0) continue;
    const [a, b] = [source.toString("utf8", 0, from).length, source.toString("utf8", 0, to).length];
    const [old, fresh] = [around(sample, a, b), around(changed.toString(), a, a + text.length)];
    const score = old.length + fresh.length;
    for (const id of broken)
      keep(best, id, { passes: old, fails: fresh, score: score + (broken.length - 1) * OTHER_WEIGHT });
    // A sample that broke the rule from the start shows it less well.
    for (const id of mended)
      keep(best, id, { passes: fresh, fails: old, score: score + (broken.length + before.size) * OTHER_WEIGHT });
  }
}

function keep(best: Map<string, Found>, id: string, found: Found): void {
  if (found.score < (best.get(id)?.score ?? Infinity)) best.set(id, found);
}

const NOT_USED = /^(?:The attribute (\S+)(?: of (\S+))?|(\S+)) is not used (in the lines of|in) EN 16931/u;

/** The example of a rule about something that EN 16931 does not use, made of the path in its sentence. */
export function unusedExample(message: string): Example | undefined {
  const match = NOT_USED.exec(message);
  if (match === null) return undefined;
  const [, attribute, owner, element, where] = match;
  const path = `${where === "in" ? "Invoice" : "Invoice/cac:InvoiceLine"}/${element ?? owner ?? "cbc:Note"}`.split("/");
  const nested = (names: readonly string[], inner: string): string =>
    names.reduceRight((content, name, depth) => {
      const pad = "  ".repeat(depth);
      return `${pad}<${name}>\n${content}\n${pad}</${name}>`;
    }, inner);
  const [parents, last = ""] = [path.slice(0, -1), path.at(-1)];
  const pad = "  ".repeat(parents.length);
  return attribute === undefined
    ? { fails: nested(parents, `${pad}<${last}>…</${last}>`), passes: nested(parents, `${pad}…`) }
    : {
        fails: nested(parents, `${pad}<${last} ${attribute}="…">…</${last}>`),
        passes: nested(parents, `${pad}<${last}>…</${last}>`),
      };
}
