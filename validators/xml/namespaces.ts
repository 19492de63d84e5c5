/**
 * Namespaces in scope during a scan: prefix → namespace, both as small integers, with undo at the end of an element.
 */
import { DOCUMENT_NAME_BASE, findName, NS } from "./names.js";
import type { NameId } from "./names.js";
import { grown } from "./document.js";
import type { DocumentName } from "./document.js";

/** Prefixes with a fixed id. Others get ids from {@link PREFIX_DOCUMENT_BASE} for one document. */
export const PREFIX = {
  /** An attribute without a prefix: no namespace. */
  none: 0,
  /** An element without a prefix: the default namespace. */
  default: 1,
  xml: 2,
  xmlns: 3,
  /** The attribute `xmlns` itself. */
  declaration: 4,
  cbc: 5,
  cac: 6,
  ext: 7,
  xsi: 8,
} as const;
const PREFIX_DOCUMENT_BASE = 9;
const FIXED_PREFIXES: readonly (readonly [string, number])[] = [
  ["xml", PREFIX.xml],
  ["xmlns", PREFIX.xmlns],
  ["cbc", PREFIX.cbc],
  ["cac", PREFIX.cac],
  ["ext", PREFIX.ext],
  ["xsi", PREFIX.xsi],
];

/** No namespace, as an id. */
export const NO_NAMESPACE = 0;
/** A prefix that is not declared. */
export const UNBOUND = -1;
const FIXED_NAMESPACES: readonly string[] = ["", ...Object.values(NS)];
/** Id of a namespace of UBL, for names entered before the first document. */
export const fixedNamespace = (uri: string): number => FIXED_NAMESPACES.indexOf(uri);
const XML_NAMESPACE = fixedNamespace(NS.xml);
const XMLNS_NAMESPACE = fixedNamespace(NS.xmlns);

/** The bindings of one scan. Every declaration can be undone in constant time; a look-up is one array access. */
export class Namespaces {
  /** Prefix → namespace now in scope, or UNBOUND. */
  bound = new Int32Array(64);
  /** Declarations in force; a mark of this height undoes later ones. */
  height = 0;
  /** Declarations seen in the document. */
  declared = 0;

  readonly #prefixIds = new Map<string, number>(FIXED_PREFIXES);
  readonly #namespaceIds = new Map<string, number>(FIXED_NAMESPACES.map((uri, id) => [uri, id]));
  readonly #uris: string[] = [...FIXED_NAMESPACES];
  readonly #names = new Map<string, NameId>();
  #prefixCount = PREFIX_DOCUMENT_BASE;
  #undoPrefix = new Int32Array(64);
  #undoNamespace = new Int32Array(64);

  reset(): void {
    this.bound.fill(UNBOUND);
    this.bound[PREFIX.none] = NO_NAMESPACE;
    this.bound[PREFIX.default] = NO_NAMESPACE;
    this.bound[PREFIX.xml] = XML_NAMESPACE;
    this.height = 0;
    this.declared = 0;
    if (this.#prefixCount > PREFIX_DOCUMENT_BASE) {
      this.#prefixIds.clear();
      for (const [prefix, id] of FIXED_PREFIXES) this.#prefixIds.set(prefix, id);
      this.#prefixCount = PREFIX_DOCUMENT_BASE;
      if (this.bound.length > 1_024) this.bound = this.bound.slice(0, 64);
    }
    if (this.#uris.length > FIXED_NAMESPACES.length) {
      for (const uri of this.#uris.splice(FIXED_NAMESPACES.length)) this.#namespaceIds.delete(uri);
    }
    this.#names.clear();
  }

  /** Id of a prefix as written, unknown ones for this document only. */
  prefix(written: string): number {
    const known = this.#prefixIds.get(written);
    if (known !== undefined) return known;
    const id = this.#prefixCount++;
    if (id === this.bound.length) {
      this.bound = grown(this.bound, id * 2);
      this.bound.fill(UNBOUND, id);
    }
    this.#prefixIds.set(written, id);
    return id;
  }

  /**
   * Declares a prefix until `undo`.
   * @param mark  height at the start tag, to see a second declaration of the same prefix on it
   * @returns what is wrong with the declaration, or undefined
   */
  declare(prefix: number, uri: string, mark: number): "XML-NAMESPACE" | "XML-ATTRIBUTE-REPEATED" | undefined {
    let namespace = this.#namespaceIds.get(uri);
    const reserved = namespace === XML_NAMESPACE ? prefix !== PREFIX.xml : prefix === PREFIX.xml;
    const undeclares = uri === "" && prefix !== PREFIX.default;
    if (prefix === PREFIX.xmlns || namespace === XMLNS_NAMESPACE || reserved || undeclares) return "XML-NAMESPACE";
    for (let h = mark; h < this.height; h++) if (this.#undoPrefix[h] === prefix) return "XML-ATTRIBUTE-REPEATED";
    if (namespace === undefined) {
      namespace = this.#uris.length;
      this.#uris.push(uri);
      this.#namespaceIds.set(uri, namespace);
    }
    if (this.height === this.#undoPrefix.length) {
      this.#undoPrefix = grown(this.#undoPrefix, this.height * 2);
      this.#undoNamespace = grown(this.#undoNamespace, this.height * 2);
    }
    this.#undoPrefix[this.height] = prefix;
    this.#undoNamespace[this.height] = this.bound[prefix]!;
    this.height++;
    this.declared++;
    this.bound[prefix] = namespace;
    return undefined;
  }

  /** Takes back the declarations above `mark`. */
  undo(mark: number): void {
    while (this.height > mark) {
      this.height--;
      this.bound[this.#undoPrefix[this.height]!] = this.#undoNamespace[this.height]!;
    }
  }

  /** Id of {namespace}local; a name that is not interned gets one of this document. */
  name(namespace: number, local: string, written: string, documentNames: DocumentName[]): NameId {
    const uri = this.#uris[namespace] ?? "";
    const interned = findName(uri, local);
    if (interned >= 0) return interned;
    const key = `${namespace} ${local}`;
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const id = DOCUMENT_NAME_BASE + documentNames.length;
    documentNames.push({ namespace: uri, local, written });
    this.#names.set(key, id);
    return id;
  }
}
