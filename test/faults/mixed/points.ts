/**
 * Two access points that know each other by DNS and SMP alone. The first is an installation: two engines behind one
 * address, a PostgreSQL and a nats-server of their own. The second is one engine with its embedded database, as it comes.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { makeFirms } from "../../../bench/engine.js";
import type { BenchFirm } from "../../../bench/engine.js";
import { systemClock } from "../../../engine/base/clock.js";
import { findNatsServer, runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { DEMO_FIRMS } from "../../../engine/identity/sandbox.js";
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { smlName } from "../../../engine/peppol/discovery/sml.js";
import { DEVELOPMENT_SEAT, ensureDevelopmentPki } from "../../../engine/peppol/pki/development.js";
import { developmentFolder } from "../../../engine/peppol/pki/setup.js";
import { providerOfSeat } from "../../../engine/peppol/seats.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { smpRecord, startDnsServer } from "../../support/peppol/dns-server.js";
import { eventually } from "../../support/eventually.js";
import { startMachines } from "../../support/engines/machines.js";
import type { Machines } from "../../support/engines/machines.js";
import { startNatsCluster } from "../../support/network/nats-cluster.js";
import type { NatsCluster } from "../../support/network/nats-cluster.js";
import { preparePostgresHost } from "../../support/database/postgres-host.js";
import type { PostgresHost } from "../../support/database/postgres-host.js";
import { POSTGRES_15 } from "../../support/database/postgres-server.js";
import { freePort, killEverythingOn, PROJECT, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import { ZONE } from "../../support/engines/two-engines.js";

/** Firms of each access point: a key may send 150 documents a minute. */
const FIRMS_EACH = 8;
const MACHINES = 2;
const SEAT_OF_B = "PSK000002";
const NXDOMAIN = 3;
const SETTINGS = { max_connections: "200" } as const;
/** Lets a test end a worker thread of an engine: nothing outside of a process can. */
const ENDER = join(PROJECT, "test/fixtures/worker-ender.mjs");

export type PointName = "A" | "B";

/** A firm and its current token. */
export interface Client {
  readonly participantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: () => string;
  readonly takeToken: (token: string) => void;
}

export interface Point {
  readonly name: PointName;
  /** The same over all lives of its engines. */
  readonly sandbox: Sandbox;
  readonly firms: readonly Client[];
  /** A pool of ours on its database as it runs now. */
  sql(): Promise<Sql>;
  /** Its engines as they run now. */
  engines(): readonly EngineProcess[];
  /** What its engines wrote, over all their lives. */
  output(): string;
}

/** The parts of the installation that can be killed. */
export interface PartsOfA {
  readonly machines: Pick<Machines, "count" | "kill" | "start">;
  readonly nats: NatsCluster;
  readonly postgres: PostgresHost;
  /** Starts the server again, as soon as what is left of the last one lets it. */
  readonly startPostgres: () => Promise<void>;
}

/** The one process that can be killed, and its data directory, in which its database runs. */
export interface PartsOfB {
  readonly dataDir: string;
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
}

