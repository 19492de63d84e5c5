/**
 * The power fails: everything of an engine lies on a file system that then has what was synced and nothing else. Every
 * 202 that a client saw is one document, delivered once with the same bytes, and the evidence is whole; and where
 * commits are not waited for, the same losses are seen to lose documents.
 *
 * KURIER_TEST_LOSSES: for each form of streams. KURIER_TEST_FIGURES: a folder for the figures.
 * @source design/reliability.md, F-13
 */
import { execFile, spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { findNatsServer } from "../../../engine/embedded/embedded.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { eventually } from "../../support/eventually.js";
import { databaseFacts, processFacts } from "../../support/truth/oracle-facts.js";
import { violations } from "../../support/truth/oracle.js";
import { freePort, PROJECT, startEngineProcess } from "../../support/engines/process.js";
import { Random, seedFrom } from "../../support/random.js";
import { hurryWork, openWork } from "../../support/engines/under-way.js";
import { keepFigures } from "../figures.js";
import { startLoad } from "../load.js";
import type { Accepted, Load } from "../load.js";
import { factsOf, faultsOf, Patient } from "../deaths/patient.js";
import { quantile } from "../records.js";
import { makeForgetfulDisk } from "./disk.js";
import type { ForgetfulDisk, Remembered } from "./disk.js";

const LOSSES = Number(process.env["KURIER_TEST_LOSSES"] ?? "10");
const SEED = seedFrom(20_261_123);
/** Documents that clients send around a loss; it comes when some share of them is accepted. */
const SENT = 150;
const SHARE = { least: 0.3, beyond: 0.5 } as const;
/** Losses that are enough for commits that nobody waits for. */
const CARELESS_LOSSES = 3;
const FORMS = [
  ["jetstream", {}],
  ["postgres", { NATS_URL: "embedded" }],
] as const;

let disk: ForgetfulDisk | undefined;
beforeEach(async (context) => {
  disk = makeForgetfulDisk();
  if (disk === undefined) context.skip("needs root, a loop device and ext4");
  await buildIfNeeded();
});
afterEach(async () => {
  await disk?.remove();
});

/** One loss, and what became of the documents that were sent around it. */
interface Loss extends Remembered {
  readonly accepted: number;
  /** Accepted and not delivered when the power failed. */
  readonly open: number;
  /** The receiver had them, and their sender did not know it. */
  readonly between: number;
  readonly lost: number;
  readonly doubled: number;
  readonly miscounted: number;
  /** From the loss until the engine is ready again. */
  readonly ready_ms: number;
}

async function drained({ sql }: Patient): Promise<void> {
  let open: readonly string[] = [];
  try {
    await eventually("nothing is on its way", async () => {
      await hurryWork(sql);
      open = await openWork(sql);
      return open.length === 0;
    });
  } catch (error) {
    throw new Error(`still on its way:\n${open.join("\n")}`, { cause: error });
  }
}

interface Ward {
  readonly patient: Patient;
  readonly disk: ForgetfulDisk;
  readonly load: Load;
}

/** Sends, lets the power fail in the middle, lets everything go on, and waits for its end. */
async function losePower({ patient, disk, load }: Ward, random: Random): Promise<Loss> {
  await load.ready();
  const startedAt = systemClock.now();
  const target = Math.round(SENT * (SHARE.least + SHARE.beyond * random.next()));
  const sending = load.send(SENT);
  await eventually("some are accepted", () => load.accepted.length >= target);
  const lostAt = systemClock.now();
  disk.lose();
  await patient.engine.kill();
  const remembered = await disk.recover();
  await patient.start();
  const ready_ms = systemClock.now() - lostAt;
  await sending;
  await load.repeat();
  await drained(patient);
  const facts = await factsOf(patient.sql, startedAt);
  return {
    ...remembered,
    ...faultsOf(facts, load.accepted),
    accepted: load.accepted.length,
    open: facts.filter(({ created, delivered }) => created < lostAt && delivered >= lostAt).length,
    between: facts.filter(({ receivedAt, delivered }) => receivedAt < lostAt && delivered >= lostAt).length,
    ready_ms,
  };
}

/** What `kurier evidence verify` says of everything that was kept, and with what it ends. */
const verifyEvidence = (dataDir: string): Promise<string> =>
  promisify(execFile)(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "evidence", "verify"], {
    env: { PATH: process.env["PATH"], DATA_DIR: dataDir, ENVIRONMENT: "sandbox" },
  }).then(
    ({ stdout }) => /^[0-9]+ entries in [0-9]+ objects.*$/m.exec(stdout)?.[0] ?? stdout,
    // It ends with 1 when something is not as it was stored, and says what.
    (error: unknown) => (error as { readonly stdout?: string }).stdout ?? String(error),
  );

