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
