/** What is fuzzed: documents through the whole chain, rule files through the importer, XPath alone, archives. */
import { deflateRawSync, crc32 } from "node:zlib";
import { invoiceWithLines } from "../../bench/documents.js";
import type * as Chain from "../../validators/validate.js";
import type * as Importer from "../../validators/schematron/release/import.js";
import type * as Packs from "../../validators/schematron/runtime/pack.js";
import type * as Zip from "../../validators/schematron/release/zip.js";
import type * as TestSets from "../../validators/schematron/release/test-set.js";
import type * as Scanner from "../../validators/xml/scanner.js";
import type { ValidateOptions } from "../../validators/protocol.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { mutate } from "../support/documents/xml-mutations.js";
import type { Target } from "./fuzzer.js";
import type { Instrumented } from "./instrument.js";

const OPTIONS: ValidateOptions = { limits: SCAN_LIMITS, day: "2026-11-20" };

export const TARGET_NAMES = ["document", "schematron", "xpath", "archive"] as const;
export type TargetName = (typeof TARGET_NAMES)[number];

/** Refusals of the importer: each names file and line, or what is wrong with the archive. */
const REFUSALS: ReadonlySet<string> = new Set(["SourceError", "ReleaseError", "ZipError"]);

function refusedOr<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error && REFUSALS.has(error.name) && error.message.length > 10) return undefined;
    throw error;
  }
}

/** A small document that names most of what rules look at. */
const RESPONSE =
  '<ApplicationResponse xmlns="urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2" xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"><cbc:CustomizationID>urn:fdc:peppol.eu:poacc:trns:invoice_response:3</cbc:CustomizationID><cbc:ProfileID>urn:fdc:peppol.eu:poacc:bis:invoice_response:3</cbc:ProfileID><cbc:ID>1</cbc:ID><cbc:IssueDate>2026-11-20</cbc:IssueDate><cac:SenderParty><cbc:EndpointID schemeID="0245">2020202020</cbc:EndpointID></cac:SenderParty><cac:ReceiverParty><cbc:EndpointID schemeID="0245">2021212121</cbc:EndpointID></cac:ReceiverParty><cac:DocumentResponse><cac:Response><cbc:ResponseCode>RE</cbc:ResponseCode><cac:Status><cbc:StatusReasonCode listID="OPStatusReason">LEG</cbc:StatusReasonCode></cac:Status></cac:Response><cac:DocumentReference><cbc:ID>1</cbc:ID></cac:DocumentReference></cac:DocumentResponse></ApplicationResponse>';

async function documentTarget(copy: Instrumented, more: readonly Buffer[]): Promise<Target> {
  const { validateDocument } = await copy.load<typeof Chain>("validate");
  return {
    name: "document",
    seeds: [invoiceWithLines(1), invoiceWithLines(2), Buffer.from(RESPONSE), Buffer.from("<a/>"), ...more],
    pieces: [
      "<![CDATA[",
      "]]>",
      "<!--",
      "-->",
      "<?x ?>",
      "&#10;",
      "&#x1F600;",
      "&amp;",
      'xmlns:x="u"',
      "\u00a0",
      "\ufeff",
      "<!DOCTYPE",
      "]>",
      "1e9",
      "-0",
      "9".repeat(60),
      "0.",
      "2026-02-30",
      "urn:cen.eu:en16931:2017",
      "self",
      "\r\n",
    ],
    run: (input) => {
      for (const fragment of [false, true]) {
        const report = validateDocument(input, { ...OPTIONS, fragment });
        const unplaced = report.findings.find(
          ({ ruleId, location, message }) => ruleId === "" || !location.startsWith("/") || message === "",
        );
        if (unplaced !== undefined) throw new Error(`a finding has no place or no words: ${JSON.stringify(unplaced)}`);
        if (report.valid && report.findings.some(({ severity }) => severity !== "warning"))
          throw new Error("a valid document has findings that make it invalid");
        if (!report.wellFormed && report.findings.length === 0) throw new Error("a refusal names no reason");
      }
    },
    damages: [(input, random) => Buffer.from(mutate(input.toString("latin1"), random).text, "latin1")],
  };
}

