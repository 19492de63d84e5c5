/** Which due documents a node wakes, and which it leaves alone because their wake-up is under way. */
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Clock } from "../../engine/base/clock.js";
import { createDueDocuments } from "../../engine/documents/delivery/due.js";
import { LIMITS } from "../../engine/base/limits.js";
import { acceptDocuments } from "../../engine/storage/documents/documents.js";
import { freshDatabase } from "../support/postgres.js";
import type { TestDatabase } from "../support/postgres.js";
import { newDocumentRow, seedFirm } from "../support/seed.js";

let db: TestDatabase;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

test("a document is woken once for one time, again when it was put off, and again when its wake-up must have been lost", async () => {
  const firm = await seedFirm(db.sql, "0245:1111111111");
  const document = newDocumentRow(firm, "0245:1111111111");
  await acceptDocuments(db.sql, [document]);
  let monotonic = 0;
  const clock: Clock = { now: () => document.acceptedAt + 3_600_000, monotonic: () => monotonic };
  const due = createDueDocuments({ sql: db.sql, clock });
  const woken = async (): Promise<string[]> => (await due.forgotten(10, 0)).map((wakeUp) => wakeUp.key);
  expect(await woken()).toEqual([document.id]);
  expect(await woken()).toEqual([]);
  await db.sql`update document set next_attempt_at = next_attempt_at + interval '1 second' where id = ${document.id}`;
  expect(await woken()).toEqual([document.id]);
  expect(await woken()).toEqual([]);
  monotonic += LIMITS.wakeup_believed_ms + 1;
  expect(await woken()).toEqual([document.id]);
});
