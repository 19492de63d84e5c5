/** What is killed while two access points work, and started again by a supervisor where it does not come back itself. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import type { Random } from "../../support/random.js";
import type { Point, PointName, Points } from "./points.js";

/** What can be killed of an access point. */
interface Blow {
  readonly point: PointName;
  /** Resolves when what was struck has been started again, where it does not come back itself. */
  readonly strike: (points: Points, random: Random) => Promise<void>;
}

const sigkill = (pid: number): void => {
  process.kill(pid, "SIGKILL");
};

/** The server that listens for connections in a data directory. */
const postmasterIn = (folder: string): number =>
  Number(readFileSync(join(folder, "postmaster.pid"), "latin1").split("\n")[0]);

/** Ends one session in mid-statement, upon which the server ends all of them and recovers. */
async function killSession(sql: Sql): Promise<void> {
  const [row] = await sql<{ readonly pid: number }[]>`
    select pid from pg_stat_activity
    where backend_type = 'client backend' and application_name not like 'faults%' order by random() limit 1`;
  if (row === undefined) throw new Error("no session of an engine");
  sigkill(row.pid);
}

/** Resolves when the engine has said that the thread is gone. */
async function endWorker(point: Point, random: Random): Promise<void> {
  const engine = random.pick(point.engines());
  const before = saidOf(engine.output());
  process.kill(engine.pid, "SIGUSR2");
  await eventually("a worker thread has ended", () => saidOf(engine.output()) > before);
}
const saidOf = (output: string): number => output.split("a worker thread was ended").length;

const ALL_BLOWS = {
  "one of A's two engines": {
    point: "A",
    strike: async ({ a: { machines } }, random) => {
      const index = random.int(machines.count);
      await machines.kill(index);
      await machines.start(index);
    },
  },
  "both engines of A": {
    point: "A",
    strike: async ({ a: { machines } }) => {
      const indexes = Array.from({ length: machines.count }, (_, index) => index);
      await Promise.all(indexes.map(machines.kill));
      for (const index of indexes) await machines.start(index);
    },
  },
  "Postgres of A": {
    point: "A",
    strike: async ({ a: { postgres, startPostgres } }) => {
      await postgres.kill();
      await startPostgres();
    },
  },
  "a session of A's Postgres": { point: "A", strike: async ({ a }) => killSession(await a.sql()) },
  "A's nats-server": {
    point: "A",
    strike: async ({ a: { nats } }) => {
      await nats.kill(0);
      await nats.start(0);
    },
  },
  "A's nats-server with its store": {
    point: "A",
    strike: async ({ a: { nats } }) => {
      await nats.kill(0);
      await nats.start(0, true);
    },
  },
  "a worker thread of A": { point: "A", strike: ({ a }, random) => endWorker(a, random) },
  "B's engine, and its Postgres with it": {
    point: "B",
    strike: async ({ b }) => {
      await b.kill();
      await b.start();
    },
  },
  "B's Postgres": {
    point: "B",
    strike: ({ b: { dataDir } }) => {
      sigkill(postmasterIn(join(dataDir, "postgres")));
      return Promise.resolve();
    },
  },
  "a worker thread of B": { point: "B", strike: ({ b }, random) => endWorker(b, random) },
} as const satisfies Readonly<Record<string, Blow>>;

/** What can be killed. */
export type BlowName = keyof typeof ALL_BLOWS;
export const BLOWS: Readonly<Record<BlowName, Blow>> = ALL_BLOWS;

const BLOW_NAMES = Object.keys(BLOWS) as BlowName[];

/** All of them in an order of the seed's, again and again, so that a short run meets many kinds. */
export function* blowOrder(random: Random): Generator<BlowName, never> {
  for (;;) {
    const left = [...BLOW_NAMES];
    while (left.length > 0) {
      const [name] = left.splice(random.int(left.length), 1);
      if (name !== undefined) yield name;
    }
  }
}
