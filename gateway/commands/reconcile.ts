/** `kurier reconcile`: one pass of the reconciler, and what it found. */
import { systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { createDueDocuments } from "../../engine/documents/delivery/due.js";
import { runningNatsServer } from "../../engine/embedded/embedded.js";
import { reconcile } from "../../engine/events/reconciler.js";
import { openJetStream } from "../../engine/events/streams-jetstream.js";
import { openPostgresStreams } from "../../engine/events/streams-postgres.js";
import { silentLog } from "../../engine/base/log.js";
import { createMetrics } from "../../engine/base/metrics.js";
import { print } from "./terminal.js";
import { EXIT, UsageError } from "./command.js";
import type { Command } from "./command.js";
import { withDatabase } from "./database.js";

export const reconcileCommand: Command = {
  name: "reconcile",
  summary: "Wake due documents that no stream knows of, once, and say how many.",
  usage: [
    "kurier reconcile",
    "Needs the engine or its NATS server to run when streams are in JetStream; dispatching is done by the engine.",
  ],
  run: async (args) => {
    if (args.length > 0) throw new UsageError("reconcile takes no arguments.");
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
        const due = createDueDocuments({ sql, clock: systemClock });
        const source = {
          kind: "dispatch",
          stream: "dispatch",
          findWork: (limit: number, grace_ms: number) => due.forgotten(limit, grace_ms),
        } as const;
        for (const { kind, woken } of await reconcile({ sources: [source], streams, log, metrics }))
          print(`${kind}: ${woken} woken`);
      } finally {
        await streams.close();
      }
    });
    return EXIT.ok;
  },
};
