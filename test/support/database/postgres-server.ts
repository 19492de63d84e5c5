/** A PostgreSQL server of another installation, such as Debian's, in a folder of the test's. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { asUser, choosePrivileges, giveTo } from "../../../engine/embedded/binaries.js";
import { openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../eventually.js";

/** Where Debian installs PostgreSQL 15, unless KURIER_TEST_POSTGRES_15 names another folder of its programs. */
export const POSTGRES_15 = process.env["KURIER_TEST_POSTGRES_15"] ?? "/usr/lib/postgresql/15/bin";

/** Whether a folder has the programs that this needs. */
export const isInstalled = (programs: string): boolean =>
  ["initdb", "postgres"].every((name) => existsSync(join(programs, name)));

export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a server on a new cluster and waits until it answers. */
export async function startPostgresServer(
  programs: string,
  settings: Readonly<Record<string, string>>,
): Promise<PostgresServer & { readonly pid: number }> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-pg-"));
  const data = join(folder, "data");
  const privileges = choosePrivileges(data);
  mkdirSync(data, { mode: 0o700 });
  giveTo(privileges, folder);
  const env = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
  const initdb = asUser(privileges, join(programs, "initdb"), [
    ...["-D", data, "-U", "kurier", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"],
  ]);
  const made = spawnSync(initdb.file, [...initdb.args], { ...initdb, env, cwd: folder, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const options = { listen_addresses: "", unix_socket_directories: folder, fsync: "off", port: "5432", ...settings };
  const command = asUser(privileges, join(programs, "postgres"), [
    "-D",
    data,
    ...Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ]);
  const server = spawn(command.file, [...command.args], { ...command, env, cwd: folder, stdio: "ignore" });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const url = `postgres://kurier@localhost/postgres?host=${encodeURIComponent(folder)}`;
  await eventually("the server answers", async () => {
    if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`);
    const sql = openSql({ url, name: "test-start", connections: 1 });
    try {
      return (await sql`select 1`).length === 1;
    } catch {
      return false;
    } finally {
      await sql.end({ timeout: 1 });
    }
  });
  return {
    url,
    pid: server.pid ?? 0,
    stop: async () => {
      server.kill("SIGINT");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
