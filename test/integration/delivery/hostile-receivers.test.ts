/**
 * What becomes of documents for receivers that misbehave: a whole engine, real sockets, scripted access points, and plans
 * and time limits that are shortened in the same proportion. Whatever a receiver does, each of its documents is there
 * once, the plan has used what was answered and nothing else, and other receivers do not notice.
 */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import type { DocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { eventually } from "../../support/eventually.js";
import { answersSlowly, resets, startHostileWorld, takes, takesTooLate } from "../../support/worlds/hostile-world.js";
import type { Behaviour, HostileWorld } from "../../support/worlds/hostile-world.js";

const KiB = 1024;
/** Octets of payloads under way at once: room for six documents of the size that the last test gives its own. */
const BUDGET = { attempt_bytes_max: 6 * 40 * KiB, payload_bytes_max: 40 * KiB };
let world: HostileWorld;

beforeAll(async () => {
  world = await startHostileWorld(BUDGET);
});
afterAll(() => world.stop());
afterEach(() => {
  world.reset();
});

const receiver = (index: number): string => world.receivers[index] ?? "";
const times = (count: number, behaviour: Behaviour): Behaviour[] => Array.from({ length: count }, () => behaviour);

/** Waits until all are delivered, and holds what must be true of them then. */
async function delivered(ids: readonly DocumentId[]): Promise<void> {
  await eventually(`${ids.length} documents are delivered`, async () => {
    const facts = await world.facts(ids);
    const failed = facts.find(({ status }) => !["queued", "sent", "delivered"].includes(status));
    if (failed !== undefined) throw new Error(`a document has failed: ${JSON.stringify(failed)}`);
    return facts.every(({ status }) => status === "delivered");
  });
  for (const { answers, answered } of await world.facts(ids)) expect(answers).toBe(answered);
}

/** Each document has arrived, once. */
function arrivedOnce(count: number): void {
  const received = world.inbox.received.map(({ sbdhInstanceId }) => sbdhInstanceId);
  expect(new Set(received).size).toBe(count);
  expect(received).toHaveLength(count);
}

const outcomesOf = async (ids: readonly DocumentId[]): Promise<ReadonlySet<string>> =>
  new Set((await world.facts(ids)).flatMap(({ outcomes }) => outcomes));

test("a receiver that answers after fifty-nine seconds has its documents once, no more of them at a time than it has shown to take, and a quick one beside it does not wait", async () => {
  let isLate = true;
  let [now, max] = [0, 0];
  world.play(
    0,
    times(100, async (arrived, peer) => {
      now += 1;
      max = Math.max(max, now);
      arrived.response.once("close", () => {
        now -= 1;
      });
      await (isLate ? takesTooLate : takes)(arrived, peer);
    }),
  );
  const slow = await world.accept(receiver(0), 4);
  await eventually("the slow receiver has a message that it does not answer", () => now > 0);
  const quick = await world.accept(receiver(1), 20);
  await delivered(quick);
  expect(new Set((await world.facts(slow)).map(({ status }) => status))).not.toContain("delivered");
  isLate = false;
  await delivered(slow);
  expect(max).toBeLessThanOrEqual(LIMITS.attempts_receiver_first);
  expect(await outcomesOf(slow)).toContain("TIMEOUT");
  arrivedOnce(24);
});

test("a receiver that answers one octet a second is given up when its time is over, and its documents arrive once", async () => {
  world.play(2, times(4, answersSlowly(30)));
  const ids = await world.accept(receiver(2), 4);
  await delivered(ids);
  expect(await outcomesOf(ids)).toContain("TIMEOUT");
  expect(world.peers[2]?.arrived.length).toBeGreaterThan(4);
  arrivedOnce(4);
});

test("a receiver that accepts connections and resets them gets its documents once it takes them", async () => {
  const ids = await world.accept(world.shut, 10);
  await eventually("connections were reset", () => world.turnstile.reset() > LIMITS.breaker_failures);
  expect((await world.facts(ids)).some(({ status }) => status === "delivered")).toBe(false);
  arrivedOnce(0);
  world.turnstile.open();
  await delivered(ids);
  arrivedOnce(10);
});

test("a receiver that takes every second message gets all, once, within the plan", async () => {
  const refuses: Behaviour = ({ response }) => {
    response.writeHead(503).end();
  };
  world.play(
    3,
    Array.from({ length: 80 }, (_, i) => (i % 2 === 0 ? refuses : takes)),
  );
  const ids = await world.accept(receiver(3), 40);
  await delivered(ids);
  expect(await outcomesOf(ids)).toContain("HTTP 503");
  arrivedOnce(40);
});

test("a receiver that is quick for a hundred messages and dead for the next hundred gets all, once, within the plan", async () => {
  world.play(4, [...times(100, takes), ...times(100, resets)]);
  const ids = await world.accept(receiver(4), 140);
  await delivered(ids);
  expect(world.peers[4]?.script).toHaveLength(0);
  expect(world.peers[4]?.arrived.length).toBeGreaterThanOrEqual(240);
  arrivedOnce(140);
});

test("a firm that sends ninety-six documents of 20 MB at once has no more under way than there are octets for, and all of them arrive", async () => {
  const held = new Set<() => void>();
  let max = 0;
  for (let i = 0; i < 12; i += 1)
    world.play(
      4 + i,
      times(8, (arrived, peer) => {
        const answer = () => void takes(arrived, peer);
        held.add(answer);
        max = Math.max(max, held.size);
        // An attempt that was given up is under way no more.
        arrived.response.once("close", () => held.delete(answer));
      }),
    );
  const size = LIMITS.attempt_bytes_max / 6;
  const ids = (await Promise.all(Array.from({ length: 12 }, (_, i) => world.accept(receiver(4 + i), 8, size)))).flat();
  // What rests until there is a place has no owner, and no octets.
  const leased = async (): Promise<number> => {
    const { sql } = world.engine.db;
    return (await sql`select 1 from document where lease_owner is not null and lease_until > clock_timestamp()`).length;
  };
  await eventually("six are under way", () => held.size === 6);
  expect(await leased()).toBe(6);
  await eventually("all are delivered", async () => {
    const [answer] = held;
    if (answer !== undefined && held.delete(answer)) answer();
    expect(await leased()).toBeLessThanOrEqual(6);
    return (await world.facts(ids)).every(({ status }) => status === "delivered");
  });
  expect(max).toBeLessThanOrEqual(6);
  arrivedOnce(96);
});
