/**
 * One, two and four machines on one database and three servers of NATS: what they accept and deliver in a second, and
 * what is left of it when servers and machines are killed, emptied, frozen and replaced. The short form is
 * test/integration/delivery/many-machines.test.ts.
 * @source design/reliability.md, F-08, F-14, F-17, F-18
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { findNatsServer } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { accessToken } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { startMachines } from "../../support/engines/machines.js";
import type { Machines } from "../../support/engines/machines.js";
import { startNatsCluster } from "../../support/network/nats-cluster.js";
import { preparePostgresHost } from "../../support/database/postgres-host.js";
import { POSTGRES_15 } from "../../support/database/postgres-server.js";
import { killEverythingOn } from "../../support/engines/process.js";
import { keepFigures } from "../figures.js";
import { startLoad } from "../load.js";
import { brokenOf, DISTURBANCES, disturbed, openDocuments } from "./machines.js";
import type { Installation } from "./machines.js";

const DOCUMENTS = 1_200;
const DISTURBED_DOCUMENTS = 150;
/** Standard endpoints take so many requests of one key in a minute. @source spec/sapi.md, Limits */
const CALLS_A_MINUTE = 200;
const CALLS_AT_ONCE = 25;
/** How far the count of several machines may be off. @source design/reliability.md, R-03 */
const ERROR_SHARE = 0.05;
/** Clock ticks of the system, in which /proc counts processor time. */
const TICKS_PER_S = 100;

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function install(count: number): Promise<Installation> {
  const program = findNatsServer();
  if (program === undefined) throw new Error("nats-server is missing");
  await buildIfNeeded();
  const folder = mkdtempSync(join(tmpdir(), "kurier-machines-"));
  undo.push(() => {
    killEverythingOn(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  const postgres = await preparePostgresHost(POSTGRES_15, join(folder, "postgres"), true);
  await postgres.start({ max_connections: "300" });
  undo.push(() => postgres.stop());
  const nats = await startNatsCluster(program, folder);
  undo.push(() => nats.stop());
  const machines = await startMachines({ count, folder, databaseUrl: postgres.url, natsUrl: nats.url });
  undo.push(() => machines.end());
  const sql = openSql({ url: postgres.url, name: "faults", connections: 2 });
  undo.push(() => sql.end({ timeout: 1 }));
  const load = await startLoad(() => machines, sql);
  await load.ready();
  return { machines, nats, load, sql };
}

/** Processor time of the machines so far, in seconds. */
const processorTime_s = (machines: Machines): number =>
  Array.from({ length: machines.count }, (_, index) => {
    const text = readFileSync(`/proc/${machines.machine(index).pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")")).split(" ");
    return (Number(fields[12]) + Number(fields[13])) / TICKS_PER_S;
  }).reduce((sum, seconds) => sum + seconds, 0);

/** How many calls of one key pass in one go, of a quarter more than it may make, through all machines. */
async function passedOf({ sandbox }: Machines): Promise<number> {
  const token = await accessToken(sandbox, sandbox.sender);
  const headers = { authorization: `Bearer ${token}`, "x-peppol-participant-id": sandbox.sender.participantId };
  const call = async (): Promise<number> =>
    (await fetch(`${sandbox.sapiBaseUrl}/document/receive`, { headers, signal: AbortSignal.timeout(30_000) })).status;
  const statuses: number[] = [];
  while (statuses.length < 1.25 * CALLS_A_MINUTE)
    statuses.push(...(await Promise.all(Array.from({ length: CALLS_AT_ONCE }, call))));
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  return statuses.filter((status) => status === 200).length;
}

const since_s = (start: number): number => (systemClock.monotonic() - start) / 1_000;

test("one, two and four machines accept and deliver each document once, and count the calls of a key within a twentieth", async () => {
  const rows: (readonly (string | number)[])[] = [];
  for (const count of [1, 2, 4]) {
    const all = await install(count);
    const { load, sql, machines } = all;
    await load.send(DOCUMENTS / 6);
    await eventually("it is warm", async () => (await openDocuments(sql)) === 0);
    const used = processorTime_s(machines);
    const start = systemClock.monotonic();
    await load.send(DOCUMENTS);
    const accepted_s = since_s(start);
    await eventually("everything is delivered", async () => (await openDocuments(sql)) === 0);
    const delivered_s = since_s(start);
    const cpu_ms = ((processorTime_s(machines) - used) * 1_000) / DOCUMENTS;
    expect(load.refused()).toBe(0);
    expect(await brokenOf(all)).toEqual([]);
    const passed = await passedOf(machines);
    expect(Math.abs(passed - CALLS_A_MINUTE)).toBeLessThanOrEqual(ERROR_SHARE * CALLS_A_MINUTE);
    rows.push([
      count,
      Math.round(DOCUMENTS / accepted_s),
      Math.round(DOCUMENTS / delivered_s),
      cpu_ms.toFixed(1),
      `${(((passed - CALLS_A_MINUTE) / CALLS_A_MINUTE) * 100).toFixed(1)} %`,
    ]);
    for (let index = 0; index < machines.count; index += 1) expect(await machines.stop(index)).toBe(0);
    for (const step of undo.splice(0).reverse()) await step();
  }
  keepFigures("machines", {
    title: "One, two and four machines",
    command: "npm run -s test:faults -- machines",
    remark: `${DOCUMENTS} documents of 24 clients, over AS4 from the installation to itself, with the machines, Postgres 15, three servers of NATS and the clients on the same cores: more machines cannot be quicker here, they show what each costs. Processor time is that of the machines alone. The error of the rate limit is how many calls of one key more, or fewer, than the ${CALLS_A_MINUTE} that it may make in a minute passed through all machines together, of ${1.25 * CALLS_A_MINUTE} in one go.`,
    columns: [
      "Machines",
      "Accepted a second",
      "Accepted and delivered a second",
      "Processor time a document, ms",
      "Error of the rate limit",
    ],
    rows,
  });
});

test("four machines under load lose nothing and double nothing, whatever is killed, emptied, frozen or replaced", async () => {
  const all = await install(4);
  const rows: (readonly (string | number)[])[] = [];
  for (const [what, strike] of DISTURBANCES) {
    const start = systemClock.monotonic();
    const { exits, accepted, refused } = await disturbed(all, DISTURBED_DOCUMENTS, strike);
    rows.push([what, accepted, refused, 0, 0, since_s(start).toFixed(1)]);
    expect(accepted).toBe(DISTURBED_DOCUMENTS);
    expect(exits.filter((code) => code !== 0)).toEqual([]);
    expect(await brokenOf(all)).toEqual([]);
  }
  keepFigures("machines-disturbed", {
    title: "Four machines, disturbed",
    command: "npm run -s test:faults -- machines",
    remark: `${DISTURBED_DOCUMENTS} documents are sent while it happens; asked again are requests that were not answered with 202 at once. The time is that until everything is accepted and delivered, the disturbance included.`,
    columns: ["What happens", "Accepted", "Asked again", "Lost", "Doubled", "Everything delivered, s"],
    rows,
  });
});
