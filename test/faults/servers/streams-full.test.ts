/**
 * The disk of the JetStream server is full, and no other: what it cannot take stays in the outbox, documents are
 * accepted and delivered all the same, and wake-ups travel again once there is room. Method: the store is a small file
 * system of its own, which ballast fills. Needs the right to mount; without it the test is skipped and says so.
 * @source design/reliability.md, F-08
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { findNatsServer, runningNatsServer } from "../../../engine/embedded/embedded.js";
import { openJetStream } from "../../../engine/events/streams-jetstream.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { createBallast, canMountSmall, mountSmall, unmountSmall } from "../../support/ballast.js";
import { eventually } from "../../support/eventually.js";
import { databaseFacts, processFacts } from "../../support/truth/oracle-facts.js";
import { violations } from "../../support/truth/oracle.js";
import { freePort, killEverythingOn } from "../../support/engines/process.js";
import { hurryWork, openWork } from "../../support/engines/under-way.js";
import { keepFigures } from "../figures.js";
import { startLoad } from "../load.js";
import type { Accepted } from "../load.js";
import { factsOf, faultsOf, Patient } from "../deaths/patient.js";
import { STRIKES } from "../deaths/strikes.js";

const SIZE = "48m";
const FIRMS = 20;
interface Phase {
  readonly name: string;
  /** Documents that are sent in it. */
  readonly sent: number;
  readonly full: boolean;
  /** Whether the server dies at its beginning: without room it cannot even write its settings. */
  readonly killed: boolean;
}
const PHASES: readonly Phase[] = [
  { name: "has room", sent: 40, full: false, killed: false },
  { name: "is full", sent: 150, full: true, killed: false },
  { name: "is full, and the server was killed", sent: 100, full: true, killed: true },
  { name: "has room again", sent: 40, full: false, killed: false },
];

const folder = mkdtempSync(join(tmpdir(), "kurier-streams-"));
const store = join(folder, "streams");
mkdirSync(store);
const canMount = canMountSmall(SIZE);
const ballast = createBallast(store);
beforeAll(async () => {
  if (canMount) mountSmall(store, SIZE);
  await buildIfNeeded();
});
afterAll(() => {
  killEverythingOn(folder);
  if (canMount) unmountSmall(store);
  rmSync(folder, { recursive: true, force: true });
});

