/** `npm run test:clients`: fetches a linter and two generators from npm beside what `npm test` needs. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/clients/**/*.clients.ts"],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    globalSetup: ["test/clients/install.ts", "test/support/database/postgres-setup.ts"],
  },
});
