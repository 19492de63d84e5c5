/**
 * `kurier meter rebuild`, `meter show` and `plan set` as an operator types them, on what an engine has metered that was killed in
 * the middle. Method: an engine and the commands as processes of their own on one database; the test counts for itself.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import type { FirmId } from "../../../engine/base/ids.js";
import { listUsage } from "../../../engine/storage/billing/usage.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import { Random, seedFrom } from "../../support/random.js";
import { KEY_ID, seedFirms } from "../../support/database/seed.js";
import { kurier as runKurier } from "../../unit/commands/kurier.js";
import type { Ran } from "../../unit/commands/kurier.js";

let db: TestDatabase;
let dataDir: string;
let firms: FirmId[];
beforeAll(async () => {
  await buildIfNeeded();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-billing-"));
  db = await freshDatabase();
  firms = await seedFirms(db.sql, ["0245:3000000001", "0245:3000000002", "0245:3000000003"]);
});
afterAll(async () => {
  killEverythingOn(dataDir);
  await db.drop();
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const kurier = (...args: readonly string[]): Promise<Ran> =>
  runKurier(args, {
    env: {
      DATA_DIR: join(dataDir, "command"),
      ENVIRONMENT: "sandbox",
      DATABASE_URL: db.url,
      NATS_URL: "embedded",
    },
  });

interface Delivery {
  readonly id: string;
  readonly firm: FirmId;
  readonly at: number;
}

const DAY_MS = 86_400_000;
const KILLS = 3;
const EACH = 1_500;

/** Documents that were delivered within the last year, each with the events of its life. */
async function deliver(seed: number): Promise<Delivery[]> {
  const random = new Random(seed);
  const made = Array.from({ length: EACH }, () => ({
    id: randomUUID(),
    firm: random.pick(firms),
    at: Date.now() - random.int(360) * DAY_MS - random.int(DAY_MS),
  }));
  const columns = [made.map(({ id }) => id), made.map(({ firm }) => firm), made.map(({ at }) => at)] as const;
  await db.sql`
    with given as (
      select * from unnest(${columns[0]}::uuid[], ${columns[1]}::uuid[], ${columns[2]}::double precision[]) as g (id, firm_id, at)
    ), documents as (
      insert into document (
        id, firm_id, key_id, sender, sender_key, receiver, receiver_key, erp_document_id, document_type_id, process_id,
        facts, status, version, idempotency_key, request_sha256, payload_sha256, reply_status, reply_body, as4_message_id,
        sbdh_instance_id, created_at, updated_at, lease_owner,
        lease_until, door
      )
      select id, firm_id, ${KEY_ID}, '0245:1', firm_id::text, '0245:2', '0245:2', id::text, 't', 'p', '{}', 'queued', 1,
        id::text, sha256(id::text::bytea), sha256(id::text::bytea), 202, '{}', id::text, id, to_timestamp(at / 1000),
        to_timestamp(at / 1000), 'the test', 'infinity', 'sapi'
      from given
    )
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    select gen_random_uuid(), id, firm_id, kind, 'system', kind <> 'document.queued', to_timestamp(at / 1000)
    from given cross join unnest(array['document.queued', 'document.sent', 'document.delivered']) as k (kind)`;
  await db.sql`
    update document set status = 'delivered', delivered_at = updated_at, next_attempt_at = null, lease_owner = null,
      lease_until = null, version = 2
    where id = any(${columns[0]}::uuid[])`;
  return made;
}

/** Months by Intl alone. */
const months = new Intl.DateTimeFormat("sv-SE", { timeZone: "Europe/Bratislava", year: "numeric", month: "2-digit" });

function recount(deliveries: readonly Delivery[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { firm, at } of deliveries) {
    const name = `${firm} ${months.format(at)}`;
    sums[name] = (sums[name] ?? 0) + 1;
  }
  return sums;
}

async function metered(): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const firm of firms)
    for (const { month, outbound } of await listUsage(db.sql, firm)) sums[`${firm} ${month.slice(0, 7)}`] = outbound;
  return sums;
}

