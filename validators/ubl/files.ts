/** Attached files of a document, which make it long without making it more to judge. */
import type { ElementId, XmlDocument } from "../xml/document.js";
import type { ScanLimits } from "../xml/limits.js";
import { cac, cbc } from "../xml/names.js";
import { scan } from "../xml/scanner.js";

const ROOT = 0;

/** Whether this is a file where UBL has them: rules read the whole text of whatever else they ask about. */
const isFile = (document: XmlDocument, e: ElementId): boolean => {
  if (document.name(e) !== cbc.EmbeddedDocumentBinaryObject || document.hasElements(e)) return false;
  const attachment = document.parent(e);
  if (attachment <= ROOT || document.name(attachment) !== cac.Attachment) return false;
  const reference = document.parent(attachment);
  return (
    reference > ROOT &&
    document.name(reference) === cac.AdditionalDocumentReference &&
    document.parent(reference) === ROOT
  );
};

/**
 * @returns octets of a document without the content of its attached files; undefined where it has more elements than
 *   `elementsMax`, or is not well-formed
 */
export function octetsBesideFiles(bytes: Buffer, limits: ScanLimits, elementsMax: number): number | undefined {
  const scanned = scan(bytes, limits);
  if (scanned.kind === "refused" || scanned.document.count > elementsMax) return undefined;
  const { document } = scanned;
  let octets = bytes.length;
  for (let e = ROOT; e < document.count; e += 1)
    if (isFile(document, e)) octets -= (document.contentEnds[e] ?? 0) - (document.contentStarts[e] ?? 0);
  return octets;
}
