/**
 * The end of evidence. Method: a real engine exchanges documents over AS4; half of what it kept is stored again as if it had
 * been eleven years ago, signatures and all; then it is removed, broken off, spoiled and looked at.
 */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { spawnSync } from "node:child_process";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import { removeOldEvidence } from "../../../engine/peppol/evidence/removal.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { chainEvidence, CHAIN_START, listEvidence } from "../../../engine/storage/evidence/evidence.js";
import type { EvidenceEntry } from "../../../engine/storage/evidence/evidence.js";
import { sha256Hex } from "../../../engine/storage/evidence/record.js";
import { evidencePlace, EvidenceStoreFailure } from "../../../engine/storage/evidence/store.js";
import type { EvidenceStore } from "../../../engine/storage/evidence/store.js";
import { openEvidenceStore } from "../../../engine/storage/evidence/stores.js";
import { buryEvidence } from "../../../engine/storage/evidence/tombstones.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { inThread } from "../../support/as4/as4.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { eventually } from "../../support/eventually.js";
import { PROJECT } from "../../support/engines/process.js";

const DOCUMENTS = 4;
const MASTER_KEY = Buffer.alloc(32, 7);
/** Its own, the day's, the month's and the year's. */
const FOLDERS_OF_AN_HOUR = 4;
const LONG_AGO = systemClock.now() - 11 * 366 * 86_400_000;

let engine: TestEngine;
let replica: Sql;
let kept: EvidenceEntry[];
let store: EvidenceStore;
/** The objects that are eleven years old, as their files. */
let oldFiles: string[];

const fileOf = (object: string): string => join(engine.dataDir, "evidence", object);

beforeAll(async () => {
  engine = await startTestEngine({ transport: "as4" });
  const { sandbox, db } = engine;
  const { sender, receiver } = sandbox;
  const mailbox = { participantId: sender.participantId, token: await accessToken(sandbox, sender) };
  for (let i = 1; i <= DOCUMENTS; i += 1) {
    const invoice = invoiceXml(sender.participantId, receiver.participantId);
    const answer = await send(sandbox, mailbox, sendParts(sender.participantId, receiver.participantId, invoice));
    expect(answer.status).toBe(202);
    await eventually(
      "it is delivered",
      async () => (await db.sql`select 1 from document where status = 'delivered'`).length === i,
    );
  }
  kept = await listEvidence(db.sql, { after: 0, limit: 100 });
  replica = openSql({ url: db.url, name: "replica", connections: 1 });
  await replica`set session_replication_role = replica`;
  store = openEvidenceStore(undefined, engine.dataDir, systemClock);
});
afterAll(async () => {
  await replica.end({ timeout: 1 });
  await engine.stop();
});

/** Begins the chain anew: the first half of the objects eleven years ago, the others as they were. */
beforeEach(async () => {
  await replica`delete from evidence`;
  await replica`delete from evidence_tombstone`;
  await replica`delete from evidence_leftover`;
  await replica`update evidence_head set index = 0, hash = decode(${CHAIN_START}, 'hex')`;
  const objects = [...new Set(kept.map(({ object }) => object))];
  const old = new Set(objects.slice(0, Math.ceil(objects.length / 2)));
  const aged = new Map<string, string>();
  for (const object of old) {
    const place = evidencePlace(object.split("/").at(-1) ?? "", LONG_AGO);
    aged.set(object, place);
    await store.put(place, readFileSync(fileOf(object)));
  }
  for (const entry of [
    ...kept.filter(({ object }) => old.has(object)),
    ...kept.filter(({ object }) => !old.has(object)),
  ]) {
    const place = aged.get(entry.object);
    await chainEvidence(engine.db.sql, {
      ...entry,
      ...(place === undefined ? {} : { object: place, storedAt: LONG_AGO }),
    });
  }
  oldFiles = [...aged.values()].map(fileOf);
});
afterEach(() => {
  for (const file of oldFiles) rmSync(file, { force: true });
});

