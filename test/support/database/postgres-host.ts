/**
 * Servers of another installation's PostgreSQL that can be copied, followed, killed and restored: primaries, standbys and
 * what comes out of a backup. They listen on loopback and commit durably.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";

import { asUser, choosePrivileges, giveTo } from "../../../engine/embedded/binaries.js";
import type { Privileges } from "../../../engine/embedded/binaries.js";
import { openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../eventually.js";
import { freePort } from "../engines/process.js";

export type Settings = Readonly<Record<string, string>>;

const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

/** Who may do it, and in whose folders. */
interface Place {
  readonly programs: string;
  readonly folder: string;
  readonly privileges: Privileges;
}

export interface PostgresHost {
  readonly port: number;
  readonly url: string;
  readonly data: string;
  /** Starts the server on its data and waits until it answers. */
  start(settings: Settings): Promise<void>;
  /** SIGKILL to the server; its sessions end when they notice. */
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Takes a copy of a running server as this one's data. @param follow  as its standby of that name. Default none. */
  copyFrom(source: Pick<PostgresHost, "url">, follow?: string): Promise<void>;
}

/** Runs one of the programs to its end; what runs beside it in this process goes on. */
async function run({ programs, folder, privileges }: Place, program: string, args: readonly string[]): Promise<void> {
  const command = asUser(privileges, join(programs, program), args);
  const child = spawn(command.file, [...command.args], { ...command, env: ENV, cwd: folder });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  if (code !== 0) throw new Error(`${program} failed: ${said}`);
}

/**
 * A place for a server below a folder; nothing runs yet.
 * @param fresh  whether it begins with data of its own, or with those of `copyFrom`
 */
export async function preparePostgresHost(programs: string, folder: string, fresh: boolean): Promise<PostgresHost> {
  const data = join(folder, "data");
  mkdirSync(folder, { recursive: true });
  const privileges = choosePrivileges(data);
  mkdirSync(data, { mode: 0o700 });
  giveTo(privileges, folder);
  const place: Place = { programs, folder, privileges };
  const port = await freePort();
  const url = `postgres://kurier@127.0.0.1:${port}/postgres`;
  if (fresh)
    await run(place, "initdb", ["-D", data, "-U", "kurier", "--auth", "trust", "--encoding", "UTF8", "--locale", "C"]);
  let server: ChildProcess | undefined;
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ending = server;
    server = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((resolve) => ending.once("exit", resolve));
    ending.kill(signal);
    await ended;
  };
  return {
    port,
    url,
    data,
    start: async (settings) => {
      const all = { listen_addresses: "127.0.0.1", unix_socket_directories: "", port: String(port), ...settings };
      const command = asUser(privileges, join(programs, "postgres"), [
        ...["-D", data],
        ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
      ]);
      const begun = spawn(command.file, [...command.args], {
        ...command,
        env: ENV,
        cwd: folder,
        stdio: ["ignore", "ignore", "pipe"],
      });
      let said = "";
      begun.stderr.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-4_000);
      });
      server = begun;
      await eventually("the server answers", async () => {
        if (begun.exitCode !== null) throw new Error(`postgres ended with ${begun.exitCode}: ${said}`);
        const sql = openSql({ url, name: "test-start", connections: 1 });
        try {
          return (await sql`select 1`).length === 1;
        } catch {
          return false;
        } finally {
          await sql.end({ timeout: 1 });
        }
      });
    },
    kill: () => end("SIGKILL"),
    stop: () => end("SIGINT"),
    copyFrom: async (source, follow) => {
      const target = new URL(source.url);
      const whence = `host=${target.hostname} port=${target.port} user=kurier dbname=postgres`;
      await run(place, "pg_basebackup", [
        ...["-D", data, "--checkpoint", "fast", "-X", follow === undefined ? "none" : "stream"],
        ...["-d", follow === undefined ? whence : `${whence} application_name=${follow}`],
        ...(follow === undefined ? ["--no-manifest"] : ["-R"]),
      ]);
    },
  };
}

/** A folder beside servers' own that whoever runs them may write to. */
export function sharedFolder(path: string): string {
  mkdirSync(path, { recursive: true });
  giveTo(choosePrivileges(join(dirname(path), "nowhere")), path);
  return path;
}
