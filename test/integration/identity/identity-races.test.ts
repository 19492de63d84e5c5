/** The SQL functions of identity when two of them overlap: whoever comes second sees what the first has done. */
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { fakeClock } from "../../support/fake-clock.js";
import { bind, makeFirm, makeIntegrator, makeKey } from "../../support/callers/identity.js";
import { overlap } from "../../support/database/overlap.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let db: TestDatabase;
const clock = fakeClock();
const NOW = "'2026-11-20T09:00:00Z'::timestamptz";

beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

const bytes = (text: string): string => `'\\x${createHash("sha256").update(text).digest("hex")}'::bytea`;
const creation = (integratorId: string, scopedFirm: string | undefined): string => {
  const id = randomUUID();
  const scoped = scopedFirm === undefined ? "null" : `'${scopedFirm}'`;
  return `create_api_key('${id}', 'sk_int', null, '${integratorId}', ${scoped}, 'sk_int_test_${id.slice(0, 8)}', ${bytes(id)}, array['documents:send'], '{}', null, ${NOW}, 5, 5)`;
};

test("the sixth key is refused although the fifth is not committed yet (C-12)", async () => {
  const { integratorId } = await makeIntegrator(db, clock);
  for (let i = 0; i < 3; i += 1) await makeKey(db, clock, { owner: { integratorId }, scopes: ["keys:manage"] });
  expect(await overlap(db, creation(integratorId, undefined), creation(integratorId, undefined))).toEqual([
    "created",
    "limit_reached",
  ]);
});

test("one of the last two main keys stays, although the other's end is not committed yet (C-13)", async () => {
  const { integratorId, key } = await makeIntegrator(db, clock);
  const other = await makeKey(db, clock, { owner: { integratorId }, scopes: ["keys:manage"] });
  const end = (id: string): string => `deactivate_api_key('${id}', '${integratorId}', ${NOW})`;
  expect(await overlap(db, end(key.id), end(other.id))).toEqual(["deactivated", "last_main_key"]);
});

test("no key is made for a firm whose consent is being withdrawn", async () => {
  const { integratorId } = await makeIntegrator(db, clock);
  const { firmId } = await makeFirm(db, clock);
  await bind(db, clock, integratorId, firmId);
  expect(
    await overlap(db, `revoke_firm_binding('${integratorId}', '${firmId}', ${NOW})`, creation(integratorId, firmId)),
  ).toEqual([true, "not_bound"]);
});

test("a key that is being made for a firm ends with the consent that is withdrawn meanwhile", async () => {
  const { integratorId } = await makeIntegrator(db, clock);
  const { firmId } = await makeFirm(db, clock);
  await bind(db, clock, integratorId, firmId);
  expect(
    await overlap(db, creation(integratorId, firmId), `revoke_firm_binding('${integratorId}', '${firmId}', ${NOW})`),
  ).toEqual(["created", true]);
  expect(await db.sql`select active from api_key where scoped_firm_id = ${firmId}`).toEqual([{ active: false }]);
});

test("a refresh family that is being opened ends with the consent that is withdrawn meanwhile", async () => {
  const { integratorId } = await makeIntegrator(db, clock);
  const { firmId } = await makeFirm(db, clock);
  await bind(db, clock, integratorId, firmId);
  const key = await makeKey(db, clock, { owner: { integratorId, scopedFirmId: firmId }, scopes: ["documents:send"] });
  const opening = `open_refresh_family(${bytes("f0")}, ${bytes("t1")}, '${key.id}', 0, '{}', ${NOW}, ${NOW} + interval '1 day', 200)`;
  expect(await overlap(db, opening, `revoke_firm_binding('${integratorId}', '${firmId}', ${NOW})`)).toEqual([
    true,
    true,
  ]);
  expect(await db.sql`select 1 from refresh_family where key_id = ${key.id}`).toHaveLength(0);
});

const failure = (slot: number): string => `record_failed_credential(${slot}, ${NOW}, '10 minutes', '15 minutes', 5)`;
const UNLOCKED = new Date("2026-11-20T09:10:00Z");

test("the sixth failure is refused although the fifth is not committed yet", async () => {
  for (let i = 0; i < 4; i += 1) await db.sql.unsafe(`select ${failure(77)}`);
  expect(await overlap(db, failure(77), failure(77))).toEqual([null, UNLOCKED]);
});

test("exactly five of many failures that wait for each other are counted, also when the client was unknown before", async () => {
  expect(await overlap(db, failure(78), failure(78))).toEqual([null, null]);
  const rest = await overlap(db, failure(78), ...Array.from({ length: 7 }, () => failure(78)));
  expect(rest.filter((answer) => answer === null)).toHaveLength(3);
  expect(rest.filter((answer) => answer !== null)).toEqual(Array.from({ length: 5 }, () => UNLOCKED));
});

test("a refresh token is consumed once although its consumption is not committed yet", async () => {
  const { key } = await makeFirm(db, clock);
  await db.sql.unsafe(
    `select open_refresh_family(${bytes("f1")}, ${bytes("t1")}, '${key.id}', 0, '{}', ${NOW}, ${NOW} + interval '1 day', 200)`,
  );
  const rotation = (next: string): string =>
    `rotate_refresh_family(${bytes("f1")}, ${bytes("t1")}, ${bytes(next)}, 0, ${NOW}, ${NOW} + interval '1 day')`;
  expect(await overlap(db, rotation("t2"), rotation("t3"))).toEqual([true, false]);
  expect(await db.sql.unsafe(`select 1 from refresh_family where family_sha256 = ${bytes("f1")}`)).toHaveLength(0);
});

test("no refresh family opens for a key that is being ended", async () => {
  const { key } = await makeFirm(db, clock);
  const opening = `open_refresh_family(${bytes("f2")}, ${bytes("t1")}, '${key.id}', 0, '{}', ${NOW}, ${NOW} + interval '1 day', 200)`;
  expect(await overlap(db, `deactivate_api_key('${key.id}', null, ${NOW})`, opening)).toEqual(["deactivated", false]);
});

test("a refresh family that is being opened ends with its key", async () => {
  const { key } = await makeFirm(db, clock);
  const opening = `open_refresh_family(${bytes("f3")}, ${bytes("t1")}, '${key.id}', 0, '{}', ${NOW}, ${NOW} + interval '1 day', 200)`;
  expect(await overlap(db, opening, `deactivate_api_key('${key.id}', null, ${NOW})`)).toEqual([true, "deactivated"]);
  expect(await db.sql`select 1 from refresh_family where key_id = ${key.id}`).toHaveLength(0);
});

test("a renewal never outlives a key that is being ended", async () => {
  const { key } = await makeFirm(db, clock);
  await db.sql.unsafe(
    `select open_refresh_family(${bytes("f4")}, ${bytes("t1")}, '${key.id}', 0, '{}', ${NOW}, ${NOW} + interval '1 day', 200)`,
  );
  const rotation = `rotate_refresh_family(${bytes("f4")}, ${bytes("t1")}, ${bytes("t2")}, 0, ${NOW}, ${NOW} + interval '1 day')`;
  expect(await overlap(db, `deactivate_api_key('${key.id}', null, ${NOW})`, rotation)).toEqual(["deactivated", false]);
  expect(await db.sql`select 1 from refresh_family where key_id = ${key.id}`).toHaveLength(0);
});

test("two leases of one key never grant more than the limit together", async () => {
  const lease = "(select granted from lease_rate('race', 7, 0, 10, 60000, 500))";
  expect(await overlap(db, lease, lease, lease)).toEqual(expect.arrayContaining([7, 3, 0]));
});
