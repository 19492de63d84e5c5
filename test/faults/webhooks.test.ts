/**
 * Webhooks under many kills: no event is lost, and the figures are printed. KURIER_TEST_KILLS: kills, of the engine and of
 * its Postgres in turns.
 * @source design/reliability.md, F-12; spec/enterprise.md, Events, Consumer rules
 */
import { expect, test } from "vitest";

import { killWhileDelivering } from "../support/webhook-kills.js";

const KILLS = Number(process.env["KURIER_TEST_KILLS"] ?? "50");
const CUT_EACH = 16;

test(`webhooks: ${KILLS} kills of the engine and of its database lose no event`, async () => {
  const figures = await killWhileDelivering(KILLS);
  process.stdout.write(`webhooks: ${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ kills: KILLS, lost: 0, unknown: 0, open: 0 });
  expect(figures.twice).toBeLessThan(KILLS * CUT_EACH);
});
