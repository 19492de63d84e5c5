/** The promises that actors/system.ts makes and nact alone does not keep. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

import { startActors } from "../../../actors/system.js";
import type { ActorKind, ActorSystem } from "../../../actors/system.js";
import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createLog, silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import type { Metrics } from "../../../engine/base/metrics.js";
import { KeyMissing } from "../../../engine/storage/sealer.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { eventually } from "../../support/eventually.js";

/** A guard, no promise: a million refusals take some seconds of a processor. */
const FLOOD_MS = 600_000;

type Gate = { readonly promise: Promise<void>; readonly open: () => void };
function gate(): Gate {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

type Probe = {
  Wait: { readonly ask: Gate; readonly reply: string };
  Fail: { readonly ask: { readonly secret: string }; readonly reply: never };
  Refuse: { readonly ask: null; readonly reply: never };
  Away: { readonly ask: null; readonly reply: never };
  Keyless: { readonly ask: null; readonly reply: never };
  Count: { readonly ask: null; readonly reply: number };
  Forward: { readonly ask: Gate; readonly reply: string };
};

let lines: string[];
let metrics: Metrics;
let actors: ActorSystem;
let trace: string[];

const probe = (idle_ms = 60_000): ActorKind<Probe, { turns: number }> => ({
  name: "document",
  idle_ms,
  mailbox: 10,
  start: () => ({ turns: 0 }),
  handlers: {
    Wait: async (_, held, key) => {
      trace.push(`${key} begins`);
      await held.promise;
      trace.push(`${key} ends`);
      return { reply: "done" };
    },
    Fail: (_, { secret }) => {
      throw new Error(`about ${secret}`);
    },
    Refuse: () => {
      throw new Refusal("NOT_FOUND");
    },
    Away: () => {
      throw Object.assign(new Error("sorry, too many clients already"), { code: "53300", severity: "FATAL" });
    },
    Keyless: () => {
      throw new KeyMissing("0123456789abcdef");
    },
    Count: (cache) => ({ reply: (cache.turns += 1) }),
    Forward: (_, held) => ({ forward: held.promise.then(() => "forwarded") }),
  },
});

beforeEach(() => {
  lines = [];
  trace = [];
  metrics = createMetrics();
  actors = startActors({
    log: createLog("debug", {
      write: (line) => {
        lines.push(line);
      },
    }),
    metrics,
    monotonic: () => performance.now(),
  });
});
afterEach(() => actors.stop());

describe("turns", () => {
  test("commands of one actor take turns; those of two actors do not wait for each other", async () => {
    const kind = probe();
    const [a, b] = [gate(), gate()];
    const answers = [
      actors.ask(kind, "one", "Wait", a),
      actors.ask(kind, "one", "Wait", b),
      actors.ask(kind, "two", "Wait", b),
    ];
    b.open();
    await answers[2];
    expect(trace).toEqual(["one begins", "two begins", "two ends"]);
    a.open();
    await Promise.all(answers);
    expect(trace.slice(3)).toEqual(["one ends", "one begins", "one ends"]);
  });

  test("a forwarded answer reaches the asker while the next turn already runs", async () => {
    const kind = probe();
    const held = gate();
    const forwarded = actors.ask(kind, "one", "Forward", held);
    expect(await actors.ask(kind, "one", "Count", null)).toBe(1);
    held.open();
    expect(await forwarded).toBe("forwarded");
  });
});

describe("failures", () => {
  test("a handler that throws answers its asker, and the actor goes on with a fresh cache", async () => {
    const kind = probe();
    await actors.ask(kind, "one", "Count", null);
    await expect(actors.ask(kind, "one", "Fail", { secret: "x" })).rejects.toThrow("about x");
    expect(await actors.ask(kind, "one", "Count", null)).toBe(1);
  });

  test("a refusal is an answer: nothing is logged and the cache stays", async () => {
    const kind = probe();
    await actors.ask(kind, "one", "Count", null);
    await expect(actors.ask(kind, "one", "Refuse", null)).rejects.toMatchObject({ reason: "NOT_FOUND" });
    expect(await actors.ask(kind, "one", "Count", null)).toBe(2);
    expect(lines).toEqual([]);
  });

  test("a database that is away crashes no actor: its asker hears of it, and the cache begins anew", async () => {
    const kind = probe();
    await actors.ask(kind, "one", "Count", null);
    await expect(actors.ask(kind, "one", "Away", null)).rejects.toMatchObject({ code: "53300" });
    expect(await actors.ask(kind, "one", "Count", null)).toBe(1);
    expect(lines).toEqual([]);
    expect(await metrics.exposition()).toContain('kurier_actor_crashes_total{kind="document"} 0');
  });

  test("a key that this node lacks crashes no actor, either", async () => {
    const kind = probe();
    await expect(actors.ask(kind, "one", "Keyless", null)).rejects.toBeInstanceOf(KeyMissing);
    expect(lines).toEqual([]);
    expect(await metrics.exposition()).toContain('kurier_actor_crashes_total{kind="document"} 0');
  });

  test("a crash report names the actor, never the command or the error's text", async () => {
    await expect(actors.ask(probe(), "one", "Fail", { secret: "canary-4711" })).rejects.toThrow();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("actor.crashed");
    expect(lines.join()).not.toContain("canary-4711");
    expect(await metrics.exposition()).toContain('kurier_actor_crashes_total{kind="document"} 1');
  });
});

describe("bounds", () => {
  test("a full mailbox refuses with TEMPORARY and a time to come back; what waited is still answered", async () => {
    const kind = probe();
    const held = gate();
    const waiting = Array.from({ length: 10 }, () => actors.ask(kind, "one", "Wait", held));
    await expect(actors.ask(kind, "one", "Count", null)).rejects.toMatchObject({
      reason: "TEMPORARY",
      extras: { retryAfter_s: 1 },
    });
    held.open();
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => "done"));
    expect(await metrics.exposition()).toContain('kurier_actor_refused_total{kind="document"} 1');
  });

  test(
    "a flood of a million commands to one actor is refused beyond its mailbox, and leaves nothing in memory",
    async () => {
      setFlagsFromString("--expose-gc");
      const collect = runInNewContext("gc") as () => void;
      const heapUsed = (): number => {
        collect();
        return process.memoryUsage().heapUsed;
      };
      const [flood, atOnce] = [1_000_000, 10_000];
      const kind: ActorKind<Probe, { turns: number }> = { ...probe(), mailbox: LIMITS.mailbox_max };
      const held = gate();
      let refused = 0;
      const waiting: Promise<unknown>[] = [];
      // Those that wait are held for the whole flood, however long this machine takes for it.
      onTestFinished(shortenLimits({ actor_ask_timeout_ms: FLOOD_MS }));
      while (waiting.length < LIMITS.mailbox_max) waiting.push(actors.ask(kind, "one", "Wait", held));
      const before = heapUsed();
      for (let sent = waiting.length; sent < flood; sent += atOnce)
        await Promise.all(
          Array.from({ length: Math.min(atOnce, flood - sent) }, () =>
            actors.ask(kind, "one", "Wait", held).catch((error: unknown) => {
              if (error instanceof Refusal && error.reason === "TEMPORARY") refused += 1;
            }),
          ),
        );
      expect((heapUsed() - before) / refused, "octets that a refused command leaves").toBeLessThan(8);
      held.open();
      expect(await Promise.all(waiting)).toEqual(waiting.map(() => "done"));
      expect(refused).toBe(flood - LIMITS.mailbox_max);
    },
    FLOOD_MS,
  );

  test("idle actors go a few in a turn of the event loop, and one that is asked meanwhile stays", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    let now = 0;
    const own = startActors({ log: silentLog, metrics: createMetrics(), monotonic: () => now });
    try {
      const kind = probe();
      const keys = Array.from({ length: 3 * LIMITS.actors_dropped_turn_max }, (_, n) => String(n));
      await Promise.all(keys.map((key) => own.ask(kind, key, "Count", null)));
      now += kind.idle_ms;
      vi.advanceTimersByTime(LIMITS.actor_idle_ms / 4);
      expect(own.census().get("document")).toBe(2 * LIMITS.actors_dropped_turn_max);
      expect(await own.ask(kind, keys.at(-1) ?? "", "Count", null)).toBe(2);
      await eventually("the others are gone", () => own.census().get("document") === 1);
      expect(await own.ask(kind, keys.at(-1) ?? "", "Count", null)).toBe(3);
    } finally {
      vi.useRealTimers();
      await own.stop();
    }
  });

  test("an actor without idle time is gone when its last command has ended", async () => {
    await actors.ask(probe(0), "one", "Count", null);
    expect(actors.census().get("document")).toBe(0);
  });
});

describe("ends", () => {
  test("a retired actor ends its running handler before a successor begins", async () => {
    const kind = probe();
    const [first, second] = [gate(), gate()];
    const a = actors.ask(kind, "one", "Wait", first);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const retired = actors.retire(kind, "one");
    const b = actors.ask(kind, "one", "Wait", second);
    second.open();
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(trace).toEqual(["one begins"]);
    first.open();
    await Promise.all([a, b, retired]);
    expect(trace).toEqual(["one begins", "one ends", "one begins", "one ends"]);
  });

  test("stop waits for what runs and refuses what comes", async () => {
    const kind = probe();
    const held = gate();
    const running = actors.ask(kind, "one", "Wait", held);
    const stopped = actors.stop();
    await expect(actors.ask(kind, "two", "Count", null)).rejects.toMatchObject({ reason: "TEMPORARY" });
    held.open();
    await stopped;
    expect(await running).toBe("done");
  });
});
