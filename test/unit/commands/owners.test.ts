/** No option is passed over beside another: what a list or a key is about is what was asked for, or nothing is done. */
import { expect, test } from "vitest";

import { UsageError } from "../../../gateway/commands/command.js";
import { everyCommand } from "./every-command.js";

const FIRM = "018f6a3e-0000-7000-8000-00000000aaaa";
const INTEGRATOR = "018f6a3e-0000-7000-8000-00000000bbbb";
const NEITHER = /^--firm ID or --integrator ID is needed, and not both\.$/;

/** Every command that lists, and its options: what narrows the list holds beside the others, or only one is taken. */
const LISTS: Readonly<Record<string, { readonly together?: readonly string[]; readonly oneOf?: readonly string[] }>> = {
  "rules list": {},
  "keys list": { oneOf: ["--firm", "--integrator"] },
  integrators: { together: ["--after"] },
  "integrators list": { together: ["--after"] },
  "people list": { oneOf: ["--firm", "--integrator"] },
  "oauth-clients list": {},
  "onboarding list": { together: ["--status"] },
  "participants list": { together: ["--state", "--after"] },
  "white-label list": { together: ["--status"] },
};

const commands = everyCommand();

/** What is said of wrong words; a command that took them ends with another error. */
const saidOf = async (name: string, args: readonly string[]): Promise<string> => {
  const ran = commands()
    .find((command) => command.name === name)
    ?.run(args);
  await expect(ran, `${name} ${args.join(" ")}`).rejects.toThrow(UsageError);
  return (await ran?.then(() => "", String))?.replace("UsageError: ", "") ?? "";
};

test("every command that lists is in the table, with the options that its help names", () => {
  const listing = commands().filter(({ name }) => name === "integrators" || name.endsWith(" list"));
  expect(
    Object.fromEntries(
      listing.map(({ name, usage }) => [name, [...new Set(usage.join(" ").match(/--[a-z][a-z-]*/g) ?? [])].sort()]),
    ),
  ).toEqual(
    Object.fromEntries(
      Object.entries(LISTS).map(([name, { together = [], oneOf = [] }]) => [name, [...together, ...oneOf].sort()]),
    ),
  );
});

test.each(Object.entries(LISTS).flatMap(([name, { oneOf }]) => (oneOf === undefined ? [] : [[name, oneOf] as const])))(
  "%s takes one of its options, refuses two of them, and refuses none",
  async (name, oneOf) => {
    expect(
      await saidOf(
        name,
        oneOf.flatMap((option) => [option, FIRM]),
      ),
    ).toMatch(NEITHER);
    expect(await saidOf(name, [])).toMatch(NEITHER);
  },
);

const EMAIL = ["--email", "name@example.com"];
test.each([
  ["keys create", []],
  ["keys list", []],
  ["people list", []],
  ["owner invite", EMAIL],
  ["owner remove", EMAIL],
] as const)("a mistyped firm or integrator beside a good one is refused, and not left out: %s", async (name, more) => {
  expect(await saidOf(name, ["--firm", "nonsense", "--integrator", INTEGRATOR, ...more])).toBe(
    "--firm must be the id of a firm.",
  );
  expect(await saidOf(name, ["--firm", FIRM, "--integrator", "nonsense", ...more])).toBe(
    "--integrator must be the id of an integrator.",
  );
});

test.each([
  ["owner invite", ["--firm", FIRM, "--integrator", INTEGRATOR, ...EMAIL], NEITHER],
  ["owner remove", ["--firm", FIRM, "--integrator", INTEGRATOR, ...EMAIL], NEITHER],
  ["participants migrate", ["0245:2020202020", "--key", "aA1!bB2!", "--key-file", "key.txt"], /--key-file.*not both/],
  ["participants migrate", ["0245:2020202020", "--provider", "--key", "aA1!bB2!"], /^Name one participant/],
] as const)("two options of which one would be passed over are refused: %s %j", async (name, args, sentence) => {
  expect(await saidOf(name, args)).toMatch(sentence);
});
