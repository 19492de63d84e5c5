/** Bodies: what is read as a JSON object or a form, and what is refused before anything is built from it. */
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { refuseUnheld } from "../../../gateway/contract/query.js";
import { decodeSegment, parseQuery } from "../../../gateway/request/decode.js";
import { parseJsonObject } from "../../../gateway/request/json.js";

const seed = Number(process.env["SEED"] ?? 20261120);
const reasonOf = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
  return "accepted";
};
const read = (text: string | Buffer): string =>
  reasonOf(() => parseJsonObject(typeof text === "string" ? Buffer.from(text) : text));

describe("JSON bodies", () => {
  test.each(["0.1e-400", "1e-400", "-4e-325", "1E-9999999999", `0.${"0".repeat(400)}1`])(
    "the number %s, of which a double makes 0, is infinite: no member takes it for nothing",
    (written) => {
      const body = `{"a":[1,${written}],"b":"${written}","c":${written}}`;
      const { a, b, c } = parseJsonObject(Buffer.from(body));
      const infinite = written.startsWith("-") ? -Infinity : Infinity;
      expect([a, b, c]).toEqual([[1, infinite], written, infinite]);
    },
  );

  test.each(["01e-400", "1.e-400", `1${"+-".repeat(60)}`, `${"0".repeat(101)}1`, `1e-400${"-".repeat(300)}`, "1e-"])(
    "%s is no number of JSON, however small it would be",
    (written) => {
      expect(read(`{"a":${written}}`)).toBe("BODY_MALFORMED");
    },
  );

  test.each([
    "0",
    "-0.0",
    "0e5",
    "1.50",
    "1E2",
    "100000000000000000000",
    "5e-324",
    "0.1",
    "0e-400",
    "23.9000000000000000000",
  ])("the number %s is read as JSON.parse reads it", (written) => {
    expect(parseJsonObject(Buffer.from(`{"a":${written}}`))["a"]).toBe(Number(written));
  });

  test("any JSON object is read as JSON.parse reads it", () => {
    const nameless = fc.string().filter((name) => name !== "__proto__" && !name.includes("\0"));
    const text = fc.string({ unit: "binary" }).filter((value) => !value.includes("\0"));
    const value = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        text,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc.dictionary(nameless, tie("tree"), { maxKeys: 4 }),
      ),
    })).tree;
    fc.assert(
      fc.property(fc.dictionary(nameless, value), fc.boolean(), (object, spaced) => {
        const json = JSON.stringify(object, null, spaced ? 2 : undefined);
        expect(parseJsonObject(Buffer.from(json))).toEqual(JSON.parse(json));
      }),
      { seed, numRuns: 500 },
    );
  });

  test("a member that comes twice is refused wherever it is and however it is spelled", () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '{"x":{"a":1,"b":{},"a":2}}',
      '{"x":[{"a":1},{"b":1,"b":2}]}',
      '{"":1,"":2}',
      '{"a\\"":1,"a\\u0022":2}',
    ]) {
      expect(read(text)).toBe("BODY_MALFORMED");
    }
    for (const text of [
      '{"a":1,"A":1}',
      '{"a":{"a":{"a":1}}}',
      '{"x":[{"a":1},{"a":1}]}',
      '{"a":":","b":"\\":\\""}',
      '{"a\\\\":1,"a":2}',
    ])
      expect(read(text)).toBe("accepted");
  });

  test.each([
    ["nothing but an array", "[]"],
    ["a string", '"x"'],
    ["a number", "1"],
    ["null", "null"],
    ["no value", " "],
    ["a trailing comma", '{"a":1,}'],
    ["NaN", '{"a":NaN}'],
    ["a comment", '{/**/"a":1}'],
    ["single quotes", "{'a':1}"],
    ["two values", "{}{}"],
    ["a missing end", '{"a":1'],
    ["a string without end", '{"a":"b\\"'],
    ["a line break in a string", '{"a":"\n"}'],
    ["NUL spelled out", '{"a":"\\u0000"}'],
    ["half a surrogate pair", '{"a":"\\ud800"}'],
    ["the other half first", '{"a":"\\udc00\\ud800"}'],
    ["half a pair in a name", '{"\\udfff":1}'],
    ["__proto__", '{"__proto__":{"admin":true}}'],
    ["__proto__ in disguise", '{"\\u005f_proto__":1}'],
    ["__proto__ deep inside", '{"a":[{"__proto__":1}]}'],
    ["a leading zero", '{"a":01}'],
    ["a hexadecimal number", '{"a":0x1}'],
  ])("%s is refused", (_name, text) => expect(read(text)).toBe("BODY_MALFORMED"));

  test("a whole pair of surrogates and other escapes are text", () => {
    expect(parseJsonObject(Buffer.from('{"a":"\\ud83d\\udc0e \\u0001 \\\\u0000"}'))).toEqual({
      a: "🐎 \u0001 \\u0000",
    });
  });

  test("invalid UTF-8 and a byte order mark are refused", () => {
    const wrap = (...bytes: number[]): Buffer =>
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80]])
      expect(read(wrap(...bytes))).toBe("BODY_MALFORMED");
    expect(read(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from("{}")]))).toBe("BODY_MALFORMED");
    expect(read(Buffer.from('{"a":1}', "utf16le"))).toBe("BODY_MALFORMED");
  });

  test("200,000 levels are refused without a stack overflow; the limit itself is read", () => {
    const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;
    expect(read(nested(LIMITS.json_depth_max))).toBe("accepted");
    expect(read(nested(LIMITS.json_depth_max + 1))).toBe("BODY_MALFORMED");
    expect(read(nested(200_000))).toBe("BODY_MALFORMED");
    expect(read(`${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`)).toBe("BODY_MALFORMED");
    expect(read("[".repeat(200_000))).toBe("BODY_MALFORMED");
    expect(read('{"a":"' + "[".repeat(100_000) + '"}')).toBe("accepted");
  });

  test("a million members or elements are refused before they are built", () => {
    expect(read(`{${Array.from({ length: 1_000_000 }, (_, i) => `"${i}":1`).join(",")}}`)).toBe("BODY_MALFORMED");
    expect(read(`{"a":[${"1,".repeat(1_000_000)}1]}`)).toBe("BODY_MALFORMED");
  });

  test("numbers without a comma between them are refused at the second, not read to the last", () => {
    const looks = vi.spyOn(String.prototype, "slice");
    const said = [read(`{"a":${"1e-400 ".repeat(100_000)}}`), read(`{"a":${"1 ".repeat(100_000)}}`)];
    const looked = looks.mock.calls.length;
    looks.mockRestore();
    expect(said).toEqual(["BODY_MALFORMED", "BODY_MALFORMED"]);
    expect(looked).toBeLessThan(10);
    expect(read("[1]")).toBe("BODY_MALFORMED");
    expect(read('{"a":[[1],[-2,3]],"b":{"c":4}}')).toBe("accepted");
  });

  test("a number of a million digits does not stop the reader", () => {
    expect(read(`{"a":1${"0".repeat(1_000_000)}}`)).toBe("accepted");
  });
});

