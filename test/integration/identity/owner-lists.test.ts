/** Keys and people as operators ask for them: an owner with nobody is told apart from one who is not there. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { bind } from "../../support/callers/identity.js";
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

/** Ids of a firm, and of an integrator that it has consented to. */
async function boundPair(): Promise<{ readonly firm: string; readonly integrator: string }> {
  const record = async (...args: readonly string[]) =>
    JSON.parse((await run(...args)).out) as Readonly<Record<string, string>>;
  const firm = (await record("firms", "create", "--name", "Bound", "--participant", "0245:2020202021"))["firmId"] ?? "";
  const integrator = (await record("integrators", "create", "--name", "Partner"))["integratorId"] ?? "";
  await bind(db, systemClock, integrator as IntegratorId, firm as FirmId);
  return { firm, integrator };
}

test("a key of an integrator for one firm has by default every scope but keys:manage, which kurier keys create refuses it", async () => {
  const { firm, integrator } = await boundPair();
  const create = (...more: readonly string[]) =>
    run("keys", "create", "--integrator", integrator, "--firm", firm, ...more);
  const made = await create();
  expect(made).toMatchObject({ code: 0, err: "" });
  // spec/enterprise.md, Key management rules, 2: firm-scoped keys cannot hold keys:manage.
  expect(JSON.parse(made.out)).toMatchObject({ scopes: SCOPES.filter((scope) => scope !== "keys:manage") });
  expect(await create("--scopes", "documents:read keys:manage")).toEqual({
    code: 2,
    out: "",
    err: "keys:manage is for a key of an integrator that no firm restricts.\n",
  });
});
