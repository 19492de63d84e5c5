/** The order of the test files: those that take minutes begin first, so that none of them runs alone at the end. */
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

/** Seconds of the files that take more than twenty on two cores, as they were last seen. */
const SECONDS: Readonly<Record<string, number>> = {
  "test/integration/operators/bench.test.ts": 200,
  "test/integration/access-points/as4-two-engines-killed.test.ts": 120,
  "test/simulation/truth.test.ts": 105,
  "test/browser/people.test.ts": 100,
  "test/bulkheads/starts/starting.test.ts": 87,
  "test/browser/console.test.ts": 65,
  "test/browser/document-view.test.ts": 60,
  "test/integration/delivery/crash.test.ts": 60,
  "test/integration/webhooks/webhooks.test.ts": 57,
  "test/integration/delivery/claims.test.ts": 48,
  "test/integration/delivery/streams.test.ts": 45,
  "test/unit/as4/messages/every-octet.test.ts": 45,
  "test/unit/commands/validate.test.ts": 40,
  "test/integration/database/embedded-postgres.test.ts": 37,
  "test/browser/consent.test.ts": 35,
  "test/integration/validation/validation-hostile.test.ts": 35,
  "test/integration/delivery/hostile-receivers.test.ts": 31,
  "test/integration/delivery/outbox.test.ts": 30,
  "test/unit/validators/runner/pool.test.ts": 30,
  "test/contract/connector/connector-debugger.test.ts": 30,
  "test/integration/operators/sandbox-fates.test.ts": 26,
  "test/integration/access-points/as4-two-engines-random.test.ts": 25,
  "test/integration/database/compiled-plans.test.ts": 25,
  "test/unit/commands/rules.test.ts": 25,
  "test/simulation/delivery.test.ts": 24,
  "test/integration/database/hanging-database.test.ts": 24,
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
