/**
 * Goal: no event is lost, whatever dies while it is delivered: each arrives at least once, and once when what came twice
 * is told apart by its id; and what was cut off goes on without anybody's help.
 * Method: an engine of its own process and its embedded Postgres are killed with SIGKILL in turns while events happen and
 * a receiver on this machine takes its time: four kills here, fifty in test/faults.
 * @source design/reliability.md, F-12; spec/enterprise.md, Events, Consumer rules
 */
import { expect, test } from "vitest";

import { killWhileDelivering } from "../support/webhook-kills.js";

const KILLS = 4;
/** Attempts that a kill can cut off: those of one endpoint. */
const CUT_EACH = 16;

test(`${KILLS} kills of the engine and of its database lose no event, and ids tell apart what comes twice`, async () => {
  const { twice, ...figures } = await killWhileDelivering(KILLS);
  expect(figures).toMatchObject({ kills: KILLS, lost: 0, unknown: 0, open: 0 });
  // What came twice came because its answer was not written: never more often than something was killed.
  expect(twice).toBeLessThan(KILLS * CUT_EACH);
}, 360_000);