describe("members that take any JSON", () => {
  const anything = z.unknown().superRefine(refuseUnheld);
  test.each([
    ['{"a":{"b":[1,2.5,33.333333333333333333,9007199254740991]},"c":null}', undefined],
    ['{"a":{"b":[1,9007199254740993]}}', "a.b.1"],
    ['{"a":1e400}', "a"],
    ['{"a":[{"b":0.1e-400}]}', "a.0.b"],
  ])("%s is taken with its numbers as they are, or refused by the place of one that is not kept", (text, place) => {
    const result = anything.safeParse(parseJsonObject(Buffer.from(text)));
    expect(result.error?.issues[0]?.path.join(".")).toBe(place);
  });
});

describe("queries and path segments", () => {
  test("fields are decoded once, in UTF-8; an unknown escape, NUL, a repeat or too many are refused", () => {
    expect(parseQuery("limit=20&status=RECEIVED&pageToken=a%2Bb+c%20%C5%BE&flag&empty=")).toEqual({
      limit: "20",
      status: "RECEIVED",
      pageToken: "a+b c ž",
      flag: "",
      empty: "",
    });
    expect(parseQuery("a=%2561")).toEqual({ a: "%61" });
    for (const text of [
      "a=1&a=2",
      "a=1&%61=2",
      "a=%",
      "a=%zz",
      "a=%00",
      "a=%ff",
      "a=%c0%ae",
      "a=%0d%0a",
      "__proto__=1",
      "a=b&".repeat(65),
    ])
      expect(reasonOf(() => parseQuery(text))).toBe("REQUEST_INVALID");
  });

  test("a field that cannot be read is named, where its name can be read and told", () => {
    const namedIn = (text: string): readonly unknown[] => {
      try {
        return [parseQuery(text)];
      } catch (error) {
        return error instanceof Refusal ? error.details.map(({ field }) => field) : [error];
      }
    };
    expect(["customerRef=a&limit=%zz", "since=%c0%ae", "%zz=1", "%C5%A1=%ff", "__proto__=1"].map(namedIn)).toEqual([
      ["limit"],
      ["since"],
      [],
      ["(unnamed)"],
      ["__proto__"],
    ]);
  });

  test("an ampersand too many, at either end or between two fields, is no field that came twice", () => {
    expect(parseQuery("&limit=20&&status=RECEIVED&")).toEqual({ limit: "20", status: "RECEIVED" });
    expect(parseQuery("&")).toEqual({});
    expect(reasonOf(() => parseQuery("&".repeat(65)))).toBe("REQUEST_INVALID");
  });

  test("an encoded slash or a broken escape makes no segment", () => {
    expect(decodeSegment("0245%3A2020202020")).toBe("0245:2020202020");
    for (const segment of ["a%2fb", "%2F", "%", "%00", "%c0%ae", "a%0ab"])
      expect(decodeSegment(segment)).toBeUndefined();
    expect(decodeSegment("%252f")).toBe("%2f");
  });
});
