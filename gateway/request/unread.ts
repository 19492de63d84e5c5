/** What a body says that nobody reads: a schema leaves it out, and its sender should know. */
import { LIMITS } from "../../engine/base/limits.js";
import { memberPath, shownName } from "./invalid.js";

/**
 * Paths of the members that a schema has left out of what it read, the first LIMITS.findings_max of them.
 * @param came  a body as it came
 * @param read  the same as its schema has read it
 */
export function unreadMembers(came: unknown, read: unknown): readonly string[] {
  // Bounded by LIMITS.findings_max.
  const unread: string[] = [];
  collect(unread, [], { came, read });
  return unread;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

/** Goes no deeper than LIMITS.json_depth_max, which a body cannot exceed. */
function collect(
  unread: string[],
  path: readonly (string | number)[],
  { came, read }: { readonly came: unknown; readonly read: unknown },
): void {
  if (!isObject(came) || !isObject(read)) return;
  for (const [name, member] of Object.entries(came)) {
    if (unread.length === LIMITS.findings_max) return;
    const at = [...path, Array.isArray(came) ? Number(name) : shownName(name)];
    if (Object.hasOwn(read, name)) collect(unread, at, { came: member, read: read[name] });
    else unread.push(memberPath("body", at));
  }
}
