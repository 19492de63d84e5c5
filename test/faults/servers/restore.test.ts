/**
 * The database of an access point is destroyed under load and restored to a moment in time, from a copy that was taken
 * under load and from its archived log; the other access point knows nothing of it. Twice.
 * @source design/reliability.md, F-16
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { startBalancer } from "../../support/network/balancer.js";
import type { Balancer } from "../../support/network/balancer.js";
import { eventually } from "../../support/eventually.js";
import { preparePostgresHost, sharedFolder } from "../../support/database/postgres-host.js";
import type { PostgresHost } from "../../support/database/postgres-host.js";
import { isInstalled, POSTGRES_15 } from "../../support/database/postgres-server.js";
import { killEverythingOn } from "../../support/engines/process.js";
import { settled, startSide } from "../../support/engines/side.js";
import type { Sent, Side } from "../../support/engines/side.js";
import { evidenceFaults } from "../../support/engines/side-evidence.js";
import { prepareTwo } from "../../support/engines/two-engines.js";
import { keepFigures } from "../figures.js";

const ROUNDS = 2;
/** Documents before the copy, beside it, before the moment that is restored, and behind it. */
const DOCUMENTS = 24;

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

interface World {
  readonly a: Side;
  readonly b: Side;
  readonly sql: Sql;
  readonly address: Balancer;
  readonly folder: string;
  readonly archive: string;
}

const ARCHIVING = { wal_level: "replica", max_wal_senders: "4", archive_mode: "on" } as const;

/** Two access points, the first on a Postgres 15 that archives its log. */
async function makeWorld(first: PostgresHost, folder: string, archive: string): Promise<World> {
  await first.start({ ...ARCHIVING, archive_command: `cp %p ${archive}/%f` });
  const address = await startBalancer();
  undo.push(() => address.stop());
  address.to([first.port]);
  const url = `postgres://kurier@127.0.0.1:${address.port}/postgres`;
  const sql = openSql({ url, name: "faults", connections: 4 });
  undo.push(() => sql.end({ timeout: 1 }));
  const homes = await prepareTwo();
  undo.push(() => homes.remove());
  const db = { ...homes.a.db, url, sql };
  const a = await startSide({ ...homes.a, db, env: { ...homes.a.env, DATABASE_URL: url, LOG_LEVEL: "warn" } });
  undo.push(() => a.kill());
  const b = await startSide(homes.b);
  undo.push(() => b.kill());
  return { a, b, sql, address, folder, archive };
}

const sendSome = ({ a, b }: World, count: number): Promise<Sent[]> =>
  Promise.all(Array.from({ length: count }, () => a.send(b)));

/** A moment in the database's time, after everything that was answered before. */
async function moment(sql: Sql): Promise<string> {
  const [row] = await sql<{ at: string }[]>`select clock_timestamp()::text as at`;
  return row?.at ?? "";
}

/** Waits until the log up to now is archived. */
async function archived({ sql, archive }: World): Promise<void> {
  const [row] = await sql<{ name: string }[]>`select pg_walfile_name(pg_switch_wal()) as name`;
  await eventually("the log is archived", () => existsSync(join(archive, row?.name ?? "")));
}

/** Starts a server on a copy and has it read the archive up to a moment. */
async function restore(copy: PostgresHost, archive: string, until: string): Promise<void> {
  writeFileSync(join(copy.data, "recovery.signal"), "");
  await copy.start({
    ...ARCHIVING,
    archive_command: `cp %p ${archive}/%f`,
    restore_command: `cp ${archive}/%f %p`,
    recovery_target_time: until,
    recovery_target_action: "promote",
  });
  const sql = openSql({ url: copy.url, name: "faults", connections: 1 });
  await eventually("the server is restored", async () => {
    const [row] = await sql<{ busy: boolean }[]>`select pg_is_in_recovery() as busy`;
    return row?.busy === false;
  });
  await sql.end({ timeout: 1 });
}

interface Outcome {
  readonly kept: number;
  readonly open: number;
  readonly gone: number;
  readonly received: number;
}

/** Destroys and restores once. @returns what was there afterwards, and the server that now runs */
async function destroyed(world: World, running: PostgresHost, round: number): Promise<[Outcome, PostgresHost]> {
  const { a, b, sql, address, folder, archive } = world;
  const before = await sendSome(world, DOCUMENTS);
  const copy = await preparePostgresHost(POSTGRES_15, join(folder, `copy-${round}`), false);
  const [beside] = await Promise.all([sendSome(world, DOCUMENTS), copy.copyFrom(running)]);
  // One that its receiver has taken, and of which the sender has no receipt at that moment.
  const unanswered = b.home.as4.cut("response", "none", () => false);
  const late = await sendSome(world, DOCUMENTS);
  await unanswered;
  const at = await moment(sql);
  const open = (await sql`select 1 from document where status in ('queued', 'sent')`).length;
  expect(open).toBeGreaterThan(0);
  const lost = await sendSome(world, DOCUMENTS);
  await archived(world);
  await a.kill();
  await running.kill();
  rmSync(running.data, { recursive: true, force: true });
  await restore(copy, archive, at);
  address.to([copy.port], running.port);
  await a.start();
  await settled(a, b);

  const own = await sql<{ id: string; status: string; message: string }[]>`
    select id, status, as4_message_id as message from document`;
  const arrived = await b.home.db.sql<{ message: string; n: number }[]>`
    select as4_message_id as message, count(*)::integer as n from received_document group by as4_message_id`;
  const there = new Map(own.map((row) => [row.id, row]));
  const count = new Map(arrived.map(({ message, n }) => [message, n]));
  for (const { id } of [...before, ...beside, ...late]) {
    const row = there.get(id);
    expect(row?.status).toBe("delivered");
    expect(count.get(row?.message ?? "")).toBe(1);
  }
  expect(arrived.every(({ n }) => n === 1)).toBe(true);
  const gone = lost.filter(({ id }) => !there.has(id)).length;
  for (const side of [a, b]) expect(await evidenceFaults(side)).toEqual([]);
  return [{ kept: own.length, open, gone, received: arrived.length }, copy];
}

test.skipIf(!isInstalled(POSTGRES_15))(
  "a database that is destroyed under load and restored to a moment has every document of before it, and sends those that may have been sent under their old MessageId only",
  async () => {
    await buildIfNeeded();
    const folder = mkdtempSync(join(tmpdir(), "kurier-restore-"));
    undo.push(() => {
      killEverythingOn(folder);
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    });
    const archive = sharedFolder(join(folder, "archive"));
    let running = await preparePostgresHost(POSTGRES_15, join(folder, "first"), true);
    const world = await makeWorld(running, folder, archive);
    const rows: number[][] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const [outcome, next] = await destroyed(world, running, round);
      running = next;
      rows.push([round, outcome.kept, outcome.open, outcome.gone, outcome.received]);
    }
    keepFigures("restore", {
      title: "Restored to a moment",
      command: "npm run -s test:faults -- restore",
      remark:
        "An access point's database is copied under load, destroyed, and restored from the copy and the archived log to a moment; the other access point goes on. Open are documents that were on their way at that moment: they were sent again under their MessageId, and each is at its receiver once. What was accepted behind the moment is gone, although its receiver may have it.",
      columns: ["Round", "Documents restored", "Open at the moment", "Accepted behind it", "At the receiver"],
      rows,
    });
  },
);
