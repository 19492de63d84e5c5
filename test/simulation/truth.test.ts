/**
 * Who may say what about whose document. Goal: whatever valid but odd things are said, by whomever and in whatever
 * order, the engine does what the rulings say. Method: seeded stories against a small model that was written from the
 * text; a failing seed is printed, SEED=… begins elsewhere, KURIER_TEST_SEEDS says how many stories, and seeds that failed
 * once are always run.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { openFileEvidence } from "../../engine/storage/evidence/store-file.js";
import { freshDatabase } from "../support/database/postgres.js";
import type { TestDatabase } from "../support/database/postgres.js";
import { seedFrom } from "../support/random.js";
import { Arrivals, CLAIMS_SENDER, sendClaim } from "../support/truth/arrivals.js";
import { claimOf, inboundVerdict, outboundVerdict } from "../support/truth/claims.js";
import { storyOf } from "../support/truth/exchanges.js";
import { expectedByFirm } from "../support/truth/statistics.js";
import { truthWorld } from "../support/truth/world.js";
import type { TruthWorld } from "../support/truth/world.js";

const FIRST_SEED = seedFrom(1);
const STORIES = Number(process.env["KURIER_TEST_SEEDS"] ?? "2000");
/** Claims that are sent need no database; those that arrive go through it. */
const SENT_CLAIMS = 2_000;
const ARRIVING_CLAIMS = 1_000;
/** Stories that are played beside each other. */
const ABREAST = 100;
/** Seeds that have failed once. 46: delivered by a status alone, answered in our participant's name by a stranger. */
const KEPT: readonly number[] = [46];

/** Instants at which stories begin, with the day in Bratislava: an ordinary one, New Year, both clock changes. */
const BEGINNINGS = [
  ["2026-11-20T09:00:00Z", "2026-11-20"],
  ["2026-12-31T23:00:00Z", "2027-01-01"],
  ["2027-03-28T00:59:00Z", "2027-03-28"],
  ["2027-10-30T22:30:00Z", "2027-10-31"],
] as const;

let db: TestDatabase;
let world: TruthWorld;
let folder: string;

beforeAll(async () => {
  db = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), "kurier-truth-"));
  world = await truthWorld(db, openFileEvidence(folder));
});
afterAll(async () => {
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

test("status, answer, timeline, country, evidence and statistics of what we sent are those of the rulings, whoever says what in whatever order", async () => {
  const seeds = [...new Set([...KEPT, ...Array.from({ length: STORIES }, (_, i) => FIRST_SEED + i)])];
  for (const [beginning, [instant, today]] of BEGINNINGS.entries()) {
    const own = seeds.filter((seed) => seed % BEGINNINGS.length === beginning);
    for (let i = 0; i < own.length; i += ABREAST) {
      const stories = own.slice(i, i + ABREAST).map((seed) => storyOf(seed, today));
      const found = await world.play(stories, Date.parse(instant));
      expect(
        found.map(({ sentence }) => sentence),
        `seeds ${[...new Set(found.map(({ seed }) => seed))].join(", ")}`,
      ).toEqual([]);
    }
  }
  expect([...world.reasons].sort()).toEqual([
    "ambiguous",
    "contradicting",
    "foreign",
    "late",
    "misdated",
    "out_of_order",
    "outdated",
  ]);
}, 900_000);

const claimsOf = (count: number) => Array.from({ length: count }, (_, i) => claimOf(FIRST_SEED + i));

test("what a caller declares and what its document says are held against each other as the rulings say, on any day", async () => {
  const met = new Set<string>();
  for (const claim of claimsOf(SENT_CLAIMS)) {
    const expected = outboundVerdict(claim);
    expect(await sendClaim(claim), `seed ${claim.seed} ${JSON.stringify(claim)}`).toBe(expected);
    met.add(expected);
  }
  expect([...met].sort()).toEqual([
    "DOCUMENT_INVALID",
    "DOCUMENT_TYPE_MISMATCH metadata.documentTypeId",
    "DOCUMENT_TYPE_MISMATCH metadata.processId",
    "SAPI-DOC-025",
    "SAPI-DOC-027",
    "SAPI-DOC-028",
    "SAPI-DOC-029",
    "accepted",
  ]);
});

test("what arrives is shown in its firm's inbox or answered with a rejection as the rulings say, its sender is told what it asked for, and evidence and statistics agree", async () => {
  const arrivals = await Arrivals.open(db);
  const claims = claimsOf(ARRIVING_CLAIMS);
  const fates: string[] = [];
  for (let i = 0; i < claims.length; i += ABREAST)
    fates.push(...(await arrivals.receive(claims.slice(i, i + ABREAST))));
  expect(fates.map((fate, i) => `seed ${FIRST_SEED + i}: ${fate}`)).toEqual(
    claims.map((claim) => `seed ${claim.seed}: ${inboundVerdict(claim)}`),
  );
  expect([...new Set(fates)].sort()).toEqual([
    "ACKNOWLEDGED",
    "ACKNOWLEDGED AP",
    "RECEIVED",
    "RECEIVED AB",
    "REFUSED RE",
    "not_serviced",
  ]);
  for (const parity of [0, 1] as const) {
    const own = claims.filter((_, i) => Math.floor(i / ABREAST) % 2 === parity);
    expect(await arrivals.seen(parity)).toEqual(expectedByFirm(own, CLAIMS_SENDER));
  }
});
