/** Goal: a name is read the same whether its spelling was met before, was forgotten, or is too long to be kept. */
import { describe, expect, test } from "vitest";
import { spelled, spelling } from "../../../../validators/xml/tree/spellings.js";

describe("spellings of names", () => {
  test("a name is one object for each spelling, with what is before its colon and behind it", () => {
    const made = spelling(["eb", "Messaging"].join(":"));
    expect(made).toEqual({ name: "eb:Messaging", prefix: "eb", local: "Messaging" });
    expect(spelling("eb:Messaging")).toBe(made);
    expect(spelling("Messaging")).toEqual({ name: "Messaging", prefix: "", local: "Messaging" });
  });

  test.each(["0", "__proto__", "constructor", "1e3", "", "účet", "😀"])("the text %j stays what it is", (text) => {
    expect(spelled(text)).toBe(text);
    expect(spelling(`x:${text}`)).toEqual({ name: `x:${text}`, prefix: "x", local: text });
  });

  test("thousands of names of strangers are read right, and so is what was read before them", () => {
    const before = spelling("wsse:Security");
    for (let i = 0; i < 5_000; i += 1)
      expect(spelling(`p${i}:n${i}`)).toEqual({ name: `p${i}:n${i}`, prefix: `p${i}`, local: `n${i}` });
    expect(spelling("wsse:Security")).toEqual(before);
  });

  test("a name of thousands of characters is read, and not kept", () => {
    const long = "n".repeat(5_000);
    const made = spelling(`p:${long}`);
    expect(made).toEqual({ name: `p:${long}`, prefix: "p", local: long });
    expect(spelling(`p:${long}`)).not.toBe(made);
  });
});
