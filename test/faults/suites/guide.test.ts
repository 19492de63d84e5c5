/**
 * The guide of backup and restore, run as it stands: its commands copy a database and its archive under load, destroy it
 * with the evidence that was copied, and bring both back to a moment, on which an engine goes on.
 */
import { execFile } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { asUser, choosePrivileges, giveTo } from "../../../engine/embedded/binaries.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { accessToken, invoiceXml, send, sendParts } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { preparePostgresHost, sharedFolder } from "../../support/database/postgres-host.js";
import { isInstalled, POSTGRES_15 } from "../../support/database/postgres-server.js";
import { PROJECT, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

const PAGE = join(PROJECT, "docs/operators/backup.md");

const undo: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** The commands below a heading of the page, with what it says comes out. */
function section(heading: string): { readonly script: string; readonly expected: string } {
  const text =
    readFileSync(PAGE, "utf8")
      .split(/^## /m)
      .find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const block = (language: string): string =>
    new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(text)?.[1] ?? "";
  return { script: block("sh"), expected: block("text").trim() };
}

interface Shell {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether the commands are those of the user who runs Postgres. */
  readonly asPostgres?: boolean;
}

/** Runs the commands below a heading in one shell. @returns what they printed */
async function follow(heading: string, { folder, env, asPostgres = false }: Shell): Promise<string> {
  const { script } = section(heading);
  expect(script, heading).not.toBe("");
  const command = asPostgres
    ? asUser(choosePrivileges(join(folder, "nowhere")), "bash", ["-euo", "pipefail", "-c", script])
    : { file: "bash", args: ["-euo", "pipefail", "-c", script] };
  const { stdout } = await promisify(execFile)(command.file, [...command.args], { ...command, cwd: folder, env });
  return stdout.trim();
}

async function sendSome(engine: EngineProcess, count: number): Promise<void> {
  const { sender, receiver } = engine.sandbox;
  const mailbox = { participantId: sender.participantId, token: await accessToken(engine.sandbox, sender) };
  for (let n = 0; n < count; n += 1) {
    const xml = invoiceXml(sender.participantId, receiver.participantId);
    const answer = await send(engine.sandbox, mailbox, sendParts(sender.participantId, receiver.participantId, xml));
    expect(answer.status, answer.text).toBe(202);
  }
}

const filesOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

const countOf = async (sql: Sql, table: "document" | "received_document"): Promise<number> =>
  (await sql`select id from ${sql(table)}`).length;
const allDelivered = (sql: Sql): Promise<unknown> =>
  eventually("every document is delivered", async () => {
    const rows = await sql<{ status: string }[]>`select status from document`;
    return rows.length > 0 && rows.every(({ status }) => status === "delivered");
  });

test.skipIf(!isInstalled(POSTGRES_15))(
  "the commands of the guide copy a database, bring it back to a moment, and an engine goes on from there",
  async () => {
    await buildIfNeeded();
    const folder = mkdtempSync(join(tmpdir(), "kurier-guide-"));
    undo.push(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const backups = sharedFolder(join(folder, "backups"));
    sharedFolder(join(backups, "wal"));
    giveTo(choosePrivileges(join(folder, "nowhere")), folder);
    const host = await preparePostgresHost(POSTGRES_15, sharedFolder(join(folder, "server")), true);
    const [, configured = ""] = /^```ini\n([^]*?)^```$/m.exec(readFileSync(PAGE, "utf8")) ?? [];
    appendFileSync(
      join(host.data, "postgresql.conf"),
      `${configured.replaceAll("/backups/", `${backups}/`)}\nport = ${host.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n`,
    );
    await host.start({});
    undo.push(() => host.stop());
    const dataDir = join(folder, "data");
    const shim = join(folder, "bin");
    mkdirSync(shim);
    writeFileSync(
      join(shim, "kurier"),
      `#!/bin/sh\nexec "${process.execPath}" "${PROJECT}/gateway/kurier.mjs" "$@"\n`,
      {
        mode: 0o755,
      },
    );
    const shell: Shell = {
      folder,
      env: {
        PATH: `${shim}:${POSTGRES_15}:${process.env["PATH"] ?? ""}`,
        ...{ ENVIRONMENT: "sandbox", DATABASE_URL: host.url, DATA_DIR: dataDir, NATS_URL: "embedded", LC_ALL: "C" },
        ...{ BACKUPS: backups, PGDATA: join(folder, "server", "again"), EVIDENCE: join(dataDir, "evidence") },
      },
    };
    const start = async (): Promise<EngineProcess> => {
      const engine = await startEngineProcess({ dataDir, env: { DATABASE_URL: host.url, NATS_URL: "embedded" } });
      undo.push(() => engine.stop());
      return engine;
    };
    const open = (): Sql => openSql({ url: host.url, name: "guide", connections: 1 });

    const engine = await start();
    const sql = open();
    for (const night of [1, 2]) {
      await sendSome(engine, night);
      await follow("The copy", shell);
      expect(readdirSync(backups).toSorted(), `night ${night}`).toEqual(["base", "evidence", "wal"]);
    }
    await sendSome(engine, 3);
    await allDelivered(sql);
    const [{ moment = "" } = {}] = await sql<{ moment: string }[]>`select clock_timestamp()::text as moment`;
    await sendSome(engine, 3);
    await allDelivered(sql);
    expect(await countOf(sql, "document")).toBe(9);
    const [{ log = "" } = {}] = await sql<{ log: string }[]>`select pg_walfile_name(pg_switch_wal()) as log`;
    await eventually("the log is archived", () => existsSync(join(backups, "wal", log)));
    await sql.end({ timeout: 1 });
    await engine.stop();
    await host.kill();
    rmSync(host.data, { recursive: true, force: true });
    const kept = filesOf(join(backups, "evidence"));
    expect(kept).not.toEqual([]);
    for (const name of kept) rmSync(join(shell.env["EVIDENCE"] ?? "", name));

    giveTo(choosePrivileges(join(folder, "nowhere")), join(backups, "base"));
    const back: Shell = { ...shell, env: { ...shell.env, MOMENT: moment } };
    expect(await follow("Back to a moment", { ...back, asPostgres: true })).toBe(section("Back to a moment").expected);
    undo.push(() => {
      const [pid = ""] = readFileSync(join(folder, "server", "again", "postmaster.pid"), "utf8").split("\n");
      process.kill(Number(pid), "SIGINT");
    });
    await follow("The evidence", back);
    const restored = await start();
    expect(await follow("The engines again", back)).toMatch(/^0\ndispatch: \d+ due$/);
    const after = open();
    await allDelivered(after);
    expect(await countOf(after, "document")).toBe(6);
    expect(await countOf(after, "received_document")).toBe(6);
    const [later = "0", verified = ""] = (await follow("Asking for what came later", back)).split("\n");
    expect(Number(later)).toBeGreaterThan(0);
    expect(verified).not.toBe("");
    await sendSome(restored, 1);
    await after.end({ timeout: 1 });
  },
);
