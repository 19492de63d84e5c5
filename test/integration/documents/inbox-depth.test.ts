/**
 * Goal: a page of what all firms of an integrator have received is right wherever it lies, and costs what it shows and not
 * what all mailboxes hold. Method: mailboxes that lie in the order of arrival in different ways, pages against a sort of
 * the same rows here, and the index entries that Postgres says it has read.
 */
import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { bindFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { countFirmReceived, listFirmReceived } from "../../../engine/storage/documents/firm-received.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirms } from "../../support/database/seed.js";

const FIRMS = 100;
const EACH = 300;

let db: TestDatabase;
/** One connection, which alone knows what it has read. */
let sql: Sql;
let integratorId: IntegratorId;
let firms: FirmId[];
beforeAll(async () => {
  db = await freshDatabase();
  sql = db.one("test");
  const ports = { sql, clock: systemClock };
  integratorId = await createIntegrator(ports, { name: "Partner", productionAuthorized: false });
  firms = await seedFirms(
    sql,
    Array.from({ length: FIRMS }, (_, n) => `0245:${3_000_000_000 + n}`),
  );
  for (const firmId of firms)
    await bindFirm(ports, { integratorId, firmId, scopes: ["documents:read"], interfaces: ["enterprise"] });
});
afterEach(() => sql`truncate received_document cascade`);
afterAll(async () => {
  await db.drop();
});

/** Whose the documents are, in the order in which they come. */
const ARRIVALS: Readonly<Record<string, (n: number) => number>> = {
  "one firm after the other": (n) => Math.floor(n / EACH),
  "all firms in turn": (n) => n % FIRMS,
  "one firm alone, then all others": (n) => (n < EACH * 30 ? 0 : n % FIRMS),
};

async function receive(owner: (n: number) => number): Promise<readonly string[]> {
  const ids = Array.from({ length: FIRMS * EACH }, () => randomUUID());
  await sql`
    insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id, process_id,
      creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at)
    select r.id, r.firm_id, p.key, '0245:1', p.id, 't', 'p', now(), 'RECEIVED', sha256('x'), r.id::text, r.id::text, '{}',
      now()
    from unnest(${ids}::uuid[], ${ids.map((_, n) => firms[owner(n)] ?? "")}::uuid[]) with ordinality as r (id, firm_id, n)
      join participant as p on p.firm_id = r.firm_id
    order by r.n`;
  // All tables, as the server does by itself sooner or later: what it knows of them decides how it reads.
  await sql`analyze`;
  return ids;
}

async function readEntries(): Promise<number> {
  await sql`select pg_stat_force_next_flush()`;
  await sql`select pg_stat_clear_snapshot()`;
  const [row] = await sql<{ readonly read: number }[]>`
    select sum(idx_tup_read)::integer as read from pg_stat_user_indexes
    where relname = 'received_document' and indexrelname <> 'received_document_pkey'`;
  return row?.read ?? 0;
}

const page = async (offset: number, limit: number): Promise<readonly string[]> => {
  const rows = await listFirmReceived(sql, {
    firms: {
      integratorId,
      onlyFirmId: undefined,
      bindingGeneration: 1_000,
      scope: "documents:read",
      through: "enterprise",
    },
    statuses: ["RECEIVED", "ACKNOWLEDGED"],
    since: undefined,
    offset,
    limit,
    shownAt: systemClock.now(),
  });
  return rows.map(({ id }) => id);
};

describe.each(Object.keys(ARRIVALS))("mailboxes of many firms that came as %s", (name) => {
  test("each page is the next of all documents by their arrival, and a deep one reads a part of the mailboxes", async () => {
    const ids = await receive(ARRIVALS[name] ?? (() => 0));
    for (const [offset, limit] of [
      [0, 1],
      [0, 100],
      [EACH - 3, 7],
      [1_000, 100],
      [FIRMS * EACH - 5, 100],
      [FIRMS * EACH, 100],
    ] as const)
      expect(await page(offset, limit)).toEqual(ids.slice(offset, offset + limit + 1));
    const before = await readEntries();
    await page(200, 100);
    // Twice the depth of 301 for the root of 200 mailboxes; a mailbox after the other would read 30,000.
    expect((await readEntries()) - before).toBeLessThan(9_000);
  });
});

test("what came since an instant is found without reading what came before, and ids without a time mislead nobody", async () => {
  const [firmId] = firms;
  if (firmId === undefined) throw new Error("no firm");
  const now = systemClock.now();
  const HOUR = 3_600_000;
  // Seven months, one document each quarter of an hour.
  const times = Array.from({ length: 20_000 }, (_, n) => now - (20_000 - n) * (HOUR / 4));
  const ids = times.map((time, n) => (n % 50 === 0 ? randomUUID() : newId({ now: () => time, monotonic: () => time })));
  await sql`
    insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id, process_id,
      creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at)
    select r.id, ${firmId}, p.key, '0245:1', p.id, 't', 'p', now(), 'RECEIVED', sha256('x'), r.id::text, r.id::text,
      '{}', to_timestamp(r.at / 1000.0)
    from unnest(${ids}::uuid[], ${times}::double precision[]) with ordinality as r (id, at, n)
      join participant as p on p.firm_id = ${firmId}
    order by r.n`;
  await sql`analyze`;
  const asked = { firms: { firmId }, statuses: ["RECEIVED"], offset: 0, limit: 100, shownAt: now } as const;
  const before = await readEntries();
  const since = now - 2 * HOUR - 1;
  const rows = await listFirmReceived(sql, { ...asked, since });
  expect(rows.map(({ id }) => id)).toEqual(ids.slice(-8));
  expect(await countFirmReceived(sql, { ...asked, since })).toBe(8);
  // A day of slack is a hundred documents, looked at three times; the mailbox has 20,000.
  expect((await readEntries()) - before).toBeLessThan(1_000);
  expect(await countFirmReceived(sql, { ...asked, since: 0 })).toBe(10_000);
  expect(await listFirmReceived(sql, { ...asked, since: now + HOUR })).toEqual([]);
});
