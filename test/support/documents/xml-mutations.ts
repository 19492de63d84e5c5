/**
 * Small damages to XML documents, for differential tests: swap, drop, repeat, rename, move, retype, attributes,
 * namespaces, text. A mutation edits the text of one element and leaves the document well-formed nearly always.
 */
import { Scanner, SCAN_LIMITS } from "../../../validators/xml/scanner.js";
import type { XmlDocument } from "../../../validators/xml/document.js";
import { CAC_NAMES, CBC_NAMES, EXT_NAMES } from "../../../validators/ubl/names.generated.js";
import type { Random } from "../random.js";

const scanner = new Scanner();

/** An element as a range of the text: [start, contentStart) is its start tag, [contentEnd, end) its end tag. */
interface Range {
  readonly start: number;
  readonly contentStart: number;
  readonly contentEnd: number;
  readonly end: number;
  readonly parent: number;
  readonly leaf: boolean;
}

function ranges(text: string): Range[] {
  const scanned = scanner.scan(Buffer.from(text, "latin1"), SCAN_LIMITS);
  if (scanned.kind !== "document") return [];
  const d: XmlDocument = scanned.document;
  return Array.from({ length: d.count }, (_, e) => {
    const start = d.starts[e] ?? 0;
    const contentStart = d.contentStarts[e] ?? 0;
    const contentEnd = d.contentEnds[e] ?? 0;
    const empty = text[contentStart - 2] === "/" && contentStart === contentEnd;
    return {
      start,
      contentStart,
      contentEnd,
      end: empty ? contentEnd : text.indexOf(">", contentEnd) + 1,
      parent: d.parent(e),
      leaf: !d.hasElements(e),
    };
  });
}

const outer = (text: string, r: Range): string => text.slice(r.start, r.end);
const replace = (text: string, from: number, to: number, by: string): string =>
  text.slice(0, from) + by + text.slice(to);

const VALUES = [
  "",
  " ",
  "0",
  "1",
  "-1",
  "+1",
  "1.5",
  ".5",
  "5.",
  ".",
  "1e3",
  "NaN",
  "12 3",
  " 12 ",
  "\n7\n",
  "true",
  "false",
  "TRUE",
  " true ",
  "yes",
  "2026-02-28",
  "2026-02-30",
  "2024-02-29",
  "2023-02-29",
  "2026-13-01",
  "20260101",
  "2026-01-01Z",
  "2026-01-01+02:00",
  "2026-01-01+15:00",
  " 2026-01-01",
  "0000-01-01",
  "-0044-03-15",
  "12:00:00",
  "24:00:00",
  "24:00:01",
  "12:00:00.125",
  "12:00",
  "12:00:00-05:00",
  "2026-01-01T10:00:00",
  "QUJD",
  "QUI=",
  "QQ==",
  "QQ=",
  "QR==",
  "Q Q = =",
  "not base64",
  "abc",
  "äöü",
  "&#49;",
  "&amp;",
  "&#32;",
  "<![CDATA[1]]>",
  "<![CDATA[]]>",
  "1<!-- c -->2",
  "<?pi x?>3",
  "9".repeat(400),
  "0.".padEnd(60, "3"),
  "EUR",
  "urn:x",
] as const;
const ATTRIBUTES = [
  'currencyID="EUR"',
  'currencyID=""',
  'unitCode="C62"',
  'mimeCode="text/csv"',
  'schemeID="0088"',
  'listID="x"',
  'languageID="en"',
  'languageID="e1"',
  'languageID=" sk "',
  'name="n"',
  'listURI="http://a/b?c#d"',
  'listURI="%zz"',
  'listURI="a b"',
  'schemeURI="::"',
  'filename="a.pdf"',
  'foo="bar"',
  'xml:lang="en"',
  'xml:space="preserve"',
  'xmlns:q="urn:q" q:foo="1"',
  'unitCodeListID="x"',
  'schemeAgencyID="9"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="false"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:foo="a"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="cbc:IDType"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="cac:PartyType"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="InvoiceType"',
  'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="q:x"',
] as const;
const EXT = "urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2";
const EXTENSIONS = [
  "<u:a xmlns:u='urn:u'/>",
  "<u:a xmlns:u='urn:u'>text</u:a>",
  "<u:a xmlns:u='urn:u'/><u:b xmlns:u='urn:u'/>",
  "",
  "text",
  "<a xmlns=''/>",
  "<ext:ExtensionURI>x</ext:ExtensionURI>",
  "<cbc:IssueDate>2026-01-01</cbc:IssueDate>",
  "<cbc:IssueDate>2026</cbc:IssueDate>",
  "<cbc:Unheard/>",
  "<u:a xmlns:u='urn:u'><cbc:IssueDate>2026</cbc:IssueDate></u:a>",
  "<u:a xmlns:u='urn:u'><u:b><cac:Party><cbc:ID>1</cbc:ID></cac:Party></u:b></u:a>",
  "<u:a xmlns:u='urn:u'><ext:UBLExtensions/></u:a>",
  "<cac:CatalogueLine/>",
  "<cac:CatalogueLine><cbc:ID>1</cbc:ID></cac:CatalogueLine>",
  "<u:a xmlns:u='urn:u' x='1' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:nil='true' xsi:foo='x'/>",
  "<u:a xmlns:u='urn:u' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:type='cbc:IssueDateType'>2026-01-01</u:a>",
  "<u:a xmlns:u='urn:u' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:type='cbc:IssueDateType'>2026</u:a>",
  "<u:a xmlns:u='urn:u' xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:type='q:None'/>",
  "<n:CreditNote xmlns:n='urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2'/>",
  "<n:Invoice xmlns:n='urn:oasis:names:specification:ubl:schema:xsd:Invoice-2'/>",
] as const;

