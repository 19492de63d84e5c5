/**
 * What waits costs nobody else, also by plans that were made while nothing waited: what is asked for one thing, or for a
 * batch, reads as many rows beside thousands that came since as beside a few. Counted, not timed. Postgres keeps a plan
 * until it makes statistics anew, and an index of what is open looks short to one that was made when nothing was.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { BoxItemId, DocumentId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { pruneStaged } from "../../../engine/documents/connector/staged.js";
import { pruneBox } from "../../../engine/documents/box/retention.js";
import { boxFirms, claimBoxItems, freeBoxLeases, nextBoxDue } from "../../../engine/storage/box/claims.js";
import { boxTimeline } from "../../../engine/storage/box/items.js";
import {
  claimDocuments,
  claimOverdue,
  freeLeases,
  hastenDocument,
  readLanes,
  renewLeases,
  takeAttempt,
} from "../../../engine/storage/documents/attempts.js";
import { endDuty, takeDuties } from "../../../engine/storage/documents/duties.js";
import { deferStatus, findDueStatuses } from "../../../engine/storage/documents/received-responses.js";
import { listReceived, releaseReceived } from "../../../engine/storage/documents/received.js";
import { takeServiceMessages } from "../../../engine/storage/documents/service-messages.js";
import { cancelHeld, sendHeld } from "../../../engine/storage/documents/staged.js";
import type { HeldMove } from "../../../engine/storage/documents/staged.js";
import { claimDeliveries, freeDeliveries, settleDeliveries } from "../../../engine/storage/events/dispatch.js";
import { fanOutFeed } from "../../../engine/storage/events/fan-out.js";
import { listPending } from "../../../engine/storage/events/pulls.js";
import { pruneDeliveries } from "../../../engine/storage/events/repairs.js";
import { claimOutbox } from "../../../engine/storage/outbox.js";
import { pruneRates } from "../../../engine/storage/rates.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { claimStreamMessages } from "../../../engine/storage/stream.js";
import { rowsReadBy, untilFeedsShowAll } from "../../support/database/past.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { addOpen, addQuietPast, QUIET_CONSUMER } from "../../support/database/quiet.js";
import type { Open, QuietFirm } from "../../support/database/quiet.js";
import { seedFirm } from "../../support/database/seed.js";

const OWNER = "quiet/1";
/** More than the five times that Postgres plans a statement for its parameters before it keeps a plan. */
const ASKED = 8;
const WAITING = 3_000;
/** What questions leave behind of what they asked for themselves, which Postgres has not cleaned up. */
const OWN_ROWS = 150;
/** Where receivers have turns, a bounded many that are due are looked at, once each. */
const LOOKED_AT: Readonly<Record<string, number>> = {
  "a claim of our own messages": LIMITS.service_messages_looked_max,
};
/** The duty among those that are due, and by its id. */
const LOOKS_TO_CLAIM = 2;
/** The delivery, the one before it, and that of its endpoint. */
const LOOKS_TO_PRUNE = 3;

const claim = { owner: OWNER, lease_ms: 60_000, bytes_max: 1_000_000, one: true };

const heldMove = ({ firmId, held: id }: Open): HeldMove => ({
  ...{ id, firmId: firmId, version: 1, integratorId: undefined },
  audit: {
    ...{ id: newId(systemClock), at: new Date(systemClock.now()).toISOString() },
    ...{ actorType: "system", actorId: null, ip: null, userAgent: null },
  },
});

const settled = async (sql: Sql, id: string): Promise<boolean> => {
  await sql`update webhook_delivery set lease_owner = ${OWNER}, attempts = 0 where id = ${id}`;
  const answer = { responseStatus: 204, responseBody: "", cause: undefined, wait_ms: undefined } as const;
  const end = await settleDeliveries(sql, [
    { id, owner: OWNER, attempt: 1, status: "SUCCESS", health: "well", ...answer },
  ]);
  return end?.freed === true;
};

const fannedOut = async (sql: Sql, { firmId, id }: Open): Promise<number> => {
  await sql`
    insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    values (gen_random_uuid(), ${id}, ${firmId}, 'document.delivered', 'system', true, now())`;
  await untilFeedsShowAll(sql);
  return (await fanOutFeed(sql, { owner: OWNER, places: 2 })).read;
};

const inbox = async (sql: Sql, { firmId, participant }: Open): Promise<boolean | undefined> => {
  const query = { participantKey: participant, status: "RECEIVED", after: "0", limit: 2, heldSince: 0 } as const;
  return (await listReceived(sql, [{ firmId: firmId, ...query }]))[0]?.isAnyHeld;
};

