/**
 * Goal: members of a request are read in the forms in which programs write them by themselves. Null is "left out" for
 * exactly those that may be left out and do not take null themselves; an instant has seconds or none.
 */
import { expect, test } from "vitest";
import { z } from "zod";

import { leaveOutNulls } from "../../../gateway/contract/null-members.js";
import { instant, wholeNumber } from "../../../gateway/contract/query.js";
import { describedOperations } from "../../../gateway/start/operations.js";

const schema = z
  .object({
    required: z.string(),
    note: z.string().optional(),
    word: z.enum(["a", "b"]).default("a"),
    trimmed: z.string().trim().transform(Number).optional(),
    url: z.string().nullable().optional(),
    any: z.unknown().optional(),
    inner: z.object({ city: z.string().optional(), country: z.string() }).optional(),
    lines: z.array(z.object({ unit: z.string().optional(), price: z.number() })).optional(),
    map: z.record(z.string(), z.string()).optional(),
  })
  .refine(() => true)
  .transform((value) => value);

test.each([
  [
    "what may be left out goes, at every depth",
    { note: null, word: null, trimmed: null, lines: [{ unit: null }] },
    { lines: [{}] },
  ],
  ["a part that is null goes as a whole", { inner: null, lines: null, map: null }, {}],
  ["what takes null keeps it", { url: null, any: null }, { url: null, any: null }],
  [
    "what must be given stays, to be refused by its name",
    { required: null, inner: { country: null } },
    { required: null, inner: { country: null } },
  ],
  [
    "what the schema does not know stays",
    { other: null, map: { a: null }, inner: { zip: null } },
    { other: null, map: { a: null }, inner: { zip: null } },
  ],
  [
    "what is given stays",
    { note: "", inner: { city: "x" }, lines: [null, 1, "x"] },
    { note: "", inner: { city: "x" }, lines: [null, 1, "x"] },
  ],
] as const)("null in a body: %s", (_what, body, left) => {
  const given: unknown = structuredClone(body);
  leaveOutNulls(schema, given);
  expect(given).toEqual(left);
});

test.each([[null], [undefined], ["text"], [7], [[{ note: null }]], [new Uint8Array(2)]])(
  "a body that is no object is left as it is: %j",
  (body) => {
    const given: unknown = structuredClone(body);
    leaveOutNulls(schema, given);
    expect(given).toEqual(body);
  },
);

test("a member of the only form with members, of several that a value may have, is left out", () => {
  const given = { list: ["text", { name: null }], both: { name: null } };
  const named = z.object({ name: z.string().optional() });
  leaveOutNulls(
    z.object({
      list: z.array(z.union([z.string(), named])),
      both: z.union([named, named.extend({ other: z.string() })]),
    }),
    given,
  );
  expect(given).toEqual({ list: ["text", {}], both: { name: null } });
});
test("a body that may be left out is looked into where it is there", () => {
  const given = { name: null };
  leaveOutNulls(z.object({ name: z.string().optional() }).optional(), given);
  expect(given).toEqual({});
});
test.each([
  ["2026-11-20T09:00:00Z", "2026-11-20T09:00:00.000Z"],
  ["2026-11-20T09:00:00.123456789+01:00", "2026-11-20T08:00:00.123Z"],
  // java.time writes no seconds where they are zero: one request in sixty of a program that drops fractions.
  ["2026-11-20T09:00Z", "2026-11-20T09:00:00.000Z"],
  ["2026-11-20T09:00+01:00", "2026-11-20T08:00:00.000Z"],
])("%s is the instant %s", (text, at) => {
  expect(new Date(instant.parse(text) ?? 0).toISOString()).toBe(at);
});

test.each([
  ["without a zone", "2026-11-20T09:00:00"],
  ["without a zone and seconds", "2026-11-20T09:00"],
  ["without minutes", "2026-11-20T09Z"],
  ["with fractions of a minute", "2026-11-20T09:00.5Z"],
  ["of a day that there is not", "2026-02-30T09:00Z"],
  ["of a zone that there is not", "2026-11-20T09:00+15:00"],
  ["of hour 24", "2026-11-20T24:00Z"],
  ["that is a day", "2026-11-20"],
])("an instant %s is none", (_what, text) => {
  expect(instant.safeParse(text).success).toBe(false);
});

const BOTH_ENDS = /^must be a whole number from \d+ to \d+$/;

test.each(["0", "101", "-1", "1.0", "01", "1e1", " 5", "", "9999999999"])(
  "a number of a query that is %j is refused by both ends of its range",
  (text) => {
    const { error } = wholeNumber({ min: 1, max: 100, byDefault: 20 }).safeParse(text);
    expect(error?.issues.map(({ message }) => message)).toEqual(["must be a whole number from 1 to 100"]);
  },
);

test("both ends of the range of a number belong to it", () => {
  const number = wholeNumber({ min: 0, max: 100, byDefault: 20 });
  expect([undefined, "0", "7", "100"].map((text) => number.parse(text))).toEqual([undefined, 0, 7, 100]);
});

test("every number of a query is refused in the same words, at every operation", () => {
  const members = describedOperations().flatMap(({ operation, request: { query } }) =>
    query instanceof z.ZodObject
      ? Object.entries(query.shape).map(([name, member]) => [`${operation} ${name}`, member as z.ZodType] as const)
      : [],
  );
  const said = members.flatMap(([name, member]) =>
    ["x", "999999999"].map((text) => [name, member.safeParse(text).error?.issues[0]?.message ?? ""] as const),
  );
  const ofNumbers = said.filter(([, words]) => /number|expected.*<=|too big/i.test(words));
  expect(ofNumbers.length).toBeGreaterThan(40);
  expect(ofNumbers.filter(([, words]) => !BOTH_ENDS.test(words))).toEqual([]);
});

test("scheduledFor of the Box is read in the same forms as every other instant", () => {
  const row = describedOperations().find(({ operation }) => operation === "scheduleBoxItem");
  const body = row?.request.body ?? z.never();
  const read = (scheduledFor: string): boolean => body.safeParse({ scheduledFor }).success;
  expect(["2026-11-20T09:00Z", "2026-11-20T09:00:00+01:00", "2026-11-20T09:00", "2026-02-30T09:00Z"].map(read)).toEqual(
    [true, true, false, false],
  );
});
