/** `npm run test:interop`: needs Java 17 and Maven beside what `npm test` needs. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/interop/**/*.interop.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    // Each file mostly waits for a server of others; two keep two cores busy.
    maxWorkers: 2,
    globalSetup: ["test/interop/build.ts", "test/support/database/postgres-setup.ts"],
  },
});
