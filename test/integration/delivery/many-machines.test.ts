/**
 * Two machines on one database and three servers of NATS, under load: servers are killed and emptied, machines stopped,
 * frozen and killed. The long form, with figures for one, two and four machines, is test/faults/servers/machines.test.ts.
 * @source design/reliability.md, F-08, F-14, F-17, F-18, R-03
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { findNatsServer } from "../../../engine/embedded/embedded.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { startLoad } from "../../faults/load.js";
import { brokenOf, DISTURBANCES, disturbed } from "../../faults/servers/machines.js";
import type { Installation } from "../../faults/servers/machines.js";
import { accessToken } from "../../support/engines/engine.js";
import { startMachines } from "../../support/engines/machines.js";
import { startNatsCluster } from "../../support/network/nats-cluster.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { killEverythingOn } from "../../support/engines/process.js";

const DOCUMENTS = 24;
const FIRMS = 8;
/** Standard endpoints take so many requests of one key in a minute. @source spec/sapi.md, Limits */
const CALLS_A_MINUTE = 200;
/** How far the count of several machines may be off. */
const ERROR_SHARE = 0.05;

let folder: string;
let db: TestDatabase;
let all: Installation;

beforeAll(async () => {
  const program = findNatsServer();
  if (program === undefined) throw new Error("nats-server is missing");
  await buildIfNeeded();
  folder = mkdtempSync(join(tmpdir(), "kurier-machines-"));
  db = await freshDatabase();
  const nats = await startNatsCluster(program, folder);
  const machines = await startMachines({ count: 2, folder, databaseUrl: db.url, natsUrl: nats.url });
  const load = await startLoad(() => machines, db.sql, FIRMS);
  await load.ready();
  all = { machines, nats, load, sql: db.sql };
});
afterAll(async () => {
  await all.machines.end();
  await all.nats.stop();
  killEverythingOn(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  await db.drop();
});

test("two machines together let one key make as many calls as one machine does, within a twentieth", async () => {
  const { sandbox } = all.machines;
  const token = await accessToken(sandbox, sandbox.sender);
  const call = async (): Promise<number> =>
    (
      await fetch(`${sandbox.sapiBaseUrl}/document/receive`, {
        headers: { authorization: `Bearer ${token}`, "x-peppol-participant-id": sandbox.sender.participantId },
      })
    ).status;
  const statuses: number[] = [];
  for (let n = 0; n < 1.25 * CALLS_A_MINUTE; n += 25)
    statuses.push(...(await Promise.all(Array.from({ length: 25 }, call))));
  const passed = statuses.filter((status) => status === 200).length;
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect(passed).toBeLessThanOrEqual((1 + ERROR_SHARE) * CALLS_A_MINUTE);
  expect(passed).toBeGreaterThanOrEqual((1 - ERROR_SHARE) * CALLS_A_MINUTE);
});

test.each(DISTURBANCES)(
  "many machines under load lose nothing, double nothing, and all invariants hold when %s",
  async (_what, strike) => {
    const { exits, accepted } = await disturbed(all, DOCUMENTS, strike);
    expect(accepted).toBe(DOCUMENTS);
    expect(exits.filter((code) => code !== 0)).toEqual([]);
    expect(await brokenOf(all)).toEqual([]);
  },
);
