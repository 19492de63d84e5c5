/** Commands on a data directory in which nobody has begun anything: a name that was mistyped, mostly. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { kurier } from "./kurier.js";

const folder = mkdtempSync(join(tmpdir(), "kurier-nothing-"));
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  "reconcile",
  "keys list --firm 01a20ddf-ec65-7a11-bae1-67aea79b1139",
  "keys create --firm 01a20ddf-ec65-7a11-bae1-67aea79b1139",
  "firms set --firm 01a20ddf-ec65-7a11-bae1-67aea79b1139 --name Acme",
  "people list --firm 01a20ddf-ec65-7a11-bae1-67aea79b1139",
  "owner invite --firm 01a20ddf-ec65-7a11-bae1-67aea79b1139 --email a@example.com",
  "integrators list",
  "oauth-clients list",
  "onboarding list",
  "participants list",
  "white-label list",
  "migrate status",
  "meter rebuild",
  "meter show 01a20ddf-ec65-7a11-bae1-67aea79b1139",
  "keys rotate-master",
  "keys list-signing",
  "keys retire-signing --all --reason stolen",
  "evidence verify",
  "retention --dry-run",
  "firms erase --firm 01a20ddf-ec65-7a11-bae1-67aea79b1139 --yes",
])("kurier %s says that there is no database where none was ever made, and makes none", async (words) => {
  const dataDir = join(folder, "data");
  const { code, out, err } = await kurier(words.split(" "), { env: { DATA_DIR: dataDir, NATS_URL: "embedded" } });
  expect([code, out, err]).toEqual([
    78,
    "",
    `There is no database in ${dataDir}: set DATABASE_URL, or DATA_DIR, to what the engine has.\n`,
  ]);
  expect(() => readdirSync(dataDir)).toThrow("ENOENT");
});

test("kurier bench plot writes one page, and nothing for a second name", async () => {
  const { code, err } = await kurier(["bench", "plot", join(folder, "a"), "b"]);
  expect([code, err]).toEqual([2, "b is a word too many: this command takes one word.\n"]);
});
