#!/usr/bin/env node
// The `kurier` command: builds dist/ when a source has changed, then runs gateway/cli.
import { buildIfNeeded } from "../deploy/build.mjs";

/** What supervisors do not start again: EXIT.configuration, which lies in a file that may be the damaged one. */
const CONFIGURATION = 78;

/** Whether Node.js found a file missing or cut off: text that we read is no module, and what is wrong in it a bug. */
const isDamage = (error) =>
  error?.code === "ERR_MODULE_NOT_FOUND" ||
  (error instanceof SyntaxError && /^ +at .*/m.exec(error.stack ?? "")?.[0].includes("(node:internal/modules/"));

try {
  await buildIfNeeded();
  const { main } = await import("../dist/gateway/cli.js");
  await main(process.argv.slice(2));
} catch (error) {
  if (!isDamage(error)) throw error;
  process.exitCode = CONFIGURATION;
  process.stderr.write(
    `This installation is damaged, for a file of it is missing or cut off: install it again (a checkout: npm ci). ${error.message}\n`,
  );
}
