// Goal: streams may forget everything; work that is due in Postgres is woken again.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

import { systemClock } from "../../engine/base/clock.js";
import { findNatsServer, startNatsServer } from "../../engine/embedded/nats.js";
import { reconcile, startReconciler } from "../../engine/events/reconciler.js";
import type { ReconcileSource } from "../../engine/events/reconciler.js";
import { openJetStream } from "../../engine/events/streams-jetstream.js";
import type { StreamMessage, Streams } from "../../engine/events/streams.js";
import { LIMITS } from "../../engine/base/limits.js";
import { silentLog } from "../../engine/base/log.js";
import { createMetrics } from "../../engine/base/metrics.js";
import { eventually } from "../support/eventually.js";

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** Work that stays due until it is done. */
function workshop(count: number): ReconcileSource & { readonly due: Set<string>; readonly graces: number[] } {
  const due = new Set(Array.from({ length: count }, (_, n) => `work-${n}`));
  const graces: number[] = [];
  return {
    kind: "dispatch",
    stream: "dispatch",
    due,
    graces,
    findWork: (limit, grace_ms) => {
      graces.push(grace_ms);
      return Promise.resolve([...due].slice(0, limit).map((key) => ({ key, body: { documentId: key } })));
    },
  };
}

function recorder(pending = 0): Pick<Streams, "publish" | "status"> & { readonly got: StreamMessage[] } {
  const got: StreamMessage[] = [];
  return {
    got,
    publish: (_stream, messages) => {
      got.push(...messages);
      return Promise.resolve();
    },
    status: () => Promise.resolve([{ stream: "dispatch", pending, oldestAge_s: 0 }]),
  };
}

describe("the reconciler", () => {
  test("the reconciler's first pass wakes everything that a dead process left, without a grace", async () => {
    const source = workshop(3);
    const streams = recorder();
    const metrics = createMetrics();
    const reconciler = startReconciler({ sources: [source], streams, log: silentLog, metrics });
    await eventually("the work was woken", () => streams.got.length === 3);
    await reconciler.pass();
    await reconciler.stop();
    expect(source.graces).toEqual([0, LIMITS.reconcile_grace_ms]);
    expect(await metrics.exposition()).toContain('kurier_reconciler_repairs_total{kind="dispatch"} 6');
  });

  test("a healthy system is left alone", async () => {
    const streams = recorder();
    const metrics = createMetrics();
    expect(await reconcile({ sources: [workshop(0)], streams, log: silentLog, metrics })).toEqual([
      { kind: "dispatch", woken: 0, full: false },
    ]);
    expect(streams.got).toEqual([]);
    expect(await metrics.exposition()).not.toContain("kurier_reconciler_repairs_total{");
  });

  test("a stream that is merely busy is not filled twice", async () => {
    const source = workshop(10_000);
    const busy = recorder(LIMITS.reconcile_batch);
    expect(await reconcile({ sources: [source], streams: busy, log: silentLog, metrics: createMetrics() })).toEqual([
      { kind: "dispatch", woken: 0, full: true },
    ]);
    const nearly = recorder(LIMITS.reconcile_batch - 1);
    await reconcile({ sources: [source], streams: nearly, log: silentLog, metrics: createMetrics() });
    expect(nearly.got).toHaveLength(1);
  });

  test("a source that fails does not keep the others from their turn, and the pass says that it failed", async () => {
    const broken: ReconcileSource = {
      kind: "broken",
      stream: "events",
      findWork: () => Promise.reject(new Error("no table")),
    };
    const streams = recorder();
    await expect(
      reconcile({ sources: [broken, workshop(2)], streams, log: silentLog, metrics: createMetrics() }),
    ).rejects.toThrow("no table");
    expect(streams.got).toHaveLength(2);
  });
});

const program = findNatsServer();
const natsTest = program === undefined && process.env["CI"] !== "true" ? test.skip : test;

natsTest(
  `after all of JetStream was deleted, the reconciler refills it and all work is done${program === undefined ? " (nats-server is not installed)" : ""}`,
  async () => {
    if (program === undefined) throw new Error("nats-server is missing: install it, as .ci/run does");
    const dataDir = mkdtempSync(join(tmpdir(), "kurier-nats-"));
    undo.push(() => {
      rmSync(dataDir, { recursive: true, force: true });
    });
    const first = await startNatsServer({ dataDir, program, log: silentLog });
    const { port, username } = new URL(first.url);
    const source = workshop(700);
    const common = { log: silentLog, metrics: createMetrics(), clock: systemClock };
    const streams = openJetStream({ url: first.url, ...common });
    undo.push(() => streams.close());
    await streams.publish(
      "dispatch",
      [...source.due].map((key) => ({ key, body: {} })),
    );
    expect((await streams.status())[0]?.pending).toBe(700);

    await first.stop();
    rmSync(join(dataDir, "streams"), { recursive: true, force: true });
    const second = await startNatsServer({ dataDir, program, log: silentLog, port: Number(port), token: username });
    undo.push(() => second.stop());
    await streams.consume("dispatch", "dispatch", { concurrency: 8 }, ({ key }) => {
      source.due.delete(key);
      return Promise.resolve("done");
    });
    const reconciler = startReconciler({ sources: [source], streams, ...common });
    undo.push(() => reconciler.stop());
    await eventually("all work is done", () => source.due.size === 0);
  },
);
