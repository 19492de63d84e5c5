/**
 * Databases for tests. One server per run: an embedded one in a temporary directory, started when the first test asks
 * for it, or the one that KURIER_TEST_DATABASE_URL names (its user must be allowed to create databases).
 * Every test file takes its own copy of a migrated template with `freshDatabase`.
 */
import { createConnection } from "node:net";
import { randomUUID } from "node:crypto";
import { inject } from "vitest";

import { useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Socket on which test/support/database/postgres-setup.ts answers with a TestServer. */
    postgresDoor: string;
  }
}

/** What a run's tests share. */
interface SharedParts {
  /** The server's address. */
  readonly url: string;
  /** The name of a database that is migrated. */
  readonly template: string;
  /** A folder with the keys that an engine of the sandbox would make for itself. */
  readonly pki: string;
}

/** What the door says: what is there, or why it is not. */
export type TestServer = SharedParts | { readonly failure: string };

export interface TestDatabase {
  readonly url: string;
  readonly sql: Sql;
  /** Another pool on the same database, as a second process would have; closed by `drop`. */
  another(name?: string): Sql;
  /** A single connection, which alone knows what it has read; closed by `drop`. */
  one(name: string): Sql;
  /** Closes the pools and removes the database. */
  drop(): Promise<void>;
}

/** The same server's address with another database. */
export const withDatabase = (url: string, name: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
};

let parts: Promise<SharedParts> | undefined;

/** Makes the run's parts when this is the first question. */
const askForParts = (): Promise<SharedParts> =>
  new Promise((resolve, reject) => {
    let answer = "";
    createConnection(inject("postgresDoor"))
      .setEncoding("utf8")
      .on("data", (text: string) => {
        answer += text;
      })
      .once("error", reject)
      .once("end", () => {
        const parsed = JSON.parse(answer) as TestServer;
        if ("failure" in parsed) reject(new Error(parsed.failure));
        else resolve(parsed);
      });
  });

/** What the tests of this run share. */
export const sharedParts = (): Promise<SharedParts> => (parts ??= askForParts());

const POOL = 8;

/** The key that engines and worlds of the tests seal with, so that their pools open what they list. */
const SEALER = createSealer([Buffer.alloc(32, 7)]);

/**
 * Makes a database of its own for a test file.
 * @param options.migrated  false gives an empty one. Default true.
 */
export async function freshDatabase(options: { readonly migrated?: boolean } = {}): Promise<TestDatabase> {
  const { url: serverUrl, template } = await sharedParts();
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  const administer = async (statement: string): Promise<void> => {
    const sql = openSql({ url: serverUrl, name: "test-admin", connections: 1 });
    try {
      await sql.unsafe(statement);
    } finally {
      await sql.end({ timeout: 1 });
    }
  };
  const from = options.migrated === false ? "template0" : template;
  // Copied as files: a template that nobody writes to need not pass through the log block by block.
  await administer(`create database ${name} template ${from} strategy file_copy`);
  const url = withDatabase(serverUrl, name);
  const pools: Sql[] = [];
  const open = (poolName: string, connections: number): Sql => {
    // Tables are filled with as many rows as a test needs, which takes a slow machine longer than an engine would wait.
    const pool = openSql({ url, name: poolName, connections, statement_timeout_ms: 0 });
    pools.push(pool);
    return pool;
  };
  const another = (poolName = "test"): Sql => {
    const pool = open(poolName, POOL);
    useFactsSealer(pool, SEALER, (_, error) => {
      throw error;
    });
    return pool;
  };
  return {
    url,
    sql: another(),
    another,
    one: (poolName) => open(poolName, 1),
    drop: async () => {
      await Promise.all(pools.map((pool) => pool.end({ timeout: 1 })));
      await administer(`drop database if exists ${name} with (force)`);
    },
  };
}
