// Goal: whoever reads the feed of events meets each of them once, in an order that never grows behind the reader.
// Method: rows as the engine writes them, in transactions that a test holds open; the whole way on an engine.
import { randomInt, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { STORED_EVENT_KINDS } from "../../../engine/lifecycle/document.js";
import { CONNECTOR_FEED_KINDS, FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import { feedLag } from "../../../engine/storage/events/dispatch.js";
import { FEED_START, readFeed } from "../../../engine/storage/events/feed.js";
import type { FeedEvent, FeedPlace } from "../../../engine/storage/events/feed.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { boxClient, brokenInvoice } from "../../support/callers/box.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { openTransaction } from "../../support/database/transactions.js";
import type { OpenTransaction } from "../../support/database/transactions.js";
import { seedFirm } from "../../support/database/seed.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

/** Reads on from a place until nothing comes, page by page. */
async function readAll(sql: Sql, after: FeedPlace = FEED_START, limit = 500): Promise<FeedEvent[]> {
  const all: FeedEvent[] = [];
  for (let place = after; ;) {
    const page = await readFeed(sql, place, limit);
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined) return all;
    place = last;
  }
}

describe("the rows of the feed", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await freshDatabase();
  });
  afterAll(() => db.drop());

  /** An event as the functions that move a document write it. */
  const write = (sql: Pick<OpenTransaction, "run">, kind = "document.delivered", feed = true): Promise<string> => {
    const id = randomUUID();
    return sql
      .run(
        `insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
         values ('${id}', '${randomUUID()}', '${randomUUID()}', '${kind}', 'system', ${feed}, now())`,
      )
      .then(() => id);
  };
  type Run = Pick<OpenTransaction, "run">;
  /** An event of an hour ago. */
  const event = ({ run }: Run, kind: string, feed: boolean): Promise<void> =>
    run(`insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at) values
      ('${randomUUID()}', '${randomUUID()}', '${randomUUID()}', '${kind}', 'system', ${feed}, now() - interval '1 hour')`);
  /** A document that was received an hour ago; one that is held is in no feed yet. */
  const received = async ({ run }: Run, status: string): Promise<void> => {
    const id = randomUUID();
    const firm = await seedFirm(db.sql, `0245:${randomInt(1_000_000_000, 10_000_000_000)}`);
    await run(`insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id,
        process_id, creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at)
      values ('${id}', '${firm}', 'p', 's', 'p', 'type', 'process', now(), '${status}', sha256('${id}'), '${id}', '${id}',
        '{}', now() - interval '1 hour')`);
  };
  const idsOf = (events: readonly FeedEvent[]): string[] => events.map(({ id }) => id);
  /** Reads on until an event is there: transactions of other databases of the server hold the feed up, too. */
  async function readUntil(id: string, after?: FeedPlace, limit?: number): Promise<FeedEvent[]> {
    let read: FeedEvent[] = [];
    await eventually("the event is in the feed", async () => {
      read = await readAll(db.sql, after, limit);
      return idsOf(read).includes(id);
    });
    return read;
  }

  test("an event that commits after a later one is read after neither is missing", async () => {
    const [first, second] = [await openTransaction(db.url), await openTransaction(db.url)];
    const slow = await write(first);
    const quick = await write(second);
    await second.commit();
    // What the slow transaction has written is before what the quick one has: nobody may pass it.
    expect(idsOf(await readAll(db.sql))).not.toContain(quick);
    await first.commit();
    const read = idsOf(await readUntil(quick));
    expect(read.filter((id) => id === slow || id === quick)).toEqual([slow, quick]);
  });

  test("the gauge of the feed's lag tells of an event that a transaction holds back which stays open", async () => {
    await db.sql`update feed_consumer set transaction_id = pg_snapshot_xmax(pg_current_snapshot()), position = 0`;
    const open = await openTransaction(db.url);
    await write(open);
    await db.sql`insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at) values
      (${randomUUID()}, ${randomUUID()}, ${randomUUID()}, 'document.sent', 'system', true, now() - interval '1 hour')`;
    const lag_s = await feedLag(db.sql);
    await open.commit();
    expect(Math.round(lag_s / 60)).toBe(60);
  });

  test.each([
    ...STORED_EVENT_KINDS.flatMap((kind) => [
      { what: `an event ${kind} of the feed`, put: (run: Run) => event(run, kind, true) },
      { what: `an event ${kind} of the timeline alone`, put: (run: Run) => event(run, kind, false) },
    ]),
    { what: "a document that was received", put: (run: Run) => received(run, "RECEIVED") },
    { what: "a document that is held", put: (run: Run) => received(run, "HELD") },
  ])("the gauge of the feed's lag counts what the feed tells, and nothing else: $what", async ({ put }) => {
    await db.sql`update feed_consumer set transaction_id = pg_snapshot_xmax(pg_current_snapshot()), position = 0`;
    const [{ before } = { before: FEED_START.transactionId }] = await db.sql<{ before: string }[]>`
      select transaction_id::text as before from feed_consumer where name = 'webhooks'`;
    const written = await openTransaction(db.url);
    await put(written);
    await written.commit();
    const lags = (await feedLag(db.sql)) > 0;
    const later = await openTransaction(db.url);
    const marker = await write(later);
    await later.commit();
    const told = await readUntil(marker, { transactionId: before, position: "0" });
    expect(lags).toBe(told[0]?.id !== marker);
  });

  test("pages of one row each give what one page gives, and the kinds of the timeline alone are in none", async () => {
    const open = await openTransaction(db.url);
    const before = (await readAll(db.sql)).at(-1) ?? FEED_START;
    const first = await write(open);
    await write(open, "document.attempt_failed", false);
    const last = await write(open, "document.sent");
    await open.commit();
    expect(idsOf(await readUntil(last, before, 1))).toEqual([first, last]);
    expect(idsOf(await readUntil(last, before))).toEqual([first, last]);
  });

  test("the acceptance of a document is told as created and validated, in this order and with ids of their own", async () => {
    const before = (await readAll(db.sql)).at(-1) ?? FEED_START;
    const open = await openTransaction(db.url);
    const id = await write(open, "document.queued", false);
    await open.commit();
    const [created, validated, ...more] = await readUntil(id, before, 1);
    expect(more).toEqual([]);
    expect([created?.kind, validated?.kind]).toEqual(["document.created", "document.validated"]);
    expect([created?.id, validated?.id]).toEqual([id, created?.documentId]);
  });
});

