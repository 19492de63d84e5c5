import { defineConfig } from "vitest/config";

import { SlowestFirst } from "./test/support/slowest-first.js";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/interop/**", "test/faults/**", "test/clients/**", "node_modules/**", "dist/**"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    // The default leaves one core of a small machine to nobody: most tests wait for an engine or a database.
    maxWorkers: "100%",
    sequence: { sequencer: SlowestFirst },
    globalSetup: ["test/support/postgres-setup.ts"],
  },
});
