/**
 * What a backlog of received statuses costs those of other access points: the next of each is found behind however many
 * of one, and a look reads as much then as beside a few. Counted, not timed.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { findDueStatuses } from "../../../engine/storage/documents/received-responses.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { rowsReadBy } from "../../support/database/past.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

const LOOKED_FOR = 4;
/** More than a look that went through what is due came to. */
const MANY = 12_000;
/** Entries of the index that an insert has left on their way, and the rows of the ids. */
const OWN_ROWS = 50;
const SEATS = 400;
/** So often a statement is asked until its plan is kept. */
const PLANNED = 8;

let db: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  db = await freshDatabase();
  sql = db.one("statuses");
});
afterAll(async () => {
  await db.drop();
});

/** Statuses of an access point that are due, the first of them for so many hours. */
const owe = (seat: string, count: number, hours: number): Promise<unknown> =>
  sql`
  with told as (
    insert into inbound_status (id, kind, sender, receiver, peer_seat, as4_message_id, sbdh_instance_id, received_at,
      payload_key_id, payload_sealed, payload_sha256, tries)
    select gen_random_uuid(), 'mls', 's', 'r', ${seat}::text, ${seat}::text || n || ${hours}::text,
      ${seat}::text || n || ${hours}::text,
      clock_timestamp() - ${hours}::integer * interval '1 hour' + n * interval '1 millisecond', 'k', 'x', 'x', 0
    from generate_series(1, ${count}::integer) as s (n)
    returning id, received_at
  )
  select count(*) from told`.then(
    () => sql`update inbound_status set next_at = received_at where next_at is not null and next_at > received_at`,
  );

const seatsOf = async (): Promise<string[]> =>
  (await findDueStatuses(sql, LOOKED_FOR)).map(({ peerSeat }) => peerSeat).sort();
const costOf = async (): Promise<number> => {
  await seatsOf();
  return rowsReadBy(sql, seatsOf);
};

test("the next status of every access point is found behind 12,000 of one that have been due for longer, and a look reads no more than beside a few", async () => {
  await owe("POP000002", 10, 1);
  await owe("POP000003", 1, 1);
  await sql`vacuum analyze inbound_status`;
  const few = await costOf();
  await owe("POP000001", MANY, 9);
  await sql`vacuum inbound_status`;
  expect(await seatsOf()).toEqual(["POP000001", "POP000001", "POP000002", "POP000003"]);
  const unknown = await costOf();
  await sql`vacuum analyze inbound_status`;
  const known = await costOf();
  expect(Math.max(unknown, known)).toBeLessThanOrEqual(few + OWN_ROWS);
});

test("statuses of one access point alone fill a batch, in the order in which they became due, but for those that wait for their document", async () => {
  await sql`truncate inbound_status`;
  await owe("POP000001", 2 * LOOKED_FOR, 1);
  const first = await findDueStatuses(sql, LOOKED_FOR);
  const rest = await findDueStatuses(
    sql,
    2 * LOOKED_FOR,
    first.map(({ id }) => id),
  );
  const came = [...first, ...rest].map(({ receivedAt }) => receivedAt);
  expect(came).toHaveLength(2 * LOOKED_FOR);
  expect(came).toEqual([...came].sort((a, b) => a - b));
});

test("a look among hundreds of access points reads one status of each and what it takes, also by a plan that was made when none were there", async () => {
  await sql`truncate inbound_status`;
  await sql`analyze inbound_status`;
  for (let n = 0; n < PLANNED; n += 1) await seatsOf();
  await sql`
    insert into inbound_status (id, kind, sender, receiver, peer_seat, as4_message_id, sbdh_instance_id, received_at,
      payload_key_id, payload_sealed, payload_sha256, tries)
    select gen_random_uuid(), 'mls', 's', 'r', 'POP' || 100000 + n, 'of ' || n, 'of ' || n, clock_timestamp(), 'k', 'x',
      'x', 0
    from generate_series(1, ${SEATS}::integer) as s (n)`;
  const unknown = await costOf();
  await sql`vacuum analyze inbound_status`;
  const known = await costOf();
  expect(Math.max(unknown, known)).toBeLessThanOrEqual(SEATS + OWN_ROWS);
});
