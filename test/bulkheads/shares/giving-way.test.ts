/**
 * Goal: whoever asks for little waits for a part of one slice of large work, and not for a slice in each turn of the
 * event loop in which his request goes on; where nobody asks, large work has all of it.
 * Method: a loop of the test's own, whose clock moves by what is done in it.
 */
import { expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createTurns, ownTurn } from "../../../engine/base/memory/turns.js";
import { Load } from "../../../gateway/http/load.js";
import { fakeClock } from "../../support/fake-clock.js";
import { turnsDuring } from "../../support/turns.js";

const SLICE_MS = 1;
const SLICES = 20;
/** What a timer waits at least. */
const TIMER_MS = 1;

/** An event loop that does what is arranged next and moves the clock to when it is due. */
function loopOfATest() {
  const clock = fakeClock();
  const arranged: { readonly act: () => void; readonly at: number }[] = [];
  const turns = createTurns({
    monotonic: clock.monotonic,
    soon: (act) => arranged.push({ act, at: clock.monotonic() }),
    later: (act, ms) => arranged.push({ act, at: clock.monotonic() + Math.max(TIMER_MS, ms) }),
  });
  /** Turns until nothing is arranged any more. */
  const run = async (): Promise<void> => {
    for (let next = arranged.shift(); next !== undefined; next = arranged.shift()) {
      clock.advance(Math.max(0, next.at - clock.monotonic()));
      next.act();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, turns, run };
}

/** Works on a document, one slice in each of its turns. @returns when each slice began */
async function work(
  { clock, turns }: ReturnType<typeof loopOfATest>,
  before: () => void,
  slice_ms = SLICE_MS,
): Promise<readonly number[]> {
  const begun: number[] = [];
  for (let slice = 0; slice < SLICES; slice += 1) {
    await turns.ownTurn();
    begun.push(clock.monotonic());
    before();
    clock.advance(slice_ms);
  }
  return begun;
}

test("while small requests come, large work has one part of the event loop and leaves them the others", async () => {
  const loop = loopOfATest();
  const working = work(loop, loop.turns.smallRequest);
  await loop.run();
  await working;
  const whole = SLICES * SLICE_MS * (1 + LIMITS.slice_gives_way);
  expect(loop.clock.monotonic()).toBeGreaterThanOrEqual(whole - SLICE_MS * LIMITS.slice_gives_way);
  expect(loop.clock.monotonic()).toBeLessThanOrEqual(whole);
});

test("documents that are worked on at once have that part together", async () => {
  const loop = loopOfATest();
  const working = [1, 2, 3].map(() => work(loop, loop.turns.smallRequest));
  await loop.run();
  const all = (await Promise.all(working)).flat().sort((a, b) => a - b);
  all.slice(1).forEach((begun, at) => {
    expect(begun - (all[at] ?? 0)).toBe(SLICE_MS * (1 + LIMITS.slice_gives_way));
  });
});

test("where nobody asks, or nobody has asked for a moment, a slice follows the other at once", async () => {
  const loop = loopOfATest();
  loop.turns.smallRequest();
  loop.clock.advance(LIMITS.slices_give_way_ms);
  const begins = loop.clock.monotonic();
  const working = work(loop, () => undefined);
  await loop.run();
  await working;
  expect(loop.clock.monotonic() - begins).toBe(SLICES * SLICE_MS);
});

test("what was worked on before anybody asked is not made up for when somebody does", async () => {
  const loop = loopOfATest();
  const working = work(loop, () => undefined);
  await loop.run();
  await working;
  loop.turns.smallRequest();
  const begins = loop.clock.monotonic();
  const turn = loop.turns.ownTurn();
  await loop.run();
  await turn;
  expect(loop.clock.monotonic()).toBe(begins);
});

test("slices whose waits are shorter than any timer leave as much together", async () => {
  const loop = loopOfATest();
  const slice_ms = SLICE_MS / 10;
  const working = work(loop, loop.turns.smallRequest, slice_ms);
  await loop.run();
  await working;
  // What is left of the last waits is less than a timer.
  const whole = SLICES * slice_ms * (1 + LIMITS.slice_gives_way);
  expect(loop.clock.monotonic()).toBeGreaterThan(whole - TIMER_MS - slice_ms * LIMITS.slice_gives_way);
  expect(loop.clock.monotonic()).toBeLessThanOrEqual(whole);
});

test("a long slice is not made up for any more once nobody has asked for a moment", async () => {
  const loop = loopOfATest();
  const working = work(loop, loop.turns.smallRequest, LIMITS.slices_give_way_ms / 2);
  await loop.run();
  await working;
  loop.clock.advance(LIMITS.slices_give_way_ms);
  const begins = loop.clock.monotonic();
  const turn = loop.turns.ownTurn();
  await loop.run();
  await turn;
  expect(loop.clock.monotonic()).toBe(begins);
});

/** How often the event loop of this process turns between a slice and the next. */
async function turnsBetweenSlices(): Promise<number> {
  await ownTurn();
  const begun = systemClock.monotonic();
  while (systemClock.monotonic() - begun < 5 * TIMER_MS) continue;
  return turnsDuring(ownTurn);
}

test("a request that comes to a listener makes the slices of its process give way, by the clock of the process", async () => {
  const load = new Load({ ...LIMITS, connections_max: 1 }, () => 0, true);
  await turnsDuring(ownTurn);
  // What the slice took is some milliseconds, and a turn of a loop without work some thousandths of one. A machine that
  // others use may let the request grow old meanwhile, so that another has to come.
  let turns = 0;
  for (let tries = 0; turns <= 5 && tries < 20; tries += 1) {
    load.onSmall();
    turns = await turnsBetweenSlices();
  }
  expect(turns).toBeGreaterThan(5);
});