/** What the oracle of all fault tests says of everything that the engine has ever accepted. */
async function broken({ patient: { sql, engine } }: Ward, accepted: readonly Accepted[]): Promise<readonly string[]> {
  return violations({
    sides: [
      {
        ...(await databaseFacts(sql)),
        name: "the engine",
        accepted: accepted.map(({ id, sha256 }) => ({ id, sha256, answer: { status: 202, body: "" }, repeated: [] })),
        counted: undefined,
        probes: [],
        places: [],
        process: await processFacts(engine, engine.output()),
      },
    ],
    canaries: [],
    rssMax_bytes: Number.MAX_SAFE_INTEGER,
  });
}

/** From now on a commit of whatever writes a row is answered before it is on the disk. */
const makeCareless = (sql: Sql): Promise<unknown> =>
  sql.unsafe(`
    create function forget() returns trigger language plpgsql
      as $$ begin perform set_config('synchronous_commit', 'off', true); return null; end $$;
    do $$ declare t regclass; begin
      for t in select oid from pg_class where relkind in ('r', 'p') and not relispartition
        and relnamespace = 'public'::regnamespace loop
        execute format('create trigger forget before insert or update or delete on %s for each statement execute function forget()', t);
      end loop;
    end $$`);

const sum = (losses: readonly Loss[], of: (loss: Loss) => number): number =>
  losses.reduce((total, loss) => total + of(loss), 0);
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** What an engine makes once: keys, certificates, credentials, and its own name. */
const secretsIn = (dataDir: string): readonly string[] =>
  ["master.key", "node.id", "sandbox.json", "pki/ap.pem", "pki/ca/ap.key", "pki/trust/root.pem"].map((name) =>
    readFileSync(join(dataDir, name), "utf8"),
  );

const environmentOf = async (dataDir: string): Promise<Record<string, string>> => ({
  PATH: process.env["PATH"] ?? "",
  DATA_DIR: dataDir,
  PORT: String(await freePort()),
  ADMIN_PORT: String(await freePort()),
  LOG_LEVEL: "error",
});

/**
 * Starts an engine in an empty folder.
 * @param cut_ms  after which nobody waits for it any more; until it is ready when undefined
 * @returns how long it took
 */