export const schemaOf = (test: string): string =>
  `<schema xmlns="http://purl.oclc.org/dsdl/schematron" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" queryBinding="xslt2"><ns prefix="t" uri="urn:t"/><ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/><ns prefix="u" uri="urn:u"/><let name="v" value="t:n"/><pattern><rule context="t:r | t:a[@k]"><assert id="A" test="${test.replace(/&/gu, "&amp;").replace(/</gu, "&lt;").replace(/"/gu, "&quot;")}">a</assert></rule></pattern></schema>`;

const SCHEMA = `<schema xmlns="http://purl.oclc.org/dsdl/schematron" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" queryBinding="xslt2"><title>t</title><ns prefix="t" uri="urn:t"/><ns prefix="u" uri="urn:u"/><ns prefix="xs" uri="http://www.w3.org/2001/XMLSchema"/><phase id="p"><active pattern="one"/></phase><let name="l" value="tokenize('A B', '\\s')"/><xsl:function name="u:f" as="xs:boolean"><xsl:param name="v" as="xs:string?"/><xsl:variable name="n" as="xs:integer"><xsl:value-of select="sum(for $i in string-to-codepoints($v) return $i - 48) mod 10"/></xsl:variable><xsl:choose><xsl:when test="not(matches($v, '^[0-9]+$'))"><xsl:sequence select="false()"/></xsl:when><xsl:otherwise><xsl:sequence select="$n = 2"/></xsl:otherwise></xsl:choose></xsl:function><pattern id="one"><rule abstract="true" id="b"><assert id="B" test="exists(t:a)" flag="fatal">b <value-of select="t:n"/></assert></rule><rule context="/t:r | t:a[@k]"><let name="x" value="t:n[last()]"/><extends rule="b"/><assert id="C" test="every $y in t:a satisfies $y/@k = $l">c</assert><report id="R" test="u:f(t:n[1]/string())" role="warning">r <name/></report></rule></pattern><pattern abstract="true" id="q"><rule context="$c"><assert id="L" test="string-length($c) idiv 2 &gt; 0">l</assert></rule></pattern><pattern is-a="q"><param name="c" value="t:n"/></pattern></schema>`;

const EXPRESSIONS = [
  "round(sum(t:n) * 10 * 10) div 100 = xs:decimal(t:n[1])",
  "if (t:d castable as xs:date) then xs:date(t:d) < xs:date('2026-01-01') else contains(' A B ', concat(' ', ., ' '))",
  "every $y in t:a satisfies $y/@k = tokenize('A B', '\\s') and count($y) <= 2",
  "t:a/preceding-sibling::t:b[1] != -1.5 or not(//t:x/../t:y | .//t:z[2])",
  "matches(normalize-space(t:n), '^[A-Z0-9\\-]{2,5}$') and string-length(substring(., 2, 3)) idiv 2 mod 3 ge 1",
  "string-join(reverse(for $i in 1 to 5 return string($i)), '') eq '54321'",
  "translate(upper-case(@k), 'ABC', 'xyz') = ('a', 'b', $v) and number(t:n) ne 3",
  "replace(t:n, '(\\d)', '$1$1') = codepoints-to-string(string-to-codepoints('12'))",
  "exists(ancestor::t:r) and local-name(..) = '' and name(*[1]) = 't:a' and position() = last()",
  "(t:n, t:d)[2] instance of element() or boolean(t:a[@k][1]/text())",
] as const;

