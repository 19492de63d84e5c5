/** The past costs nothing: what is asked all day reads as many rows among many as among few. Counted, not timed. */
import { expect, test } from "vitest";

import { OUTBOUND_STATES } from "../../engine/lifecycle/document.js";
import type { OutboundState } from "../../engine/lifecycle/document.js";
import { systemClock } from "../../engine/base/clock.js";
import { censusOfDocuments, acceptDocuments, applyMove } from "../../engine/storage/documents/documents.js";
import { costsOfPast, OWN_ROWS } from "../support/past.js";
import { freshDatabase } from "../support/postgres.js";
import { newDocumentRow, seedFirm } from "../support/seed.js";

test("a scrape, the inbox, a status, an acceptance and a sweep read no more rows among 12,000 of everything than among 200", async () => {
  const { few, many } = await costsOfPast(200, 12_000);
  for (const [name, read] of Object.entries(few)) expect(many[name], name).toBeLessThanOrEqual(read + OWN_ROWS);
});

const SENDER = "0245:1111111111";

test("documents are counted by their state wherever they move, by many transactions at once, and when they are removed", async () => {
  const db = await freshDatabase();
  try {
    const firmId = await seedFirm(db.sql, SENDER);
    const pools = [db.sql, db.another("second process")];
    const counted = async (): Promise<Record<OutboundState, number>> => {
      const { states } = await censusOfDocuments(db.sql, systemClock.now());
      return Object.fromEntries(OUTBOUND_STATES.map((state) => [state, states.get(state) ?? -1])) as Record<
        OutboundState,
        number
      >;
    };
    const documents = Array.from({ length: 40 }, () => newDocumentRow(firmId, SENDER));
    await acceptDocuments(db.sql, documents);
    const none = { delivered: 0, rejected: 0, send_failed: 0, delivery_failed: 0, validation_failed: 0 };
    expect(await counted()).toEqual({ ...none, queued: 40, sent: 0 });
    const move = (index: number, version: number, status: OutboundState): Promise<number | undefined> => {
      const [pool, document] = [pools[index % 2] ?? db.sql, documents[index]];
      if (document === undefined) throw new Error("no such document");
      return applyMove(pool, {
        ...{ id: document.id, version, status, trigger: "receipt_confirmed" as const, detail: undefined },
        ...{ now: systemClock.now(), nextAttemptAt: undefined, events: [], attempt: undefined, changes: {} },
      });
    };
    await Promise.all(documents.map((_, index) => move(index, 1, index < 30 ? "delivered" : "send_failed")));
    expect(await counted()).toEqual({ ...none, queued: 0, sent: 0, delivered: 30, send_failed: 10 });
    await Promise.all(documents.slice(0, 5).map((_, index) => move(index, 2, "rejected")));
    expect(await counted()).toEqual({ ...none, queued: 0, sent: 0, delivered: 25, rejected: 5, send_failed: 10 });
    await db.sql`select remove_documents(${documents.slice(0, 10).map(({ id }) => id)}::uuid[])`;
    expect(await counted()).toEqual({ ...none, queued: 0, sent: 0, delivered: 20, rejected: 0, send_failed: 10 });
  } finally {
    await db.drop();
  }
});
