/** Goal: what a schema refuses is named by its place, and nothing is repeated that may be content. */
import { expect, test } from "vitest";
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { connectorCreateBody } from "../../../engine/invoices/connector/create-body.js";
import { detailsOfIssues } from "../../../gateway/request/invalid.js";
import { publishedRows } from "../../support/engines/published-rows.js";

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

/** Every schema within a schema, once. */
function schemasWithin(schema: z.core.$ZodType, seen = new Set<z.core.$ZodType>()): ReadonlySet<z.core.$ZodType> {
  if (seen.has(schema)) return seen;
  seen.add(schema);
  const look = (value: unknown): void => {
    if (value instanceof z.core.$ZodType) schemasWithin(value, seen);
    else if (Array.isArray(value)) for (const entry of value as unknown[]) look(entry);
    else if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
      for (const entry of Object.values(value)) look(entry);
  };
  look(schema._zod.def);
  return seen;
}

test("what a text of a request must look like is said by every member that asks for a form of its own", () => {
  let forms = 0;
  for (const { operation, request } of publishedRows)
    for (const part of [request.params, request.query, request.body])
      for (const schema of part === undefined ? [] : schemasWithin(part)) {
        if (!(schema instanceof z.ZodString)) continue;
        const said = detailsOfIssues(schema.safeParse("\u00b6", { reportInput: true }).error?.issues ?? [], "it");
        forms += said.length;
        expect(JSON.stringify(said), operation).not.toContain("the form that this field needs");
      }
  expect(forms).toBeGreaterThan(10);
});

test.each(["23,90", "1 000.00", "+5", "23%", "1e3", true, null, {}])(
  "a price that is %j is told which form it has",
  (unitPrice) => {
    const line = { description: "Paper", quantity: 1, unitPrice, vatRate: 23 };
    const body = {
      customerRef: "a",
      externalId: "b",
      number: "c",
      recipient: { country: "SK", taxId: "1" },
      lines: [line],
    };
    const refused = connectorCreateBody.safeParse(body, { reportInput: true });
    const field = "lines[0].unitPrice";
    expect(detailsOfIssues(refused.error?.issues ?? [], "body")).toEqual([
      { field, message: expect.stringMatching(/^lines\[0\]\.unitPrice must be a number such as 23\.90: /u) },
    ]);
  },
);
