/** Finds head and lines in a tree of named values, which JSON and XML both are. */
import { LIMITS } from "../../../base/limits.js";
import { LINE_LISTS } from "../fields.js";
import { placeOf, SourcePath } from "./path.js";
import type { SourceName } from "./path.js";
import { foundAt, isLineNumber } from "./reading.js";
import type { Dictionary, FoundValue, Reading } from "./reading.js";
import type { SourceValue } from "../values.js";

/** A member or an element. A list of JSON is several nodes of one name. */
export interface SourceNode extends SourceName {
  /** Undefined for what has children only. */
  readonly value: SourceValue | undefined;
  readonly children: readonly SourceNode[];
  /** Whether it stood in a list of JSON. */
  readonly isListed: boolean;
}

/** Nodes of one name below one path: perhaps the lines. */
interface Group {
  readonly path: SourcePath;
  readonly nodes: readonly SourceNode[];
}

interface Leaf {
  readonly path: SourcePath;
  readonly value: SourceValue;
}

/** Members of the first lines that tell whether a list is the list of lines. */
const LOOKED_AT = 5;
/** What no list of taxes or payments has. */
const TELLING: ReadonlySet<string> = new Set(["description", "quantity", "unitPrice", "unitPriceWithTax"]);

/** @param roots  the members of the whole: of the object, or of the root element */
export function readTree(roots: readonly SourceNode[], dictionary: Dictionary): Reading {
  const start = SourcePath.start();
  // Before anything is asked of the places: that costs more than to count them.
  countPlaces(roots, start);
  const list = linesOf(roots, dictionary);
  const head: FoundValue[] = [];
  const unmapped = new Set<string>();
  const meaningOf = once((path) => dictionary.head(path));
  for (const { path, value } of leavesOf(roots, start, new Set(list?.nodes))) {
    const meaning = meaningOf(path);
    if (meaning === undefined) unmapped.add(path.place);
    else head.push(foundAt(meaning, path.place, value));
  }
  const inLines = list === undefined ? { lines: [], unmapped: [] } : linesFrom(list, dictionary);
  return { head, lines: inLines.lines, unmapped: [...unmapped, ...inLines.unmapped], issues: [] };
}

/** @throws UnreadableSource where there are more than a document has */
function countPlaces(nodes: readonly SourceNode[], above: SourcePath): void {
  for (const node of nodes) countPlaces(node.children, above.below(node));
}

function linesFrom(list: Group, dictionary: Dictionary): Pick<Reading, "lines" | "unmapped"> {
  const start = SourcePath.start();
  const placeInLine = once((path) => ({
    source: placeOf(`${list.path.place}[].${path.place}`),
    meaning: dictionary.line(path, list.path),
    counts: isLineNumber(path.name),
  }));
  const nameless = new Set<string>();
  const lines: FoundValue[][] = [];
  for (const { children } of list.nodes) {
    const line: FoundValue[] = [];
    lines.push(line);
    for (const { path, value } of leavesOf(children, start)) {
      const { source, meaning, counts } = placeInLine(path);
      if (meaning !== undefined) line.push(foundAt(meaning, source, value));
      else if (!counts) nameless.add(source);
    }
  }
  return { lines, unmapped: [...nameless] };
}

/** The answer of each place, which is asked for once. */
function once<T>(ask: (path: SourcePath) => T): (path: SourcePath) => T {
  // Bounded by the names of one source.
  const known = new Map<SourcePath, { readonly answer: T }>();
  return (path) => {
    let found = known.get(path);
    if (found === undefined) known.set(path, (found = { answer: ask(path) }));
    return found.answer;
  };
}

/**
 * Values with their paths.
 * @param start  what the nodes stand in
 * @param without  nodes that are left out with what is in them. @default none
 * @param most  so many values are given. @default all
 */
function leavesOf(
  nodes: readonly SourceNode[],
  start: SourcePath,
  without: ReadonlySet<SourceNode> = new Set(),
  most = Infinity,
): readonly Leaf[] {
  // Bounded by the nodes of one source.
  const leaves: Leaf[] = [];
  const walk = (node: SourceNode, above: SourcePath): void => {
    if (leaves.length >= most || without.has(node)) return;
    const path = above.below(node);
    if (node.value !== undefined && node.value !== "") leaves.push({ path, value: node.value });
    for (const child of node.children) walk(child, path);
  };
  for (const node of nodes) walk(node, start);
  return leaves;
}

/** The group that is most like lines: as the caller names it, as lists of lines are named, or by its members. */
function linesOf(roots: readonly SourceNode[], dictionary: Dictionary): Group | undefined {
  const groups = groupsOf(roots);
  const stated = groups.find(({ path }) => dictionary.isList(path));
  if (stated !== undefined || dictionary.list !== undefined) return stated;
  const scored = groups.map((group) => ({ group, score: likeness(group, dictionary) }));
  const best = scored.reduce((a, b) => (b.score > 0 && b.score >= a.score ? b : a), { group: undefined, score: 0 } as {
    readonly group: Group | undefined;
    readonly score: number;
  });
  return best.group;
}

/** A group that is being put together. */
interface GrowingGroup extends Group {
  readonly nodes: SourceNode[];
  /** By name. */
  readonly below: Map<string, GrowingGroup>;
}

// Both are bounded by the nodes of one source.
const emptyGroup = (path: SourcePath): GrowingGroup => ({ path, nodes: [], below: new Map() });

/** Every group of nodes with children, those of one path together. */
function groupsOf(roots: readonly SourceNode[]): readonly Group[] {
  // Bounded by the nodes of one source.
  const groups: Group[] = [];
  const walk = (siblings: readonly SourceNode[], around: GrowingGroup): void => {
    for (const node of siblings) {
      if (node.children.length === 0) continue;
      let own = around.below.get(node.name);
      if (own === undefined) {
        around.below.set(node.name, (own = emptyGroup(around.path.below(node))));
        groups.push(own);
      }
      own.nodes.push(node);
      walk(node.children, own);
    }
  };
  walk(roots, emptyGroup(SourcePath.start()));
  return groups;
}

const NAMED = 10;

function likeness({ path, nodes }: Group, dictionary: Dictionary): number {
  const isNamed = LINE_LISTS.has(nodes[0]?.folded ?? "");
  const isList = nodes.length > 1 || nodes[0]?.isListed === true;
  if ((!isNamed && !isList) || nodes.some(hasList)) return 0;
  const start = SourcePath.start();
  const targetOf = once((place) => dictionary.line(place, path)?.target);
  // Bounded by the names of members.
  const members = new Set<string>();
  for (const { children } of nodes.slice(0, LOOKED_AT))
    for (const leaf of leavesOf(children, start, undefined, LIMITS.mapper_line_members_max)) {
      const target = targetOf(leaf.path);
      if (target !== undefined) members.add(target);
    }
  const tells = [...members].filter((member) => TELLING.has(member)).length;
  if (tells === 0 || (!isNamed && tells < 2)) return 0;
  return members.size + (isNamed ? NAMED : 0);
}

/** Whether nodes of one name stand in a node: it is then around the lines, not one of them. */
function hasList({ children }: SourceNode): boolean {
  if (children.length < 2) return false;
  const names = children.filter((child) => child.children.length > 0).map(({ name }) => name);
  return new Set(names).size < names.length;
}
