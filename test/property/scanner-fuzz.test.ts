/**
 * Goal: on arbitrary damage the scanner never throws, and it reads exactly what libxml2 reads.
 * Method: small documents with every kind of markup, damaged byte by byte and piece by piece (`CASES=100000 SEED=7`);
 * verdict, text and attributes are compared.
 *
 * Known differences: DTDs, processing instructions before the root, XML 1.1 and encodings other than UTF-8 are refused
 * by decision; libxml2 also asks that a namespace name be a URI, which XML does not.
 */
import { expect, test } from "vitest";
import { XmlDocument, XmlElement } from "libxml2-wasm";
import { SCAN_LIMITS, Scanner } from "../../validators/xml/scanner.js";
import { Random, seedFrom } from "../support/random.js";

const CASES = Number(process.env["CASES"] ?? 3_000);
const SEED = seedFrom(20_261_121);

const BASES = [
  '<?xml version="1.0" encoding="UTF-8"?>\n<a xmlns="urn:a" xmlns:p="urn:p" b="1" p:c=\'2\'>\r\n <p:d>x&amp;y</p:d><!-- c --><e/><![CDATA[<z>]]>\r<?pi x?></a>\n',
  '<p:a xmlns:p="urn:p"><p:b xmlns:p="urn:q" p:c="&lt;&#65;\t"><c xmlns=""/>é€😀</p:b><d xml:lang="sk">1</d></p:a><!-- end -->',
  "<a><b><c><d>1</d></c></b><b a='1' b='2' c='3'>2</b>&quot;]]&gt;</a>",
];
const PIECES = [
  "<",
  ">",
  "/",
  "&",
  ";",
  '"',
  "'",
  "=",
  "!",
  "?",
  "-",
  "--",
  "]]>",
  "<![CDATA[",
  "<!--",
  "-->",
  "<?",
  "?>",
  "&amp;",
  "&#0;",
  "&#x41;",
  "&#xD800;",
  "&x;",
  "&#13;",
  "xmlns=''",
  " xmlns:p='urn:p'",
  " p:x='1'",
  " x='1'",
  "<b/>",
  "</a>",
  "<a>",
  "\0",
  "\u0001",
  "\ufffe",
  "é",
  "😀",
  "\r",
  "\n",
  " ",
  ":",
  "p:",
  "xml",
  "xmlns:",
  "\u0085",
  "·",
  "1",
] as const;
/** Verdicts of ours that libxml2 does not share. */
const REFUSED_BY_US: ReadonlySet<string> = new Set(["XML-DOCTYPE", "XML-ENCODING", "XML-DECLARATION"]);

function damage(text: string, random: Random): Buffer {
  let damaged = text;
  for (let n = 1 + random.int(3); n > 0; n--) {
    const at = random.int(damaged.length + 1);
    const until = Math.min(damaged.length, at + random.int(6));
    const kind = random.int(5);
    if (kind === 0) damaged = damaged.slice(0, at) + damaged.slice(until);
    else if (kind === 1) damaged = damaged.slice(0, at) + random.pick(PIECES) + damaged.slice(until);
    else if (kind === 2) damaged = damaged.slice(0, at) + damaged.slice(at, until) + damaged.slice(at);
    else damaged = damaged.slice(0, at) + random.pick(PIECES) + damaged.slice(at);
  }
  const bytes = Buffer.from(damaged);
  if (random.int(20) === 0 && bytes.length > 0) bytes[random.int(bytes.length)] = random.int(256);
  return bytes;
}

/** What both parsers must agree on: names, attributes and text of every element, in document order. */
function oursOf(bytes: Buffer, scanner: Scanner): { read: string; refused: string } {
  const scanned = scanner.scan(bytes, SCAN_LIMITS);
  if (scanned.kind === "refused") return { read: "", refused: scanned.findings[0]?.ruleId ?? "?" };
  const { document: d } = scanned;
  const rows = Array.from({ length: d.count }, (_, e) => {
    const { namespace, local } = d.expanded(d.name(e));
    const attributes = Array.from(
      { length: d.attrCount(e) },
      (__, i) => `${d.expanded(d.attrName(e, i)).local}=${JSON.stringify(d.attrValue(e, i))}`,
    );
    return `{${namespace}}${local} ${attributes.join(" ")} ${JSON.stringify(d.text(e))}`;
  });
  return { read: rows.join("\n"), refused: "" };
}

function theirsOf(bytes: Buffer): { read: string; refused: string } {
  let document: XmlDocument | undefined;
  try {
    document = XmlDocument.fromBuffer(bytes);
    const rows = document
      .find("//*")
      .filter((node) => node instanceof XmlElement)
      .map((node) => {
        const attributes = node.attrs.map((attribute) => `${attribute.name}=${JSON.stringify(attribute.value)}`);
        return `{${node.namespaceUri}}${node.name} ${attributes.join(" ")} ${JSON.stringify(node.content)}`;
      });
    return { read: rows.join("\n"), refused: "" };
  } catch (error) {
    return { read: "", refused: error instanceof Error ? error.message.trim() : "?" };
  } finally {
    document?.dispose();
  }
}

test(`${CASES} damaged documents are read as libxml2 reads them (seed ${SEED})`, { timeout: 600_000 }, () => {
  const scanner = new Scanner();
  const differing: string[] = [];
  let accepted = 0;
  for (let n = 0; n < CASES; n++) {
    const random = new Random(SEED + n);
    const bytes = damage(random.pick(BASES), random);
    const ours = oursOf(bytes, scanner);
    if (REFUSED_BY_US.has(ours.refused)) continue;
    const theirs = theirsOf(bytes);
    if (theirs.refused.includes("is not a valid URI")) continue;
    if (ours.refused === "") accepted++;
    if (ours.read !== theirs.read || (ours.refused === "") !== (theirs.refused === "")) {
      differing.push(
        `SEED=${SEED + n} CASES=1 ${JSON.stringify(bytes.toString("latin1"))}\n  ours: ${ours.refused} ${ours.read}\n  libxml2: ${theirs.refused} ${theirs.read}`,
      );
    }
  }
  if (CASES >= 100) expect(accepted).toBeGreaterThan(CASES / 50);
  expect(differing.slice(0, 8).join("\n")).toBe("");
});