async function schemaTargets(copy: Instrumented): Promise<{ readonly schematron: Target; readonly xpath: Target }> {
  const { compileRelease } = await copy.load<typeof Importer>("schematron/release/import");
  const { instantiate } = await copy.load<typeof Packs>("schematron/runtime/pack");
  const { scan } = await copy.load<typeof Scanner>("xml/scanner");
  const instance = Buffer.from(
    '<r xmlns="urn:t"><a k="X">A</a><b k="1"/><n>12</n><n>x</n><d>2025-01-01</d><a>B<z/>C</a></r>',
  );
  const run = (text: Buffer): void => {
    const compiled = refusedOr(() => compileRelease([{ path: "f.sch", bytes: text, sha256: "" }]));
    for (const {
      compiled: { code },
    } of compiled ?? []) {
      const rules = instantiate({ id: "pack:f", version: "1", layer: "pack:f" }, code);
      const scanned = scan(instance);
      if (scanned.kind === "document") rules.run(scanned.document, 100);
    }
  };
  const pieces = [
    "'",
    "(",
    ")",
    "[",
    "]",
    "/",
    "//",
    "..",
    "@",
    "*",
    "|",
    " and ",
    " or ",
    " = ",
    " eq ",
    "$v",
    "$l",
    ":",
    "1",
    "0.5",
    "1e3",
    "t:",
    "xs:",
    "u:f(",
    "(:",
    ":)",
    " div ",
    " idiv ",
    " mod ",
    " to ",
    "self::",
    "ancestor::",
    "-",
    "&lt;",
    "&gt;",
    "\\p{L}",
    "[^",
    "{2,3}",
    "9".repeat(40),
  ];
  return {
    schematron: {
      name: "schematron",
      seeds: [Buffer.from(SCHEMA), ...EXPRESSIONS.map((test) => Buffer.from(schemaOf(test)))],
      pieces,
      run,
    },
    xpath: {
      name: "xpath",
      seeds: EXPRESSIONS.map((test) => Buffer.from(test)),
      pieces,
      run: (input) => {
        run(Buffer.from(schemaOf(input.toString("latin1").replace(/[^\t\n\x20-\xff]/gu, " "))));
      },
    },
  };
}

/** An archive with one deflated entry for each text. */
export function archiveOf(files: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, text] of Object.entries(files)) {
    const [nameBytes, packed] = [Buffer.from(name), deflateRawSync(text)];
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50);
    local.writeUInt16LE(8, 8);
    local.writeUInt32LE(crc32(text), 14);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(text.length, 22);
    local.writeUInt16LE(nameBytes.length, 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50);
    local.copy(entry, 8, 6, 30);
    entry.writeUInt32LE(offset, 42);
    parts.push(local, nameBytes, packed);
    directory.push(entry, nameBytes);
    offset += local.length + nameBytes.length + packed.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(directory.length / 2, 8);
  end.writeUInt16LE(directory.length / 2, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

async function archiveTarget(copy: Instrumented): Promise<Target> {
  const { readZip } = await copy.load<typeof Zip>("schematron/release/zip");
  const { readTests, isTestSet } = await copy.load<typeof TestSets>("schematron/release/test-set");
  const testSet =
    '<testSet xmlns="http://difi.no/xsd/vefa/validator/1.0" configuration="c"><assert><scope>R</scope></assert><test><assert><description>d</description><error number="2">R</error><success>S</success></assert><Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><a/></Invoice></test></testSet>';
  return {
    name: "archive",
    seeds: [archiveOf({ "a/x.sch": SCHEMA, "a/y.xml": testSet }), archiveOf({ "z.sch": "<a/>" }), Buffer.from(testSet)],
    pieces: [
      "PK\u0001\u0002",
      "PK\u0003\u0004",
      "PK\u0005\u0006",
      "../",
      "/",
      "\u0000",
      "<test>",
      "</test>",
      'number="',
    ],
    run: (input) => {
      for (const { bytes } of refusedOr(() => readZip(input, { entries: 100, bytes: 5_000_000 }, () => true)) ?? [])
        if (bytes.length > 5_000_000) throw new Error("more was unpacked than allowed");
      const text = input.toString("utf8");
      if (isTestSet(text)) refusedOr(() => readTests(text, "t.xml"));
    },
  };
}

/** Makes a target over the counted copy. @param documents  further seeds of the document target */
export async function openTarget(
  name: TargetName,
  copy: Instrumented,
  documents: readonly Buffer[] = [],
): Promise<Target> {
  if (name === "document") return documentTarget(copy, documents);
  if (name === "archive") return archiveTarget(copy);
  return (await schemaTargets(copy))[name];
}
