/** Whether what was built around somebody else's server can run here. */
import { inject, test } from "vitest";

import { HARNESSES } from "./harness-build.js";
import type { Harness } from "./harness-build.js";

/** Says by name what is missing where the answer is no. */
export function hasHarness(harness: Harness): boolean {
  const build = inject("harnesses")[harness];
  if (build.kind === "built") return true;
  const reason = `${HARNESSES[harness]} was not run: Maven cannot fetch ${build.artifact}`;
  process.stderr.write(`${reason}\n`);
  test.skip(reason, () => undefined);
  return false;
}
