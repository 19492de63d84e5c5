/** Rows of any table with as little said as the test needs: what is not given has a value that fits its type. */
import { randomBytes, randomUUID } from "node:crypto";

import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";

type Values = Readonly<Record<string, unknown>>;

const PLAIN: Readonly<Record<string, (at: Date) => unknown>> = {
  uuid: () => randomUUID(),
  text: () => randomUUID(),
  bytea: () => randomBytes(32),
  integer: () => 1,
  smallint: () => 1,
  bigint: () => 1,
  boolean: () => false,
  jsonb: () => "{}",
  date: (at) => at,
  "timestamp with time zone": (at) => at,
  ARRAY: () => ["x"],
};

export interface Rows {
  /** @param at  instant of every time that is not given */
  add(table: string, at: number, values?: Values): Promise<void>;
  end(): Promise<void>;
}

/** A connection that adds rows without the rows that they refer to, and without triggers. Checks hold. */
export async function rowsOf(url: string): Promise<Rows> {
  const sql: Sql = openSql({ url, name: "rows", connections: 1 });
  await sql`set session_replication_role = replica`;
  return {
    add: async (table, at, values = {}) => {
      const columns = await sql<{ readonly name: string; readonly type: string }[]>`
        select column_name as name, data_type as type from information_schema.columns
        where table_schema = 'public' and table_name = ${table} and is_nullable = 'NO' and column_default is null
          and is_identity = 'NO'`;
      const plain = columns.map(({ name, type }) => [name, PLAIN[type]?.(new Date(at))]);
      const row = { ...Object.fromEntries(plain), ...values } as Record<string, never>;
      await sql`insert into ${sql(table)} ${sql(row)}`;
    },
    end: () => sql.end({ timeout: 1 }),
  };
}
