/** What a database server says of itself to whoever checks an installation. */
import type { Sql } from "../sql.js";

/** As a connection of the engine has them, which a pooler in between may have changed. */
export interface ServerFacts {
  readonly version: number;
  readonly settings: Readonly<
    Record<
      | "fsync"
      | "synchronous_commit"
      | "full_page_writes"
      | "jit"
      | "enable_seqscan"
      | "lock_timeout"
      | "default_transaction_isolation"
      | "server_encoding",
      string
    >
  >;
  readonly now: Date;
}

/** @throws Error where the server gives no answer */
export async function readServerFacts(sql: Sql): Promise<ServerFacts> {
  const [row] = await sql<ServerFacts[]>`
    select current_setting('server_version_num')::integer as version, clock_timestamp() as now,
      jsonb_build_object(
        'fsync', current_setting('fsync'), 'synchronous_commit', current_setting('synchronous_commit'),
        'full_page_writes', current_setting('full_page_writes'), 'jit', current_setting('jit'),
        'enable_seqscan', current_setting('enable_seqscan'), 'lock_timeout', current_setting('lock_timeout'),
        'default_transaction_isolation', current_setting('default_transaction_isolation'),
        'server_encoding', current_setting('server_encoding')) as settings`;
  if (row === undefined) throw new Error("the server says nothing of itself");
  return row;
}
