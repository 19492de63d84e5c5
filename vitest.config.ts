import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";

import { SlowestFirst } from "./test/support/slowest-first.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/interop/**", "test/faults/**", "test/clients/**", "node_modules/**", "dist/**"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    // Most tests wait for an engine, a database or a plan of attempts: three beside each other keep two cores busy.
    maxWorkers: Math.max(3, availableParallelism()),
    sequence: { sequencer: SlowestFirst },
    globalSetup: ["test/support/postgres-setup.ts"],
  },
});
