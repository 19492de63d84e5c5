/**
 * Lives of documents in virtual time. Goal: whatever dies, stands still, is lost or comes twice, a document ends as the
 * rulings say, is taken once, and its plan has counted answers alone. Method: see test/support/worlds/life-world.ts; a failing
 * seed is printed, SEED=… begins there, KURIER_TEST_SEEDS says how many.
 * @source design/reliability.md, section 1; spec/rulings.md, section 5
 */
import { expect, test } from "vitest";

import { LIMITS } from "../../engine/base/limits.js";
import { isAttemptable, outboundMove } from "../../engine/lifecycle/document.js";
import { LifeWorld } from "../support/worlds/life-world.js";
import type { Life } from "../support/worlds/life-world.js";
import { Random, seedFrom } from "../support/random.js";

const FIRST_SEED = seedFrom(20_261_122);
const SEEDS = Number(process.env["KURIER_TEST_SEEDS"] ?? "10000");
/** Outcomes of attempts that end a document at once. */
const FINAL: ReadonlySet<string> = new Set(["receipt", "already_handed_over", "peer_refused"]);
const ANSWERED_MAX = LIMITS.retry_plan_ms.length + 1;

/** What is broken in a life, a sentence each. */
function broken({ status, history, events, written, answers, received, messageIds, ended }: Life): string[] {
  const faults: string[] = [];
  const claim = (holds: boolean, sentence: string): void => {
    if (!holds) faults.push(sentence);
  };
  claim(ended, `it has not ended: ${status} after ${written.join(", ")}`);
  claim(messageIds.size <= 1, "it had more than one MessageId");
  claim(
    [...received.values()].every((count) => count === 1),
    "it was taken twice",
  );
  const counted = written.filter((kind) => kind !== "internal" && kind !== "deferred");
  claim(answers === counted.length, `its plan has used ${answers} for ${counted.length} answers`);
  claim(answers <= ANSWERED_MAX, `it was answered ${answers} times`);
  let [state, at] = ["queued", 0];
  for (const line of history) {
    claim(line.from === state && line.at >= at, `its history goes back at ${line.trigger}`);
    claim(
      outboundMove(line.from, line.trigger)?.to === line.to,
      `it went from ${line.from} by ${line.trigger} to ${line.to}`,
    );
    [state, at] = [line.to, line.at];
  }
  claim(state === status, "its state is not the end of its history");
  claim(!isAttemptable(status) || !ended, "it is open at its end");
  claim(status !== "delivered" || received.size === 1, "it is called delivered, and nobody has it");
  claim(status !== "send_failed" || received.size === 0, "it is called never sent, and somebody has it");
  const isExhausted = history.some(({ trigger }) => trigger === "attempts_exhausted");
  claim(
    !isExhausted || answers === ANSWERED_MAX || written.at(-1) === "deferred",
    "it was given up before its plan was used",
  );
  claim(isExhausted || written.slice(0, -1).every((kind) => !FINAL.has(kind)), "it was attempted after its end");
  for (const kind of ["document.sent", "document.delivered", "document.rejected", "document.delivery_failed"] as const)
    claim(events.filter((event) => event === kind).length <= 1, `it told ${kind} twice`);
  return faults;
}

test(`${SEEDS} documents end as the rulings say, whatever dies, stands still, is lost or comes twice (SEED=${FIRST_SEED})`, () => {
  const found: string[] = [];
  const met = { fenced: 0, deaths: 0 };
  const ends = new Set<string>();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
    const life = new LifeWorld(new Random(seed)).live();
    for (const sentence of broken(life)) found.push(`SEED=${seed}: ${sentence}`);
    met.fenced += life.fenced;
    met.deaths += life.deaths;
    ends.add(life.status);
  }
  expect(found.slice(0, 20)).toEqual([]);
  if (SEEDS < 1_000) return;
  // The world is awake: everything that may happen has happened.
  expect([...ends].sort()).toEqual(["delivered", "delivery_failed", "rejected", "send_failed"]);
  expect(met.fenced).toBeGreaterThan(0);
  expect(met.deaths).toBeGreaterThan(SEEDS / 4);
});
