/** Finds head and lines in a tree of named values, which JSON and XML both are. */
import { LINE_LISTS } from "../fields.js";
import { fold } from "../names.js";
import { foundAt, isLineNumber, placeOf } from "./reading.js";
import type { Dictionary, FoundValue, Reading } from "./reading.js";
import type { SourceValue } from "../values.js";

/** A member or an element. A list of JSON is several nodes of one name. */
export interface SourceNode {
  readonly name: string;
  /** Undefined for what has children only. */
  readonly value: SourceValue | undefined;
  readonly children: readonly SourceNode[];
  /** Whether it stood in a list of JSON. */
  readonly isListed: boolean;
}

/** Nodes of one name below one path: perhaps the lines. */
interface Group {
  readonly path: readonly string[];
  readonly nodes: readonly SourceNode[];
}

interface Leaf {
  readonly path: readonly string[];
  readonly value: SourceValue;
}

/** Members of the first lines that tell whether a list is the list of lines. */
const LOOKED_AT = 5;
/** What no list of taxes or payments has. */
const TELLING: ReadonlySet<string> = new Set(["description", "quantity", "unitPrice", "unitPriceWithTax"]);

/** @param roots  the members of the whole: of the object, or of the root element */
export function readTree(roots: readonly SourceNode[], dictionary: Dictionary): Reading {
  const list = linesOf(roots, dictionary);
  const head: FoundValue[] = [];
  const unmapped = new Set<string>();
  for (const { path, value } of leavesOf(roots, [], list?.nodes ?? [])) {
    const meaning = dictionary.head(path);
    if (meaning === undefined) unmapped.add(placeOf(path.join(".")));
    else head.push(foundAt(meaning, path.join("."), value));
  }
  const listName = list?.path.join(".") ?? "";
  const lines = (list?.nodes ?? []).map((node) =>
    leavesOf(node.children, [], []).flatMap(({ path, value }) => {
      const source = `${listName}[].${path.join(".")}`;
      const meaning = dictionary.line(path, list?.path);
      if (meaning !== undefined) return [foundAt(meaning, source, value)];
      if (!isLineNumber(path.at(-1) ?? "")) unmapped.add(placeOf(source));
      return [];
    }),
  );
  return { head, lines, unmapped: [...unmapped], issues: [] };
}

/** Values with their paths, without those inside of `without`. */
function leavesOf(
  nodes: readonly SourceNode[],
  above: readonly string[],
  without: readonly SourceNode[],
): readonly Leaf[] {
  const skipped = new Set(without);
  const walk = (node: SourceNode, path: readonly string[]): readonly Leaf[] => {
    if (skipped.has(node)) return [];
    const own = [...path, node.name];
    const value = node.value === undefined || node.value === "" ? [] : [{ path: own, value: node.value }];
    return [...value, ...node.children.flatMap((child) => walk(child, own))];
  };
  return nodes.flatMap((node) => walk(node, above));
}

/** The group that is most like lines: as the caller names it, as lists of lines are named, or by its members. */
function linesOf(roots: readonly SourceNode[], dictionary: Dictionary): Group | undefined {
  const groups = groupsOf(roots, []);
  const stated = groups.find(({ path }) => dictionary.isList(path));
  if (stated !== undefined || dictionary.list !== undefined) return stated;
  const scored = groups.map((group) => ({ group, score: likeness(group, dictionary) }));
  const best = scored.reduce((a, b) => (b.score > 0 && b.score >= a.score ? b : a), { group: undefined, score: 0 } as {
    readonly group: Group | undefined;
    readonly score: number;
  });
  return best.group;
}

/** Every group of nodes with children, those of one path together. */
function groupsOf(nodes: readonly SourceNode[], above: readonly string[]): readonly Group[] {
  // Bounded by the nodes of one source.
  const byPath = new Map<string, { readonly path: readonly string[]; readonly nodes: SourceNode[] }>();
  const walk = (siblings: readonly SourceNode[], path: readonly string[]): void => {
    for (const node of siblings) {
      if (node.children.length === 0) continue;
      const own = [...path, node.name];
      const key = own.join("\n");
      const known = byPath.get(key);
      if (known === undefined) byPath.set(key, { path: own, nodes: [node] });
      else known.nodes.push(node);
      walk(node.children, own);
    }
  };
  walk(nodes, above);
  return [...byPath.values()];
}

const NAMED = 10;

function likeness({ path, nodes }: Group, dictionary: Dictionary): number {
  const isNamed = LINE_LISTS.has(fold(path.at(-1) ?? ""));
  const isList = nodes.length > 1 || nodes[0]?.isListed === true;
  if ((!isNamed && !isList) || nodes.some(hasList)) return 0;
  const meanings = nodes
    .slice(0, LOOKED_AT)
    .flatMap(({ children }) => children.flatMap((child) => leavesOf([child], [], [])))
    .flatMap((leaf) => dictionary.line(leaf.path, path)?.target ?? []);
  const members = new Set(meanings);
  const tells = [...members].filter((member) => TELLING.has(member)).length;
  if (tells === 0 || (!isNamed && tells < 2)) return 0;
  return members.size + (isNamed ? NAMED : 0);
}

/** Whether nodes of one name stand in a node: it is then around the lines, not one of them. */
function hasList({ children }: SourceNode): boolean {
  const names = children.filter((child) => child.children.length > 0).map(({ name }) => name);
  return new Set(names).size < names.length;
}
