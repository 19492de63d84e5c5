/**
 * Goal: the figures of a licence are those of an independent recount. Method: documents with random lives are written with
 * their events as the engine writes them, the meter counts, and the test counts the same list for itself, in JavaScript
 * and by Intl's months; METER_EVENTS sets how many (100000 is the long form).
 */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { readFirmLicence, readIntegratorLicence } from "../../../engine/billing/licences.js";
import { meterAll, rebuildUsage, startMeter } from "../../../engine/billing/meter.js";
import { firstDayBefore } from "../../../engine/billing/months.js";
import { openSql } from "../../../engine/storage/sql.js";
import { listUsage, meterEvents, pruneMetered, recountUsage } from "../../../engine/storage/billing/usage.js";
import { silentLog } from "../../../engine/base/log.js";
import { eraseFirm } from "../../../engine/identity/erasure.js";
import { createIntegrator, bindFirm } from "../../../engine/identity/firms.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { Random, seedFrom } from "../../support/random.js";
import { KEY_ID, seedFirms } from "../../support/database/seed.js";

const EVENTS = Number(process.env["METER_EVENTS"] ?? 3_000);
const NOW = Date.parse("2027-11-02T10:00:00Z");
const FROM = Date.parse("2027-02-20T00:00:00Z");

let db: TestDatabase;
let firms: FirmId[];
const clock = fakeClock(NOW);

beforeEach(async () => {
  db = await freshDatabase();
  firms = await seedFirms(
    db.sql,
    Array.from({ length: 7 }, (_, n) => `0245:${3_000_000_000 + n}`),
  );
});
afterEach(() => db.drop());

interface Life {
  readonly id: string;
  readonly firm: number;
  readonly kinds: readonly string[];
  /** Of the event document.delivered. */
  readonly deliveredAt: number;
}
interface Receipt {
  readonly id: string;
  readonly firm: number;
  readonly shownAt: number | undefined;
}

/** What may become of a document; only two of them are paid for, one of these is rejected later. */
const LIVES: readonly (readonly string[])[] = [
  ["document.sent", "document.delivered"],
  ["document.sent", "document.delivered", "document.mls_received", "document.rejected"],
  ["document.sent", "document.delivered", "document.response_received"],
  ["document.sent", "document.delivery_failed"],
  ["document.delivery_failed"],
  ["document.rejected"],
  ["document.sent"],
  [],
];

/** An instant that is often within an hour of the turn of a month in Bratislava, on either side. */
function instant(random: Random): number {
  const at = FROM + random.int(NOW - FROM);
  if (random.int(3) > 0) return at;
  const turns = ["03-31T22", "10-31T23", "04-30T22", "08-31T22", "02-28T23"];
  return Date.parse(`2027-${random.pick(turns)}:00:00Z`) + random.int(7_200_000) - 3_600_000;
}

async function writeLives(lives: readonly Life[]): Promise<void> {
  for (let at = 0; at < lives.length; at += 1_000) {
    const part = lives.slice(at, at + 1_000);
    await db.sql`
      insert into document (
        id, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id, process_id,
        facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body, as4_message_id,
        sbdh_instance_id, next_attempt_at, created_at, updated_at, door
      )
      select d.id, d.firm_id, ${KEY_ID}, '0245:1', d.firm_id::text, '0245:2', '0245:2', d.id::text, 't', 'p', '{}',
        'queued', 1, d.id::text, sha256(d.id::text::bytea), sha256(d.id::text::bytea), 202, '{}', d.id::text, d.id, now(),
        now(), now(), 'sapi'
      from unnest(${part.map(({ id }) => id)}::uuid[], ${part.map(({ firm }) => firms[firm] ?? "")}::uuid[])
        as d (id, firm_id)`;
    const events = part.flatMap(({ id, firm, kinds, deliveredAt }) =>
      ["document.queued", ...kinds].map((kind) => ({ id, firm, kind, at: deliveredAt })),
    );
    await db.sql`
      insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
      select gen_random_uuid(), e.id, e.firm_id, e.kind, 'system', e.kind <> 'document.queued', to_timestamp(e.at / 1000.0)
      from unnest(
        ${events.map(({ id }) => id)}::uuid[], ${events.map(({ firm }) => firms[firm] ?? "")}::uuid[],
        ${events.map(({ kind }) => kind)}::text[], ${events.map(({ at: when }) => when)}::double precision[]
      ) as e (id, firm_id, kind, at)`;
  }
}

