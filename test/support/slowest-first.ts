/** The order of the test files: those that take minutes begin first, so that none of them runs alone at the end. */
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/** Seconds of the files that take more than twenty on two cores, as they were last seen. */
const SECONDS: Readonly<Record<string, number>> = {
  "test/integration/bench.test.ts": 200,
  "test/integration/as4-two-engines-killed.test.ts": 120,
  "test/browser/people.test.ts": 100,
  "test/simulation/truth.test.ts": 72,
  "test/browser/document-view.test.ts": 60,
  "test/integration/crash.test.ts": 60,
  "test/integration/webhooks.test.ts": 57,
  "test/bulkheads/starting.test.ts": 46,
  "test/integration/streams.test.ts": 45,
  "test/unit/commands/validate.test.ts": 40,
  "test/integration/embedded-postgres.test.ts": 37,
  "test/browser/consent.test.ts": 35,
  "test/integration/validation-hostile.test.ts": 35,
  "test/integration/hostile-receivers.test.ts": 31,
  "test/integration/outbox.test.ts": 30,
  "test/unit/validators/pool.test.ts": 30,
  "test/contract/connector-debugger.test.ts": 30,
  "test/integration/claims.test.ts": 28,
  "test/integration/sandbox-fates.test.ts": 26,
  "test/integration/as4-two-engines-random.test.ts": 25,
  "test/integration/compiled-plans.test.ts": 25,
  "test/unit/commands/rules.test.ts": 25,
  "test/simulation/delivery.test.ts": 24,
  "test/integration/hanging-database.test.ts": 24,
};

const secondsOf = ({ moduleId }: TestSpecification): number =>
  Object.entries(SECONDS).find(([path]) => moduleId.endsWith(path))?.[1] ?? 0;

/** Files with a process of their own come first: a process is handed on only between neighbours that share it. */
const ownProcess = ({ project }: TestSpecification): number => (project.config.isolate ? 1 : 0);

/** Vitest's own order behind those. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => ownProcess(b) - ownProcess(a) || secondsOf(b) - secondsOf(a));
  }
}