async function firstStart(dataDir: string, cut_ms: number | undefined): Promise<number> {
  const begun = systemClock.monotonic();
  const env = await environmentOf(dataDir);
  const child = spawn(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "serve"], { env, stdio: "ignore" });
  child.unref();
  if (cut_ms === undefined)
    await eventually("the engine is ready", () =>
      fetch(`http://127.0.0.1:${env["ADMIN_PORT"] ?? ""}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  else await delay(cut_ms);
  return systemClock.monotonic() - begun;
}

async function startAndStop(dataDir: string): Promise<void> {
  const engine = await startEngineProcess({ dataDir, project: PROJECT });
  expect(await engine.stop()).toBe(0);
}

const rows: (readonly (string | number)[])[] = [];
function keep(form: string, losses: readonly Loss[], evidence: string): void {
  const ready = losses.map(({ ready_ms }) => ready_ms);
  rows.push([
    form,
    losses.length,
    losses.filter(({ synced, unsynced }) => synced && !unsynced).length,
    ...(
      [(one) => one.accepted, (one) => one.open, (one) => one.between] as const satisfies ((one: Loss) => number)[]
    ).map((of) => sum(losses, of)),
    ...(
      [(one) => one.lost, (one) => one.doubled, (one) => one.miscounted] as const satisfies ((one: Loss) => number)[]
    ).map((of) => sum(losses, of)),
    evidence,
    seconds(quantile(ready, 0.5)),
    seconds(Math.max(...ready)),
  ]);
}

async function openWard(env: Readonly<Record<string, string>>): Promise<Ward> {
  if (disk === undefined) throw new Error("there is no disk");
  // One address over all its lives, as in life: tokens name it.
  const patient = new Patient(disk.folder, { LOG_LEVEL: "error", PORT: String(await freePort()), ...env }, PROJECT);
  await patient.start();
  return { patient, disk, load: await startLoad(() => patient.engine, patient.sql) };
}

test.each(FORMS)(
  `when the power fails under load, every 202 is one document that is delivered once, and the evidence is whole; streams: %s (SEED=${SEED})`,
  async (form, env) => {
    if (form === "jetstream" && findNatsServer() === undefined) throw new Error("nats-server is missing");
    const random = new Random(SEED);
    const ward = await openWard(env);
    const accepted: Accepted[] = [];
    const losses: Loss[] = [];
    for (let n = 0; n < LOSSES; n += 1) {
      const loss = await losePower(ward, random);
      process.stdout.write(`${form} ${JSON.stringify(loss)}\n`);
      accepted.push(...ward.load.accepted);
      losses.push(loss);
      expect(loss, JSON.stringify(loss)).toMatchObject({ synced: true, unsynced: false });
      expect(loss, JSON.stringify(loss)).toMatchObject({ lost: 0, doubled: 0, miscounted: 0 });
    }
    const evidence = await verifyEvidence(ward.disk.folder);
    expect(evidence).toMatch(/^[1-9][0-9]* entries in [0-9]+ objects: everything is as it was stored\.$/);
    expect(await broken(ward, accepted)).toEqual([]);
    keep(form, losses, evidence);
    expect(await ward.patient.engine.stop()).toBe(0);
    await ward.patient.sql.end({ timeout: 1 });
  },
);

test(`where commits are not waited for, the same losses lose documents that clients were told are accepted (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  const ward = await openWard({ NATS_URL: "embedded" });
  await makeCareless(ward.patient.sql);
  const losses: Loss[] = [];
  while (losses.length < CARELESS_LOSSES) losses.push(await losePower(ward, random));
  keep("postgres, commits not waited for", losses, await verifyEvidence(ward.disk.folder));
  expect(sum(losses, ({ lost }) => lost)).toBeGreaterThan(0);
  await ward.patient.engine.stop();
  await ward.patient.sql.end({ timeout: 1 });
});

test(`whenever the power fails during the first start, the next one makes a whole engine, and one that was ready keeps its keys (SEED=${SEED})`, async () => {
  if (disk === undefined) throw new Error("there is no disk");
  const random = new Random(SEED);
  const readyAfter = await firstStart(join(disk.folder, "ready"), undefined);
  const before = secretsIn(join(disk.folder, "ready"));
  disk.lose();
  await disk.recover();
  expect(secretsIn(join(disk.folder, "ready"))).toEqual(before);
  await startAndStop(join(disk.folder, "ready"));
  for (let n = 0; n < LOSSES; n += 1) {
    const dataDir = join(disk.folder, String(n));
    await firstStart(dataDir, readyAfter * random.next());
    disk.lose();
    await disk.recover();
    await startAndStop(dataDir);
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("the figures of all losses are kept", () => {
  expect(rows).toHaveLength(FORMS.length + 1);
  keepFigures("power-loss", {
    title: "Power losses",
    command: `SEED=${SEED} KURIER_TEST_LOSSES=${LOSSES} npm run -s test:faults -- power-loss`,
    remark: `Postgres, NATS, evidence and keys of an engine lie on an ext4 in a file, which is shut down without its journal (EXT4_IOC_SHUTDOWN) while 24 clients send: what nobody had synced is gone, and everything that runs is killed. Each time two files are overwritten in the same moment, of which one is synced. Lost, doubled and miscounted are as with the kills; the last form has a trigger that switches synchronous_commit off, and shows that the losses are real. ${LOSSES} more losses hit the first start of an engine at moments that are drawn, and one an engine that is ready for the first time. The cache of the disk itself is not emptied: what the file system was told is written counts as written.`,
    columns: [
      "Streams",
      "Losses",
      "Unsynced is forgotten, synced is kept",
      "Accepted",
      "On their way at the loss",
      "Of these, the receiver had",
      "Lost",
      "Doubled",
      "Miscounted",
      "Evidence",
      "Ready again p50, s",
      "max",
    ],
    rows,
  });
});