describe("the feed of an engine", () => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await startTestEngine();
  });
  afterAll(() => t.stop());

  test("a document that is sent and received is in the feed of both firms, from its creation to its receipt", async () => {
    const { sender, receiver } = t.sandbox;
    const token = await accessToken(t.sandbox, sender);
    const payload = invoiceXml(sender.participantId, receiver.participantId);
    const answer = await send(
      t.sandbox,
      { participantId: sender.participantId, token },
      sendParts(sender.participantId, receiver.participantId, payload),
    );
    expect(answer.status).toBe(202);
    const kinds = async (): Promise<string[]> => (await readAll(t.db.sql)).map(({ kind }) => kind);
    await eventually("both firms are told", async () => {
      const seen = await kinds();
      return seen.includes("document.delivered") && seen.includes("document.received");
    });
    const events = await readAll(t.db.sql);
    const outbound = events.filter(({ direction }) => direction === "outbound");
    expect(outbound.map(({ kind }) => kind)).toEqual([
      "document.created",
      "document.validated",
      "document.sent",
      "document.delivered",
    ]);
    expect(new Set(outbound.map(({ documentId }) => documentId)).size).toBe(1);
    const [received, ...others] = events.filter(({ direction }) => direction === "inbound");
    expect(others).toEqual([]);
    expect(received).toMatchObject({ kind: "document.received", firmId: receiver.firmId });
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    const known: readonly string[] = [...FEED_KINDS, ...CONNECTOR_FEED_KINDS];
    expect(events.filter(({ kind }) => !known.includes(kind))).toEqual([]);
  });

  test("a document that the rules refuse is told as created and rejected, and not as validated", async () => {
    const box = await boxClient(t, await accessToken(t.sandbox, t.sandbox.sender));
    const { boxItemId } = await box.made({ payloadXml: brokenInvoice(t) });
    const { documentId } = await box.reaches(boxItemId, "needs_repair");
    const told = await eventually("its end is in the feed", async () => {
      const found = (await readAll(t.db.sql)).filter((event) => event.documentId === documentId);
      return found.some(({ kind }) => kind === "document.rejected") && found;
    });
    expect(told.map(({ kind }) => kind)).toEqual(["document.created", "document.rejected"]);
  });

  test("a document that is held joins the feed when its firm may see it, and again when it is first acknowledged", async () => {
    const held = randomUUID();
    const told = async () =>
      (await readAll(t.db.sql))
        .filter(({ documentId }) => documentId === held)
        .map(({ kind, direction }) => `${direction} ${kind}`);
    await t.db.sql`
      insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id, process_id,
        creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at)
      values (${held}, ${t.sandbox.receiver.firmId}, 'x', 'x', 'x', 'x', 'x', now(), 'HELD', sha256('x'), ${held}, ${held},
        '{}', now())`;
    expect(await told()).toEqual([]);
    await t.db.sql`update received_document set status = 'RECEIVED' where id = ${held}`;
    await eventually("the document is in the feed", async () => (await told()).length === 1);
    for (const at of ["2026-01-01", "2026-01-02"])
      await t.db.sql`
        update received_document set status = 'ACKNOWLEDGED', acknowledged_at = coalesce(acknowledged_at, ${at}::date)
        where id = ${held}`;
    const other = randomUUID();
    await t.db.sql`
      insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
      values (${other}, ${other}, ${t.sandbox.receiver.firmId}, 'document.sent', 'system', true, now())`;
    await eventually("a later event is in the feed", async () =>
      (await readAll(t.db.sql)).some(({ id }) => id === other),
    );
    expect(await told()).toEqual(["inbound document.received", "inbound document.processed"]);
  });
});
