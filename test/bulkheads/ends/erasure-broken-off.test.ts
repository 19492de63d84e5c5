/**
 * An erasure that ends before its time, and two of one firm. Method: a firm with some batches of everything; the statements of
 * its erasure are counted, and each is the last one once.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { eraseFirm } from "../../../engine/identity/erasure.js";
import { openFirmKeyFiles } from "../../../engine/storage/keyring/firm-key-files.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { rowsOf } from "../../support/database/rows.js";
import type { Rows } from "../../support/database/rows.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { eventually } from "../../support/eventually.js";

const now = systemClock.now();
const BATCH = 2;
/** Of everything, so that each kind takes some batches. */
const OF_EACH = 3;
const END_USER = "0245:2120007780";

let db: TestDatabase;
let rows: Rows;
let restore: () => void;
const folder = mkdtempSync(join(tmpdir(), "kurier-broken-off-"));
const firmKeys = openFirmKeyFiles(`file:${folder}`);
let name: string;

beforeAll(async () => {
  db = await freshDatabase();
  rows = await rowsOf(db.url);
  name = await firmKeys.baptise();
});
beforeEach(() => {
  restore = shortenLimits({ sweep_batch: BATCH });
});
afterEach(() => {
  restore();
});
afterAll(async () => {
  await rows.end();
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** A firm with a key, and OF_EACH of what goes with it. */
async function newFirm(): Promise<FirmId> {
  const id = randomUUID() as FirmId;
  await rows.add("firm", now, { id, name: `Firm ${id}`, peppol_status: "registered" });
  await firmKeys.add(id, { by: "0123456789abcdef", sealed: Buffer.from("key") }, name);
  for (let n = 0; n < OF_EACH; n += 1) {
    await rows.add("exchange", now, {
      ...{ id: randomUUID(), direction: "outgoing", kind: "business", firm_id: id, c1_country: "XW" },
      end_user: END_USER,
    });
    await rows.add("document", now, {
      ...{ id: randomUUID(), firm_id: id, status: "send_failed", door: "enterprise", sbdh_instance_id: randomUUID() },
      sender: id,
    });
    await rows.add("received_document", now, { id: randomUUID(), firm_id: id, status: "RECEIVED" });
    await rows.add("webhook_delivery", now, {
      ...{ firm_id: id, customer_ref: "x", status: "SUCCESS", settled_at: new Date(now), event: "document.delivered" },
    });
  }
  return id;
}

/** What is left of a firm. */
async function left(id: FirmId): Promise<Readonly<Record<string, unknown>>> {
  const [row = {}] = await db.sql<Readonly<Record<string, unknown>>[]>`
    select (select count(*)::int from exchange where firm_id = ${id}) as exchanges,
      (select count(*)::int from document where firm_id = ${id}) as documents,
      (select count(*)::int from received_document where firm_id = ${id}) as received,
      (select count(*)::int from webhook_delivery where firm_id = ${id}) as deliveries,
      (select end_user_salt from firm where id = ${id}) as salt`;
  return { ...row, hasKey: existsSync(join(folder, `${id}.key`)) };
}
const NOTHING = { exchanges: 0, documents: 0, received: 0, deliveries: 0, salt: null, hasKey: false };

const erase = (id: FirmId, sql: Sql = db.sql) => eraseFirm({ sql, clock: systemClock, firmKeys }, id);

/** A pool on which a process dies: it has so many statements, and none behind them. */
function dying(statements: number): { readonly sql: Sql; readonly asked: () => number } {
  let asked = 0;
  const sql = new Proxy(db.sql, {
    apply: (target, self, given: unknown[]) => {
      asked += 1;
      if (asked > statements) throw new Error("the process has ended");
      return Reflect.apply(target, self, given) as unknown;
    },
  });
  return { sql, asked: () => asked };
}

test("an erasure that ends behind any of its statements is run again, and nothing is left of the firm", async () => {
  const whole = dying(Number.POSITIVE_INFINITY);
  const first = await newFirm();
  expect(await erase(first, whole.sql)).toMatchObject({ closure: "closed" });
  expect(await left(first)).toEqual(NOTHING);
  for (let statements = 0; statements < whole.asked(); statements += 1) {
    const id = await newFirm();
    await expect(erase(id, dying(statements).sql), `after ${statements}`).rejects.toThrow("the process has ended");
    expect((await erase(id)).closure).toBe("closed");
    expect(await left(id), `after ${statements}`).toEqual(NOTHING);
  }
  const counted = await db.sql`select 1 from exchange where c1_country = 'XW' group by end_user`;
  expect(counted).toHaveLength(whole.asked() + 1);
});

test("the key of a firm has gone before statistics are taken anew: who breaks that off has ended every copy all the same", async () => {
  const id = await newFirm();
  const taken: boolean[] = [];
  const sql = new Proxy(db.sql, {
    apply: (target, self, given: unknown[]) => {
      if (/^\s*analyze/.test(String(given[0]))) taken.push(firmKeys.isErased(id));
      return Reflect.apply(target, self, given) as unknown;
    },
  });
  expect((await erase(id, sql)).closure).toBe("closed");
  expect(taken).toEqual([true]);
});

test.each([
  ["exchanges", 0],
  ["documents", 2],
  ["received documents", 4],
])("two erasures that meet at the %s of a firm both come to its end", async (_, parts) => {
  const id = await newFirm();
  await expect(erase(id, dying(2 + parts).sql)).rejects.toThrow("the process has ended");
  const other = openSql({ url: db.url, name: "other", connections: 1 });
  try {
    // The other one is in the middle of a part when this one comes to it.
    await other.unsafe("begin");
    await other`select erase_firm_rows(${id}, ${BATCH})`;
    const working = erase(id);
    await eventually("this one waits for the other", async () => {
      const waiting = await db.sql`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      return waiting.length > 0;
    });
    await other.unsafe("commit");
    expect([(await working).closure, await left(id)]).toEqual(["closed", NOTHING]);
  } finally {
    await other.end({ timeout: 1 });
  }
});
