import { availableParallelism } from "node:os";

import { configDefaults, defineConfig } from "vitest/config";

import { SlowestFirst } from "./test/support/slowest-first.js";

/** These measure a process, or change what a process has one of; each file has a process of its own. */
const ALONE = [
  "test/bulkheads/shares/turns.test.ts",
  "test/fuzz/**/*.test.ts",
  "test/integration/validation/validation-hostile.test.ts",
];
/** The allocator as `npm start` has it: by itself it keeps up to 130 MB more, or less, from one moment to the next. */
const AS_STARTED = { MALLOC_MMAP_THRESHOLD_: "131072", MALLOC_ARENA_MAX: "2" };
const OTHERWISE = ["test/interop/**", "test/faults/**", "test/clients/**", "dist/**", ...configDefaults.exclude];

/** Held to this is only what would never end: a machine may be busy with something else for a minute. */
const PATIENCE_MS = 300_000;

const common = { testTimeout: PATIENCE_MS, hookTimeout: PATIENCE_MS, pool: "forks" } as const;

export default defineConfig({
  test: {
    ...common,
    // Most tests wait for an engine, a database or a plan of attempts: four beside each other keep two cores busy.
    maxWorkers: Math.max(4, availableParallelism()),
    sequence: { sequencer: SlowestFirst },
    globalSetup: [
      "test/support/scratch-setup.ts",
      "test/support/engines/build-setup.ts",
      "test/support/database/postgres-setup.ts",
    ],
    projects: [
      { test: { ...common, name: "alone", include: ALONE, exclude: OTHERWISE, env: AS_STARTED } },
      // Files that share a process load the engine once: 300 processes that load it take five minutes of a processor.
      {
        test: {
          ...common,
          name: "together",
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: [...OTHERWISE, ...ALONE],
        },
      },
    ],
  },
});
