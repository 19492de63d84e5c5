/**
 * Goal: no event is lost, whatever dies while it is delivered: each arrives at least once, and once when what came twice
 * is told apart by its id; and what was cut off goes on without anybody's help.
 * Method: an engine of its own process and its embedded Postgres are killed with SIGKILL in turns while events happen and
 * a receiver on this machine takes its time: four kills here, fifty in test/faults.
 * @source design/reliability.md, F-12; spec/enterprise.md, Events, Consumer rules
 */
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { Random, seedFrom } from "../../support/random.js";
import { killWhileDelivering } from "../../support/webhooks/webhook-kills.js";

const KILLS = 4;
const SEED = seedFrom(12);
/** Calls that a kill can cut off: a row of events at each place of one endpoint. */
const CUT_EACH = LIMITS.webhook_per_endpoint * LIMITS.webhook_chain_max;

test(`${KILLS} kills of the engine and of its database lose no event, and ids tell apart what comes twice`, async () => {
  const { kills, twice, ...figures } = await killWhileDelivering(KILLS, new Random(SEED));
  expect([SEED, kills.length, figures]).toMatchObject([SEED, KILLS, { lost: 0, unknown: 0, disordered: 0, open: 0 }]);
  // What came twice came because its answer was not written: never more often than something was killed.
  expect(twice).toBeLessThan(KILLS * CUT_EACH);
}, 360_000);
