/** A machine that has no thread to give when the pool is made. */
import { expect, test, vi } from "vitest";

import { createPool } from "../../../../validators/pool.js";

vi.mock("piscina", async (original) => ({
  ...(await original<object>()),
  Piscina: class {
    constructor() {
      // As Node.js says it where pthread_create fails.
      throw Object.assign(new Error("EAGAIN"), { code: "ERR_WORKER_INIT_FAILED" });
    }
  },
}));

test("who makes a pool where the machine has no thread to give is told so in one sentence, and that it may pass", () => {
  const options = { threads: { small: 1, large: 1 }, queueMax: 1, queueBytesMax: 1, jobTimeoutMs: 1_000 };
  const told = { name: "NoWorker", passing: true, message: "No thread could be started to judge documents: EAGAIN" };
  expect(() => createPool(options)).toThrow(expect.objectContaining(told) as Error);
});