/** What is asked, by its name; each tells whether it has found what it asked for. */
const QUESTIONS: Readonly<Record<string, (sql: Sql, open: Open) => Promise<unknown>>> = {
  "a look at the lanes": async (sql) =>
    (await readLanes(sql, { firm: undefined, receivers: new Map() }, { firms: 16, ready: 32 })).lanes.length,
  "a claim of documents": async (sql, { firmId }) => {
    const shares = [{ firmId: firmId, receiver: "0245:9999999999", count: 2 }];
    return (await claimDocuments(sql, { ...claim, shares })).length;
  },
  "a claim of what is overdue": async (sql) => (await claimOverdue(sql, { ...claim, overdue_ms: 1, limit: 2 })).length,
  "a document that is hastened": async (sql, { id }) => {
    await sql`update document set next_attempt_at = now() + interval '1 hour', lease_until = null where id = ${id}`;
    return hastenDocument(sql, id as DocumentId);
  },
  "a document that is taken": (sql, { id }) =>
    takeAttempt(sql, { id: id as DocumentId, owner: OWNER, lease_ms: 60_000 }),
  "leases that are renewed and freed": async (sql, { id }) => {
    const [row] = await sql<{ readonly version: number }[]>`
      update document set lease_owner = ${OWNER}, lease_until = now() where id = ${id} returning version`;
    const lease = { id: id as DocumentId, version: row?.version ?? 0 };
    await renewLeases(sql, OWNER, [lease]);
    return freeLeases(sql, OWNER, [lease]);
  },
  "a held document that is sent": (sql, open) => sendHeld(sql, heldMove(open)),
  "a held document that is cancelled": async (sql, open) => {
    await sql`
      update document set staged = 'held', status = 'queued', next_attempt_at = null, version = 1 where id = ${open.held}`;
    return cancelHeld(sql, heldMove(open), { eventId: newId(systemClock), status: "send_failed", reason: "none" });
  },
  "a received document that is shown": (sql, { id }) => releaseReceived(sql, id as ReceivedDocumentId),
  "a verdict on a received document": async (sql, { id }) => {
    await sql`update received_document set status = 'HELD' where id = ${id}`;
    return endDuty(sql, id, { document: { to: "RECEIVED" }, code: "AP" });
  },
  "a page of the inbox while a document is judged": inbox,
  "a look at statuses": async (sql) => (await findDueStatuses(sql, 2)).length,
  "a status that is put off": async (sql, { id }) => deferStatus(sql, { id, tries: 0 }, 10_000),
  "a claim of our own messages": async (sql) =>
    (await takeServiceMessages(sql, { owner: OWNER, lease_ms: 60_000, limit: 2 })).length,
  "when the Box is due": (sql) => nextBoxDue(sql),
  "whose Box is due": async (sql) => (await boxFirms(sql, undefined, 10)).length,
  "a claim of the Box": async (sql, { firmId }) =>
    (await claimBoxItems(sql, { ...claim, firms: [firmId], max: 2 })).length,
  "leases of the Box that nobody works on": (sql) =>
    freeBoxLeases(sql, { owner: OWNER, working: [], node: undefined }).then(() => true),
  "the timeline of an item": async (sql, { id }) => (await boxTimeline(sql, id as BoxItemId, 10)).lines.length,
  "an end of a delivery with another behind it": (sql, { id }) => settled(sql, id),
  "a claim of deliveries": async (sql) => (await claimDeliveries(sql, OWNER, 4)).length,
  "leases of deliveries that nobody works on": (sql) => freeDeliveries(sql, OWNER, []),
  "a look at the feed": fannedOut,
  "a page of events to be pulled": async (sql, { firmId }) => {
    const page = await listPending(sql, { firmId: firmId, integratorId: undefined }, PULL);
    return page.rows.length;
  },
  "a claim of the outbox": async (sql) => (await claimOutbox(sql, 4, 60_000)).length,
  "a claim of a stream": async (sql) =>
    (await claimStreamMessages(sql, { stream: "events", consumer: QUIET_CONSUMER, limit: 4, lease_ms: 60_000 })).length,
};

const PULL = { kind: undefined, limit: 2 };

let db: TestDatabase;
let sql: Sql;
let firms: readonly [early: QuietFirm, late: QuietFirm, crowded: QuietFirm];
beforeAll(async () => {
  db = await freshDatabase();
  sql = db.one("quiet");
  const named = async (participant: string): Promise<QuietFirm> => ({
    firmId: await seedFirm(sql, participant),
    participant,
  });
  firms = [await named("0245:1111111111"), await named("0245:3333333333"), await named("0245:5555555555")];
  await addQuietPast(db.url, firms, 2_000);
});
afterAll(async () => {
  await db.drop();
});

