/**
 * An engine as far as its embedded Postgres is concerned: starts it, prints its address, waits to be killed.
 * SIGINT: asks Postgres something, prints the answer, stops it. SIGUSR2: ends without stopping anything.
 */
import { startEmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import { silentLog } from "../../../engine/base/log.js";
import { openSql } from "../../../engine/storage/sql.js";

const server = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? "", log: silentLog });
const sql = openSql({ url: server.url, name: "engine", connections: 1 });
const alive = setInterval(() => undefined, 60_000);
const drain = async (): Promise<void> => {
  const rows = await sql<{ answer: string }[]>`select 'drained' as answer`;
  process.stdout.write(`${rows[0]?.answer ?? ""}\n`);
  await sql.end();
  await server.stop();
  clearInterval(alive);
};
process.on("SIGINT", () => void drain());
process.on("SIGUSR2", () => {
  process.exit(3);
});
process.stdout.write(`${server.url}\n`);
