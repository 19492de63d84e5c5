/** Whether a pooler before a database gives statements that a connection has prepared to sessions that lack them. */
import { errorCode } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import { openSql } from "./sql.js";
import type { Sql } from "./sql.js";

/** SQLSTATEs of a prepared statement that the session does not have, and of one that is another's of the same name. */
const STATEMENT_LOST = new Set(["26000", "42P05"]);
const isStatementLost = (error: unknown): boolean => STATEMENT_LOST.has(errorCode(error) ?? "");

/** Whether our protocol ends before the server: a pooler gives its clients process ids of its own. */
async function isPooled(sql: Sql): Promise<boolean> {
  const rows = await sql<{ readonly pid: number }[]>`select pg_backend_pid() as pid`;
  return rows[0]?.pid !== rows.state.pid;
}

/**
 * Has several connections ask the same at once, so that each comes to another session than before where it has none of
 * its own. The library prepares once more what a session lacks, under another name, and fails now and then.
 */
export async function losesStatements(sql: Sql, url: string): Promise<boolean> {
  if (!(await isPooled(sql))) return false;
  const connections = LIMITS.pooler_probe_connections;
  const probe = openSql({ url, name: "kurier-migrate", connections });
  // Bounded by the connections.
  const names = new Map<object, string>();
  // Who asks first has its answer first, and its session is the second to be given away again.
  const ask = async (_: unknown, index: number): Promise<boolean> => {
    const { state, statement } = await probe`select pg_sleep(${0.01 * (index + 1)}::float8)`;
    const before = names.get(state) ?? statement.name;
    names.set(state, statement.name);
    return before !== statement.name;
  };
  try {
    for (let round = 0; round < LIMITS.pooler_probe_rounds; round += 1)
      if ((await Promise.all(Array.from({ length: connections }, ask))).includes(true)) return true;
    return false;
  } catch (error) {
    if (isStatementLost(error)) return true;
    throw error;
  } finally {
    await probe.end({ timeout: 1 });
  }
}