async function writeReceipts(receipts: readonly Receipt[]): Promise<void> {
  for (let at = 0; at < receipts.length; at += 1_000) {
    const part = receipts.slice(at, at + 1_000);
    await db.sql`
      insert into received_document (
        id, firm_id, participant_key, sender, receiver, document_type_id, process_id, creation_date_time, status,
        payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at
      )
      select r.id, r.firm_id, '0245:1', '0245:2', '0245:1', 't', 'p', now(), 'RECEIVED', sha256(r.id::text::bytea),
        r.id::text, r.id::text, '{}', now()
      from unnest(${part.map(({ id }) => id)}::uuid[], ${part.map(({ firm }) => firms[firm] ?? "")}::uuid[])
        as r (id, firm_id)`;
    await show(part);
  }
}

/** Marks received documents as an API does that shows them. */
const show = async (receipts: readonly Receipt[]): Promise<void> => {
  const shown = receipts.filter(({ shownAt }) => shownAt !== undefined);
  await db.sql`
    update received_document as r set api_received_at = to_timestamp(s.at / 1000.0)
    from unnest(${shown.map(({ id }) => id)}::uuid[], ${shown.map(({ shownAt }) => shownAt ?? 0)}::double precision[])
      as s (id, at)
    where r.id = s.id`;
};

/** Months by Intl alone. */
const months = new Intl.DateTimeFormat("sv-SE", { timeZone: "Europe/Bratislava", year: "numeric", month: "2-digit" });

/** `firm month direction` → how many, counted by the test. */
function recount(lives: readonly Life[], receipts: readonly Receipt[]): Record<string, number> {
  const sums: Record<string, number> = {};
  const add = (firm: number, at: number, direction: string): void => {
    const key = `${firm} ${months.format(at)} ${direction}`;
    sums[key] = (sums[key] ?? 0) + 1;
  };
  for (const { firm, kinds, deliveredAt } of lives)
    if (kinds.includes("document.delivered")) add(firm, deliveredAt, "outbound");
  for (const { firm, shownAt } of receipts) if (shownAt !== undefined) add(firm, shownAt, "inbound");
  return sums;
}

/** The same as the meter has it. */
async function metered(): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const [firm, id] of firms.entries())
    for (const { month, outbound, inbound } of await listUsage(db.sql, id)) {
      if (outbound > 0) sums[`${firm} ${month.slice(0, 7)} outbound`] = outbound;
      if (inbound > 0) sums[`${firm} ${month.slice(0, 7)} inbound`] = inbound;
    }
  return sums;
}

/**
 * Meters until the figures are the expected ones. Tests share a server, where a transaction of another database holds the
 * feed back for a moment.
 */
async function expectMetered(lives: readonly Life[], receipts: readonly Receipt[], seed?: number): Promise<void> {
  const expected = recount(lives, receipts);
  await eventually(`the figures are those of a recount, SEED=${seed ?? ""}`, async () => {
    await meterAll({ sql: db.sql, clock });
    return isDeepStrictEqual(await metered(), expected);
  });
}

function generate(seed: number): { readonly lives: Life[]; readonly receipts: Receipt[] } {
  const random = new Random(seed);
  const lives = Array.from({ length: Math.ceil(EVENTS / 3) }, () => ({
    id: randomUUID(),
    firm: random.int(7),
    kinds: random.pick(LIVES),
    deliveredAt: instant(random),
  }));
  const receipts = Array.from({ length: Math.ceil(EVENTS / 6) }, () => ({
    id: randomUUID(),
    firm: random.int(7),
    shownAt: random.int(4) === 0 ? undefined : instant(random),
  }));
  return { lives, receipts };
}

test("the figures equal an independent recount, also over the turns of summer time", async () => {
  const seed = seedFrom(20271101);
  const { lives, receipts } = generate(seed);
  await writeLives(lives);
  await writeReceipts(receipts);
  await expectMetered(lives, receipts, seed);
});