const oldEntries = async (): Promise<number> =>
  (await engine.db.sql`select 1 from evidence where stored_at < now() - interval '10 years'`).length;
const allEntries = async (): Promise<number> => (await engine.db.sql`select 1 from evidence`).length;

const portsOf = (of: EvidenceStore = store) => ({
  sql: engine.db.sql,
  store: of,
  archive: createEvidenceArchive({
    ...{ sql: engine.db.sql, store: of, clock: systemClock },
    sealer: createSealer([MASTER_KEY]),
  }),
  crypto: inThread,
  now: systemClock.now(),
});
const audit = () => auditEvidence(portsOf());

test("evidence whose ten years are over goes with its objects, and the chain behind it still proves itself", async () => {
  const old = await oldEntries();
  expect(old).toBeGreaterThan(0);
  expect(await removeOldEvidence(portsOf(), { dry: true })).toEqual({ entries: old, objects: 0, faults: [] });
  expect([await allEntries(), oldFiles.filter((file) => existsSync(file))]).toEqual([kept.length, oldFiles]);
  expect(await removeOldEvidence(portsOf())).toEqual({ entries: old, objects: oldFiles.length, faults: [] });
  expect([await oldEntries(), await allEntries()]).toEqual([0, kept.length - old]);
  expect(oldFiles.filter((file) => existsSync(file))).toEqual([]);
  expect(await audit()).toMatchObject({ entries: kept.length - old, removed: old, faults: [] });
  expect(await removeOldEvidence(portsOf())).toEqual({ entries: 0, objects: 0, faults: [] });
});

test("what an engine that was killed has half written goes with the evidence of its hour, and nothing else that is there", async () => {
  const [file = ""] = oldFiles;
  const [draft, foreign] = [`.${randomUUID()}`, ".nfs0001"].map((name) => join(dirname(file), name)) as [
    string,
    string,
  ];
  for (const path of [draft, foreign]) {
    writeFileSync(path, "half");
    utimesSync(path, LONG_AGO / 1000, LONG_AGO / 1000);
  }
  await removeOldEvidence(portsOf());
  expect([existsSync(draft), existsSync(foreign)]).toEqual([false, true]);
  rmSync(foreign);
});

test("no folder stays of which all evidence has gone, and what another keeps beside it stays with its folders", async () => {
  const folders = (): string[] => {
    let folder = dirname(oldFiles[0] ?? "");
    const above = [folder];
    for (let i = 1; i < FOLDERS_OF_AN_HOUR; i += 1) above.push((folder = dirname(folder)));
    return above.filter((path) => existsSync(path));
  };
  await removeOldEvidence(portsOf());
  expect(folders()).toEqual([]);
  expect(existsSync(join(engine.dataDir, "evidence"))).toBe(true);
  await store.put(evidencePlace(sha256Hex(Buffer.from("a")), LONG_AGO), Buffer.from("a"));
  expect(folders()).toHaveLength(FOLDERS_OF_AN_HOUR);
  await store.tidy?.(evidencePlace(sha256Hex(Buffer.from("b")), LONG_AGO), systemClock.now());
  expect(folders()).toHaveLength(FOLDERS_OF_AN_HOUR);
  await store.remove(evidencePlace(sha256Hex(Buffer.from("a")), LONG_AGO), systemClock.now());
  await store.tidy?.(evidencePlace(sha256Hex(Buffer.from("a")), LONG_AGO), LONG_AGO);
  expect(folders()).toHaveLength(FOLDERS_OF_AN_HOUR);
  await store.tidy?.(evidencePlace(sha256Hex(Buffer.from("a")), LONG_AGO), systemClock.now());
  expect(folders()).toEqual([]);
});

