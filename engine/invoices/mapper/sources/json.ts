/** JSON of programs, however deep their members lie. */
import { LIMITS } from "../../../base/limits.js";
import { isObject } from "../../members.js";
import { sourceName } from "./path.js";
import type { Dictionary, Reading } from "./reading.js";
import { readTree } from "./tree.js";
import type { SourceNode } from "./tree.js";
import { UnreadableSource } from "./unreadable.js";

export function readJson(source: unknown, dictionary: Dictionary): Reading {
  const root: unknown = Array.isArray(source) && source.length === 1 ? source[0] : source;
  if (!isObject(root)) throw new UnreadableSource("MAPPER-JSON", "sourceJson must be the object of one document.");
  return readTree(membersOf(root, 0), dictionary);
}

const membersOf = (object: object, depth: number): readonly SourceNode[] =>
  Object.entries(object).flatMap(([name, value]: [string, unknown]) => nodesOf(name, value, depth));

function nodesOf(name: string, value: unknown, depth: number): readonly SourceNode[] {
  if (depth > LIMITS.json_depth_max)
    throw new UnreadableSource("MAPPER-DEPTH", `sourceJson is nested deeper than ${LIMITS.json_depth_max} levels.`);
  if (Array.isArray(value))
    return value.flatMap((entry: unknown) =>
      nodesOf(name, entry, depth + 1).map((node) => ({ ...node, isListed: true })),
    );
  if (isObject(value))
    return [{ ...sourceName(name), value: undefined, children: membersOf(value, depth + 1), isListed: false }];
  const isValue = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isValue ? [{ ...sourceName(name), value, children: [], isListed: false }] : [];
}