type Mutation = (text: string, all: readonly Range[], random: Random) => string;

/** Any element but the root. */
const pickInner = (all: readonly Range[], random: Random): Range =>
  all.length < 2 ? random.pick(all) : (all[1 + random.int(all.length - 1)] ?? random.pick(all));
const pickLeaf = (all: readonly Range[], random: Random): Range => random.pick(all.filter((r) => r.leaf));

function vocabulary(random: Random): string {
  const kind = random.int(20);
  if (kind === 0) return `ext:${random.pick(EXT_NAMES)}`;
  return kind < 12 ? `cbc:${random.pick(CBC_NAMES)}` : `cac:${random.pick(CAC_NAMES)}`;
}

const nameAt = (text: string, r: Range): string => /^[^\s/>]+/.exec(text.slice(r.start + 1, r.contentStart))?.[0] ?? "";

function renameTo(text: string, r: Range, name: string): string {
  const old = nameAt(text, r);
  const open = `<${name}${text.slice(r.start + 1 + old.length, r.contentStart)}`;
  const close = r.end > r.contentEnd ? `</${name}>` : "";
  const declared = name.startsWith("ext:") ? open.replace(name, `${name} xmlns:ext="${EXT}"`) : open;
  return replace(text, r.start, r.end, declared + text.slice(r.contentStart, r.contentEnd) + close);
}

function insertAttribute(text: string, r: Range, attribute: string): string {
  const at = r.start + 1 + nameAt(text, r).length;
  return replace(text, at, at, ` ${attribute}`);
}

/** Puts `piece` before, behind or into an element. */
function insertNear(text: string, r: Range, piece: string, random: Random): string {
  const at =
    r.end > r.contentEnd ? random.pick([r.start, r.end, r.contentStart, r.contentEnd]) : random.pick([r.start, r.end]);
  return replace(text, at, at, piece);
}