test("the figures are the same when meters on several nodes die again and again in the middle", async () => {
  const seed = seedFrom(20271102);
  const { lives, receipts } = generate(seed);
  await writeLives(lives.slice(0, lives.length / 2));
  await writeReceipts(receipts);
  const write = writeLives(lives.slice(lives.length / 2));
  for (let round = 0; round < 30; round += 1) {
    const node = db.another("meter that dies");
    const work = Promise.allSettled([meterEvents(node, 37, "2024-01-01"), meterEvents(node, 53, "2024-01-01")]);
    // Its sessions end wherever the statements are: before, in, or after their commit.
    await db.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'meter that dies' and datname = current_database()`;
    await work;
  }
  await write;
  await expectMetered(lives, receipts, seed);
});

describe("what counts once", () => {
  test("an event that is read again counts once, and so does a document that an API shows again", async () => {
    const lives = [{ id: randomUUID(), firm: 0, kinds: LIVES[0] ?? [], deliveredAt: NOW }];
    const receipts = [{ id: randomUUID(), firm: 0, shownAt: NOW }];
    await writeLives(lives);
    await writeReceipts(receipts);
    await expectMetered(lives, receipts);
    await db.sql`update feed_consumer set transaction_id = '0', position = 0 where name like 'meter%'`;
    await show(receipts.map((receipt) => ({ ...receipt, shownAt: NOW + 1 })));
    await eventually("both are read again", async () => (await meterAll({ sql: db.sql, clock })) > 0);
    await expectMetered(lives, receipts);
  });

  test("what is not committed yet is counted later, and nothing behind it is lost", async () => {
    // With one connection a transaction is what is said between its beginning and its end.
    const open = openSql({ url: db.url, name: "holds a transaction open", connections: 1 });
    const late = { id: randomUUID(), firm: 1, kinds: LIVES[0] ?? [], deliveredAt: NOW };
    const early = { id: randomUUID(), firm: 0, kinds: LIVES[0] ?? [], deliveredAt: NOW };
    await writeLives([{ ...late, kinds: [] }]);
    await open`begin`;
    await open`
      insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
      values (gen_random_uuid(), ${late.id}, ${firms[1] ?? ""}, 'document.delivered', 'system', true,
        ${new Date(NOW)})`;
    await writeLives([early]);
    await meterAll({ sql: db.sql, clock });
    expect(await metered()).toEqual({});
    await open`commit`;
    await open.end();
    await expectMetered([late, early], []);
  });
});

describe("a rebuild", () => {
  test("a rebuild gives the same figures, mends those that somebody has changed, and says how many", async () => {
    const { lives, receipts } = generate(seedFrom(20271103));
    await writeLives(lives);
    await writeReceipts(receipts);
    await expectMetered(lives, receipts);
    const ports = { sql: db.sql, clock };
    expect(await rebuildUsage(ports)).toEqual({ firms: 7, changed: 0 });
    expect(await metered()).toEqual(recount(lives, receipts));
    await db.sql`update usage_month set outbound = outbound + 5 where firm_id = ${firms[2] ?? ""}`;
    await db.sql`delete from metered_event where firm_id = ${firms[3] ?? ""}`;
    await db.sql`delete from usage_month where firm_id = ${firms[3] ?? ""}`;
    expect(await rebuildUsage(ports)).toEqual({ firms: 7, changed: 2 });
    expect(await metered()).toEqual(recount(lives, receipts));
  });

  test("a rebuild while the meter runs and documents are delivered loses none and counts none twice", async () => {
    const { lives, receipts } = generate(seedFrom(20271104));
    const meter = startMeter({ sql: db.another("meter"), clock, log: silentLog });
    const written = (async () => {
      await writeLives(lives);
      await writeReceipts(receipts);
    })();
    for (let round = 0; round < 5; round += 1) await rebuildUsage({ sql: db.sql, clock });
    await written;
    await meter.stop();
    await expectMetered(lives, receipts);
  });
});

describe("a firm that is erased", () => {
  /** Nothing of it is under way; then it goes. */
  async function erase(firmId: FirmId, sql = db.sql): Promise<void> {
    await sql`
      update document set status = 'delivered', delivered_at = updated_at, next_attempt_at = null
      where firm_id = ${firmId}`;
    expect((await eraseFirm({ sql, clock }, firmId)).closure).toBe("closed");
    expect(await sql`select 1 from document where firm_id = ${firmId}`).toEqual([]);
    expect(await sql`select 1 from received_document where firm_id = ${firmId}`).toEqual([]);
  }
  const [gone, other] = [5, 6];
  const idOf = (firm: number): FirmId => firms[firm] as FirmId;

  test("what an erased firm has used stays as it was billed, also behind a rebuild", async () => {
    const { lives, receipts } = generate(seedFrom(20271105));
    await writeLives(lives);
    await writeReceipts(receipts);
    await expectMetered(lives, receipts);
    await erase(idOf(gone));
    expect(await rebuildUsage({ sql: db.sql, clock })).toEqual({ firms: 6, changed: 0 });
    await recountUsage(db.sql, idOf(gone), "2024-01-01");
    expect(await metered()).toEqual(recount(lives, receipts));
  });

  test("what the meter has not come to is counted before it goes, once, and nothing that it has counted again", async () => {
    const { lives, receipts } = generate(seedFrom(20271106));
    const half = lives.length / 2;
    await writeLives(lives.slice(0, half));
    await expectMetered(lives.slice(0, half), []);
    // Proofs of single documents end sooner than sums.
    await db.sql`delete from metered_event`;
    await writeLives(lives.slice(half));
    await writeReceipts(receipts);
    await erase(idOf(gone));
    await expectMetered(lives, receipts);
  });

  test("an erasure and a rebuild at once leave what was billed", async () => {
    const { lives, receipts } = generate(seedFrom(20271107));
    await writeLives(lives);
    await writeReceipts(receipts);
    await expectMetered(lives, receipts);
    const erased = erase(idOf(gone), db.another("erases"));
    for (let round = 0; round < 10; round += 1)
      for (const firm of [gone, other]) await recountUsage(db.sql, idOf(firm), "2024-01-01");
    await erased;
    expect(await metered()).toEqual(recount(lives, receipts));
  });
});

test("a node whose clock is years ahead counts what is delivered, and keeps the proofs of what was", async () => {
  const lives = [1, 2].map((n) => ({
    ...{ id: randomUUID(), firm: 0, kinds: LIVES[0] ?? [], deliveredAt: systemClock.now() - n * 60_000 },
  }));
  const [before, after] = [lives.slice(0, 1), lives.slice(1)];
  await writeLives(before);
  await expectMetered(before, []);
  const ahead = fakeClock(systemClock.now() + 5 * 366 * 86_400_000);
  const place = async (): Promise<string | undefined> => {
    const [row] = await db.sql<{ readonly at: string }[]>`
      select concat(transaction_id, ' ', position) as at from feed_consumer where name = 'meter'`;
    return row?.at;
  };
  const begun = await place();
  await writeLives(after);
  await eventually("the meter has read", async () => {
    await meterAll({ sql: db.sql, clock: ahead });
    return (await place()) !== begun;
  });
  expect(await metered()).toEqual(recount(lives, []));
  expect(await pruneMetered(db.sql, firstDayBefore(ahead.now(), LIMITS.metered_kept_months), 10)).toBe(0);
});

test("the meter counts by itself, and documents of months that are over for long are counted no more", async () => {
  const old = {
    id: randomUUID(),
    firm: 0,
    kinds: LIVES[0] ?? [],
    deliveredAt: systemClock.now() - 30 * 31 * 86_400_000,
  };
  const fresh = { id: randomUUID(), firm: 0, kinds: LIVES[0] ?? [], deliveredAt: NOW };
  const meter = startMeter({ sql: db.sql, clock, log: silentLog });
  await writeLives([old, fresh]);
  await eventually("the meter has counted", async () => Object.keys(await metered()).length > 0);
  await meter.stop();
  expect(await metered()).toEqual(recount([fresh], []));
});

test("a licence shows these figures, and an integrator pays for all its firms together, to the cent", async () => {
  const ports = { sql: db.sql, clock };
  const integratorId: IntegratorId = await createIntegrator(ports, { name: "Platí", productionAuthorized: true });
  const managed = firms.slice(0, 5);
  for (const firmId of managed)
    await bindFirm(ports, { integratorId, firmId, scopes: ["documents:send"], interfaces: ["enterprise"] });
  await db.sql`update firm set sandbox = (id = ${firms[4] ?? ""})`;
  await db.sql`
    insert into consent_offer (id, integrator_id, key_id, token_sha256, target_identifier, relationship_mode,
      requested_interface, interfaces, requested_scopes, status, firm_id, decided_by, decided_at, created_at, expires_at)
    select gen_random_uuid(), ${integratorId}, k.id, sha256(f.id::text::bytea), '99000017', 'managed_service', 'enterprise_api',
      '{enterprise}', '{documents:send}', 'accepted', f.id, 'x', now(), now(), now() + interval '14 days'
    from firm f cross join (
      select id from api_key where id = ${await someKey(integratorId)}
    ) as k where f.id = any(${managed.filter((_, n) => n !== 3)}::uuid[])`;
  // Three managed firms reach the last band together, and none of them alone.
  const counts = [9_001, 7_500, 3_600, 40, 70, 1_000, 1_000];
  await db.sql`
    insert into usage_month (firm_id, month, outbound, inbound)
    select firm_id, '2027-11-01', n, n / 10 from unnest(${firms}::uuid[], ${counts}::integer[]) as u (firm_id, n)`;
  const asked = { integratorId, onlyFirmId: undefined, limit: 2, offset: 0 };
  const licence = await readIntegratorLicence(ports, asked);
  const outbound = 1_000 * 0.1 + 1_000 * 0.08 + 3_000 * 0.06 + 15_000 * 0.05 + 101 * 0.04;
  const inbound = 1_000 * 0.08 + 1_000 * 0.07 + (900 + 750 + 360 - 2_000) * 0.06;
  expect(licence).toMatchObject({
    period: "2027-11",
    nextResetAt: "2027-11-30T23:00:00.000Z",
    billable: {
      managedFirms: 3,
      outboundCount: 20_101,
      inboundApiCount: 2_010,
      outboundCharge: Math.round(outbound * 100) / 100,
      inboundApiCharge: Math.round(inbound * 100) / 100,
      totalCharge: Math.round((outbound + inbound) * 100) / 100,
      exceedsAutoTier: false,
    },
    nonManaged: { firms: 1, outboundCount: 40, inboundApiCount: 4 },
    sandbox: { firms: 1, outboundCount: 70, inboundApiCount: 7 },
    productionEstimate: { managedFirms: 4, outboundCount: 20_171 },
    pagination: { limit: 2, offset: 0, total: 5 },
  });
  const pages = await Promise.all([0, 2, 4, 6].map((offset) => readIntegratorLicence(ports, { ...asked, offset })));
  const shown = pages.flatMap((page) => page.firms);
  expect(shown.map(({ firmId }) => firmId)).toEqual([...managed].sort());
  const rebilled = shown.reduce((sum, { rebillingEstimate }) => sum + rebillingEstimate.totalCharge, 0);
  expect(Math.abs(rebilled - licence.billable.totalCharge)).toBeLessThan(0.05);
  expect(await readFirmLicence(ports, firms[3] as FirmId)).toMatchObject({
    plan: { code: "standard", outboundLimit: null },
    usage: { period: "2027-11", outboundCount: 40, inboundApiCount: 4, quotaRemaining: null, estimatedMonthCost: 0 },
  });
  expect(LIMITS.licence_firms_page_max).toBe(100);
});

/** A key of an integrator, for rows that need one. */
async function someKey(integratorId: IntegratorId): Promise<string> {
  const id = randomUUID();
  await db.sql`
    insert into api_key (id, key_type, integrator_id, prefix, secret_sha256, scopes, ip_allowlist, active, created_at)
    values (${id}, 'sk_int', ${integratorId}, ${`sk_int_test_${id.slice(0, 8)}`}, sha256(${id}::text::bytea),
      '{documents:send}', '{}', true, ${new Date(systemClock.now())})`;
  return id;
}
