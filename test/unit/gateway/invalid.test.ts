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

test.each([
  ["an empty list", [], "a string"],
  ["a list that is too long", ["a", "b", "c"], "a string"],
])("where a text must be, %s is told once, as what it is not", (_what, note, wanted) => {
  const asked = z.object({ note: z.string().trim().min(1).max(2) });
  const refused = asked.safeParse({ note }, { reportInput: true });
  expect(detailsOfIssues(refused.error?.issues ?? [], "body")).toEqual([
    { field: "note", message: `note must be ${wanted}.` },
  ]);
});

test("a text where a list must be is told once, and what is wrong beside it is told, too", () => {
  const asked = z.object({ events: z.array(z.string()).min(1), url: z.url().max(3) });
  const refused = asked.safeParse({ events: "", url: "http://" }, { reportInput: true });
  expect(detailsOfIssues(refused.error?.issues ?? [], "body")).toEqual([
    { field: "events", message: "events must be a list." },
    { field: "url", message: "url must be a URL." },
    { field: "url", message: "url must have at most 3 characters." },
  ]);
});
