/**
 * Where marked secrets and the words of documents stand once an engine has worked with them: in a dump of the database,
 * in the files and the memory of its Postgres and its nats-server, in its own log and files, and in a core dump of it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { openSql } from "../../../engine/storage/sql.js";
import { CONFIGURED, filesSaying, secretsIn, WORDS } from "../../support/truth/canaries.js";
import { tellCanaryStory } from "../../support/truth/canary-story.js";
import { isInstalled, POSTGRES_15, startPostgresServer } from "../../support/database/postgres-server.js";
import { descendantsOf, memoryOf, programOf } from "../../support/process-memory.js";
import { startEngineProcess } from "../../support/engines/process.js";
import { startReceiver } from "../../support/webhooks/receiver.js";
import { keepFigures } from "../figures.js";

const undo: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const settings = { synchronous_commit: "off", max_connections: "100", shared_buffers: "32MB" };

/** The names of the secrets in the memory of some processes. */
function inMemory(pids: readonly number[], secrets: Readonly<Record<string, string>>): string[] {
  const read = new Set<string>();
  const found = new Set<string>();
  for (const pid of pids)
    for (const piece of memoryOf(pid, read)) for (const name of secretsIn(secrets, piece)) found.add(name);
  return [...found].sort();
}

test.skipIf(!isInstalled(POSTGRES_15))(
  "neither a dump, nor files, nor the memory of Postgres and of nats-server hold a secret, and of documents a number that is asked for at the most",
  async () => {
    await buildIfNeeded();
    const folder = mkdtempSync(join(tmpdir(), "kurier-canaries-"));
    undo.push(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const database = await startPostgresServer(POSTGRES_15, settings);
    undo.push(() => database.stop());
    const dataDir = join(folder, "data");
    const engine = await startEngineProcess({
      dataDir,
      env: {
        PATH: `${process.env["PATH"] ?? ""}:/usr/sbin`,
        DATABASE_URL: database.url,
        LOG_LEVEL: "debug",
        VALIDATOR_THREADS: "1",
        MASTER_KEY: Buffer.from(CONFIGURED["master key"]).toString("base64"),
        ADMIN_TOKEN: CONFIGURED["admin token"],
        AS4_KEYSTORE_PASSWORD: CONFIGURED["keystore password"],
        PFS_WEBHOOK_SECRET: CONFIGURED["secret of the tax authority"],
      },
    });
    undo.push(() => engine.stop());
    const hook = await startReceiver();
    undo.push(() => hook.close());
    const { secrets } = await tellCanaryStory(engine.sandbox, hook);
    const marked: Readonly<Record<string, string>> = { ...WORDS, ...CONFIGURED, ...secrets };
    const sql = openSql({ url: database.url, name: "canaries", connections: 1 });
    undo.push(() => sql.end({ timeout: 1 }));
    await sql`analyze`;
    await sql`checkpoint`;
    const [{ directory = "" } = {}] = await sql<{ directory: string }[]>`
      select current_setting('data_directory') as directory`;
    const dump = execFileSync(join(POSTGRES_15, "pg_dump"), [database.url], { maxBuffer: 1 << 30 });
    expect(dump.includes("COPY public.document ")).toBe(true);
    const brokers = descendantsOf(engine.pid).filter((pid) => programOf(pid).startsWith("nats-server"));
    expect(brokers).toHaveLength(1);
    const core = join(folder, "core");
    execFileSync("gcore", ["-o", core, String(engine.pid)], { stdio: "ignore" });
    const backends = await sql<{ pid: number }[]>`select pid from pg_stat_activity where pid <> pg_backend_pid()`;
    const log = engine
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .join("\n");
    const places: Readonly<Record<string, readonly string[]>> = {
      // Beside the log a sandbox says on its standard output how to call it.
      "log at level debug": secretsIn(marked, log),
      "files of DATA_DIR but sandbox.json": filesSaying(dataDir, marked, /^sandbox\.json$/),
      pg_dump: secretsIn(marked, dump),
      "files of Postgres with its log of writes": filesSaying(directory, marked, /^postmaster\./),
      "memory of Postgres": inMemory(
        backends.map(({ pid }) => pid),
        marked,
      ),
      "memory of nats-server": inMemory(brokers, marked),
    };
    const inCore = existsSync(`${core}.${engine.pid}`) ? secretsIn(marked, readFileSync(`${core}.${engine.pid}`)) : [];
    keepFigures("canaries", {
      title: "Secrets and texts, where they stand",
      command: "npm run -s test:faults -- canaries",
      remark: `${Object.keys(marked).length} marked secrets and words of documents: an engine logs in, sends, receives, answers, tells and refuses; then they are searched for as text, in hex and in base64. A number in the memory of Postgres is a question's: who answers an invoice names it, and invoices of before numbers were sealed are looked for by it; nothing keeps it. An engine works with all of them, so that a core dump of it has them: its memory is as secret as its master key, and the systemd unit and the compose file allow no cores.`,
      columns: ["Place", "Found"],
      rows: [
        ...Object.entries(places).map(([place, found]) => [place, found.length === 0 ? "none" : found.join(", ")]),
        ["core dump of the engine", inCore.length === 0 ? "none" : inCore.join(", ")],
      ],
    });
    expect(places).toEqual({
      ...Object.fromEntries(Object.keys(places).map((place) => [place, []])),
      // Who answers an invoice names its number, by which documents from before numbers were sealed are looked for.
      "memory of Postgres": ["number"],
    });
    // What stands in the one place where it must is found, so that the search is no empty one.
    expect(inCore).toContain("master key");
  },
);
