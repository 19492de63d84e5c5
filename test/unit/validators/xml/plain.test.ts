// Goal: what goes to a worker takes along what it needs and nothing else, and leaves its owner's bytes alone.
import { expect, test } from "vitest";

import { copyForTransfer, ownBuffers, withoutBackingStore } from "../../../../validators/plain.js";
import { turnsDuring } from "../../../support/turns.js";

const pool = Buffer.alloc(100_000, 7);

test("a long byte array is handed over in a buffer of its own with a NUL behind it; its owner keeps the bytes", async () => {
  const transfer: ArrayBuffer[] = [];
  const { bytes } = await copyForTransfer({ bytes: pool.subarray(10, 50_010) }, transfer);
  expect(transfer.map(({ byteLength }) => byteLength)).toEqual([50_001]);
  expect(bytes.buffer).toBe(transfer[0]);
  expect(new Uint8Array(bytes.buffer)[50_000]).toBe(0);
  structuredClone(bytes, { transfer });
  expect(pool.every((byte) => byte === 7)).toBe(true);
});

test("a short byte array is cloned: without the buffer that it is a window on, and nothing is handed over", async () => {
  const transfer: ArrayBuffer[] = [];
  const own = new Uint8Array(300).fill(7);
  const copy = await copyForTransfer(
    { keys: [{ certificate: pool.subarray(5, 1_005) }, { certificate: own }] },
    transfer,
  );
  expect(transfer).toEqual([]);
  expect(copy.keys.map(({ certificate }) => certificate.buffer.byteLength)).toEqual([1_000, 300]);
  expect(copy.keys[1]?.certificate).toBe(own);
});

test("results of a worker take no foreign buffer along", () => {
  const { part } = withoutBackingStore({ part: pool.subarray(0, 10), name: "x" });
  expect([part.byteLength, part.buffer.byteLength]).toEqual([10, 10]);
});

test("long byte arrays of a result are handed over, each once, where they have a buffer for themselves", () => {
  const own = new Uint8Array(50_000);
  const short = new Uint8Array(2_000);
  expect(ownBuffers([{ a: own, b: { c: own } }, pool.subarray(0, 50_000), short, "x"])).toEqual([own.buffer]);
});

test("the event loop turns while a large byte array is copied for a worker, and the copy is whole", async () => {
  const large = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, at) => at * 7));
  let copy: Buffer | undefined;
  const turns = await turnsDuring(async () => {
    copy = (await copyForTransfer({ job: { large } }, [])).job.large;
  });
  expect(turns).toBeGreaterThanOrEqual(4);
  expect(large.equals(copy ?? Buffer.alloc(0))).toBe(true);
});
