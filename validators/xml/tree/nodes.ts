/** The shapes of the tree of tree.ts: elements, text, comments, and why a document was refused. */

export interface XmlAttribute {
  readonly prefix: string;
  readonly local: string;
  /** Namespace URI; empty for an attribute without prefix. */
  readonly ns: string;
  /** Value after entity replacement and attribute-value normalisation. */
  readonly value: string;
}

/** `xmlns:prefix="ns"`; the prefix of the default namespace is empty, and its `ns` is empty when undeclared. */
export interface NamespaceDeclaration {
  readonly prefix: string;
  readonly ns: string;
}

export interface XmlElement {
  readonly kind: "element";
  readonly prefix: string;
  readonly local: string;
  readonly ns: string;
  readonly attributes: readonly XmlAttribute[];
  readonly declarations: readonly NamespaceDeclaration[];
  readonly children: readonly XmlNode[];
  /** Byte offset of `<` of the start tag. */
  readonly start: number;
  /** Byte offset after `>` of the end tag; 0 while the element is open (see parseXmlHead). */
  readonly end: number;
}

export interface XmlText {
  readonly kind: "text";
  readonly value: string;
  readonly start: number;
}

export interface XmlComment {
  readonly kind: "comment";
  readonly value: string;
  readonly start: number;
}

export type XmlNode = XmlElement | XmlText | XmlComment;

export interface XmlDocument {
  readonly kind: "document";
  /** Comments before the root element. */
  readonly prolog: readonly XmlComment[];
  readonly root: XmlElement;
  /** Comments after the root element. */
  readonly epilog: readonly XmlComment[];
}

export const TREE_FAULTS = [
  "too_large",
  "encoding",
  "character",
  "doctype",
  "processing_instruction",
  "entity",
  "depth",
  "elements",
  "attributes",
  "declarations",
  "duplicate_attribute",
  "namespace",
  "malformed",
] as const;
export type XmlFault = (typeof TREE_FAULTS)[number];

/** Why a document was refused, and the byte offset where that was noticed. */
export interface XmlRefused {
  readonly kind: "refused";
  readonly fault: XmlFault;
  readonly at: number;
}

export interface XmlTreeLimits {
  /** Whole document, octets. */
  readonly bytes: number;
  /** Open elements, the root counts 1. */
  readonly depth: number;
  /** Elements and comments in the document. */
  readonly elements: number;
  /** Attributes and namespace declarations of one element. */
  readonly attributes: number;
  /** Namespace declarations in the document. */
  readonly declarations: number;
}

/** The opening of a document: its root, still open, and the first child element of the root, complete. */
export interface XmlHead {
  readonly kind: "head";
  readonly root: XmlElement;
  readonly head: XmlElement;
  /** Byte offset behind the head. */
  readonly next: number;
}
