/**
 * What a signature over a MIME part's content is computed from. Parts that are XML as such are canonicalised first, all
 * others are taken as they are; a compressed part is not XML. WSS4J does so, and a peer that sends its payload
 * uncompressed is then refused by whoever does not.
 * @source OASIS WSS SwA Profile 1.1 sections 5.2 and 5.4.2; measured with phase4, test/interop
 */
import { canonicalizeDocument, canonicalOctets } from "../xml/c14n.js";
import { parseXml } from "../xml/tree.js";
import { octetDigestHolds } from "./verify.js";
import type { ParsedReference } from "./signature-info.js";

const XML_MEDIA_TYPE = /^(?:text\/xml|application\/xml|(?:application|image)\/[^;\s]*\+xml)\s*(?:;|$)/i;

/** Whether a media type, with or without parameters, is one of XML. */
export const isXml = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && XML_MEDIA_TYPE.test(mediaType);

/**
 * An invoice of 5,000 lines has 150,000 elements. A tree at this limit takes 100 MB for a moment, and 300 MB with as
 * many attributes as a payload at its cap can have.
 */
const TREE_LIMITS = { depth: 256, elements: 250_000, attributes: 256, declarations: 4_096 };

interface PartContent {
  /** The part is XML by its media type. */
  readonly xml: boolean;
  /** Octets; XML above is not canonicalised. */
  readonly bytesMax: number;
}

/**
 * The octets that the reference's digest is of.
 * @param bytes  the part's content as it was decrypted.
 * @returns the content itself or its canonical form; undefined when the digest is of neither.
 */
export function signedOctets(
  reference: ParsedReference,
  bytes: Buffer,
  { xml, bytesMax }: PartContent,
): Buffer | undefined {
  if (octetDigestHolds(reference, bytes)) return bytes;
  if (!xml) return undefined;
  const document = parseXml(bytes, { ...TREE_LIMITS, bytes: bytesMax });
  if (document.kind === "refused") return undefined;
  const options = { method: "exclusive", charsMax: 2 * bytesMax } as const;
  const canonical = canonicalOctets(() => canonicalizeDocument(document, options));
  return canonical !== undefined && octetDigestHolds(reference, canonical) ? canonical : undefined;
}
