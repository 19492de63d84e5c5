/** What is killed, and how: SIGKILL to a part of a running engine, and whether the engine has to be started again. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import type { Sql } from "../../../engine/storage/sql.js";
import { killEverythingOn } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

/** A running engine with its children in one data directory. */
export interface Victim {
  readonly engine: EngineProcess;
  readonly dataDir: string;
  readonly sql: Sql;
}

interface Strike {
  readonly endsEngine: boolean;
  /** Whether there is such a part only where JetStream carries the wake-ups. */
  readonly needsNats: boolean;
  readonly strike: (victim: Victim) => Promise<void>;
}

/** The server that listens for connections; its backends end when they notice. */
const postmasterOf = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "latin1").split("\n")[0]);

function natsOf(dataDir: string): number {
  for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (command.includes("nats-server") && command.includes(dataDir)) return Number(pid);
    } catch {
      // The process ended while we looked.
    }
  }
  throw new Error("no NATS server runs");
}

const kill = (pid: number): Promise<void> => {
  process.kill(pid, "SIGKILL");
  return Promise.resolve();
};

export const STRIKES = {
  engine: { endsEngine: true, needsNats: false, strike: ({ engine }) => engine.kill() },
  group: {
    endsEngine: true,
    needsNats: false,
    strike: async ({ engine, dataDir }) => {
      await engine.kill();
      killEverythingOn(dataDir);
    },
  },
  postgres: { endsEngine: false, needsNats: false, strike: ({ dataDir }) => kill(postmasterOf(dataDir)) },
  backend: {
    endsEngine: false,
    needsNats: false,
    strike: async ({ sql }) => {
      const [row] = await sql<{ readonly pid: number }[]>`
        select pid from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid() and application_name not like 'faults%'
        order by random() limit 1`;
      await kill(row?.pid ?? 0);
    },
  },
  nats: { endsEngine: false, needsNats: true, strike: ({ dataDir }) => kill(natsOf(dataDir)) },
  "nats with its store": {
    endsEngine: false,
    needsNats: true,
    strike: async ({ dataDir }) => {
      await kill(natsOf(dataDir));
      rmSync(join(dataDir, "streams"), { recursive: true, force: true });
    },
  },
} as const satisfies Readonly<Record<string, Strike>>;

/** What is killed. */
export type StrikeName = keyof typeof STRIKES;

/** What can be killed where the wake-ups travel so, the engine and its group twice as often as a part of it. */
export const strikesOf = (form: "jetstream" | "postgres"): readonly StrikeName[] => {
  const names = (Object.keys(STRIKES) as StrikeName[]).filter(
    (name) => form === "jetstream" || !STRIKES[name].needsNats,
  );
  return ["engine", "group", ...names];
};
