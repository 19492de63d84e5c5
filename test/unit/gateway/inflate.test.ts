import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { createInflater } from "../../../gateway/request/inflate.js";
import type { Inflater } from "../../../gateway/request/inflate.js";

const LIMITS = { request_inflating_max: 1, request_inflations_waiting_max: 2, request_inflated_bytes_max: 100 };
const reasonOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "read",
    (error: unknown) => (error instanceof Refusal ? error.reason : String(error)),
  );
const of = (length: number): Buffer => gzipSync(Buffer.alloc(length));

test("inflated bodies that are still held count against the bound, and count no more once they are released", async () => {
  const inflater = createInflater(LIMITS);
  const first = await inflater.inflate(of(60), 100);
  const second = await inflater.inflate(of(60), 100);
  expect(await reasonOf(inflater.inflate(of(1), 100))).toBe("TEMPORARY");
  first.release();
  first.release();
  const third = await inflater.inflate(of(1), 100);
  expect(third.bytes).toHaveLength(1);
  second.release();
  third.release();
  expect((await inflater.inflate(of(100), 100)).bytes).toHaveLength(100);
});

test("bodies that wait for their turn are read in the order they came; more than may wait are refused", async () => {
  const inflater = createInflater(LIMITS);
  const order: number[] = [];
  const one = async (i: number): Promise<void> => {
    const { release } = await inflater.inflate(of(1), 10);
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
  const answers = [of(11), Buffer.from("no gzip"), of(10)].map((bytes) => reasonOf(inflater.inflate(bytes, 10)));
  expect(await Promise.all(answers)).toEqual(["BODY_TOO_LARGE", "BODY_MALFORMED", "read"]);
});
