/**
 * Migrations: numbered SQL files, applied forward only, each in one transaction under one lock, but for those that say
 * that they are not transactional; see migration-steps.ts.
 */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { errorCode } from "../base/errors.js";
import { isoInstant } from "../base/clock.js";
import type { Clock } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { runSteps, stepsOf } from "./migration-steps.js";
import { losesStatements } from "./pooler.js";
import { isPassing, LOCK_NOT_AVAILABLE, openSql } from "./sql.js";
import type { Sql } from "./sql.js";

/** The schema cannot be brought up to date; the message is one sentence for the operator. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
  /** Whether the same start may succeed a moment later: no room on the disk, a lock held, a Postgres that went away. */
  readonly passing: boolean;

  constructor(sentence: string, cause?: unknown) {
    super(sentence, { cause });
    this.passing = isPassing(cause);
  }
}

export const MIGRATION_STATES = ["applied", "pending", "changed", "unknown"] as const;
/** `changed`: the file differs from what was applied. `unknown`: applied by a newer release. */
type MigrationState = (typeof MIGRATION_STATES)[number];

/**
 * States in which this release can work with the schema. A migration of a newer release counts: while nodes are
 * replaced one by one, those of the release before go on beside the new ones.
 */
const SERVABLE: readonly MigrationState[] = ["applied", "unknown"];
const isServable = (status: readonly MigrationStatus[]): boolean => status.every((row) => SERVABLE.includes(row.state));

interface MigrationStatus {
  readonly number: number;
  readonly name: string;
  readonly state: MigrationState;
  readonly appliedAt: Date | undefined;
}

interface MigrateOptions {
  readonly url: string;
  readonly clock: Clock;
  /** Folder of NNNN_name.sql files. @default the folder `migrations` beside this file */
  readonly directory?: string;
  /**
   * Refuses a database that no migration was ever applied to: who works on what there is makes nothing of one that may
   * be another's, under a name that was mistyped. @default false
   */
  readonly begun?: boolean;
}

interface MigrationFile {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
  /** What databases may hold of earlier files, for which this one makes good: "0277 <sha-256 of that text>". */
  readonly makesGood: readonly string[];
}

interface AppliedRow {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly applied_at: Date;
}

/**
 * A line of a migration that does again what an earlier file does, because databases hold another text of that file:
 * one of them counts as applied.
 */
const MAKES_GOOD = /^-- makes good (\d{4}) as ([0-9a-f]{64})$/gm;
const textKey = (number: number, checksum: string): string => `${String(number).padStart(4, "0")} ${checksum}`;

const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/;
/** Any fixed number that no other program of the operator's database uses: "kurier" in ASCII. */
const LOCK = "118091513783666";

const defaultDirectory = (): string => fileURLToPath(new URL("./migrations/", import.meta.url));

function readFiles(directory: string): MigrationFile[] {
  const files = readdirSync(directory)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => {
      const number = Number(FILE_NAME.exec(name)?.[1] ?? Number.NaN);
      if (Number.isNaN(number)) throw new MigrationError(`The migration ${name} must be named NNNN_name.sql.`);
      const text = readFileSync(join(directory, name), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      const makesGood = [...text.matchAll(MAKES_GOOD)].map(([, of = "", as = ""]) => textKey(Number(of), as));
      return { number, name, text, checksum, makesGood };
    });
  const twice = files.find((file, index) => files[index - 1]?.number === file.number);
  if (twice !== undefined) throw new MigrationError(`Two migrations have the number of ${twice.name}.`);
  return files;
}

/** SQLSTATE of a table, and of a column, that the schema does not have yet. */
const UNDEFINED = ["42P01", "42703"];
const isUnknownHere = (error: unknown): boolean => UNDEFINED.includes(errorCode(error) ?? "");

async function readApplied(sql: Sql): Promise<readonly AppliedRow[]> {
  try {
    return await sql<AppliedRow[]>`select number, name, checksum, applied_at from schema_migration order by number`;
  } catch (error) {
    if (isUnknownHere(error)) return [];
    throw error;
  }
}

/**
 * The beginning of every script: the lock lasts until the script's one transaction ends, whoever dies. Waiting for
 * other migrations may take long; waiting for a table may not, because everybody who comes later stands behind us.
 */
const PREAMBLE = `
  set local statement_timeout = ${LIMITS.migration_timeout_ms};
  set local lock_timeout = ${LIMITS.migration_timeout_ms};
  select pg_advisory_xact_lock(${LOCK});
  set local lock_timeout = ${LIMITS.migration_lock_timeout_ms};
`;

