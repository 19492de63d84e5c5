/** What is said to a server about the files of its write-ahead log, by somebody who may: the embedded one's owner. */
import { LIMITS } from "../base/limits.js";
import { openSql } from "./sql.js";

/** Opens a connection of its own for it. @source PostgreSQL's documentation, Backup Control Functions; D-456 */
export function openLogFiles(url: string) {
  const sql = openSql({ url, name: "kurier-log-files", connections: 1 });
  return {
    write: () => sql`select pg_logical_emit_message(false, 'kurier', 'the next file')`,
    switchFile: () => sql`select pg_switch_wal()`,
    checkpoint: () => sql`checkpoint`,
    end: () => sql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 }),
  };
}
