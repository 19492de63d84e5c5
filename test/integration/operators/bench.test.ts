/** Every benchmark runs in its tiny form, so that none rots; nothing is measured here. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

import { BENCHES } from "../../../bench/benches.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { openSql } from "../../../engine/storage/sql.js";
import { sharedParts } from "../../support/database/postgres.js";
import { PROJECT } from "../../support/engines/process.js";

const run = promisify(execFile);

beforeAll(async () => {
  await buildIfNeeded();
});

/** Runs `kurier bench` in its tiny form. @returns what it wrote */
const tiny = async (name: string, ...more: readonly string[]): Promise<string> => {
  const words = [join(PROJECT, "gateway/kurier.mjs"), "bench", name, "--tiny", ...more];
  const { stdout } = await run(process.execPath, words, {
    cwd: PROJECT,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: process.env["HOME"] ?? "",
      TMPDIR: process.env["TMPDIR"] ?? "",
      KURIER_CONFORMANCE: process.env["KURIER_CONFORMANCE"] ?? "",
    },
    timeout: 240_000,
  });
  return stdout;
};

test.each(BENCHES.map((bench) => bench.name))("kurier bench %s --tiny works and checks its own work", async (name) => {
  expect(await tiny(name)).toContain("÷");
});

test("kurier bench end-to-end --postgres runs on a database of that server and leaves none behind, and no other takes it", async () => {
  const { url } = await sharedParts();
  const sql = openSql({ url, name: "test-bench", connections: 1 });
  try {
    expect(await tiny("end-to-end", "--postgres", url)).toContain("÷");
    expect(await sql`select datname from pg_database where datname like 'kurier_bench_%'`).toEqual([]);
  } finally {
    await sql.end({ timeout: 1 });
  }
  await expect(tiny("rows", "--postgres", url)).rejects.toThrow("rows runs on the embedded PostgreSQL only.");
  await expect(tiny("end-to-end", "--postgres", "localhost")).rejects.toThrow("--postgres is a postgres:// URL.");
});
