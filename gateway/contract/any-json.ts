/**
 * Members that take any JSON. A number that a double does not hold is infinite there (gateway/request/numbers.ts), and
 * every member with a form of its own refuses it by that; nothing else looks at these.
 */
import type { z } from "zod";

/** Refuses such a number by its place: written down it would be null, and as a text the word Infinity. */
export function refuseUnheld(value: unknown, context: z.RefinementCtx): void {
  const path = pathOfUnheld(value, []);
  if (path !== undefined)
    context.addIssue({
      code: "custom",
      path: [...path],
      message: "has more digits than a number keeps; give it as a text",
    });
}

type Path = readonly (string | number)[];

function pathOfUnheld(value: unknown, path: Path): Path | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : path;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = pathOfUnheld(member, [...path, Array.isArray(value) ? Number(name) : name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
