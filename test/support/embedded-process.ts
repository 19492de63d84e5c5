/** An engine as far as its embedded Postgres is concerned: starts it, prints its address, waits to be killed. SIGUSR2 ends it uncleanly. */
import { startEmbeddedPostgres } from "../../engine/embedded-postgres.js";
import { silentLog } from "../../engine/log.js";

const server = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? "", log: silentLog });
process.on("SIGUSR2", () => { process.exit(3); });
process.stdout.write(`${server.url}\n`);
setInterval(() => undefined, 60_000);