export interface Points {
  readonly a: Point & PartsOfA;
  readonly b: Point & PartsOfB;
  /** Where each has its archive and its master key. */
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

function clientOf({ token, ...firm }: BenchFirm): Client {
  let current = token;
  return {
    ...firm,
    token: () => current,
    takeToken: (fresh) => {
      current = fresh;
    },
  };
}

type Environment = Readonly<Record<string, string>>;

/** What its engines are and wrote, and how everything of it ends. */
interface Alive {
  readonly sandbox: Sandbox;
  readonly engines: () => readonly EngineProcess[];
  readonly output: () => string;
  readonly end: () => Promise<void>;
}

async function startA(folder: string, env: Environment): Promise<PartsOfA & Alive> {
  const program = findNatsServer();
  if (program === undefined) throw new Error("nats-server is missing");
  const postgres = await preparePostgresHost(POSTGRES_15, join(folder, "postgres"), true);
  await postgres.start(SETTINGS);
  const nats = await startNatsCluster(program, folder, 1);
  const machines = await startMachines({
    count: MACHINES,
    folder,
    databaseUrl: postgres.url,
    natsUrl: nats.url,
    env,
  });
  let past = "";
  const engines = (): readonly EngineProcess[] =>
    Array.from({ length: MACHINES }, (_, index) => machines.machine(index));
  return {
    nats,
    postgres,
    machines: {
      count: MACHINES,
      start: machines.start,
      kill: (index) => {
        past += machines.machine(index).output();
        return machines.kill(index);
      },
    },
    // Backends of a server that was killed hold its memory until they notice, and no new server starts beside them.
    startPostgres: async () => {
      await eventually("Postgres starts again", async () => {
        try {
          await postgres.start(SETTINGS);
          return true;
        } catch {
          return false;
        }
      });
    },
    sandbox: machines.sandbox,
    engines,
    output: () =>
      past +
      engines()
        .map((engine) => engine.output())
        .join(""),
    end: async () => {
      await machines.end();
      await nats.stop();
      await postgres.stop();
    },
  };
}

async function startB(dataDir: string, env: Environment): Promise<PartsOfB & Alive> {
  const begin = (): Promise<EngineProcess> => startEngineProcess({ dataDir, env });
  let engine = await begin();
  let past = "";
  return {
    dataDir,
    kill: () => {
      past += engine.output();
      return engine.kill();
    },
    start: async () => {
      engine = await begin();
    },
    sandbox: engine.sandbox,
    engines: () => [engine],
    output: () => past + engine.output(),
    end: () => engine.kill(),
  };
}

/** A pool that is opened anew when the database has another address. */
function poolOn(url: () => string | undefined): {
  readonly sql: () => Promise<Sql>;
  readonly end: () => Promise<void>;
} {
  let pool: { readonly url: string; readonly sql: Sql } | undefined;
  const end = async (): Promise<void> => {
    await pool?.sql.end({ timeout: 1 });
    pool = undefined;
  };
  return {
    end,
    sql: async () => {
      const now = await eventually("the database has an address", url);
      if (pool?.url !== now) {
        await end();
        pool = { url: now, sql: openSql({ url: now, name: "faults", connections: 2 }) };
      }
      return pool.sql;
    },
  };
}

/** Starts both, with firms at each, of which the others know by name where they are. */
export async function startPoints(): Promise<Points> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-mixed-"));
  const [first, dirOfB] = [developmentFolder(join(folder, "machine-0")), join(folder, "b")];
  for (const dir of [join(folder, "machine-0"), dirOfB]) mkdirSync(dir, { recursive: true });
  await ensureDevelopmentPki({ folder: first, clock: systemClock });
  await ensureDevelopmentPki({ folder: developmentFolder(dirOfB), clock: systemClock, seat: SEAT_OF_B, from: first });
  const dns = await startDnsServer(() => ({ rcode: NXDOMAIN }));
  const env = {
    SMP_MODE: "sml",
    SML_ZONE: ZONE,
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
    VALIDATOR_THREADS: "1",
    NODE_OPTIONS: `--import=${ENDER}`,
  };
  const portOfB = await freePort();
  const publicUrlOfB = `http://127.0.0.1:${portOfB}`;
  const partsA = await startA(folder, env);
  const partsB = await startB(dirOfB, {
    ...env,
    PORT: String(portOfB),
    PUBLIC_URL: publicUrlOfB,
    NATS_URL: "embedded",
  });
  const [poolA, poolB] = [poolOn(() => partsA.postgres.url), poolOn(() => runningEmbeddedPostgres(dirOfB))];
  const [sandboxA, sandboxB] = [partsA.sandbox, partsB.sandbox];
  // Each has all firms in its books, as after a move: the names say where each of them is reached.
  const [allA, allB] = await Promise.all([
    makeFirms({ sandbox: sandboxA, sql: await poolA.sql() }, 2 * FIRMS_EACH),
    makeFirms({ sandbox: sandboxB, sql: await poolB.sql() }, 2 * FIRMS_EACH),
  ]);
  const [firmsA, firmsB] = [allA.slice(0, FIRMS_EACH), allB.slice(FIRMS_EACH)];
  const smps = new Map<string, string>();
  const reach = (origin: string, participants: readonly string[]): void => {
    for (const participant of participants) smps.set(smlName(participant, ZONE), `${origin}/smp`);
  };
  const idsOf = (firms: readonly BenchFirm[]): string[] => firms.map(({ participantId }) => participantId);
  reach(sandboxA.sapiBaseUrl.replace("/sapi/v1", ""), [
    ...idsOf(firmsA),
    DEMO_FIRMS.sender.participantId,
    providerOfSeat(DEVELOPMENT_SEAT) ?? "",
  ]);
  reach(publicUrlOfB, [...idsOf(firmsB), DEMO_FIRMS.receiver.participantId, providerOfSeat(SEAT_OF_B) ?? ""]);
  dns.answer = (name) => {
    const smp = smps.get(name);
    return smp === undefined ? { rcode: NXDOMAIN } : { naptr: [smpRecord(smp)] };
  };
  const demo = { ...sandboxB.receiver, token: "" };
  return {
    folder,
    a: { ...partsA, name: "A", firms: firmsA.map(clientOf), sql: poolA.sql },
    b: { ...partsB, name: "B", firms: [...firmsB, demo].map(clientOf), sql: poolB.sql },
    remove: async () => {
      await Promise.all([poolA.end(), poolB.end()]);
      await partsB.end();
      await partsA.end();
      killEverythingOn(folder);
      await dns.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