test("evidence that cannot be proved stays, with what is behind it, unless somebody takes it upon himself", async () => {
  const [file = ""] = oldFiles;
  const bytes = readFileSync(file);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  chmodSync(file, 0o600);
  writeFileSync(file, bytes);
  const refused = await removeOldEvidence(portsOf());
  expect(refused).toMatchObject({ entries: 0, objects: 0 });
  expect(refused.faults.map(({ fault }) => fault)).toContain("object");
  expect(await allEntries()).toBe(kept.length);
  const old = await oldEntries();
  expect(await removeOldEvidence(portsOf(), { despiteFaults: true })).toMatchObject({ entries: old });
  const [tombstone] = await engine.db.sql<{ readonly faults: number }[]>`select faults from evidence_tombstone`;
  expect(tombstone?.faults).toBe(refused.faults.length);
  expect((await audit()).faults).toEqual([]);
});

test("evidence whose object is lost when its time is over is not proved: it stays, with what is behind it", async () => {
  const [file = ""] = oldFiles;
  const bytes = readFileSync(file);
  rmSync(file);
  const refused = await removeOldEvidence(portsOf());
  expect(refused).toMatchObject({ entries: 0, objects: 0 });
  expect(refused.faults.map(({ fault }) => fault)).toContain("object_missing");
  expect([await allEntries(), oldFiles.filter((other) => existsSync(other))]).toEqual([kept.length, oldFiles.slice(1)]);
  // Who only looks later finds no fault in what may be gone.
  expect((await audit()).faults).toEqual([]);
  writeFileSync(file, bytes);
  expect(await removeOldEvidence(portsOf())).toMatchObject({ objects: oldFiles.length, faults: [] });
});

test("a database from before a removal names the objects that it took, until somebody lets their entries go", async () => {
  const old = await oldEntries();
  for (const file of oldFiles) rmSync(file);
  expect((await removeOldEvidence(portsOf())).entries).toBe(0);
  expect(await removeOldEvidence(portsOf(), { despiteFaults: true })).toMatchObject({ entries: old });
  expect(await removeOldEvidence(portsOf())).toEqual({ entries: 0, objects: 0, faults: [] });
  expect(await audit()).toMatchObject({ removed: old, faults: [] });
});