const REGISTER = `${PREAMBLE}
  create table if not exists schema_migration (
    number     integer primary key,
    name       text not null,
    checksum   text not null check (checksum ~ '^[0-9a-f]{64}$'),
    applied_at timestamptz not null
  );
`;

const registration = (file: MigrationFile, clock: Clock): string => `
  insert into schema_migration (number, name, checksum, applied_at)
  values (${file.number}, '${file.name}', '${file.checksum}', '${isoInstant(clock.now())}');
`;

/** One message of the simple protocol is one transaction; the row comes first, so that a second applier stops there. */
const scriptOf = (file: MigrationFile, clock: Clock): string => `${PREAMBLE}${registration(file, clock)}${file.text}\n`;

const wasAppliedByAnother = (error: unknown): boolean =>
  error instanceof Error && "constraint_name" in error && error.constraint_name === "schema_migration_pkey";

/** What Postgres calls the encoding in which every letter of a name can be stored, and is one character. */
const ENCODING = "UTF8";

/**
 * How our statements begin: each finds a row that others have changed meanwhile as it is now. In any other way it fails
 * with 40001, and deliveries wait for attempts that are begun again: 18 s instead of one, seen with two senders.
 */
const ISOLATION = "read committed";

/** A pooler keeps its sessions for up to an hour, and they keep what the role had when they began. */
const ANEW = "and RECONNECT at the console of a PgBouncer in between";

/**
 * Settings that our connections ask for, and that a pooler in between drops, or DATABASE_URL says otherwise. Such
 * engines started, and stood in the way of their own deliveries, or answered 202 for what a loss of power takes.
 * @source docs/deploy.md, A pooler
 */
const ASKED_FOR: readonly {
  readonly name: string;
  readonly set: string;
  readonly isAsGood: (value: string) => boolean;
}[] = [
  { name: "enable_seqscan", set: "off", isAsGood: (value) => value === "off" },
  { name: "jit", set: "off", isAsGood: (value) => value === "off" },
  { name: "lock_timeout", set: "'2s'", isAsGood: (value) => value !== "0" },
  // What waits for standbys as well is as good.
  { name: "synchronous_commit", set: "on", isAsGood: (value) => value !== "off" },
];

/** @throws MigrationError that names what is otherwise, and the commands that end it */
async function checkSettings(sql: Sql): Promise<void> {
  const rows = await sql<{ readonly name: string; readonly setting: string }[]>`
    select name, setting from pg_settings where name = any (${ASKED_FOR.map(({ name }) => name)})`;
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const wrong = ASKED_FOR.filter(({ name, isAsGood }) => !isAsGood(found.get(name) ?? ""));
  if (wrong.length === 0) return;
  const are = wrong.map(({ name }) => `${name} = ${found.get(name) ?? "nobody knows what"}`).join(", ");
  const commands = wrong.map(({ name, set }) => `alter role USER in database NAME set ${name} = ${set};`).join(" ");
  throw new MigrationError(
    `Connections to this database have ${are}, which is not what they ask for: a pooler drops it, or DATABASE_URL says otherwise. Run ${commands} ${ANEW} (docs/deploy.md, A pooler), and take it out of DATABASE_URL.`,
  );
}

/**
 * A database of another encoding takes most documents and fails at the first name that it has no letters for. One that
 * was begun is served all the same, because whoever has it can move only while he is served; `kurier doctor` tells him.
 */
async function checkServer(sql: Sql, url: string): Promise<void> {
  const [row] = await sql<{ readonly version: number; readonly encoding: string; readonly isolation: string }[]>`
    select current_setting('server_version_num')::integer as version, current_setting('server_encoding') as encoding,
      current_setting('default_transaction_isolation') as isolation`;
  if ((row?.version ?? 0) < LIMITS.postgres_version_min) {
    throw new MigrationError(
      `This Postgres is version ${Math.trunc((row?.version ?? 0) / 10_000)}; the engine needs version 15 or newer.`,
    );
  }
  if (row?.isolation !== ISOLATION) {
    throw new MigrationError(
      `Transactions of this database begin as ${row?.isolation ?? "nobody knows what"}, in which much that is done side by side fails; run alter role USER in database NAME set default_transaction_isolation = '${ISOLATION}', ${ANEW}, and take it out of DATABASE_URL.`,
    );
  }
  await checkSettings(sql);
  if (await losesStatements(sql, url)) {
    throw new MigrationError(
      "The pooler before this database gives prepared statements to sessions that do not have them: put prepare=false into DATABASE_URL (docs/deploy.md, A pooler).",
    );
  }
  if (row?.encoding !== ENCODING && (await readApplied(sql)).length === 0) {
    throw new MigrationError(
      // With the locale, for that of a server made under LATIN2 takes no other encoding than its own.
      `The database has the encoding ${row?.encoding ?? "that it does not tell"}, which lacks letters of other languages; make it anew with createdb --encoding=${ENCODING} --locale=C --template=template0.`,
    );
  }
}

