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

/** One question of a connection: which one of its lives it was asked in, and by which name its statement went. */
interface Asked {
  readonly pid: number;
  readonly name: string;
}

/**
 * Has several connections ask the same at once, so that each comes to another session than before where it has none of
 * its own. The library prepares once more what a session lacks, under another name, and fails now and then.
 */
export async function losesStatements(sql: Sql, url: string): Promise<boolean> {
  if (!(await isPooled(sql))) return false;
  // Pools of one connection, so that it is ours to say which of them asks first.
  const probes = Array.from({ length: LIMITS.pooler_probe_connections }, () =>
    openSql({ url, name: "kurier-migrate", connections: 1 }),
  );
  // Bounded by the connections.
  const asked = new Map<Sql, Asked>();
  const ask = async (probe: Sql): Promise<boolean> => {
    // The order in which sessions are given back is known, too.
    const rest_s = 0.01 * (probes.indexOf(probe) + 1);
    const { state, statement } = await probe`select pg_sleep(${rest_s}::float8)`;
    const before = asked.get(probe);
    asked.set(probe, { pid: state.pid, name: statement.name });
    // One that was lost and came back has prepared its statement anew by right.
    return before?.pid === state.pid && before.name !== statement.name;
  };
  try {
    for (let round = 0; round < LIMITS.pooler_probe_rounds; round += 1) {
      // In turns, since poolers give away the session that came back last, or the one that came back first.
      const answers = (round % 2 === 0 ? probes : probes.toReversed()).map(ask);
      if ((await Promise.all(answers)).includes(true)) return true;
    }
    return false;
  } catch (error) {
    if (isStatementLost(error)) return true;
    throw error;
  } finally {
    await Promise.all(probes.map((probe) => probe.end({ timeout: 1 })));
  }
}
