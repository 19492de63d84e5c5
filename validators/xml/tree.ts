/**
 * A strict, namespace-aware, full-fidelity tree for small XML documents: SOAP envelopes, SMP answers, SBDH headers.
 *
 * One parse, no DTD, no processing instruction, no entity but the five of XML itself, every count capped. The tree
 * keeps what canonicalisation needs (prefixes, declarations, comments) and the byte offset of every node. It is plain
 * data without cycles, so it survives `postMessage`; a node's ancestors are the path by which it was found.
 * Payloads do not come here: they have their own scanner.
 */
import type { XmlDocument, XmlElement, XmlHead, XmlRefused, XmlTreeLimits } from "./tree/nodes.js";
import { parseDocument, parseHead } from "./tree/parser.js";

export type {
  NamespaceDeclaration,
  XmlAttribute,
  XmlComment,
  XmlDocument,
  XmlElement,
  XmlFault,
  XmlHead,
  XmlNode,
  XmlRefused,
  XmlText,
  XmlTreeLimits,
} from "./tree/nodes.js";

/**
 * An AS4 header with three certificates has 15 KB and 120 elements; an SMP answer with all extensions stays under 1 MB.
 */
export const XML_TREE_LIMITS: XmlTreeLimits = {
  bytes: 2_097_152,
  depth: 64,
  elements: 20_000,
  attributes: 64,
  declarations: 4_096,
};

/**
 * Parses a whole document.
 * @param bytes  UTF-8, a byte-order mark is accepted.
 * @source https://www.w3.org/TR/xml/, https://www.w3.org/TR/xml-names/; design/as4.md section 18, step 1
 */
export const parseXml = (bytes: Uint8Array, limits: XmlTreeLimits = XML_TREE_LIMITS): XmlDocument | XmlRefused =>
  parseDocument(bytes, limits);

/**
 * Parses no further than the end of the root's first child element, which must have the given name. For documents
 * with a small head and a large body: the body is neither read nor checked, and `limits.bytes` holds for the head.
 */
export const parseXmlHead = (
  bytes: Uint8Array,
  name: { readonly ns: string; readonly local: string },
  limits: XmlTreeLimits = XML_TREE_LIMITS,
): XmlHead | XmlRefused => parseHead(bytes, name, limits);

/** The child elements, without text and comments. */
export const childElements = (element: XmlElement): XmlElement[] =>
  element.children.filter((node) => node.kind === "element");

/** The child elements of one name. */
export const childrenNamed = (element: XmlElement, ns: string, local: string): XmlElement[] =>
  childElements(element).filter((child) => child.ns === ns && child.local === local);

/** The child element of this name when there is exactly one, otherwise undefined. */
export function onlyChild(element: XmlElement, ns: string, local: string): XmlElement | undefined {
  const found = childrenNamed(element, ns, local);
  return found.length === 1 ? found[0] : undefined;
}

/**
 * The text of an element that holds text only. A comment or a child element makes it undefined: a reader that skips
 * them sees another value than the signer meant (CVE-2025-29775).
 */
export function textOf(element: XmlElement): string | undefined {
  const [only, ...more] = element.children;
  if (only === undefined) return "";
  return more.length === 0 && only.kind === "text" ? only.value : undefined;
}

/** The value of an attribute, in no namespace unless one is given. */
export const attributeOf = (element: XmlElement, local: string, ns = ""): string | undefined =>
  element.attributes.find((attribute) => attribute.local === local && attribute.ns === ns)?.value;