/** 2^32: how many transactions an epoch of Postgres has. */
const EPOCH = 4_294_967_296;

/**
 * Places that the database holds and its server has not counted up to, none where the count is the database's own:
 * those of readers; those in which subscriptions begin, which are told of nothing that is before; and those of events,
 * which clients hold. Each is found by an index.
 */
const PLACES_AHEAD = `
  select transaction_id as place from feed_consumer
    where transaction_id >= pg_snapshot_xmax(pg_current_snapshot())
  union all
  select pg_snapshot_xmax(seen_from) from webhook_subscription
    where pg_snapshot_xmax(seen_from) > pg_snapshot_xmax(pg_current_snapshot())
  union all
  select transaction_id from document_event
    where (feed or kind = 'document.queued') and transaction_id >= pg_snapshot_xmax(pg_current_snapshot())
  union all
  select feed_transaction_id from received_document
    where feed_position is not null and feed_transaction_id >= pg_snapshot_xmax(pg_current_snapshot())`;

/**
 * Whether the server counts transactions from behind what the database holds. Events have their places by the
 * transactions that told them; a copy made row by row has the places and not the count, and every reader of the feed
 * would wait behind a place for what is counted before it.
 */
async function countedBehind(sql: Sql): Promise<{ readonly next: string; readonly place: string } | undefined> {
  try {
    const [row] = await sql<{ readonly next: string; readonly place: string }[]>`
      select pg_snapshot_xmax(pg_current_snapshot())::text as next, ahead.place::text as place
      from (${sql.unsafe(PLACES_AHEAD)}) as ahead order by ahead.place desc limit 1`;
    return row;
  } catch (error) {
    if (isUnknownHere(error)) return undefined;
    throw error;
  }
}

/** What was applied, each with whether the server counts from behind nothing; a schema without a feed lacks it. */
async function appliedAndSeen(sql: Sql): Promise<readonly (AppliedRow & { readonly seen: boolean })[]> {
  try {
    return await sql<(AppliedRow & { readonly seen: boolean })[]>`
      select number, name, checksum, applied_at, not exists (${sql.unsafe(PLACES_AHEAD)}) as seen
      from schema_migration order by number`;
  } catch (error) {
    if (isUnknownHere(error)) return [];
    throw error;
  }
}

async function checkCount(sql: Sql): Promise<void> {
  const behind = await countedBehind(sql);
  if (behind === undefined) return;
  const epoch = Math.floor(Number(behind.place) / EPOCH) + 1;
  throw new MigrationError(
    `This server counts transactions from ${behind.next} and the database holds places up to ${behind.place}, as after pg_dump: no webhook, pull or meter would see what happens; count up as docs/operators/backup.md says, or stop the server and run pg_resetwal --epoch=${epoch}.`,
  );
}

function statusOf(files: readonly MigrationFile[], applied: readonly AppliedRow[]): MigrationStatus[] {
  const rows = new Map(applied.map((row) => [row.number, row]));
  const madeGood = new Set(files.flatMap((file) => file.makesGood));
  const stands = (file: MigrationFile, { checksum }: AppliedRow): boolean =>
    checksum === file.checksum || madeGood.has(textKey(file.number, checksum));
  const known = files.map((file): MigrationStatus => {
    const row = rows.get(file.number);
    rows.delete(file.number);
    const state = row === undefined ? "pending" : stands(file, row) ? "applied" : "changed";
    return { number: file.number, name: file.name, state, appliedAt: row?.applied_at };
  });
  const unknown = [...rows.values()].map((row): MigrationStatus => ({
    number: row.number,
    name: row.name,
    state: "unknown",
    appliedAt: row.applied_at,
  }));
  return [...known, ...unknown].sort((a, b) => a.number - b.number);
}

