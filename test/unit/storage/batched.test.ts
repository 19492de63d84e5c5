/** Calls that share statements: each gets its own answer, nobody waits but who has time or a pace, none fails for another. */
import { afterEach, expect, test, vi } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { batched, inOrder } from "../../../engine/storage/batched.js";
import type { Sql } from "../../../engine/storage/sql.js";

/** Stands for a pool: `batched` asks nothing of it but that it is the same object. */
const pool = (): Sql => ({}) as Sql;

interface Statement<I, O> {
  readonly items: readonly I[];
  readonly end: (answers: readonly O[]) => void;
  readonly fail: (error: Error) => void;
}

/** A statement whose end the test decides. */
function held<I, O>(): {
  readonly statements: Statement<I, O>[];
  readonly run: (sql: Sql, items: readonly I[]) => Promise<readonly O[]>;
} {
  const statements: Statement<I, O>[] = [];
  return {
    statements,
    run: (_, items) =>
      new Promise((resolve, reject) => {
        statements.push({ items, end: resolve, fail: reject });
      }),
  };
}

/** Until everything that follows from what was done has happened. */
const settled = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** Calls, each in a turn of its own. */
async function eachAlone<I, O>(items: readonly I[], call: (item: I) => Promise<O>): Promise<Promise<O>[]> {
  const answers: Promise<O>[] = [];
  for (const item of items) {
    answers.push(call(item));
    await settled();
  }
  return answers;
}

test("calls of one turn share a statement, which is made when the turn ends, or at once when they fill it", async () => {
  const { statements, run } = held<number, number>();
  const call = batched(run, { max: 3 });
  const sql = pool();
  for (const item of [1, 2]) void call(sql, item);
  expect(statements).toEqual([]);
  await settled();
  expect(statements.map(({ items }) => items)).toEqual([[1, 2]]);
  for (const item of [3, 4, 5]) void call(sql, item);
  expect(statements.map(({ items }) => items)).toEqual([
    [1, 2],
    [3, 4, 5],
  ]);
});

test("a call that comes alone is a statement of its turn; those that come while two are under way share the next", async () => {
  const { statements, run } = held<number, string>();
  const call = batched(run, { max: 10 });
  const sql = pool();
  const answers = await eachAlone([1, 2, 3, 4, 5], (item) => call(sql, item));
  expect(statements.map(({ items }) => items)).toEqual([[1], [2]]);
  statements[0]?.end(["one"]);
  await settled();
  await settled();
  expect(statements[2]?.items).toEqual([3, 4, 5]);
  statements[1]?.end(["two"]);
  statements[2]?.end(["three", "four", "five"]);
  expect(await Promise.all(answers)).toEqual(["one", "two", "three", "four", "five"]);
});

const GATHER_MS = 40;

/** Calls of which those that begin with "later" have time. */
function gathered(max: number) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { statements, run } = held<string, string>();
  const hasTime = (item: string): boolean => item.startsWith("later");
  const call = batched(run, { max, gathering: { time_ms: GATHER_MS, hasTime } });
  const sql = pool();
  return { asked: () => statements.map(({ items }) => items), call: (item: string) => void call(sql, item) };
}

afterEach(() => {
  vi.useRealTimers();
});

test("calls that have time are one statement when the time of the first is over", () => {
  const { asked, call } = gathered(10);
  call("later 1");
  vi.advanceTimersByTime(GATHER_MS - 1);
  call("later 2");
  expect(asked()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(asked()).toEqual([["later 1", "later 2"]]);
  call("later 3");
  vi.advanceTimersByTime(GATHER_MS - 1);
  expect(asked()).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(asked()[1]).toEqual(["later 3"]);
});

test("a call in a hurry takes along those that have time, and as many as fill a statement wait no longer", async () => {
  const { asked, call } = gathered(3);
  call("later 1");
  call("now");
  await settled();
  expect(asked()).toEqual([["later 1", "now"]]);
  for (const item of ["later 2", "later 3", "later 4"]) call(item);
  expect(asked()[1]).toEqual(["later 2", "later 3", "later 4"]);
  vi.advanceTimersByTime(10 * GATHER_MS);
  expect(asked()).toHaveLength(2);
});

const PACE_MS = 25;

/** Calls of a kind with a pace, on a clock that the test moves. */
function paced(max: number) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const { statements, run } = held<number, number>();
  const call = batched(run, { max, slots: 1, pace_ms: PACE_MS });
  const sql = pool();
  return {
    asked: () => statements.map(({ items }) => items),
    call: (item: number) => void call(sql, item),
    /** The statement that is under way ends. */
    end: async () => {
      await settled();
      const last = statements.at(-1);
      last?.end(last.items);
      await settled();
      await settled();
    },
  };
}

test("where there is a pace, a call that comes alone is a statement at once, and what follows it soon waits for more", async () => {
  const { asked, call, end } = paced(10);
  call(1);
  await end();
  vi.advanceTimersByTime(PACE_MS - 10);
  call(2);
  vi.advanceTimersByTime(9);
  call(3);
  expect(asked()).toEqual([[1]]);
  vi.advanceTimersByTime(1);
  expect(asked()).toEqual([[1], [2, 3]]);
  await end();
  vi.advanceTimersByTime(PACE_MS);
  call(4);
  await settled();
  expect(asked()[2], "what comes seldom never waits").toEqual([4]);
});