test("while EVIDENCE_STORE is not mounted no evidence goes, and none of its objects is forgotten", async () => {
  const empty = mkdtempSync(join(tmpdir(), "kurier-unmounted-"));
  try {
    const { entries, faults } = await removeOldEvidence(
      portsOf(openEvidenceStore(`file:${empty}`, empty, systemClock)),
    );
    expect([entries, faults.length > 0, await allEntries()]).toEqual([0, true, kept.length]);
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
  expect(await removeOldEvidence(portsOf())).toMatchObject({ objects: oldFiles.length, faults: [] });
});

test("a chain that is broken never goes", async () => {
  await replica`delete from evidence where index = 1`;
  const removal = await removeOldEvidence(portsOf(), { despiteFaults: true });
  expect(removal.entries).toBe(0);
  expect(removal.faults.map(({ fault }) => fault)).toContain("gap");
  expect(await allEntries()).toBe(kept.length - 1);
});

test("a removal that was broken off at the store goes on where it stood", async () => {
  const old = await oldEntries();
  const failing: EvidenceStore = {
    ...store,
    remove: () => Promise.reject(new EvidenceStoreFailure("The store is away.")),
  };
  await expect(removeOldEvidence(portsOf(failing))).rejects.toThrow("The store is away.");
  expect(await removeOldEvidence(portsOf())).toEqual({ entries: 0, objects: oldFiles.length, faults: [] });
  expect(await audit()).toMatchObject({ removed: old, faults: [] });
});

/** A pool on which something happens once, just before a statement that has these words, the first unless told. */
const overtaken = (words: string, work: () => Promise<unknown>, nth = 1): Sql => {
  let other: Promise<unknown> | undefined;
  let seen = 0;
  return new Proxy(engine.db.sql, {
    apply: (sql, _, given: [TemplateStringsArray, ...never[]]) => {
      if (!Array.isArray(given[0]) || !given[0].join("").includes(words)) return sql(...given);
      seen += 1;
      if (seen < nth) return sql(...given);
      return (async () => {
        await (other ??= work());
        return sql(...given);
      })();
    },
  });
};

test("an audit during which another process removes what is old finds no faults that are none", async () => {
  const old = await oldEntries();
  const sql = overtaken("order by index limit", () => removeOldEvidence(portsOf()));
  expect(await auditEvidence({ ...portsOf(), sql })).toMatchObject({ removed: old, faults: [] });
});

test("an audit finds no fault in what engines add meanwhile", async () => {
  const last = kept.at(-1);
  if (last === undefined) throw new Error("there is no evidence");
  const sql = overtaken("from evidence_head", () => chainEvidence(engine.db.sql, last));
  await replica`delete from evidence where index = (select max(index) from evidence)`;
  await replica`
    update evidence_head set (index, hash) = (select index, hash from evidence order by index desc limit 1)`;
  expect(await auditEvidence({ ...portsOf(), sql })).toMatchObject({ faults: [] });
  expect(await allEntries()).toBe(kept.length);
});

test("the database refuses to delete evidence without a tombstone, and young evidence even under one", async () => {
  const { sql } = engine.db;
  await expect(sql`delete from evidence where index = 1`).rejects.toThrow("evidence is never changed");
  await removeOldEvidence(portsOf());
  await replica`update evidence_tombstone set last_index = ${kept.length}`;
  await expect(sql`delete from evidence where index = ${kept.length}`).rejects.toThrow("evidence is never changed");
  await expect(sql`update evidence set outcome = 'x'`).rejects.toThrow("evidence is never changed");
  await expect(sql`update evidence_tombstone set faults = 1`).rejects.toThrow("never changed");
});

/** Long enough for everything that was stored today to be past its retention. */
const CLOCK_AHEAD_MS = 11 * 366 * 86_400_000;
const BURIES = "select bury_evidence";
const DELETES_BURIED = "delete from evidence where index in";
const BROKEN_OFF = "The process was killed.";
const brokenOff = (): Promise<never> => Promise.reject(new Error(BROKEN_OFF));

test("a clock that is years ahead ends no evidence before its time, and the chain that must be kept still proves itself", async () => {
  const old = await oldEntries();
  const removal = await removeOldEvidence({ ...portsOf(), now: systemClock.now() + CLOCK_AHEAD_MS });
  expect(removal).toEqual({ entries: old, objects: oldFiles.length, faults: [] });
  expect(await audit()).toMatchObject({ entries: kept.length - old, removed: old, faults: [] });
});

test("the database takes no tombstone over an entry that is younger than ten years, whoever brings it", async () => {
  const { sql } = engine.db;
  const entries = await listEvidence(sql, { after: 0, limit: 100 });
  const [first, young] = [entries[0], entries.at(-1)];
  if (first === undefined || young === undefined) throw new Error("there is no evidence");
  const said = {
    ...{ first: 1, last: young.index, previousHash: first.previousHash, lastHash: young.hash, faults: 0 },
    ...{ entriesSha256: young.hash, previousTombstone: young.hash, storedFrom: 0, storedTo: 0, provedAt: 0 },
  };
  const seal = { hash: young.hash, sealKeyId: "key", seal: Buffer.from("seal") };
  expect(await buryEvidence(sql, { ...said, ...seal }, [])).toBe(false);
});

test("under a tombstone that came too early what is old goes, and what is young stays until its time", async () => {
  const old = await oldEntries();
  await expect(removeOldEvidence({ ...portsOf(), sql: overtaken(DELETES_BURIED, brokenOff) })).rejects.toThrow(
    BROKEN_OFF,
  );
  await replica`update evidence_tombstone set last_index = ${kept.length}`;
  expect(await removeOldEvidence(portsOf())).toMatchObject({ objects: oldFiles.length, faults: [] });
  expect([await oldEntries(), await allEntries()]).toEqual([0, kept.length - old]);
});

test("a removal that finds its entries under the tombstone of another makes none of its own, and the other's is whole", async () => {
  const old = await oldEntries();
  const other = () =>
    expect(removeOldEvidence({ ...portsOf(), sql: overtaken(DELETES_BURIED, brokenOff) })).rejects.toThrow(BROKEN_OFF);
  const sql = overtaken("from evidence_tombstone order by last_index desc", other, 2);
  expect(await removeOldEvidence({ ...portsOf(), sql })).toMatchObject({ faults: [] });
  expect(await audit()).toMatchObject({ entries: kept.length - old, removed: old, faults: [] });
});

test("a removal whose first entries the database has buried meanwhile, for a run that was killed, takes all that is behind them, too", async () => {
  const old = await oldEntries();
  const restore = shortenLimits({ evidence_buried_at_once: 1 });
  try {
    const killed = () =>
      expect(removeOldEvidence({ ...portsOf(), sql: overtaken(BURIES, brokenOff, 2) })).rejects.toThrow(BROKEN_OFF);
    const sql = overtaken(BURIES, killed);
    expect(await removeOldEvidence({ ...portsOf(), sql })).toMatchObject({ entries: old - 1, faults: [] });
  } finally {
    restore();
  }
  expect([await oldEntries(), await allEntries()]).toEqual([0, kept.length - old]);
  expect(await audit()).toMatchObject({ entries: kept.length - old, removed: old, faults: [] });
});

test("a tombstone that was changed, forged or taken away is found", async () => {
  await removeOldEvidence(portsOf());
  const faults = async (): Promise<readonly string[]> => (await audit()).faults.map(({ fault }) => fault);
  await replica`update evidence_tombstone set faults = faults + 1`;
  expect(await faults()).toContain("tombstone");
  await replica`update evidence_tombstone set faults = faults - 1`;
  expect(await faults()).toEqual([]);
  await replica`update evidence_tombstone set seal = sha256(seal)`;
  expect(await faults()).toContain("tombstone");
  await replica`delete from evidence_tombstone`;
  expect(await faults()).toContain("gap");
});

const kurier = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  spawnSync(process.execPath, [join(PROJECT, "gateway", "kurier.mjs"), ...args], {
    encoding: "utf8",
    env: {
      PATH: process.env["PATH"] ?? "",
      ENVIRONMENT: "sandbox",
      DATABASE_URL: engine.db.url,
      DATA_DIR: engine.dataDir,
      MASTER_KEY: MASTER_KEY.toString("base64"),
      ...env,
    },
  });

test.each([
  ["takes its folder with it", "ENOENT", []],
  ["leaves its empty mount point", "UNMOUNTED", ["evidence"]],
])("commands beside a file system that %s end with 2, remove nothing and make nothing", async (_, code, left) => {
  const above = mkdtempSync(join(tmpdir(), "kurier-unmounted-"));
  for (const name of left) mkdirSync(join(above, name));
  try {
    for (const args of [
      ["evidence", "verify"],
      ["retention", "--despite-faults"],
    ]) {
      const { status, stderr } = kurier(args, { EVIDENCE_STORE: `file:${join(above, "evidence")}` });
      expect([args, status, stderr]).toEqual([args, 2, `Evidence could not be read: ${code}.\n`]);
    }
    expect(readdirSync(above, { recursive: true })).toEqual(left);
    expect(await allEntries()).toBe(kept.length);
  } finally {
    rmSync(above, { recursive: true, force: true });
  }
});

test("kurier retention says what went and ends with 0; the next one finds nothing", () => {
  const first = kurier(["retention"]);
  expect([first.stderr, first.status]).toEqual(["", 0]);
  expect(first.stdout).toMatch(/^evidence: [1-9]\d* entries proved and removed, [1-9]\d* objects gone$/m);
  expect(kurier(["retention"]).stdout).toMatch(/^evidence: 0 entries proved and removed, 0 objects gone$/m);
});