async function withConnection<T>(url: string, use: (sql: Sql) => Promise<T>): Promise<T> {
  const silence_ms = LIMITS.migration_timeout_ms + LIMITS.db_silence_ms;
  const sql = openSql({ url, name: "kurier-migrate", connections: 1, silence_ms });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const isLockTimeout = (error: unknown): boolean => errorCode(error) === LOCK_NOT_AVAILABLE;

/** A script that got a lock too late has changed nothing; whoever held it is let through, and it is tried again. */
async function run(sql: Sql, script: string): Promise<void> {
  for (let left = LIMITS.migration_lock_tries; ; left -= 1) {
    try {
      await sql.unsafe(script).simple();
      return;
    } catch (error) {
      if (!isLockTimeout(error) || left <= 1) throw error;
      await delay(LIMITS.migration_lock_pause_ms);
    }
  }
}

async function apply(sql: Sql, file: MigrationFile, clock: Clock): Promise<boolean> {
  const steps = stepsOf(file.text);
  try {
    if (steps !== undefined)
      return await runSteps(sql, {
        steps,
        run: (step) => sql.unsafe(step).simple(),
        isApplied: async () => (await readApplied(sql)).some(({ number }) => number === file.number),
        register: () => sql.unsafe(registration(file, clock)).simple(),
      });
    await run(sql, scriptOf(file, clock));
    return true;
  } catch (error) {
    if (wasAppliedByAnother(error)) return false;
    if (!(error instanceof Error)) throw error;
    const left = steps === undefined ? "changed nothing" : "will be begun again";
    throw new MigrationError(`The migration ${file.name} failed and ${left}: ${error.message}`, error);
  }
}

function refuseChanged(status: readonly MigrationStatus[]): void {
  const changed = status.find((entry) => entry.state === "changed");
  if (changed !== undefined) {
    throw new MigrationError(
      `The migration ${changed.name} was changed after it had been applied; restore the file and put the change into a new one.`,
    );
  }
}

/**
 * Looks whether this release can work with the schema; changes nothing.
 * @throws MigrationError when the server is too old, connections have other settings than they ask for, a pooler loses
 *   their statements, an empty database has another encoding, the server counts behind the database, an applied file
 *   was changed, or one is missing
 */
export async function requireMigrated(options: Omit<MigrateOptions, "clock">): Promise<void> {
  const files = readFiles(options.directory ?? defaultDirectory());
  const status = await withConnection(options.url, async (sql) => {
    await checkServer(sql, options.url);
    await checkCount(sql);
    return statusOf(files, await readApplied(sql));
  });
  refuseChanged(status);
  const pending = status.filter((entry) => entry.state === "pending");
  if (pending[0] !== undefined)
    throw new MigrationError(
      `The schema lacks ${pending.length} migrations, the first is ${pending[0].name}; run kurier migrate, or set MIGRATE=at-start.`,
    );
}

/**
 * Brings the schema up to date. Safe to run from several processes at once: each migration is applied by one of them.
 * Migrations that a newer release applied are left alone, so that the older release keeps running beside it.
 * @returns the names of the migrations that this call applied
 * @throws MigrationError when the server is too old, connections have other settings than they ask for, a pooler loses
 *   their statements, an empty database has another encoding, the server counts behind the database, an applied file
 *   was changed, a script fails, or nothing was begun
 */
export async function migrate(options: MigrateOptions): Promise<readonly string[]> {
  const files = readFiles(options.directory ?? defaultDirectory());
  return withConnection(options.url, async (sql) => {
    await checkServer(sql, options.url);
    await checkCount(sql);
    if (options.begun === true && (await readApplied(sql)).length === 0)
      throw new MigrationError(
        "The database has nothing of Kurier in it: set DATABASE_URL, or DATA_DIR, to what the engine has, or run kurier migrate.",
      );
    await sql.unsafe(REGISTER).simple();
    const status = statusOf(files, await readApplied(sql));
    refuseChanged(status);
    const done: string[] = [];
    for (const { number, state } of status) {
      const file = files.find((candidate) => candidate.number === number);
      if (state === "pending" && file !== undefined && (await apply(sql, file, options.clock))) done.push(file.name);
    }
    return done;
  });
}

/** What is applied and what is not, by number; changes nothing. */
export async function migrationStatus(options: Omit<MigrateOptions, "clock">): Promise<readonly MigrationStatus[]> {
  const files = readFiles(options.directory ?? defaultDirectory());
  return withConnection(options.url, async (sql) => statusOf(files, await readApplied(sql)));
}

/**
 * Makes the look of a probe: whether this release can serve the schema, and whether its events would be seen: whoever
 * fails over to a copy made row by row does so behind running engines. It is one statement of a pool, and the files are
 * read once. A passing failure of the database is what rejects.
 */
export function servableLook(sql: Sql, directory = defaultDirectory()): () => Promise<boolean> {
  const files = readFiles(directory);
  return async () => {
    const applied = await appliedAndSeen(sql);
    return applied.every(({ seen }) => seen) && isServable(statusOf(files, applied));
  };
}
