/**
 * Finds the row of a path. Paths are compared as sent: segments between slashes, case-sensitive, no normalisation. A
 * path with `//`, a trailing slash, `;params` or encoded dots names nothing, so that the check and the handler can
 * never see two different paths.
 * @source design/reliability.md, H-08
 */
import type { Route } from "../contract/route.js";

/** A segment of the paths, made once when the server starts. */
class Node {
  // Bounded by the rows.
  readonly literal = new Map<string, Node>();
  /** Method → row and the names of its path's parameters. */
  // Bounded by the methods.
  readonly rows = new Map<string, { readonly row: Route; readonly names: readonly string[] }>();
  #parameter: Node | undefined;

  /** The child for any segment. */
  get parameter(): Node | undefined {
    return this.#parameter;
  }

  withParameter(): Node {
    return (this.#parameter ??= new Node());
  }
}

const NO_VALUES: readonly string[] = [];
const NO_NAMES: readonly string[] = [];

interface Match {
  readonly row: Route;
  readonly names: readonly string[];
  /** Segments as sent, in the order of `names`. */
  readonly values: readonly string[];
}

interface Router {
  /** @returns the row; or the methods that the path has instead of this one; or undefined for an unknown path */
  find(method: string, path: string): Match | readonly string[] | undefined;
}

/** @throws Error when two rows claim one method and path, or one operation name is used twice */
export function createRouter(rows: readonly Route[]): Router {
  const root = new Node();
  /** Matches by path and method, for paths without parameters. Most requests have one and need a single look-up. */
  const fixed = new Map<string, Map<string, Match>>();
  const operations = new Set<string>();
  for (const row of rows) {
    if (operations.has(row.operation)) throw new Error(`Two routes are called ${row.operation}.`);
    operations.add(row.operation);
    for (const mount of row.mounts) {
      const path = mount + row.path;
      const names = insert(root, row, path);
      if (names.length > 0) continue;
      const methods = fixed.get(path) ?? new Map<string, Match>();
      fixed.set(path, methods.set(row.method, { row, names: NO_NAMES, values: NO_VALUES }));
    }
  }
  return {
    find(method, path) {
      const known = fixed.get(path)?.get(method);
      if (known !== undefined) return known;
      if (!path.startsWith("/")) return undefined;
      const segments = path.split("/");
      // Bounded by the parameters of the longest path.
      const values: string[] = [];
      const node = walk(root, segments, 1, values);
      if (node === undefined) return undefined;
      const found = node.rows.get(method);
      return found === undefined ? [...node.rows.keys()].sort() : { ...found, values };
    },
  };
}

function insert(root: Node, row: Route, path: string): readonly string[] {
  const names: string[] = [];
  let node = root;
  for (const segment of path.split("/").slice(1)) {
    if (segment.startsWith("{")) {
      names.push(segment.slice(1, -1));
      node = node.withParameter();
    } else {
      const next = node.literal.get(segment) ?? new Node();
      node.literal.set(segment, next);
      node = next;
    }
  }
  if (node.rows.has(row.method)) throw new Error(`Two routes claim ${row.method} ${path}.`);
  node.rows.set(row.method, { row, names });
  return names;
}

/** Tries the literal segment first, and the parameter only if the literal leads to no row. */
function walk(node: Node, segments: readonly string[], at: number, values: string[]): Node | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.rows.size > 0 ? node : undefined;
  const literal = node.literal.get(segment);
  if (literal !== undefined) {
    const found = walk(literal, segments, at + 1, values);
    if (found !== undefined) return found;
  }
  if (node.parameter === undefined || segment === "") return undefined;
  values.push(segment);
  const found = walk(node.parameter, segments, at + 1, values);
  if (found === undefined) values.pop();
  return found;
}
