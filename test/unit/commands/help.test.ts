/** What the program says of itself: its commands, one of them, and its release. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT } from "../../support/sources.js";
import { kurier } from "./kurier.js";

test("kurier --version prints the release of the package, and nothing else", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
  expect(await kurier(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
});

test.each([
  ["all commands", []],
  ["one command", ["retention"]],
  ["one command, wherever among its words it is asked for", ["participants", "register", "0245:2020202020"]],
])("-h is --help, for %s", async (_, words) => {
  const [short, long] = [await kurier([...words, "-h"]), await kurier([...words, "--help"])];
  expect(short).toEqual(long);
  expect([short.code, short.err]).toEqual([0, ""]);
  expect(short.out).toContain("kurier ");
});

test("a command that is none is named behind the help, with exit code 2", async () => {
  const { code, out, err } = await kurier(["-v"]);
  expect([code, err]).toEqual([2, "\nThere is no command -v.\n"]);
  expect(out).toContain("Usage: kurier COMMAND");
});

test.each([
  ["valdate x.xml", "There is no command valdate. Did you mean validate?"],
  ["frobnicate", "There is no command frobnicate."],
])("what is no command is named behind all of them, with the one that was probably meant: %s", async (line, said) => {
  const { code, err } = await kurier(line.split(" "));
  expect([code, err]).toEqual([2, `\n${said}\n`]);
});

test.each([
  ["rules imprt", "There is no command rules imprt. Did you mean import?"],
  ["firms frobnicate", "There is no command firms frobnicate."],
  ["firms", "There is no command firms alone: those above begin with it."],
])("commands with one first word are listed alone where the second is wrong: %s", async (line, said) => {
  const { code, out, err } = await kurier(line.split(" "));
  expect([code, err]).toEqual([2, `\n${said}\n`]);
  const [word = ""] = line.split(" ");
  const listed = out.split("\n").filter((text) => text.startsWith("  "));
  expect(listed.length).toBeGreaterThan(1);
  for (const text of listed) expect(text).toMatch(new RegExp(`^  ${word} `, "u"));
});

test("help is asked for of a command, and of those with one first word, also by the word help", async () => {
  expect(await kurier(["help", "validate"])).toEqual(await kurier(["validate", "--help"]));
  const group = await kurier(["firms", "--help"]);
  expect([group.code, group.err]).toEqual([0, ""]);
  expect(group.out).toMatch(/ {2}firms create .*\n/u);
  expect(group.out).not.toContain("  serve");
  expect(await kurier(["help", "firms"])).toEqual(group);
});
