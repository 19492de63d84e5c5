/** `kurier reconcile`: how many documents are due and taken by nobody, and a sign to the engines to look. */
import { systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { LIMITS } from "../../engine/base/limits.js";
import { runningNatsServer } from "../../engine/embedded/embedded.js";
import { openJetStream } from "../../engine/events/streams-jetstream.js";
import { openPostgresStreams } from "../../engine/events/streams-postgres.js";
import { silentLog } from "../../engine/base/log.js";
import { createMetrics } from "../../engine/base/metrics.js";
import { countDue } from "../../engine/storage/documents/attempts.js";
import { print } from "./terminal.js";
import { EXIT, parseArguments } from "./command.js";
import type { Command } from "./command.js";
import { withDatabase } from "./database.js";

export const reconcileCommand: Command = {
  name: "reconcile",
  summary: "Say how many documents are due and taken by nobody, and wake the engines.",
  usage: [
    "kurier reconcile",
    "Needs the engine or its NATS server to run when streams are in JetStream; dispatching is done by the engine.",
  ],
  run: async (args) => {
    parseArguments(args, {});
    const config = loadConfig();
    await withDatabase(config, async ({ sql, url }) => {
      const log = silentLog;
      const metrics = createMetrics();
      const nats = config.NATS_URL === "embedded" ? undefined : (config.NATS_URL ?? runningNatsServer(config.DATA_DIR));
      const streams =
        nats === undefined
          ? openPostgresStreams({ sql, url, log, metrics })
          : openJetStream({ url: nats, log, metrics, clock: systemClock });
      try {
        const due = await countDue(sql, LIMITS.due_counted_max);
        if (due > 0) await streams.publish("dispatch", [{ key: "due", body: {} }]);
        print(`dispatch: ${due === LIMITS.due_counted_max ? "at least " : ""}${due} due`);
      } finally {
        await streams.close();
      }
    });
    return EXIT.ok;
  },
};
