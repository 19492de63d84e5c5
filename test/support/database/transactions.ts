/** Transactions that a test holds open, each on a connection of its own. */
import { openSql } from "../../../engine/storage/sql.js";

/** A transaction under way; one that was committed is over. */
export interface OpenTransaction {
  run(statement: string): Promise<void>;
  commit(): Promise<void>;
}

/** Begins a transaction. */
export async function openTransaction(url: string): Promise<OpenTransaction> {
  const sql = openSql({ url, name: "test-transaction", connections: 1 });
  await sql.unsafe("begin");
  return {
    run: async (statement) => {
      await sql.unsafe(statement);
    },
    commit: async () => {
      await sql.unsafe("commit");
      await sql.end({ timeout: 1 });
    },
  };
}
