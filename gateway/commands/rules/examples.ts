/**
 * A failing and a passing fragment for each rule: our own sample invoices are changed in one place at a time, and the
 * change after which the least else is wrong is kept, with the lines around it before and after.
 */
import { invoiceWithLines } from "../../../bench/documents.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import { validateDocument } from "../../../validators/validate.js";
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
] as const;

const put = (text: string, anchor: string, addition: string): string => text.replace(anchor, `${addition}${anchor}`);

const ALLOWANCES = `  <cac:AllowanceCharge>
    <cbc:ChargeIndicator>false</cbc:ChargeIndicator>
    <cbc:AllowanceChargeReasonCode>95</cbc:AllowanceChargeReasonCode>
    <cbc:AllowanceChargeReason>Discount</cbc:AllowanceChargeReason>
    <cbc:Amount currencyID="EUR">10.00</cbc:Amount>
    <cac:TaxCategory>
      <cbc:ID>S</cbc:ID>
      <cbc:Percent>19</cbc:Percent>
      <cac:TaxScheme>
        <cbc:ID>VAT</cbc:ID>
      </cac:TaxScheme>
    </cac:TaxCategory>
  </cac:AllowanceCharge>
`;

/** The plain sample with an allowance and a charge of one amount, a payee, a tax representative and references. */
function richSample(): string {
  const plain = invoiceWithLines(1).toString();
  const charge = ALLOWANCES.replace("false", "true").replace(">95<", ">FC<").replace("Discount", "Freight");
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
  return put(named, "  <cac:TaxTotal>", ALLOWANCES + charge)
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

/** One change: what stands between two offsets of a sample becomes another text. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

function changesOf(source: Buffer): Change[] {
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
    const values = document.first(e) === NONE ? VALUES.map((text) => ({ from, to, text })) : [];
    return [
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

/** The best example of each rule that some change of a sample breaks. */
export function minedExamples(): ReadonlyMap<string, Example> {
  /** Bounded by the rules there are. */
  const best = new Map<string, Found>();
  for (const sample of [invoiceWithLines(1).toString(), richSample()]) {
    const source = Buffer.from(sample);
    const verdict = validateDocument(source, { limits: SCAN_LIMITS, day: DAY });
    if (verdict.findings.length > 0)
      throw new Error(`a sample is not clean: ${verdict.findings.map(({ ruleId }) => ruleId).join(", ")}`);
    for (const { from, to, text } of changesOf(source)) {
      const changed = Buffer.concat([source.subarray(0, from), Buffer.from(text), source.subarray(to)]);
      const { findings } = validateDocument(changed, { limits: SCAN_LIMITS, day: DAY });
      for (const { ruleId } of findings) {
        const others = findings.filter((finding) => finding.ruleId !== ruleId).length;
        const [a, b] = [source.toString("utf8", 0, from).length, source.toString("utf8", 0, to).length];
        const [passes, fails] = [around(sample, a, b), around(changed.toString(), a, a + text.length)];
        const score = others * OTHER_WEIGHT + passes.length + fails.length;
        if (score < (best.get(ruleId)?.score ?? Infinity)) best.set(ruleId, { score, passes, fails });
      }
    }
  }
  return best;
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