export const MUTATIONS = {
  swap: (text, all, random) => {
    const a = pickInner(all, random);
    const siblings = all.filter((r) => r.parent === a.parent && r.start > a.start);
    if (siblings.length === 0) return text;
    const b = random.int(2) === 0 ? (siblings[0] ?? a) : random.pick(siblings);
    return text.slice(0, a.start) + outer(text, b) + text.slice(a.end, b.start) + outer(text, a) + text.slice(b.end);
  },
  drop: (text, all, random) => {
    const r = pickInner(all, random);
    return replace(text, r.start, r.end, "");
  },
  repeat: (text, all, random) => {
    const r = pickInner(all, random);
    return replace(text, r.end, r.end, outer(text, r));
  },
  move: (text, all, random) => {
    const r = pickInner(all, random);
    const piece = outer(text, r);
    const rest = replace(text, r.start, r.end, "");
    const left = ranges(rest);
    return left.length < 2 ? text : insertNear(rest, pickInner(left, random), piece, random);
  },
  copyElsewhere: (text, all, random) =>
    insertNear(text, pickInner(all, random), outer(text, pickInner(all, random)), random),
  rename: (text, all, random) => renameTo(text, pickInner(all, random), vocabulary(random)),
  renameToNeighbour: (text, all, random) =>
    renameTo(text, pickInner(all, random), nameAt(text, pickInner(all, random))),
  insertNew: (text, all, random) => {
    const name = vocabulary(random);
    const declared = name.startsWith("ext:") ? `${name} xmlns:ext="${EXT}"` : name;
    return insertNear(text, pickInner(all, random), `<${declared}>${random.pick(VALUES)}</${name}>`, random);
  },
  retype: (text, all, random) => {
    const r = pickLeaf(all, random);
    return r.end > r.contentEnd ? replace(text, r.contentStart, r.contentEnd, random.pick(VALUES)) : text;
  },
  empty: (text, all, random) => {
    const r = pickInner(all, random);
    return replace(text, r.contentStart, r.contentEnd, "");
  },
  addAttribute: (text, all, random) => insertAttribute(text, random.pick(all), random.pick(ATTRIBUTES)),
  dropAttribute: (text, all, random) => {
    const tagged = all.filter((r, e) => e > 0 && text.slice(r.start, r.contentStart).includes("="));
    if (tagged.length === 0) return text;
    const r = random.pick(tagged);
    return replace(
      text,
      r.start,
      r.contentStart,
      text.slice(r.start, r.contentStart).replace(/\s[\w:]+\s*=\s*("[^"]*"|'[^']*')/, ""),
    );
  },
  renameAttribute: (text, all, random) => {
    const r = pickInner(all, random);
    return replace(
      text,
      r.start,
      r.contentStart,
      text
        .slice(r.start, r.contentStart)
        .replace(/\s(\w+)\s*=/, ` ${random.pick(["schemeID", "currencyID", "unitCode", "listID", "x"])}=`),
    );
  },
  namespace: (text, all, random) => {
    const r = pickInner(all, random);
    const name = nameAt(text, r);
    if (random.int(3) === 0) return insertAttribute(text, r, `xmlns:${random.pick(["cbc", "cac"])}="urn:other"`);
    return renameTo(
      text,
      r,
      name.startsWith("cbc:")
        ? name.replace("cbc:", random.pick(["cac:", ""]))
        : name.replace("cac:", random.pick(["cbc:", ""])),
    );
  },
  insertText: (text, all, random) =>
    insertNear(
      text,
      random.pick(all),
      random.pick([
        "x",
        " ",
        "&#32;",
        "&#160;",
        "&#65;",
        "<!-- c -->",
        "<?p i?>",
        "<![CDATA[ ]]>",
        "<![CDATA[x]]>",
        "\r\n",
        "\r",
        "\r x",
      ]),
      random,
    ),
  extension: (text, all, random) => {
    const root = all[0];
    if (root === undefined) return text;
    const content = `<ext:UBLExtension><ext:ExtensionContent>${random.pick(EXTENSIONS)}</ext:ExtensionContent></ext:UBLExtension>`;
    return replace(
      text,
      root.contentStart,
      root.contentStart,
      `<ext:UBLExtensions xmlns:ext="${EXT}">${content}</ext:UBLExtensions>`,
    );
  },
} as const satisfies Readonly<Record<string, Mutation>>;
export type MutationKind = keyof typeof MUTATIONS;
export const MUTATION_KINDS = Object.keys(MUTATIONS) as MutationKind[];

/**
 * Applies one to three random mutations.
 * @param text  the document as latin1, so that offsets are those of its bytes
 */
export function mutate(text: string, random: Random): { text: string; kinds: readonly MutationKind[] } {
  const kinds: MutationKind[] = [];
  let mutated = text;
  for (let n = 1 + random.int(3); n > 0; n--) {
    const all = ranges(mutated);
    if (all.length === 0) break;
    const kind = random.pick(MUTATION_KINDS);
    const mutation: Mutation = MUTATIONS[kind];
    kinds.push(kind);
    mutated = mutation(mutated, all, random);
  }
  return { text: mutated, kinds };
}
