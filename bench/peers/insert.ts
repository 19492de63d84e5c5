/** What the peers insert into: one table, one row a request, committed as durably as the engine commits. */
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";

/** Connects a peer to the database that its command line names. */
export function openPeerSql(): Sql {
  const url = process.argv[3];
  if (url === undefined) throw new Error("usage: peer PORT DATABASE_URL");
  return openSql({ url, name: "peer" });
}

/** The port that a peer listens on, from its command line. */
export const peerPort = (): number => Number(process.argv[2] ?? 0);

/** Makes the table that peers insert into. */
export const createPeerTable = async (sql: Sql): Promise<void> => {
  await sql`create table if not exists bench_peer (id text primary key, payload text not null)`;
};

/** Inserts one row: the least that an acceptance could write. */
export const insertPeer = async (sql: Sql, id: string, payload: string): Promise<void> => {
  await sql`insert into bench_peer (id, payload) values (${id}, ${payload})`;
};
