/** Node sequences at run time: order, axes that are not plain loops, names, the per-document index of attributes. */
import type { ElementId, XmlDocument } from "../../xml/document.js";
import type { NameId } from "../../xml/names.js";
import { Attribute, TextNode } from "./values.js";
import type { Item, Node } from "./values.js";

/** Position in document order; an attribute follows its element, a text node its parent's attributes. */
function rankOf(node: Node): number {
  if (typeof node === "number") return node;
  return node instanceof Attribute ? node.owner + 0.25 : (node.parent ?? -2) + 0.5;
}

function compareNodes(a: Node, b: Node): number {
  const order = rankOf(a) - rankOf(b);
  if (order !== 0) return order;
  if (a instanceof Attribute && b instanceof Attribute) return a.name - b.name;
  return a instanceof TextNode && b instanceof TextNode ? a.index - b.index : 0;
}

/** Whether both are one node of the document. */
export const sameNode = (a: Node, b: Node): boolean =>
  a === b || (typeof a !== "number" && typeof b !== "number" && compareNodes(a, b) === 0);

/** Document order of two nodes, for sorting. */
export const nodeOrder = (a: Node, b: Node): number => compareNodes(a, b);

/** Document order, each node once. Sorts in place. */
export function sortUnique<T extends Node>(nodes: T[]): T[] {
  let sorted = true;
  for (let i = 1; i < nodes.length; i++) {
    const [a, b] = [nodes[i - 1], nodes[i]];
    if (a === undefined || b === undefined || compareNodes(a, b) < 0) continue;
    sorted = false;
    break;
  }
  if (sorted) return nodes;
  nodes.sort(compareNodes);
  return nodes.filter((node, i) => {
    const before = nodes[i - 1];
    return before === undefined || !sameNode(before, node);
  });
}

/** Nodes of `a` that are (or are not) in `b`, in document order. */
export function selectNodes(a: Node[], b: Node[], keep: boolean): Node[] {
  const other = sortUnique([...b]);
  return sortUnique([...a]).filter((node) => has(other, node) === keep);
}

function has(sorted: readonly Node[], node: Node): boolean {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const candidate = sorted[middle];
    if (candidate === undefined) return false;
    const order = compareNodes(candidate, node);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}

/** The index of a key: elements by text, each in document order and once. */
type KeyMap = Map<string, ElementId[]>;

/** An empty index; nothing but this file knows what it is made of. */
export const keyMap = (): KeyMap => new Map();

/** Notes an element under a value; elements come in document order. */
export function keyPut(index: KeyMap, value: string, e: ElementId): void {
  const known = index.get(value);
  if (known === undefined) index.set(value, [e]);
  else if (known.at(-1) !== e) known.push(e);
}

/** The elements under a value; none where there is no value. */
export const keyed = (index: KeyMap, value: string | undefined): readonly ElementId[] =>
  (value === undefined ? undefined : index.get(value)) ?? [];

/** The elements under any of the values, in document order and once. */
export const keyedByAny = (index: KeyMap, values: readonly string[]): ElementId[] =>
  sortUnique(values.flatMap((value) => keyed(index, value)));

/** First child with that name of an element or (-1) of the document node; -1 if there is none. */
export function childOf(doc: XmlDocument, node: number, name: NameId): ElementId {
  if (node >= 0) return doc.child(node, name);
  return doc.count > 0 && doc.name(0) === name ? 0 : -1;
}

/** First child element of an element or of the document node. */
export const firstOf = (doc: XmlDocument, node: number): ElementId =>
  node >= 0 ? doc.first(node) : doc.count > 0 ? 0 : -1;

/** One past the last descendant. */
export const endOf = (doc: XmlDocument, node: number): number => (node >= 0 ? doc.end(node) : doc.count);

/** The elements of that name below `node`, found in the name index by binary search. */
export function descendants(doc: XmlDocument, node: number, name: NameId): readonly ElementId[] {
  const all = doc.all(name);
  const end = endOf(doc, node);
  const found: ElementId[] = [];
  for (let i = lowerBound(all, node + 1); i < all.length; i++) {
    const e = all[i];
    if (e === undefined || e >= end) break;
    found.push(e);
  }
  return found;
}

