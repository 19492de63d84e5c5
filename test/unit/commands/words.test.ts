/** A word that a command does not take is refused before anything is done: `retention dry-run` is no `--dry-run`. */
import { expect, test } from "vitest";

import { UsageError } from "../../../gateway/commands/command.js";
import { everyCommand } from "./every-command.js";
import { kurier } from "./kurier.js";

const NONE: readonly string[] = [];
const ID = "018f6a3e-0000-7000-8000-00000000aaaa";
const PARTICIPANT = "0245:2020202020";

/** As many words as each command takes; of those that are not here none is refused, they name any number of files. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  serve: NONE,
  migrate: ["status"],
  demo: NONE,
  "rules import": ["release.zip"],
  "rules list": NONE,
  "rules activate": ["pack"],
  "rules deactivate": ["pack"],
  "rules pages": NONE,
  "firms create": NONE,
  "firms set": NONE,
  "firms erase": NONE,
  "integrators create": NONE,
  "keys create": NONE,
  "keys list": NONE,
  integrators: NONE,
  "integrators list": NONE,
  "integrators assign": [ID],
  "integrators approve": [ID],
  "integrators withdraw": [ID],
  "keys rotate-master": NONE,
  "keys list-signing": NONE,
  "keys retire-signing": ["kid"],
  "owner invite": NONE,
  "owner remove": NONE,
  "people list": NONE,
  "oauth-clients create": NONE,
  "oauth-clients list": NONE,
  "onboarding list": NONE,
  "onboarding approve": [ID],
  "onboarding refuse": [ID],
  "onboarding return": [ID],
  "onboarding resume": [ID],
  "onboarding revoke": [ID],
  "onboarding billing": NONE,
  "participants register": [PARTICIPANT],
  "participants unregister": [PARTICIPANT],
  "participants prepare-migration": [PARTICIPANT],
  "participants migrate": [PARTICIPANT],
  "participants check": [PARTICIPANT],
  "participants settle": [PARTICIPANT],
  "participants list": NONE,
  "meter rebuild": NONE,
  "meter show": [ID],
  "plan set": [ID, "start"],
  "white-label list": NONE,
  "white-label release": [ID],
  "white-label vouch": [ID],
  "white-label end-customer": [ID],
  "pki init": NONE,
  "pki show": NONE,
  top: NONE,
  doctor: NONE,
  probe: ["http://127.0.0.1:1"],
  reconcile: NONE,
  env: NONE,
  "evidence verify": NONE,
  retention: NONE,
  openapi: ["sapi"],
  bench: ["send"],
  "bench table": NONE,
  "bench compare": ["a", "b"],
  "bench plot": ["page.html"],
};
const ANY_NUMBER = ["rules verify", "validate"];

const commands = everyCommand();

test("every command is in the table of the words that commands take", () => {
  expect(
    commands()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([...Object.keys(TAKEN), ...ANY_NUMBER].toSorted());
});

test.each(Object.entries(TAKEN))("a word more than %s takes is refused by its name: after %j", async (name, taken) => {
  const refused = commands()
    .find((command) => command.name === name)
    ?.run([...taken, "surplus"]);
  await expect(refused).rejects.toThrow(UsageError);
  await expect(refused).rejects.toThrow(/^surplus is a word too many: this command takes [^\n]+\.$/);
});

test("a flag without its dashes ends retention with exit code 2, and is named as the option that it was to be", async () => {
  expect(await kurier(["retention", "dry-run"])).toEqual({
    code: 2,
    out: "",
    err: "dry-run is a word too many: this command takes no words, only options; the option is --dry-run.\n",
  });
});
