/**
 * Large bodies are read in slices, and what comes out is what reading them whole gives. Method: slices of a few octets, so
 * that every string is large, and every place of a slice's end comes up.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { parseJsonObject } from "../../../gateway/request/json.js";
import { parseLargeJsonObject } from "../../../gateway/request/large-json.js";
import { shortenLimits } from "../../support/engines/limits.js";

const seed = Number(process.env["SEED"] ?? 20261120);
let restore: () => void;
beforeAll(() => {
  restore = shortenLimits({ payload_slice_bytes: 7 });
});
afterAll(() => {
  restore();
});

/** What a reader gives: the object, or what it says of the body. */
const whole = (bytes: Buffer): unknown => {
  try {
    return parseJsonObject(bytes);
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
};
const refused = (error: unknown): string => {
  if (error instanceof Refusal) return error.reason;
  throw error;
};
const sliced = (bytes: Buffer): Promise<unknown> => parseLargeJsonObject(bytes).then(({ value }) => value, refused);
/** The same, where a member is read as octets: with its text in the place of what stands for it. */
const slicedAsOctets = (bytes: Buffer, name: string): Promise<unknown> =>
  parseLargeJsonObject(bytes, name).then(({ value, octets }) => {
    if (octets === undefined) return value;
    expect(value[name]).toBe(octets.standIn);
    return { ...value, [name]: octets.bytes.toString() };
  }, refused);

/** Text as clients spell it: plain, escaped, beyond the first plane, with halves of pairs and with what is no text. */
const spelled = fc
  .array(
    fc.constantFrom(
      ...[
        "a",
        "bcdefgh",
        "ž",
        "€",
        "😀",
        "\\n",
        '\\"',
        "\\\\",
        "\\/",
        "\\u0061",
        "\\ud83d\\ude00",
        "\\ud83d",
        "\\ude00",
      ],
      ...["\\u0000", "\\u00e9", "\\x", "\\u00", "\n", '<cbc:ID a=\\"1\\">'],
    ),
    { maxLength: 12 },
  )
  .map((parts) => `"${parts.join("")}"`);
const member = fc.tuple(
  spelled,
  fc.constantFrom(":", " :\n"),
  fc.oneof(spelled, fc.constantFrom("1", "null", '["x",{"y":"z"}]')),
);
const body = fc
  .array(member, { maxLength: 4 })
  .map((members) => `{${members.map((parts) => parts.join("")).join(",")}}`);

test("a body that is read in slices says what it says when it is read whole, or is refused alike", async () => {
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const bytes = Buffer.from(text);
      expect(await sliced(bytes)).toEqual(whole(bytes));
    }),
    { seed, numRuns: 2_000 },
  );
});

test("a body of which a member is read as octets says what it says when it is read whole, or is refused alike", async () => {
  const named = fc
    .tuple(spelled, body)
    .map(([text, rest]) => `{"payload":${text}${rest === "{}" ? "}" : `,${rest.slice(1)}`}`);
  await fc.assert(
    fc.asyncProperty(named, async (text) => {
      const bytes = Buffer.from(text);
      expect(await slicedAsOctets(bytes, "payload")).toEqual(whole(bytes));
    }),
    { seed, numRuns: 2_000 },
  );
});

test("a long text that is read as octets is never a text, and who looks for what stands in it finds nothing twice", async () => {
  const long = "žltý kôň 😀 ".repeat(50);
  const bytes = Buffer.from(JSON.stringify({ payload: long, other: long, deep: { payload: long } }));
  const { value, octets } = await parseLargeJsonObject(bytes, "payload");
  expect(octets?.bytes.toString()).toBe(long);
  expect(value).toEqual({ payload: octets?.standIn, other: long, deep: { payload: long } });
  expect((await parseLargeJsonObject(bytes, "payload")).octets?.standIn).not.toBe(octets?.standIn);
});

test("a body that was cut or changed anywhere is read in slices as it is read whole", async () => {
  const change = fc.record({
    at: fc.nat(),
    octet: fc.constantFrom(0x22, 0x5c, 0x7b, 0x7d, 0xc3, 0xed, 0x00, 0x75, 0x3a),
  });
  await fc.assert(
    fc.asyncProperty(body, change, fc.boolean(), async (text, { at, octet }, isCut) => {
      const bytes = Buffer.from(text);
      const place = at % bytes.length;
      const changed = isCut ? bytes.subarray(0, place) : Buffer.from(bytes);
      if (!isCut) changed[place] = octet;
      expect(await sliced(changed)).toEqual(whole(changed));
    }),
    { seed, numRuns: 2_000 },
  );
});

test.each([
  ["a member named __proto__ beside a large one", '{"a":"0123456789","__proto__":1}'],
  ["a name that is large and comes twice", '{"0123456789":1,"0123456789":2}'],
  ["a large string that is no object", '"01234567890123456789"'],
])("%s is refused in slices, too", async (_, text) => {
  expect(await sliced(Buffer.from(text))).toBe("BODY_MALFORMED");
});
