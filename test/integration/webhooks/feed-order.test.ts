// Goal: whoever reads the feed page by page, at /events, /connector/events or a pull, meets what happened to a document in
// the order in which it happened, over any number of nodes.
// Method: the feed is ordered by transactions, and within one by positions. A transaction has its number when it first
// writes or locks, so that one which has a number and then waits for a document may find it moved by a later number. Real
// statements meet at a document that a third transaction holds.
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { DocumentId } from "../../../engine/base/ids.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { boxWorld } from "../../support/worlds/box-world.js";
import type { BoxWorld } from "../../support/worlds/box-world.js";
import { eventually } from "../../support/eventually.js";
import { newDocumentRow } from "../../support/database/seed.js";
import { applyMove } from "../../support/documents/moves.js";
import { openTransaction } from "../../support/database/transactions.js";

/**
 * What writes events of documents in the database, and why none of them can come before what was there first. What is
 * given the version that it moves read it before it had a number, and writes nothing where another was faster. What reads
 * the version itself has no number until it has the document. What is held has no events but its first and its last.
 */
const WRITERS = {
  accept_documents: "the first event",
  apply_move: "given the version",
  apply_status: "given the version",
  cancel_held: "held",
  end_attempts: "given the version",
  end_held: "held",
  end_refused: "of its own first event",
  mark_document: "not in the feed",
  move_box_item: "has the document first",
  received_is_processed: "told once, and only of what was seen to be received",
} as const;

let world: BoxWorld;
beforeEach(async () => {
  world = await boxWorld();
});
afterEach(() => world.db.drop());

/** Waits for a statement that waits for a lock. @returns whether its transaction has a number already */
const numberOfWaiting = (name: string) =>
  eventually(`${name} waits`, async () => {
    const [row] = await world.db.sql<{ hasNumber: boolean }[]>`
      select backend_xid is not null as "hasNumber" from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%${name}%`}`;
    return row;
  });

const accepted = async (): Promise<DocumentId> => {
  const row = newDocumentRow(world.firmId, "0245:1111111111");
  await acceptDocuments(world.db.sql, [row]);
  return row.id;
};

const hold = async (id: string) => {
  const holder = await openTransaction(world.db.url);
  await holder.run(`select 1 from document where id = '${id}' for update`);
  return holder;
};

const move = (id: DocumentId, kind: "document.sent") =>
  applyMove(world.db.sql, {
    ...{ id, version: 1, status: "sent", trigger: "transmitted", detail: undefined, now: systemClock.now() },
    changes: {},
    events: [{ id: newId(systemClock), kind }],
  });

test("only writers whose order was thought about write events of documents", async () => {
  const rows = await world.db.sql<{ name: string }[]>`
    select distinct p.proname as name from pg_proc as p
    where p.pronamespace = 'public'::regnamespace
      and p.prosrc ~ 'into document_event|apply_move\\(|apply_status\\(|cancel_held\\('
    order by 1`;
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(WRITERS));
});

test("a move whose transaction is older than the one that was there first writes nothing", async () => {
  const document = await accepted();
  const older = await openTransaction(world.db.url);
  await older.run("select pg_current_xact_id()");
  expect(await move(document, "document.sent")).toBe(2);
  await older.run(`
    select version from apply_move('${document}', 1, 'delivered', 'receipt_confirmed', null, now(), null,
      '[{"id": "${newId(systemClock)}", "kind": "document.delivered", "feed": true}]', null, '{}')`);
  await older.commit();
  const told = await world.db.sql`
    select kind from document_event where document_id = ${document} order by transaction_id, position`;
  expect(told).toEqual([{ kind: "document.queued" }, { kind: "document.sent" }]);
});

test("a cancellation that waits for its document has its place in the feed behind what it waited for", async () => {
  const { id } = await world.create();
  const [item] = await world.claim("b/1");
  if (item === undefined) throw new Error("nothing was due");
  await world.dispatch("b/1", item);
  expect(await world.attempt(id, "failed")).toBe(true);
  const [row] = await world.db.sql<{ documentId: string }[]>`
    select document_id as "documentId" from box_item where id = ${id}`;
  const holder = await hold(row?.documentId ?? "");
  const cancelled = world.operate("a/1", "cancel", id);
  expect(await numberOfWaiting("move_box_item")).toEqual({ hasNumber: false });
  await holder.commit();
  expect(await cancelled).toBe("done");
});
