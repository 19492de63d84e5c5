import { describe, expect, test } from "vitest";

import { parseArguments, UsageError } from "../../../gateway/commands/command.js";

const KNOWN = { options: ["name", "mandatory-from"], flags: ["force"], words: 3 };
const read = (...args: string[]) => {
  const { values, options } = parseArguments(args, KNOWN);
  return { values, options: Object.fromEntries(options) };
};
const complaintAbout = (...args: string[]): string => {
  try {
    parseArguments(args, KNOWN);
    return "";
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
};

describe("the words of a command", () => {
  test("the words of a command are values, options with a value and flags, in any order", () => {
    expect(read("a", "--name", "A firm", "--force", "-", "--mandatory-from=2027-01-01", "b")).toEqual({
      values: ["a", "-", "b"],
      options: { name: "A firm", force: "true", "mandatory-from": "2027-01-01" },
    });
    expect(read()).toEqual({ values: [], options: {} });
  });
  test("the words of a command are plain values after two dashes, and an option's value may begin with a dash behind an equals sign", () => {
    expect(read("--", "--name", "x")).toEqual({ values: ["--name", "x"], options: {} });
    expect(read("--name=-1")).toEqual({ values: [], options: { name: "-1" } });
  });
  test.each([
    [["--nmae", "x"], "--nmae"],
    [["-x"], "-x"],
    [["--name"], "--name"],
    [["--name", "--force"], "--name"],
    [["--force=yes"], "--force"],
    [["a", "b", "c", "d"], "d"],
    [["a", "b", "c", "force"], "force"],
  ])("words of a command that make no sense are named in one sentence of ours: %j", (args, named) => {
    expect(complaintAbout(...args)).toMatch(new RegExp(`^${named} [^\\n]+\\.$`));
    expect(complaintAbout(...args)).not.toMatch(/parseArgs|positional|TypeError/);
  });
});
