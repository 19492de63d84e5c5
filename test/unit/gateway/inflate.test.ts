import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { createInflater } from "../../../gateway/request/inflate.js";
import type { Sharer } from "../../../gateway/http/shares.js";
import type { Inflater } from "../../../gateway/request/inflate.js";

const LIMITS = { request_inflating_max: 1, request_inflations_waiting_max: 2, request_inflated_bytes_max: 100 };
const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "read",
    (error: unknown) => (error instanceof Refusal ? error.reason : String(error)),
  );
const caller: Sharer = { share: "api", addressGroup: "192.0.2.1", holder: "key" };
const stranger: Sharer = { share: "public", addressGroup: "192.0.2.2", holder: "192.0.2.2" };
const of = (length: number): Buffer => gzipSync(Buffer.alloc(length));

test("inflated bodies that are still held count against the bound, and count no more once they are released", async () => {
  const inflater = createInflater(LIMITS);
  const first = await inflater.inflate(of(60), 100, caller);
  expect(await reasonOf(inflater.inflate(of(60), 100, caller))).toBe("TEMPORARY");
  const second = await inflater.inflate(of(40), 100, stranger);
  expect(await reasonOf(inflater.inflate(of(1), 100, stranger))).toBe("TEMPORARY");
  first.release();
  first.release();
  const third = await inflater.inflate(of(60), 100, caller);
  expect(third.bytes).toHaveLength(60);
  second.release();
  third.release();
  expect((await inflater.inflate(of(100), 100, stranger)).bytes).toHaveLength(100);
});

test("strangers whose inflated bodies are held, and strangers who wait for a turn, take no room from callers", async () => {
  const inflater = createInflater({
    ...{ request_inflating_max: 1, request_inflations_waiting_max: 32, request_inflated_bytes_max: 1_000 },
  });
  const held = await inflater.inflate(of(150), 1_000, stranger);
  expect(await reasonOf(inflater.inflate(of(10), 1_000, stranger))).toBe("TEMPORARY");
  expect((await inflater.inflate(of(10), 1_000, caller)).bytes).toHaveLength(10);
  held.release();
  const strangers = Array.from({ length: 20 }, () => reasonOf(inflater.inflate(of(0), 1_000, stranger)));
  const call = inflater.inflate(of(200), 1_000, caller);
  // One is inflated and sixteen wait; the others are told to come again.
  expect((await Promise.all(strangers)).filter((reason) => reason === "TEMPORARY")).toHaveLength(3);
  expect((await call).bytes).toHaveLength(200);
});

test("bodies that wait for their turn are read in the order they came; more than may wait are refused", async () => {
  const inflater = createInflater(LIMITS);
  const order: number[] = [];
  const one = async (i: number): Promise<void> => {
    const { release } = await inflater.inflate(of(1), 10, caller);
    order.push(i);
    release();
  };
  const read = [one(0), one(1), one(2)];
  expect(await reasonOf(one(3))).toBe("TEMPORARY");
  await Promise.all(read);
  expect(order).toEqual([0, 1, 2]);
});

test("a body that is refused gives its place to the next", async () => {
  const inflater: Inflater = createInflater(LIMITS);
  const answers = [of(11), Buffer.from("no gzip"), of(10)].map((bytes) =>
    reasonOf(inflater.inflate(bytes, 10, caller)),
  );
  expect(await Promise.all(answers)).toEqual(["BODY_TOO_LARGE", "BODY_MALFORMED", "read"]);
});
