/** Goal: what a schema refuses is named by its place, and nothing is repeated that may be content. */
import { expect, test } from "vitest";
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { detailsOfIssues } from "../../../gateway/request/invalid.js";

const schema = z.strictObject({ lines: z.array(z.strictObject({ name: z.string() })) });

test.each([
  ["a name of any language", "číslo_1", "lines[0].číslo_1"],
  ["a name that has a blank", "Jozef Novák", "lines[0].(unnamed)"],
  ["markup", "<img>", "lines[0].(unnamed)"],
  ["a name that is long", "n".repeat(500), `lines[0].${"n".repeat(LIMITS.invoice_name_chars_max)}`],
])("a member too many is told by its place, by its name only where it looks like one: %s", (_what, name, field) => {
  const refused = schema.safeParse({ lines: [{ name: "x", [name]: 1 }] }, { reportInput: true });
  expect(detailsOfIssues(refused.error?.issues ?? [], "body")).toEqual([
    { field, message: `${field} is not a member of this request.` },
  ]);
});
