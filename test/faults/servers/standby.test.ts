/**
 * The database's machine dies under load and its standby takes over at the same address: with a named synchronous standby
 * nothing that was acknowledged is lost; without one, what the standby had not got yet is. KURIER_TEST_FAILOVERS: how
 * often each.
 * @source design/reliability.md, F-04; section 2.1
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { systemClock } from "../../../engine/base/clock.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { startBalancer } from "../../support/network/balancer.js";
import { eventually } from "../../support/eventually.js";
import { preparePostgresHost } from "../../support/database/postgres-host.js";
import type { PostgresHost } from "../../support/database/postgres-host.js";
import { isInstalled, POSTGRES_15 } from "../../support/database/postgres-server.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import { keepFigures } from "../figures.js";
import { startLoad } from "../load.js";
import type { Load } from "../load.js";
import { brokenOf, hurry, openDocuments } from "./machines.js";

const FAILOVERS = Number(process.env["KURIER_TEST_FAILOVERS"] ?? "3");
const DOCUMENTS = 300;
const DURABLE = { wal_level: "replica", max_wal_senders: "8", hot_standby: "on", fsync: "on" } as const;
const FORMS = [
  ["a named synchronous standby", { synchronous_standby_names: "standby" }],
  ["a standby that is not waited for", {}],
] as const;

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

interface Pair {
  readonly engine: EngineProcess;
  readonly primary: PostgresHost;
  readonly standby: PostgresHost;
  /** Cuts the way between them. */
  readonly part: () => void;
  /** The standby takes over, at the same address. */
  readonly promote: () => Promise<void>;
}

/** An engine on a primary with a standby behind one address. */
async function startPair(settings: Readonly<Record<string, string>>): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-standby-"));
  undo.push(() => {
    killEverythingOn(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  const primary = await preparePostgresHost(POSTGRES_15, join(folder, "primary"), true);
  const standby = await preparePostgresHost(POSTGRES_15, join(folder, "standby"), false);
  await primary.start(DURABLE);
  const link = await startBalancer();
  undo.push(() => link.stop());
  link.to([primary.port]);
  await standby.copyFrom({ url: `postgres://kurier@127.0.0.1:${link.port}/postgres` }, "standby");
  await standby.start(DURABLE);
  await primary.stop();
  await primary.start({ ...DURABLE, ...settings });
  const asked = openSql({ url: primary.url, name: "faults", connections: 1 });
  await eventually("the standby follows", async () => {
    const [row] = await asked<{ state: string; sync: string }[]>`
      select state, sync_state as sync from pg_stat_replication`;
    return row?.state === "streaming" && row.sync === ("synchronous_standby_names" in settings ? "sync" : "async");
  });
  await asked.end({ timeout: 1 });
  const address = await startBalancer();
  undo.push(() => address.stop());
  address.to([primary.port]);
  const engine = await startEngineProcess({
    dataDir: join(folder, "engine"),
    env: {
      DATABASE_URL: `postgres://kurier@127.0.0.1:${address.port}/postgres`,
      NATS_URL: "embedded",
      LOG_LEVEL: "error",
    },
  });
  return {
    engine,
    primary,
    standby,
    part: () => {
      link.to([], primary.port);
    },
    promote: async () => {
      const sql = openSql({ url: standby.url, name: "faults", connections: 1 });
      await sql`select pg_promote(true)`;
      await sql.end({ timeout: 1 });
      address.to([standby.port], primary.port);
    },
  };
}

const missing = async (sql: Sql, load: Load): Promise<number> => {
  const ids = load.accepted.map(({ id }) => id);
  const rows = await sql<{ id: string }[]>`select id from document where id = any(${ids}::uuid[])`;
  return ids.length - rows.length;
};

interface Outcome {
  readonly accepted: number;
  readonly lost: number;
  readonly recovery_ms: number;
  readonly broken: readonly string[];
}

async function failOver(settings: Readonly<Record<string, string>>): Promise<Outcome> {
  const { engine, primary, standby, part, promote } = await startPair(settings);
  const before = openSql({ url: primary.url, name: "faults", connections: 1 });
  const load = await startLoad(() => engine, before, 8);
  await before.end({ timeout: 1 });
  await load.ready();
  const sending = load.send(DOCUMENTS);
  await eventually("a third is accepted", () => load.accepted.length >= DOCUMENTS / 3);
  part();
  // While the standby hears nothing, either nothing is acknowledged, or what will be lost.
  const heldAt = load.accepted.length;
  const until = systemClock.monotonic() + 1_000;
  await eventually("the moment has passed", () => systemClock.monotonic() > until);
  const acknowledged = load.accepted.length - heldAt;
  const killedAt = systemClock.monotonic();
  await primary.kill();
  await promote();
  const told = load.accepted.length;
  await eventually("documents are accepted again", () => load.accepted.length > told || load.refused() > 0);
  await sending;
  const sql = openSql({ url: standby.url, name: "faults", connections: 2 });
  try {
    const lost = await missing(sql, load);
    await load.repeat();
    const recovery_ms = systemClock.monotonic() - killedAt;
    await eventually("everything is delivered", async () => {
      await hurry(sql);
      return (await openDocuments(sql)) === 0;
    });
    const accepted = load.accepted.length;
    const broken = lost > 0 ? [] : await brokenOf({ load, sql });
    expect(engine.ended()).toBe(false);
    expect(await engine.stop()).toBe(0);
    // What was on its way to its client when the way was cut may still have been told.
    if ("synchronous_standby_names" in settings) expect(acknowledged).toBeLessThanOrEqual(24);
    return { accepted, lost, recovery_ms, broken };
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const rows: (readonly (string | number)[])[] = [];

test.skipIf(!isInstalled(POSTGRES_15)).each(FORMS)(
  "a standby that takes over under load has everything that was acknowledged, where it is waited for; with %s",
  async (form, settings) => {
    await buildIfNeeded();
    for (let n = 1; n <= FAILOVERS; n += 1) {
      const { accepted, lost, recovery_ms, broken } = await failOver(settings);
      rows.push([form, n, accepted, lost, (recovery_ms / 1_000).toFixed(1)]);
      expect(broken).toEqual([]);
      if ("synchronous_standby_names" in settings) expect(lost).toBe(0);
      for (const step of undo.splice(0).reverse()) await step();
    }
    keepFigures("standby", {
      title: "A standby takes over",
      command: "npm run -s test:faults -- standby",
      remark:
        "The database's server is killed with SIGKILL under load, a second after the way to its standby was cut, and the standby takes over at the same address; the engine goes on. Lost are documents that a client saw a 202 for and that the new server does not have. The time is that from the kill until every request is accepted, repeats included.",
      columns: ["With", "Run", "Accepted", "Lost", "All accepted again, s"],
      rows,
    });
  },
);