function lowerBound(all: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Position of an element among its siblings, from 1: of the same name, or (name -1) of any. */
export function positionOf(doc: XmlDocument, e: ElementId, sameName: boolean): number {
  const parent = doc.parent(e);
  if (parent < 0) return 1;
  let position = 0;
  for (
    let c = sameName ? doc.child(parent, doc.name(e)) : doc.first(parent);
    c !== -1;
    c = sameName ? doc.nextSame(c) : doc.next(c)
  ) {
    position++;
    if (c === e) return position;
  }
  return position;
}

/** How many siblings positionOf counts, the element included. */
export function siblingCount(doc: XmlDocument, e: ElementId, sameName: boolean): number {
  const parent = doc.parent(e);
  if (parent < 0) return 1;
  let count = 0;
  for (
    let c = sameName ? doc.child(parent, doc.name(e)) : doc.first(parent);
    c !== -1;
    c = sameName ? doc.nextSame(c) : doc.next(c)
  )
    count++;
  return count;
}

/** Elements of an axis that needs the whole document, in document order. */
export function axisElements(
  doc: XmlDocument,
  node: number,
  axis: "preceding" | "following" | "preceding-sibling" | "following-sibling" | "ancestor",
): ElementId[] {
  if (node < 0) return [];
  if (axis === "ancestor") return ancestors(doc, node);
  const found: ElementId[] = [];
  if (axis === "preceding") {
    for (let e = 0; e < node; e++) if (doc.end(e) <= node) found.push(e);
    return found;
  }
  if (axis === "following") {
    for (let e = doc.end(node); e < doc.count; e++) found.push(e);
    return found;
  }
  const parent = doc.parent(node);
  if (axis === "following-sibling") for (let e = doc.next(node); e !== -1; e = doc.next(e)) found.push(e);
  else if (parent >= 0) for (let e = doc.first(parent); e !== -1 && e !== node; e = doc.next(e)) found.push(e);
  return found;
}

/** The document node is an ancestor of every element. */
function ancestors(doc: XmlDocument, node: number): number[] {
  const found: number[] = [-1];
  for (let e = doc.parent(node); e >= 0; e = doc.parent(e)) found.splice(1, 0, e);
  return found;
}

/** Elements that carry each attribute name, in document order: one pass over the document, made on first use. */
export function attributeOwners(doc: XmlDocument, index: Map<NameId, ElementId[]>, name: NameId): readonly ElementId[] {
  if (index.size === 0) {
    index.set(-1, []);
    for (let e = 0; e < doc.count; e++) {
      for (let i = 0; i < doc.attrCount(e); i++) {
        const key = doc.attrName(e, i);
        const owners = index.get(key);
        if (owners === undefined) index.set(key, [e]);
        else owners.push(e);
      }
    }
  }
  return index.get(name) ?? [];
}

/** The name in the start tag, with the prefix that the document wrote. */
function writtenName(doc: XmlDocument, e: ElementId): string {
  const start = (doc.starts[e] ?? 0) + 1;
  NAME_END.lastIndex = start;
  const end = NAME_END.exec(doc.latin)?.index ?? start;
  const written = doc.latin.slice(start, end);
  return NON_ASCII.test(written) ? Buffer.from(written, "latin1").toString("utf8") : written;
}

const NAME_END = /[ \t\r\n/>]/g;
const NON_ASCII = /[\x80-\xff]/;

/** What name(), local-name() and namespace-uri() answer; "" for a node without a name. */
export function nodeName(
  doc: XmlDocument,
  node: Item | undefined,
  part: "name" | "local-name" | "namespace-uri",
): string {
  const id =
    typeof node === "number"
      ? node < 0
        ? undefined
        : doc.name(node)
      : node instanceof Attribute
        ? node.name
        : undefined;
  if (id === undefined) return "";
  if (part === "name") return typeof node === "number" ? writtenName(doc, node) : doc.prefixed(id);
  const { namespace, local } = doc.expanded(id);
  return part === "local-name" ? local : namespace;
}
