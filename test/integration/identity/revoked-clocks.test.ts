/**
 * Goal: a token that was revoked stays revoked for its whole life, also where the clock of a node is set in between.
 * Method: the list of a node on a real Postgres, with a wall clock that a test sets as a time server would.
 * @source spec/rulings.md, section 4: a change holds on every node from the next request
 */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { KeyId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { pruneIdentity } from "../../../engine/identity/maintenance.js";
import { createRevocations } from "../../../engine/identity/tokens/revocations.js";
import type { Revocations } from "../../../engine/identity/tokens/revocations.js";
import { pruneRevokedTokens } from "../../../engine/storage/identity/tokens.js";
import { rowsReadBy } from "../../support/database/past.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

let db: TestDatabase;
let clock: FakeClock;
let now: number;
beforeEach(async () => {
  db = await freshDatabase();
  now = systemClock.now();
  clock = fakeClock(now);
});
afterEach(() => db.drop());

const node = async (): Promise<Revocations> => {
  const revocations = createRevocations({ sql: db.sql, clock, isFresh: () => true });
  await revocations.maintain();
  return revocations;
};

/** Blocks a token that was issued a moment ago. @returns its id */
async function revoke(revocations: Revocations): Promise<string> {
  const jti = randomUUID();
  const expiresAt = now + LIMITS.token_access_s * 1_000;
  await revocations.revoke({ jti, keyId: randomUUID() as KeyId, expiresAt, audit: stampOf(OPERATOR, clock) });
  return jti;
}

test("a revoked token stays so where the clock of its node goes an hour ahead and is set back", async () => {
  const revocations = await node();
  const own = await revoke(revocations);
  const announced = randomUUID();
  revocations.announced(announced);
  clock.setNow(now + HOUR_MS);
  await revocations.maintain();
  clock.setNow(now);
  expect(await revocations.isRevoked(own)).toBe(true);
  expect(await revocations.isRevoked(announced)).toBe(true);
  clock.advance(2 * LIMITS.token_access_s * 1_000);
  await revocations.maintain();
  expect(await revocations.isRevoked(own)).toBe(false);
});

test.each([20, 60])(
  "a revoked token stays so where the clock of its node is set back by %i minutes",
  async (minutes) => {
    const revocations = await node();
    const own = await revoke(revocations);
    clock.setNow(now - minutes * MINUTE_MS);
    // Until it has expired by the clock that judges it.
    for (let minute = 0; minute < minutes; minute += 1) {
      clock.advance(MINUTE_MS);
      await revocations.maintain();
      expect(await revocations.isRevoked(own), `minute ${minute}`).toBe(true);
    }
  },
);

test("a revoked token stays so at a node that is steadily behind and has read it from the list", async () => {
  const own = await revoke(await node());
  clock.setNow(now - 20 * MINUTE_MS);
  const behind = await node();
  for (let minute = 0; minute < 34; minute += 1) {
    clock.advance(MINUTE_MS);
    await behind.maintain();
    expect(await behind.isRevoked(own), `minute ${minute}`).toBe(true);
  }
});

test("a revoked token is known to a node that reads its list while its clock is an hour ahead, when that is set back", async () => {
  const own = await revoke(await node());
  clock.setNow(now + HOUR_MS);
  const ahead = await node();
  clock.setNow(now);
  expect(await ahead.isRevoked(own)).toBe(true);
});

test("a node whose clock is an hour ahead removes no revoked token that still lives on the others", async () => {
  const own = await revoke(await node());
  clock.setNow(now + HOUR_MS);
  await pruneIdentity(db.sql, clock);
  clock.setNow(now);
  expect(await (await node()).isRevoked(own)).toBe(true);
});

test("the removal of revoked tokens that have expired reads none of those that live", async () => {
  const sql = db.one("prune");
  onTestFinished(() => sql.end({ timeout: 1 }));
  await sql`
    insert into revoked_token (jti, expires_at)
    select gen_random_uuid(), now() + interval '10 minutes' from generate_series(1, 2000)`;
  await sql`analyze revoked_token`;
  const removal = async (): Promise<void> => expect(await pruneRevokedTokens(sql, clock.now())).toBe(0);
  expect(await rowsReadBy(sql, removal)).toBeLessThan(20);
});
