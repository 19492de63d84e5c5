/** Lists of keys and people, as operators ask for them: an owner with nobody is told apart from one who is not there. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { kurier } from "../../unit/commands/kurier.js";

let db: TestDatabase;
let dataDir: string;
const run = (...args: readonly string[]) =>
  kurier(args, { env: { DATABASE_URL: db.url, DATA_DIR: dataDir, ENVIRONMENT: "sandbox", NATS_URL: "embedded" } });

beforeAll(async () => {
  db = await freshDatabase();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-lists-"));
});
afterAll(async () => {
  await db.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

test("keys and people are listed of a firm and an integrator that are there, and an empty list is no mistake", async () => {
  const made = [
    await run("firms", "create", "--name", "Firm", "--participant", "0245:2020202020"),
    await run("integrators", "create", "--name", "Integrator"),
  ];
  for (const [index, owner] of ["firm", "integrator"].entries()) {
    const record = JSON.parse(made[index]?.out ?? "") as Readonly<Record<string, string>>;
    const id = record[`${owner}Id`] ?? "";
    expect(await run("keys", "list", `--${owner}`, id)).toMatchObject({
      code: 0,
      out: expect.stringContaining(record["clientId"] ?? "none") as string,
    });
    expect(await run("people", "list", `--${owner}`, id)).toEqual({ code: 0, out: "", err: "" });
  }
});

test.each([
  ["keys", "firm"],
  ["keys", "integrator"],
  ["people", "firm"],
  ["people", "integrator"],
])("kurier %s list ends with 2 and one sentence where there is no such %s", async (list, owner) => {
  expect(await run(list, "list", `--${owner}`, randomUUID())).toEqual({
    code: 2,
    out: "",
    err: `No ${list} are listed: owner unknown.\n`,
  });
});
