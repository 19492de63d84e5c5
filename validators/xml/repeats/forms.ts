/**
 * Branches of one form: the same elements in the same order and nesting, with the same attributes. They differ in their
 * values only, so that whatever depends on names alone is found out once for all of them. A branch is a child of the
 * document element with what is below it: a line, a party, a total.
 *
 * A form is compared in full, never by a hash alone, so that no document can pass one branch off as another. Forms
 * outlive their document, because one sender writes alike; their number is bounded.
 */
import { FLAG, NONE } from "../document.js";
import type { ElementId, XmlDocument } from "../document.js";
import { DOCUMENT_NAME_BASE } from "../names.js";

/** The elements and attributes of a branch, counted from its first element; compared by identity. */
export interface Form {
  /** Per element: its name, and one past its last descendant. */
  readonly names: Int32Array;
  readonly ends: Int32Array;
  /** Per element: its first attribute; one entry more ends the last list. */
  readonly attrFirsts: Int32Array;
  readonly attrNames: Int32Array;
}

/** The branches of a document whose forms are known, in document order. */
interface FormedBranches {
  readonly elements: readonly ElementId[];
  /** The form of each. */
  readonly forms: readonly Form[];
}

/** Larger branches are judged element by element. */
const FORM_ELEMENTS_MAX = 256;
/** Forms that a thread remembers; then it begins anew. */
const FORMS_MAX = 512;
/** Keys of branches that were seen once; a power of two. */
const SEEN_SLOTS = 1_024;
const HASH_FACTOR = 0x01000193;

const forms = (): Forms => (shared ??= new Forms());
let shared: Forms | undefined;

/** The branches whose forms are known; worked out once for each scan. */
export const formedBranches = (doc: XmlDocument): FormedBranches => forms().branchesOf(doc);

/** The forms that a thread knows. */
class Forms {
  readonly #byKey = new Map<number, Form[]>();
  #count = 0;
  readonly #seen = new Int32Array(SEEN_SLOTS);
  #last: { readonly doc: XmlDocument; readonly scan: number; readonly branches: FormedBranches } | undefined;

  branchesOf(doc: XmlDocument): FormedBranches {
    if (this.#last?.doc !== doc || this.#last.scan !== doc.scans)
      this.#last = { doc, scan: doc.scans, branches: this.#findBranches(doc) };
    return this.#last.branches;
  }

  /** The branches whose forms are known, or become known because they are met again. */
  #findBranches(doc: XmlDocument): FormedBranches {
    const elements: ElementId[] = [];
    const forms: Form[] = [];
    let last: Form | undefined;
    for (let e = doc.first(0); e !== NONE; e = doc.next(e)) {
      if (!doc.hasElements(e)) continue;
      const form = last !== undefined && hasForm(doc, e, last) ? last : this.#formOf(doc, e);
      if (form === undefined) continue;
      elements.push(e);
      forms.push(form);
      last = form;
    }
    return { elements, forms };
  }

  #formOf(doc: XmlDocument, e: ElementId): Form | undefined {
    const size = doc.end(e) - e;
    if (size > FORM_ELEMENTS_MAX) return undefined;
    const key = keyOf(doc, e, size);
    const known = this.#byKey.get(key)?.find((form) => hasForm(doc, e, form));
    if (known !== undefined) return known;
    const slot = key & (SEEN_SLOTS - 1);
    if (this.#seen[slot] !== key) {
      this.#seen[slot] = key;
      return undefined;
    }
    const form = cutForm(doc, e, size);
    return isLasting(form) && hasForm(doc, e, form) ? this.#remember(key, form) : undefined;
  }

  #remember(key: number, form: Form): Form {
    if (this.#count === FORMS_MAX) {
      this.#byKey.clear();
      this.#count = 0;
    }
    this.#count += 1;
    this.#byKey.set(key, [...(this.#byKey.get(key) ?? []), form]);
    return form;
  }
}

/**
 * Whether a branch has the form, and is plain: each of its elements holds either elements or text, no name is the
 * document's own, and no comment, instruction, reference or CDATA stands in it.
 */
function hasForm(doc: XmlDocument, e: ElementId, form: Form): boolean {
  const { names, ends, attrFirsts, attrNames } = form;
  const size = names.length;
  const firstAttr = doc.attrFirsts[e]!;
  if (doc.ends[e]! - e !== size) return false;
  for (let i = 0; i < size; i++) {
    const at = e + i;
    if (doc.names[at]! !== names[i]! || doc.ends[at]! - e !== ends[i]!) return false;
    if (doc.attrFirsts[at]! - firstAttr !== attrFirsts[i]! || !isPlainlyFilled(doc.flags[at]!)) return false;
  }
  if (doc.attrFirsts[e + size]! - firstAttr !== attrNames.length) return false;
  for (let i = 0; i < attrNames.length; i++) if (doc.attrNames[firstAttr + i]! !== attrNames[i]!) return false;
  return true;
}

/** One bit of the two, and no third: an element holds elements or text. */
const CONTENT = FLAG.elements | FLAG.nonSpace | FLAG.marked;
const isPlainlyFilled = (flags: number): boolean =>
  (flags & CONTENT) === FLAG.elements || (flags & CONTENT) === FLAG.nonSpace;

/** Whether all names mean the same in the next document. */
const isLasting = ({ names, attrNames }: Form): boolean =>
  names.every((name) => name < DOCUMENT_NAME_BASE) && attrNames.every((name) => name < DOCUMENT_NAME_BASE);

function keyOf(doc: XmlDocument, e: ElementId, size: number): number {
  let key = size;
  for (let i = 0; i < size; i++)
    key = Math.imul(Math.imul(key ^ doc.names[e + i]!, HASH_FACTOR) ^ (doc.ends[e + i]! - e), HASH_FACTOR);
  for (let i = doc.attrFirsts[e]!; i < doc.attrFirsts[e + size]!; i++)
    key = Math.imul(key ^ doc.attrNames[i]!, HASH_FACTOR);
  return key ^ (key >>> 15);
}

function cutForm(doc: XmlDocument, e: ElementId, size: number): Form {
  const firstAttr = doc.attrFirsts[e]!;
  return {
    names: doc.names.slice(e, e + size),
    ends: doc.ends.subarray(e, e + size).map((end) => end - e),
    attrFirsts: doc.attrFirsts.subarray(e, e + size).map((first) => first - firstAttr),
    attrNames: doc.attrNames.slice(firstAttr, doc.attrFirsts[e + size]),
  };
}
