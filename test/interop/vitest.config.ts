/** `npm run test:interop`: needs Java 17 and Maven beside what `npm test` needs. */
import { defineConfig } from "vitest/config";

// Each of these servers lives for a minute or less: what Java's second compiler would make of it is not earned back.
process.env["JDK_JAVA_OPTIONS"] ??= "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

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