/** What one of our metrics says, over all its labels. */
async function metricOf(patient: Patient, name: string): Promise<number> {
  const text = await (await fetch(`${patient.engine.sandbox.adminUrl}/metrics`)).text();
  const lines = text
    .split("\n")
    .filter((line) => line.startsWith(`kurier_${name}{`) || line.startsWith(`kurier_${name} `));
  expect(lines.length).toBeGreaterThan(0);
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const readiness = async ({ engine }: Patient): Promise<number> =>
  (await fetch(`${engine.sandbox.adminUrl}/readyz`)).status;

const countOf = async ({ sql }: Patient, what: "outbox" | "undelivered"): Promise<number> => {
  const rows =
    what === "outbox"
      ? await sql<{ n: number }[]>`select count(*)::integer as n from outbox`
      : await sql<{ n: number }[]>`select count(*)::integer as n from document where status <> 'delivered'`;
  return rows[0]?.n ?? 0;
};

/** What somebody else's consumer of the events hears: without one the server has nothing to keep of them. */
async function listen(): Promise<{ readonly heard: Set<string>; close(): Promise<void> }> {
  const url = runningNatsServer(folder);
  if (url === undefined) throw new Error("the embedded nats-server does not run");
  const streams = openJetStream({ url, log: silentLog, metrics: createMetrics(), clock: systemClock });
  // Ids of events; bounded by those of this test.
  const heard = new Set<string>();
  await streams.consume("events", "listener", { concurrency: 8 }, ({ key }) => {
    heard.add(key);
    return Promise.resolve("done");
  });
  return { heard, close: () => streams.close() };
}

const refusedPublishes = ({ engine }: Patient): number => engine.output().split('"relay.publish_failed"').length - 1;

const secondsOf = (times: readonly number[]): string =>
  (times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN).toFixed(2);

test.skipIf(!canMount)(
  "while the disk of the JetStream server is full documents are accepted and delivered, what it cannot take waits in the outbox, and wake-ups travel again once there is room",
  async () => {
    if (findNatsServer() === undefined) throw new Error("nats-server is missing");
    const patient = new Patient(folder, { LOG_LEVEL: "warn", PORT: String(await freePort()) });
    await patient.start();
    const listener = await listen();
    const load = await startLoad(() => patient.engine, patient.sql, FIRMS);
    const accepted: Accepted[] = [];
    const rows: (readonly (string | number)[])[] = [];
    await load.ready();
    for (const { name, sent, full, killed } of PHASES) {
      const begun = systemClock.now();
      if (full) ballast.fill();
      if (killed) await STRIKES.nats.strike({ engine: patient.engine, dataDir: folder, sql: patient.sql });
      if (!full) {
        ballast.remove();
        await eventually("what waited is published", async () => (await countOf(patient, "outbox")) === 0);
      }
      const [told, refusedBefore] = [load.accepted.length, refusedPublishes(patient)];
      await load.send(sent);
      expect(load.refusals).toEqual([]);
      await eventually("all of it is delivered", async () => {
        if (full && !ballast.isFull()) ballast.fill();
        await hurryWork(patient.sql);
        return (await countOf(patient, "undelivered")) === 0;
      });
      expect(await readiness(patient)).toBe(200);
      const [waiting, lag_s] = [await countOf(patient, "outbox"), await metricOf(patient, "outbox_lag_seconds")];
      const refused = refusedPublishes(patient) - refusedBefore;
      if (full) {
        expect(ballast.isFull()).toBe(true);
        expect(waiting).toBeGreaterThan(0);
        expect(lag_s).toBeGreaterThan(0);
        expect(refused).toBeGreaterThan(0);
      }
      if (!full) expect(refused).toBe(0);
      accepted.push(...load.accepted.slice(told));
      const facts = await factsOf(patient.sql, begun);
      const times = facts.map(({ created, delivered }) => (delivered - created) / 1_000);
      rows.push([name, sent, refused, waiting, lag_s.toFixed(1), secondsOf(times), Math.max(...times).toFixed(2)]);
    }
    await eventually("nothing waits", async () => {
      await hurryWork(patient.sql);
      return (await openWork(patient.sql)).length === 0 && (await metricOf(patient, "stream_pending_messages")) === 0;
    });
    const told = await patient.sql<{ id: string }[]>`select id from document_event where feed`;
    await eventually("every event is heard of", () => told.every(({ id }) => listener.heard.has(id)));
    await listener.close();
    expect(faultsOf(await factsOf(patient.sql, 0), accepted)).toEqual({ lost: 0, doubled: 0, miscounted: 0 });
    const side = {
      ...(await databaseFacts(patient.sql)),
      name: "the engine",
      accepted: accepted.map(({ id, sha256 }) => ({ id, sha256, answer: { status: 202, body: "" }, repeated: [] })),
      counted: undefined,
      probes: [],
      places: [],
      process: await processFacts(patient.engine, patient.engine.output()),
    };
    expect(violations({ sides: [side], canaries: [], rssMax_bytes: Number.MAX_SAFE_INTEGER })).toEqual([]);
    expect(await patient.engine.stop()).toBe(0);
    await patient.sql.end({ timeout: 1 });
    keepFigures("streams-full", {
      title: "JetStream without room",
      command: "npm run -s test:faults -- streams-full",
      remark:
        "The store of the embedded nats-server is a file system of its own, which is filled to the last octet; 24 clients send meanwhile, and a consumer of the events that is not ours listens; it has heard of every event in the end, and the engine was ready all the time. The outbox is counted when the last document of a phase is delivered; the lag is that of its oldest row, of which an alert tells after a minute.",
      columns: [
        "The disk",
        "Accepted and delivered",
        "Publishes refused",
        "Rows in the outbox",
        "Lag of the outbox, s",
        "Delivered after p50, s",
        "max",
      ],
      rows,
    });
  },
);
