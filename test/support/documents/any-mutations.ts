/** Seeded damage to documents of any kind: elements dropped, repeated, moved and given other text, attributes changed. */
import { scan } from "../../../validators/xml/scanner.js";
import type { XmlDocument } from "../../../validators/xml/document.js";
import type { Random } from "../random.js";

const TEXTS = [
  "", " ", "0", "0.00", "-1", "1", "12.345", "1e2", "abc", "100.00", "VAT", "S", "Z", "E", "AE", "K", "O", "DE", "EUR",
  "2026-02-30", "2030-12-31", "130", "380", "381", "384", "58", "59", "true", "false", "a@b.de", "+49 1", "04011000-12345-03",
  "DE89370400440532013000", "#SKONTO#TAGE=7#PROZENT=2.00#\n", "#SKONTO#TAGE=7#PROZENT=2.0#", "SEPA", "application/pdf",
] as const; // oxfmt-ignore

/** One edit of the source: what stands between two offsets becomes another text. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Where an element ends; of an empty-element tag, behind the tag. */
function endOf(document: XmlDocument, e: number): number {
  const end = document.contentEnds[e] ?? 0;
  const isEmptyTag = document.contentStarts[e] === end && document.source[end - 2] === 0x2f;
  return isEmptyTag ? end : document.source.indexOf(">", end) + 1;
}

const KINDS: readonly ((document: XmlDocument, e: number, random: Random) => Edit | undefined)[] = [
  (document, e) => ({ from: document.starts[e] ?? 0, to: endOf(document, e), text: "" }),
  (document, e) => {
    const [from, to] = [document.starts[e] ?? 0, endOf(document, e)];
    return { from: to, to, text: document.source.toString("utf8", from, to) };
  },
  (document, e, random) => {
    const [from, to] = [document.contentStarts[e] ?? 0, document.contentEnds[e] ?? 0];
    const isLeaf = document.first(e) === -1 && endOf(document, e) > to;
    return isLeaf ? { from, to, text: random.pick(TEXTS) } : undefined;
  },
  (document, e, random) => {
    const count = document.attrCount(e);
    if (count === 0) return undefined;
    const from = document.starts[e] ?? 0;
    const tag = document.source.toString("utf8", from, document.contentStarts[e] ?? 0);
    const changed = tag.replace(/(\s(?!xmlns)[\w:]+=)"[^"]*"/u, `$1"${random.pick(TEXTS).trim()}"`);
    return { from, to: from + Buffer.byteLength(tag), text: changed };
  },
];

/** The document with one to three changes; now and then one of them leaves it as it was, or makes it unreadable. */
export function changedDocument(bytes: Buffer, random: Random): Buffer {
  let result = bytes;
  for (let left = 1 + random.int(3); left > 0; left -= 1) {
    const scanned = scan(result);
    if (scanned.kind === "refused" || scanned.document.count < 2) return result;
    const { document } = scanned;
    const edit = random.pick(KINDS)(document, 1 + random.int(document.count - 1), random);
    if (edit === undefined) continue;
    result = Buffer.concat([result.subarray(0, edit.from), Buffer.from(edit.text), result.subarray(edit.to)]);
  }
  return result;
}
