/**
 * Webhooks under many kills: no event is lost, those of a document keep their order, and the figures are kept.
 *
 * KURIER_TEST_KILLS: kills of each run, of the engine and of its Postgres in turns. SEED: of the first run.
 * KURIER_TEST_FIGURES: a folder that the figures are kept in.
 * @source design/reliability.md, F-12; spec/enterprise.md, Events, Consumer rules
 */
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { Random, seedFrom } from "../../support/random.js";
import { KILLED, killWhileDelivering } from "../../support/webhooks/webhook-kills.js";
import type { KillFigures } from "../../support/webhooks/webhook-kills.js";
import { Races, RACES } from "../../support/webhooks/webhook-races.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import { keepFigures } from "../figures.js";
import { quantile } from "../records.js";

const KILLS = Number(process.env["KURIER_TEST_KILLS"] ?? "50");
const SEED = seedFrom(12);
const RUNS = 2;
const CUT_EACH = LIMITS.webhook_per_endpoint * LIMITS.webhook_chain_max;

const seconds = (time_ms: number): string => (time_ms / 1_000).toFixed(1);

const recoveryOf = ({ kills }: KillFigures, killed: (typeof KILLED)[number]): string => {
  const times_ms = kills.flatMap((kill) =>
    kill.killed === killed && kill.recovery_ms !== undefined ? [kill.recovery_ms] : [],
  );
  return `${seconds(quantile(times_ms, 0.5))} / ${seconds(Math.max(...times_ms))}`;
};

const rowOf = (seed: number, figures: KillFigures): readonly (string | number)[] => [
  seed,
  figures.kills.length,
  figures.events,
  figures.lost,
  figures.disordered,
  figures.twice,
  ...KILLED.map((killed) => recoveryOf(figures, killed)),
];

test(`webhooks: ${KILLS} kills of the engine and of its database lose no event`, async () => {
  const rows: (readonly (string | number)[])[] = [];
  for (let seed = SEED; seed < SEED + RUNS; seed += 1) {
    const figures = await killWhileDelivering(KILLS, new Random(seed));
    rows.push(rowOf(seed, figures));
    const { lost, unknown, disordered, open } = figures;
    expect([seed, { lost, unknown, disordered, open }]).toEqual([
      seed,
      { lost: 0, unknown: 0, disordered: 0, open: 0 },
    ]);
    expect(figures.twice).toBeLessThan(KILLS * CUT_EACH);
  }
  keepFigures("webhooks", {
    title: "Webhooks under kills",
    command: "npm run -s test:faults -- webhooks",
    remark:
      "An engine of its own process and its Postgres are killed with SIGKILL in turns, at moments that the seed draws, while events of documents are delivered, three of each, to a receiver that takes up to 40 ms. An event that came again has the id under which it came before. The time is that from a kill until everything that had happened is told, the start of a new process included; a quarter of the kills comes on top of the one before, without that time.",
    columns: [
      "Seed",
      "Kills",
      "Events",
      "Lost",
      "Documents out of order",
      "Calls again",
      ...KILLED.map((one) => `Everything told after ${one}, s, p50 / max`),
    ],
    rows,
  });
});

test("webhooks: every pair of statements about the same deliveries, in every order of their locks, loses nothing", async () => {
  const world = await webhookWorld();
  const races = await Races.open(world);
  try {
    for (const race of RACES) expect.soft([race, await races.run(race)]).toEqual([race, []]);
  } finally {
    await races.close();
    await world.end();
  }
});
