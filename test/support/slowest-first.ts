/** The order of the test files: those that take minutes begin first, so that none of them runs alone at the end. */
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

const SLOWEST = [
  "test/integration/bench.test.ts",
  "test/integration/sandbox-fates.test.ts",
  "test/browser/people.test.ts",
  "test/integration/as4-two-engines-killed.test.ts",
  "test/integration/webhooks.test.ts",
  "test/integration/webhooks-killed.test.ts",
  "test/simulation/truth.test.ts",
];

const rank = ({ moduleId }: TestSpecification): number => {
  const at = SLOWEST.findIndex((path) => moduleId.endsWith(path));
  return at === -1 ? SLOWEST.length : at;
};

/** Vitest's own order behind those. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
