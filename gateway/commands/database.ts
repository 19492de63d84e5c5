/**
 * The database of a command: the configured one, that of the running engine, or the embedded one for as long as it
 * takes.
 */
import { systemClock } from "../../engine/base/clock.js";
import { migratesAtStart } from "../../engine/base/config.js";
import type { Config } from "../../engine/base/config.js";
import {
  claimDataDir,
  EmbeddedError,
  hasEmbeddedPostgres,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../engine/embedded/embedded.js";
import { silentLog } from "../../engine/base/log.js";
import { migrate, requireMigrated } from "../../engine/storage/migrate.js";
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { databaseErrorOf } from "../../engine/storage/unusable.js";
import { complain } from "./terminal.js";

/** The database while a command runs. */
export interface CommandDatabase {
  readonly url: string;
  readonly sql: Sql;
}

const CONNECTIONS = 2;

/** How a command works on the database. */
export interface DatabaseUse {
  /** Brings the schema up to date first. @default true */
  readonly migrated?: boolean;
  /**
   * Refuses a schema that is not up to date instead: who only reads makes nothing of an empty database, which may be
   * another's, under an address that was mistyped. @default false
   */
  readonly looks?: boolean;
  /**
   * Makes the embedded database, or the first schema of another, where none was ever made, as who makes the first of
   * something must. Others would make one for a name that was mistyped, and say that there is nothing in it.
   * @default false
   */
  readonly begins?: boolean;
  /** How long one statement may take. @default LIMITS.db_statement_timeout_ms */
  readonly statement_timeout_ms?: number;
}

async function onUrl<T>(
  url: string,
  use: (database: CommandDatabase) => Promise<T>,
  { statement_timeout_ms }: DatabaseUse,
): Promise<T> {
  const sql = openSql({
    url,
    name: "kurier command",
    connections: CONNECTIONS,
    ...(statement_timeout_ms === undefined ? {} : { statement_timeout_ms }),
  });
  try {
    return await use({ url, sql });
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/**
 * Runs `use` on the database that the configuration means.
 * @param options.migrated  brings the schema up to date first; with MIGRATE=by-command, or for who only looks, one
 *   that is not is refused. @default true
 */
export async function withDatabase<T>(
  config: Config,
  use: (database: CommandDatabase) => Promise<T>,
  options: DatabaseUse = {},
): Promise<T> {
  const run = async (url: string): Promise<T> => {
    try {
      if (options.migrated !== false)
        await (migratesAtStart(config) && options.looks !== true
          ? migrate({ url, clock: systemClock, begun: options.begins !== true })
          : requireMigrated({ url }));
      return await onUrl(url, use, options);
    } catch (error) {
      throw databaseErrorOf(error) ?? error;
    }
  };
  const known = config.DATABASE_URL ?? runningEmbeddedPostgres(config.DATA_DIR);
  if (known !== undefined) return run(known);
  if (options.begins !== true && !hasEmbeddedPostgres(config.DATA_DIR))
    throw new EmbeddedError(
      `There is no database in ${config.DATA_DIR}: set DATABASE_URL, or DATA_DIR, to what the engine has.`,
    );
  const onWait = (): void => {
    complain(
      "DATA_DIR was another container's or machine's: for some seconds it is looked at whether its engine lives.",
    );
  };
  const dataDir = await claimDataDir(config.DATA_DIR, { onWait });
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: dataDir.path, log: silentLog });
    try {
      return await run(postgres.url);
    } finally {
      await postgres.stop();
    }
  } finally {
    dataDir.release();
  }
}

/** Runs what only reads, and changes no schema: see DatabaseUse. */
export const lookInto = <T>(config: Config, use: (database: CommandDatabase) => Promise<T>): Promise<T> =>
  withDatabase(config, use, { looks: true });