test("where there is a pace, as many calls as fill a statement wait no longer, and a statement that took long holds nobody up twice", async () => {
  const { asked, call, end } = paced(3);
  call(1);
  await end();
  for (const item of [2, 3, 4]) call(item);
  expect(asked()).toEqual([[1], [2, 3, 4]]);
  call(5);
  vi.advanceTimersByTime(10 * PACE_MS);
  expect(asked(), "its place is taken").toHaveLength(2);
  await end();
  expect(asked()[2]).toEqual([5]);
});

test("a statement takes so many calls and no more, and each pool has its own", async () => {
  const { statements, run } = held<number, number>();
  const call = batched(run, { max: 2 });
  const [one, other] = [pool(), pool()];
  const answers = await eachAlone([1, 2, 3, 4, 5], (item) => call(one, item));
  void call(other, 9);
  await settled();
  statements[0]?.end([1]);
  await settled();
  await settled();
  expect(statements.map(({ items }) => items)).toEqual([[1], [2], [9], [3, 4]]);
  expect(await answers[0]).toBe(1);
});

test("calls with one key never share a statement, and keep their order", async () => {
  const { statements, run } = held<string, string>();
  const call = batched(run, { max: 10, key: (item) => item.slice(0, 1) });
  const sql = pool();
  void (await eachAlone(["x0", "y0"], (item) => call(sql, item)));
  const rest = ["b1", "a1", "b2", "a2"].map((item) => call(sql, item));
  statements[0]?.end(["x0"]);
  await settled();
  await settled();
  expect(statements[2]?.items, "sorted, so that everyone locks rows in one order").toEqual(["a1", "b1"]);
  statements[1]?.end(["y0"]);
  await settled();
  await settled();
  expect(statements[3]?.items).toEqual(["a2", "b2"]);
  statements[2]?.end(["A1", "B1"]);
  statements[3]?.end(["A2", "B2"]);
  expect(await Promise.all(rest)).toEqual(["B1", "A1", "B2", "A2"]);
});

test("a large call is a statement alone, and small ones do not wait for it, nor it for them", async () => {
  const { statements, run } = held<number, number>();
  const call = batched(run, { max: 10, slots: 1, bytes: (item) => item });
  const sql = pool();
  void (await eachAlone([3_000_000, 1, 2_000_000, 2, 3], (item) => call(sql, item)));
  expect(statements.map(({ items }) => items)).toEqual([[3_000_000], [1]]);
  statements[1]?.end([1]);
  await settled();
  await settled();
  expect(statements.slice(2).map(({ items }) => items)).toEqual([[2, 3]]);
  statements[0]?.end([3_000_000]);
  await settled();
  await settled();
  expect(statements.slice(3).map(({ items }) => items)).toEqual([[2_000_000]]);
});

test("small calls share a statement as long as it carries no more than one may", async () => {
  const { statements, run } = held<number, number>();
  const call = batched(run, { max: 10, slots: 1, bytes: (item) => item });
  const sql = pool();
  void call(sql, 1);
  await settled();
  for (let n = 0; n < 6; n += 1) void call(sql, 500_000);
  statements[0]?.end([1]);
  await settled();
  await settled();
  expect(statements[1]?.items).toHaveLength(4);
});

test("one call that cannot be answered fails alone; its neighbours get their answers", async () => {
  const calls: (readonly number[])[] = [];
  const call = batched<number, number>(
    (_, items) => {
      calls.push(items);
      return items.includes(3) ? Promise.reject(new Error("poison")) : Promise.resolve(items.map((item) => item * 10));
    },
    { max: 10 },
  );
  const sql = pool();
  const answers = await Promise.allSettled([1, 2, 3, 4].map((item) => call(sql, item)));
  expect(
    answers.map((answer) => (answer.status === "fulfilled" ? answer.value : (answer.reason as Error).message)),
  ).toEqual([10, 20, "poison", 40]);
  expect(calls).toEqual([[1, 2, 3, 4], [1], [2], [3], [4]]);
});

test("a call whose connection was lost is made once more: what was written is found by the repeat", async () => {
  const lost = Object.assign(new Error("closed"), { code: "CONNECTION_CLOSED" });
  let tries = 0;
  const call = batched<number, number>((_, items) => (++tries === 1 ? Promise.reject(lost) : Promise.resolve(items)), {
    max: 10,
  });
  expect(await call(pool(), 7)).toBe(7);
  const away = batched<number, number>(() => Promise.reject(lost), { max: 10 });
  await expect(away(pool(), 7)).rejects.toBe(lost);
});

test("a statement that answers fewer calls than it was given is a bug, said to those alone who asked", async () => {
  const call = batched<number, number>((_, items) => Promise.resolve(items.length > 1 ? [] : [1]), { max: 10 });
  const sql = pool();
  expect(await Promise.all([1, 2, 3, 4].map((item) => call(sql, item)))).toEqual([1, 1, 1, 1]);
  const broken = batched<number, number>(() => Promise.resolve([]), { max: 10 });
  await expect(broken(pool(), 1)).rejects.toThrow("1 calls, 0 answers");
});

test("more than may wait are refused for now, and nothing of them is done", async () => {
  const { statements, run } = held<number, number>();
  const call = batched(run, { max: 1, waitingMax: 2 });
  const sql = pool();
  void (await eachAlone([1, 2, 3, 4], (item) => call(sql, item)));
  await expect(call(sql, 5)).rejects.toBeInstanceOf(Refusal);
  expect(statements.flatMap(({ items }) => items)).toEqual([1, 2]);
});

test("numbered rows become answers in the order of the calls; a call without a row gets none", () => {
  expect(
    inOrder(
      ["a", "b", "c"],
      [
        { n: "3", value: 30 },
        { n: "1", value: 10 },
      ],
      ({ value }) => value,
    ),
  ).toEqual([10, undefined, 30]);
});