test("what an engine metered that was killed again and again is what a rebuild counts, which mends what was changed", async () => {
  const seed = seedFrom(20_261_122);
  const start = () =>
    startEngineProcess({
      dataDir: join(dataDir, "engine"),
      env: { ENVIRONMENT: "sandbox", DATABASE_URL: db.url, NATS_URL: "embedded" },
    });
  const deliveries: Delivery[] = [];
  let engine = await start();
  for (let kill = 0; kill < KILLS; kill += 1) {
    deliveries.push(...(await deliver(seed + kill)));
    await eventually(
      "something of it is counted",
      async () => (await db.sql`select 1 from metered_event limit 1`).length > 0,
    );
    await engine.kill();
    engine = await start();
  }
  await engine.kill();
  const sorted = (of: Record<string, number>) => Object.entries(of).sort();
  // The engine's own firms have delivered nothing; the command counts what the last life left uncounted, too.
  const rebuilt = await eventually("the feed shows everything", async () => {
    const ended = await kurier("meter", "rebuild");
    return JSON.stringify(sorted(await metered())) === JSON.stringify(sorted(recount(deliveries))) ? ended : undefined;
  });
  expect([seed, rebuilt.code, rebuilt.err]).toEqual([seed, 0, ""]);
  expect(rebuilt.out).toMatch(/^\d+ firms counted, 0 with other figures than before\n$/);

  await db.sql`update usage_month set outbound = outbound + 7 where firm_id = ${firms[1] ?? ""}`;
  const mended = await kurier("meter", "rebuild");
  expect([mended.code, mended.out]).toEqual([1, rebuilt.out.replace(" 0 with", " 1 with")]);
  expect(sorted(await metered())).toEqual(sorted(recount(deliveries)));
});

test("what a firm has used is shown month by month, newest first, also that of months that are over", async () => {
  const [firm = ""] = await seedFirms(db.sql, ["0245:3000000004"]);
  expect(await kurier("meter", "show", firm)).toEqual({
    code: 0,
    out: "Nothing is counted of this firm.\n",
    err: "",
  });
  await db.sql`
    insert into usage_month (firm_id, month, outbound, inbound)
    values (${firm}, '2026-09-01', 1204, 0), (${firm}, '2026-11-01', 3, 17)`;
  expect(await kurier("meter", "show", firm)).toEqual({
    code: 0,
    out: "2026-11  3 sent  17 received\n2026-09  1204 sent  0 received\n",
    err: "",
  });
});

test.each([
  ["a firm that there is not", randomUUID(), "There is no firm with this id."],
  ["an id that is none", "acme", "meter show takes the id of a firm."],
])("the figures of %s are refused with the reason", async (_, firm, reason) => {
  const refused = await kurier("meter", "show", firm);
  expect([refused.code, refused.out]).toEqual([2, ""]);
  expect(refused.err).toContain(reason);
});

test("a plan is given to a firm by its id, and what cannot be is refused with the reason", async () => {
  const [firm = ""] = firms;
  const set = await kurier("plan", "set", firm, "business", "--until", "2027-03-31");
  expect(set).toEqual({ code: 0, out: `${firm} has the plan business until 2027-03-31\n`, err: "" });
  const rows = await db.sql`select code, expires_at from firm_plan where firm_id = ${firm}`;
  // The last day in Bratislava ends at midnight, in summer time.
  expect(rows).toEqual([{ code: "business", expires_at: new Date("2027-03-31T22:00:00Z") }]);
  const [audited] =
    await db.sql`select actor_type, metadata ->> 'plan' as plan from audit_entry where event = 'plan.changed'`;
  expect(audited).toEqual({ actor_type: "operator", plan: "business" });
});

test.each([
  ["a firm that there is not", ["plan", "set", randomUUID(), "start"], "There is no firm with this id."],
  [
    "a day that is none",
    ["plan", "set", randomUUID(), "start", "--until", "31.3.2027"],
    "--until is a day, YYYY-MM-DD, of the years 1900 to 9998; without it the plan has no end.",
  ],
])("a plan for %s is refused with the reason", async (_, args, reason) => {
  const refused = await kurier(...args);
  expect([refused.code, refused.out]).toEqual([2, ""]);
  expect(refused.err).toContain(reason);
});
