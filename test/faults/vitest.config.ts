import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/faults/**/*.test.ts"],
    fileParallelism: false,
    testTimeout: 4 * 3_600_000,
    hookTimeout: 120_000,
    pool: "forks",
    globalSetup: ["test/support/database/postgres-setup.ts"],
  },
});