const costOf = (ask: () => Promise<unknown>): Promise<number> => rowsReadBy(sql, ask);

test("what one asks for reads as many rows beside 3,000 of everything that came since plans were made as beside a dozen, and where there are turns looks once at a bounded many", async () => {
  const [early, late, crowded] = firms;
  const few: Record<string, number> = {};
  const own = await addOpen(db.url, early, ASKED);
  for (const [name, ask] of Object.entries(QUESTIONS)) {
    for (const open of own.slice(1)) await ask(sql, open);
    few[name] = await costOf(() => ask(sql, own[0] as Open));
  }
  const [open] = await addOpen(db.url, late, 4);
  await addOpen(db.url, crowded, WAITING);
  // One receiver that takes nothing: those who wait for it wait on.
  await sql`update webhook_endpoint set failures = 9, rest_until = now() + interval '1 hour' where id = ${crowded.firmId}`;
  const grown: Record<string, string> = {};
  for (const [name, ask] of Object.entries(QUESTIONS)) {
    let found: unknown;
    const many = await costOf(async () => {
      found = await ask(sql, open as Open);
    });
    expect(found, name).toBeTruthy();
    if (many > (few[name] ?? 0) + OWN_ROWS + (LOOKED_AT[name] ?? 0)) grown[name] = `${few[name]} before, ${many} now`;
  }
  expect(grown).toEqual({});
});

test("a claim of duties beside 3,000 that are due, each for another firm, looks at each of them twice at most", async () => {
  const [, late] = firms;
  const due = async (): Promise<number> => {
    const [row] = await sql<{ readonly n: number }[]>`
      select count(*)::integer as n from mls_duty where next_at is not null`;
    return row?.n ?? 0;
  };
  for (const size of ["small", "large"] as const) {
    const claimed = (): Promise<unknown> => takeDuties(sql, { owner: OWNER, lease_ms: 60_000, limit: 2, size });
    await sql`update mls_duty set next_at = null, code = 'AP' where next_at is not null`;
    await sql`vacuum analyze mls_duty`;
    await sql`reindex table mls_duty`;
    for (let n = 0; n < ASKED; n += 1) await claimed();
    await addOpen(db.url, late, WAITING);
    await sql`update mls_duty set firm_id = gen_random_uuid() where next_at is not null`;
    await sql`vacuum mls_duty`;
    expect(await costOf(claimed), size).toBeLessThanOrEqual(LOOKS_TO_CLAIM * (await due()) + OWN_ROWS);
  }
});

test("old deliveries are removed beside thousands that wait behind others with a few looks at each", async () => {
  const [, , crowded] = firms;
  await addOpen(db.url, crowded, WAITING);
  const [row] = await sql<{ readonly n: number }[]>`
    select count(*)::integer as n from webhook_delivery where settled_at is null`;
  expect(await costOf(() => pruneDeliveries(sql))).toBeLessThanOrEqual(LOOKS_TO_PRUNE * (row?.n ?? 0) + OWN_ROWS);
});

test("a sweep that finds nothing old reads nothing of the thousands that are kept in the Box, held or counted", async () => {
  const [, , crowded] = firms;
  await addOpen(db.url, crowded, WAITING);
  await sql`
    insert into rate_window (key, buckets, admitted, touched_at)
    select 'quiet ' || n, '{}', '{}', now() from generate_series(1, ${WAITING}::integer) as s (n)`;
  const sweeps = { "the Box": pruneBox, "what is held": pruneStaged, rates: pruneRates };
  for (const [name, sweep] of Object.entries(sweeps)) {
    await sweep(sql);
    expect(await costOf(() => sweep(sql)), name).toBeLessThanOrEqual(OWN_ROWS);
  }
});

test("where statistics know of a backlog, a claim of the Box reads what is its firm's, and a look one item of each firm", async () => {
  const [, late, crowded] = firms;
  await sql`update box_item set due_at = null, status = 'sent', lease_owner = null, locked_at = null`;
  await addOpen(db.url, crowded, WAITING);
  await sql`vacuum analyze box_item`;
  await addOpen(db.url, late, 2);
  const asked = {
    "a look": async () => (await boxFirms(sql, undefined, 10)).length,
    "a claim": async () => (await claimBoxItems(sql, { ...claim, firms: [late.firmId], max: 2 })).length,
  };
  for (const [name, ask] of Object.entries(asked))
    expect(await costOf(async () => expect(await ask(), name).toBe(2)), name).toBeLessThanOrEqual(OWN_ROWS);
});
