#!/usr/bin/env node
// The `kurier` command: builds dist/ when a source has changed, then runs gateway/cli.

/** Signals that end a process, and what a shell tells of one that they have ended. */
const ENDINGS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

// The first process of a container has no default action: what it does not listen to is lost, from its first line on.
if (process.pid === 1)
  for (const [signal, code] of Object.entries(ENDINGS))
    process.on(signal, () => {
      // Who listens by then as well ends in his own way.
      if (process.listenerCount(signal) === 1) process.exit(code);
    });

/** What supervisors do not start again: EXIT.configuration, which lies in a file that may be the damaged one. */
const CONFIGURATION = 78;

/** Of an import, of a require in a dependency, and of a package.json that cannot be read. */
const CODES = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_INVALID_PACKAGE_CONFIG"];

/** Whether Node.js found a file missing or cut off: text that we read is no module, and what is wrong in it a bug. */
const isDamage = (error) =>
  CODES.includes(error?.code) ||
  (error instanceof SyntaxError && /^ +at .*/m.exec(error.stack ?? "")?.[0].includes("(node:internal/modules/"));

/** A function of a file, which an empty one has not. */
async function load(file, name) {
  const { [name]: found } = await import(file);
  if (found === undefined) throw Object.assign(new Error(`${file} has no ${name}.`), { code: CODES[0] });
  return found;
}

try {
  const buildIfNeeded = await load("../deploy/build.mjs", "buildIfNeeded");
  await buildIfNeeded();
  const main = await load("../dist/gateway/cli.js", "main");
  await main(process.argv.slice(2));
} catch (error) {
  if (!isDamage(error)) throw error;
  const found = error.message.replaceAll("\n", " ");
  process.stderr.write(
    `This installation is damaged, for a file of it is missing or cut off: install it again (a checkout: npm ci). ${found}\n`,
  );
  // At once: what has been opened by then would go on, and Node.js 20 rejects a second time for a file that is required.
  process.exit(CONFIGURATION);
}
