/**
 * Many asserts of one rule that forbid or count plain paths (`not(a/b/c)`, `count(a/b) <= 1`) judged in one walk: their
 * paths form a trie, and only elements that are in both the document and the trie are visited. The UBL-CR rules of
 * EN 16931 are 658 such asserts on the document element.
 */
import type { ElementId, XmlDocument } from "../../xml/document.js";
import type { NameId } from "../../xml/names.js";
import { FN } from "../xpath/ast.js";
import type { Expr } from "../xpath/ast.js";
import type { Module } from "../compile/module.js";

/** Below this number of such asserts a rule is faster without. */
export const SURVEYED_MIN = 12;

type TrieNode = { readonly marks: number[]; readonly children: Map<NameId, TrieNode> };
type Trie = { readonly root: TrieNode; readonly counts: Int32Array };

/** What a surveyed assert says: at most `most` elements at the end of the path. */
type PathLimit = {
  readonly path: readonly { readonly namespace: string; readonly local: string }[];
  readonly most: number;
};

/** Recognises a test that only limits a plain path below the context. */
export function pathLimitOf(test: Expr): PathLimit | undefined {
  if (
    test.kind === "compare" &&
    test.op === "<=" &&
    test.general &&
    test.left.kind === "call" &&
    test.right.kind === "integer"
  ) {
    const path = isFunction(test.left, "count") ? plainPath(test.left.args[0]) : undefined;
    return path === undefined ? undefined : { path, most: Number(test.right.text) };
  }
  if (test.kind !== "call" || !isFunction(test, "not")) return undefined;
  const [inner] = test.args;
  const path = plainPath(inner?.kind === "call" && isFunction(inner, "exists") ? inner.args[0] : inner);
  return path === undefined ? undefined : { path, most: 0 };
}

const isFunction = (call: Expr & { readonly kind: "call" }, local: string): boolean =>
  call.name.namespace === FN && call.name.local === local && call.args.length === 1;

function plainPath(expr: Expr | undefined): PathLimit["path"] | undefined {
  if (expr?.kind !== "path" || expr.rooted) return undefined;
  const names: { readonly namespace: string; readonly local: string }[] = [];
  for (const step of expr.steps) {
    if (step.kind !== "axis" || step.axis !== "child" || step.predicates.length > 0 || step.test.kind !== "name")
      return undefined;
    const { namespace, local } = step.test;
    if (namespace === undefined || local === undefined) return undefined;
    names.push({ namespace, local });
  }
  return names;
}

/** The constant that holds the trie of some limits; the n-th counts the n-th path. */
export function trieConstant(m: Module, limits: readonly PathLimit[]): string {
  const paths = limits.map(
    ({ path }) => `[${path.map(({ namespace, local }) => m.name(namespace, local)).join(", ")}]`,
  );
  return m.constant(`R.makeTrie([${paths.join(", ")}])`);
}

/** Run time: builds a trie of paths. */
export function makeTrie(paths: readonly (readonly NameId[])[]): Trie {
  const root: TrieNode = { marks: [], children: new Map() };
  paths.forEach((path, index) => {
    let node = root;
    for (const name of path) {
      let child = node.children.get(name);
      if (child === undefined) node.children.set(name, (child = { marks: [], children: new Map() }));
      node = child;
    }
    node.marks.push(index);
  });
  return { root, counts: new Int32Array(paths.length) };
}

/** Run time: how often each path occurs below `e`. The array belongs to the trie and lasts until its next survey. */
export function survey(doc: XmlDocument, e: ElementId, { root, counts }: Trie): Int32Array {
  counts.fill(0);
  walk(doc, e, root, counts);
  return counts;
}

function walk(doc: XmlDocument, e: ElementId, node: TrieNode, counts: Int32Array): void {
  for (let c = doc.first(e); c !== -1; c = doc.next(c)) {
    const child = node.children.get(doc.name(c));
    if (child === undefined) continue;
    for (const mark of child.marks) counts[mark] = (counts[mark] ?? 0) + 1;
    if (child.children.size > 0) walk(doc, c, child, counts);
  }
}
