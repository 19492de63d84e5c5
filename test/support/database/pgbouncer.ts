/** PgBouncer in transaction mode before a database, where it is installed. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { connectionTarget, openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../eventually.js";
import { freePort } from "../engines/process.js";

/** Where Debian installs it. */
const PROGRAMS = ["pgbouncer", "/usr/sbin/pgbouncer"];

/** The program, or undefined where it is missing. */
export const findPgBouncer = (): string | undefined =>
  PROGRAMS.find((file) => spawnSync(file, ["--version"], { stdio: "ignore" }).status === 0);

export interface Pooler {
  /** Of the same database, through the pooler. */
  readonly url: string;
  stop(): Promise<void>;
}

/** @param settings  of the section [pgbouncer], beside those that every test needs */
export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  settings: Readonly<Record<string, string>>,
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-pgbouncer-"));
  const { url, path } = connectionTarget(databaseUrl);
  const { username, pathname, port: databasePort, hostname } = new URL(url);
  const name = pathname.slice(1);
  const host = path === undefined ? hostname : path.slice(0, path.lastIndexOf("/"));
  const port = await freePort();
  const isRoot = process.geteuid?.() === 0;
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: String(port),
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: "transaction",
    max_client_conn: "300",
    default_pool_size: "12",
    ...(isRoot ? { user: "nobody" } : {}),
    ...settings,
  };
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    [
      "[databases]",
      `${name} = host=${host} port=${databasePort === "" ? "5432" : databasePort} dbname=${name} user=${username}`,
      "[pgbouncer]",
      ...Object.entries(all).map(([key, value]) => `${key} = ${value}`),
      "",
    ].join("\n"),
  );
  for (const shown of [folder, file]) chmodSync(shown, shown === folder ? 0o755 : 0o644);
  const child = spawn(program, ["-q", file], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const own = `postgres://${username}@127.0.0.1:${port}/${name}`;
  await eventually("PgBouncer answers", async () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended with ${child.exitCode}: ${said}`);
    const sql = openSql({ url: `${own}?prepare=false`, name: "test-start", connections: 1 });
    try {
      return (await sql`select 1`).length === 1;
    } catch (error) {
      if (error instanceof Error && error.message.includes("startup parameter")) return true;
      return false;
    } finally {
      await sql.end({ timeout: 1 });
    }
  });
  return {
    url: own,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
