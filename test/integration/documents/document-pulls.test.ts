// Goal: whoever pulls what a firm has sent and received meets each document and event once, in an order that never grows
// behind the reader. Method: rows as the engine writes them, in transactions that a test holds open.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { createCursors } from "../../../engine/base/cursors.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { createOctets } from "../../../engine/base/memory/octets.js";
import { readConnectorEvents } from "../../../engine/documents/connector/events.js";
import { readConnectorDocuments } from "../../../engine/documents/connector/reads.js";
import { pullInbound, readFirmInbox } from "../../../engine/documents/reads/received.js";
import { pullOutbound, pullOutboundEvents } from "../../../engine/documents/reads/sent.js";
import { createAcceptBatches } from "../../../engine/storage/documents/accept-batches.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { MASTER_KEY } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { openTransaction } from "../../support/database/transactions.js";
import type { OpenTransaction } from "../../support/database/transactions.js";

const PARTICIPANT = "0245:1111111111";
let db: TestDatabase;
let firmId: FirmId;
beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, PARTICIPANT);
});
afterAll(() => db.drop());

const cursors = createCursors(Buffer.alloc(32, 7));
const ports = () => ({ sql: db.sql, cursors, clock: systemClock });
const ALL = { kind: undefined, status: undefined, businessStatus: undefined, recipient: undefined, sender: undefined };
type Page = { readonly ids: readonly string[]; readonly cursor: string | null };
type Pull = (since: string | undefined) => Promise<Page>;

/** What is pulled, how a row of it is written, and by which id the row is met. */
const PULLS: Readonly<
  Record<string, { readonly pull: Pull; readonly write: (sql: OpenTransaction) => Promise<string> }>
> = {
  "documents that came": {
    pull: async (since) => {
      const page = await pullInbound(ports(), firmId, { ...ALL, since, limit: 2 });
      return { ids: page.documents.map(({ id }) => id), cursor: page.next_cursor };
    },
    write: async (sql) => {
      const id = randomUUID();
      await sql.run(`insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id,
        process_id, creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at)
        values ('${id}', '${firmId}', '${PARTICIPANT}', '0245:1', '${PARTICIPANT}', 'a::Invoice##b::2.1', 'p', now(),
        'RECEIVED', sha256('x'), '${id}', '${id}', '{}', now())`);
      return id;
    },
  },
  "documents that were sent": {
    pull: async (since) => {
      const page = await pullOutbound(ports(), firmId, { ...ALL, since, limit: 2 });
      return { ids: page.documents.map(({ id }) => id), cursor: page.next_cursor };
    },
    write: (sql) => event(sql, "document.queued", false).then(({ documentId }) => documentId),
  },
  "events of documents": {
    pull: async (since) => {
      const page = await pullOutboundEvents(ports(), firmId, { since, limit: 2 });
      return { ids: page.events.map(({ event_id: id }) => id), cursor: page.next_cursor };
    },
    write: (sql) => event(sql, "document.delivered", true).then(({ id }) => id),
  },
};

/** Writes a received document. @returns its id */
async function received(sql: Sql, to: { firmId: FirmId; participant: string }, status: string): Promise<string> {
  const id = randomUUID();
  await sql`
    insert into received_document (id, firm_id, participant_key, sender, receiver, document_type_id,
      process_id, creation_date_time, status, payload_sha256, as4_message_id, sbdh_instance_id, facts, received_at)
    values (${id}, ${to.firmId}, ${to.participant}, '0245:1', ${to.participant}, 'a::Invoice##b::2.1', 'p', now(),
      ${status}, sha256('x'), ${id}, ${id}, '{}', now())`;
  return id;
}

/** An event of a document that was accepted without one of its own. */
async function event(sql: OpenTransaction, kind: string, feed: boolean): Promise<{ id: string; documentId: string }> {
  const row = newDocumentRow(firmId, PARTICIPANT);
  await createAcceptBatches(db.sql).accept(row);
  await db.sql`delete from document_event where document_id = ${row.id}`;
  const id = randomUUID();
  await sql.run(`insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
    values ('${id}', '${row.id}', '${firmId}', '${kind}', 'system', ${feed}, now())`);
  return { id, documentId: row.id };
}

/** Reads on from a cursor until nothing comes. */
async function readOn(pull: Pull, since: string | null): Promise<Page> {
  const ids: string[] = [];
  for (let cursor = since; ;) {
    const page = await pull(cursor ?? undefined);
    ids.push(...page.ids);
    cursor = page.cursor;
    if (page.ids.length === 0) return { ids, cursor };
  }
}

// reliability F-11: "two transactions take ids 10 and 11, 11 commits first, consumer reads, then 10 commits"
test.each(Object.keys(PULLS))(
  "%s are pulled in the order in which they were committed: a late one is behind the reader never",
  async (name) => {
    const { pull, write } = PULLS[name] ?? {
      pull: () => Promise.reject(new Error(name)),
      write: () => Promise.reject(new Error(name)),
    };
    const start = await readOn(pull, null);
    const [slow, quick] = [await openTransaction(db.url), await openTransaction(db.url)];
    const late = await write(slow);
    const early = await write(quick);
    await quick.commit();
    // What the slow transaction has written comes before what the quick one has: nobody may pass it.
    const meanwhile = await readOn(pull, start.cursor);
    expect(meanwhile.ids).not.toContain(early);
    await slow.commit();
    // Transactions of other databases of the server hold the pull up, too.
    const read = await eventually("both are there", async () => {
      const page = await readOn(pull, meanwhile.cursor);
      return page.ids.length >= 2 ? page : undefined;
    });
    expect(read.ids).toEqual([late, early]);
    expect((await readOn(pull, read.cursor)).ids).toEqual([]);
  },
);

test("a document that was held has its place in the pull when its firm could see it, behind those that came later", async () => {
  const { pull } = PULLS["documents that came"] ?? { pull: () => Promise.reject(new Error("missing")) };
  const start = await readOn(pull, null);
  const write = (status: string): Promise<string> => received(db.sql, { firmId, participant: PARTICIPANT }, status);
  const held = await write("HELD");
  const shown = await write("RECEIVED");
  const first = await eventually("the one that is shown is there", async () => {
    const page = await readOn(pull, start.cursor);
    return page.ids.length > 0 ? page : undefined;
  });
  expect(first.ids).toEqual([shown]);
  await db.sql`update received_document set status = 'RECEIVED' where id = ${held}`;
  const second = await eventually("the held one is there", async () => {
    const page = await readOn(pull, first.cursor);
    return page.ids.length > 0 ? page : undefined;
  });
  expect(second.ids).toEqual([held]);
});

/** Does the next of these things each time that a list looks whether what it did not show is there by now. */
function whenAsked(
  sql: Sql,
  acts: readonly (() => Promise<unknown>)[],
): { readonly sql: Sql; readonly asked: () => number } {
  let asked = 0;
  const watched = new Proxy(sql, {
    apply: (target, self, given: unknown[]) => {
      const answer = (): unknown => Reflect.apply(target, self, given);
      if (!String(given[0]).includes("pg_snapshot_xmin(pg_current_snapshot()) <")) return answer();
      asked += 1;
      return (acts[asked - 1]?.() ?? Promise.resolve()).then(answer);
    },
  });
  return { sql: watched, asked: () => asked };
}

/** The lists of what a firm has received, each read to its end. */
const RECEIVED: Readonly<Record<string, (sql: Sql, firm: FirmId) => Promise<readonly string[]>>> = {
  "the pull": async (sql, firm) =>
    (await pullInbound({ ...ports(), sql }, firm, { ...ALL, since: undefined, limit: 2 })).documents.map(
      ({ id }) => id,
    ),
  "the inbox": async (sql, firm) => {
    const asked = { status: undefined, since: undefined, offset: 0, limit: 2 };
    return (await readFirmInbox({ ...ports(), sql }, firm, asked)).documents.map(({ documentId }) => documentId);
  },
  "the list of the Connector": async (sql, firm) => {
    // What it shows of a document it reads in the payload; these have none, so that it refuses what it would show.
    const shown: string[] = [];
    const needed = {
      ...ports(),
      sql,
      sealer: createSealer([MASTER_KEY]),
      validators: { parse: () => Promise.reject(new Error("there is no payload to be read")) },
      room: createOctets(1, 1),
    };
    const asked = { direction: "inbound", state: undefined, type: undefined, createdAfter: undefined } as const;
    const listed = readConnectorDocuments(
      needed,
      { firmId: firm, customerRef: "c" },
      { ...asked, cursor: undefined, limit: 2 },
    );
    await listed.catch(async () => {
      shown.push(
        ...(await db.sql<{ id: string }[]>`select id from received_document where firm_id = ${firm}`).map(
          ({ id }) => id,
        ),
      );
    });
    return shown;
  },
};

const NOBODY = () => Promise.reject(new Error("no such list"));
let firms = 0;
/** A firm that has received nothing. */
async function newFirm() {
  firms += 1;
  const participant = `0245:${String(2_222_222_220 + firms)}`;
  return { firmId: await seedFirm(db.sql, participant), participant };
}

/**
 * Reads a list of a new firm once. Transactions of other databases of the server hold lists up, too, and for longer than
 * a list waits: then it is played again with another firm.
 * @param play  puts the document there. @returns its id, and what happens each time that the list looks again
 */
async function showsAtOnce(
  name: string,
  play: (firm: Awaited<ReturnType<typeof newFirm>>) => Promise<readonly [id: string, acts: (() => Promise<unknown>)[]]>,
): Promise<void> {
  const read = RECEIVED[name] ?? NOBODY;
  await eventually(`${name} shows it at once`, async () => {
    const firm = await newFirm();
    const [id, acts] = await play(firm);
    const { sql, asked } = whenAsked(db.sql, acts);
    const shown = await read(sql, firm.firmId);
    return shown.join() === id && asked() >= acts.length;
  });
}

// rulings 11: "delivered" is told to the sender when the receiver's access point has stored the document.
test.each(Object.keys(RECEIVED))("%s shows what was being judged when it was asked for", (name) =>
  showsAtOnce(name, async (firm) => {
    const id = await received(db.sql, firm, "HELD");
    return [id, [() => db.sql`update received_document set status = 'RECEIVED' where id = ${id}`]];
  }),
);

test.each(["the pull", "the list of the Connector"])(
  "%s shows what was being judged when it was asked for, and got its verdict beside a transaction that was still open",
  (name) =>
    showsAtOnce(name, async (firm) => {
      const id = await received(db.sql, firm, "HELD");
      const slow = await openTransaction(db.url);
      const judge = async (): Promise<void> => {
        await slow.run("select pg_current_xact_id()");
        await db.sql`update received_document set status = 'RECEIVED' where id = ${id}`;
      };
      return [id, [judge, () => slow.commit()]];
    }),
);

test.each(["the pull", "the list of the Connector"])(
  "%s shows what was committed when it was asked for, beside a transaction that was still open",
  (name) =>
    showsAtOnce(name, async (firm) => {
      const slow = await openTransaction(db.url);
      await slow.run("select pg_current_xact_id()");
      return [await received(db.sql, firm, "RECEIVED"), [() => slow.commit()]];
    }),
);

test("the pull shows what was committed beside an open transaction, however much of others was committed since", () =>
  showsAtOnce("the pull", async (firm) => {
    const slow = await openTransaction(db.url);
    await slow.run("select pg_current_xact_id()");
    const id = await received(db.sql, firm, "RECEIVED");
    const other = await newFirm();
    for (let more = 0; more < 120; more += 1) await received(db.sql, other, "RECEIVED");
    return [id, [() => slow.commit()]];
  }));

test("no list waits for what it would not show: an inbox for no transaction, what came for nothing that was sent", async () => {
  const firm = await newFirm();
  const row = newDocumentRow(firm.firmId, firm.participant);
  const slow = await openTransaction(db.url);
  await slow.run("select pg_current_xact_id()");
  await createAcceptBatches(db.sql).accept(row);
  const { sql, asked } = whenAsked(db.sql, []);
  const inbox = { status: undefined, since: undefined, offset: 0, limit: 2 } as const;
  await pullInbound({ ...ports(), sql }, firm.firmId, { ...ALL, since: undefined, limit: 2 });
  await received(db.sql, firm, "RECEIVED");
  await readFirmInbox({ ...ports(), sql }, firm.firmId, inbox);
  await received(db.sql, firm, "HELD");
  await readFirmInbox({ ...ports(), sql }, firm.firmId, { ...inbox, status: "acknowledged" });
  expect(asked()).toBe(0);
  await slow.commit();
});

/** Every list that gives out places of the feed, under the name for which its cursors are sealed. */
const PLACED: Readonly<Record<string, (cursor: string) => Promise<unknown>>> = {
  inbound: (since) => pullInbound(ports(), firmId, { ...ALL, since, limit: 2 }),
  outbound: (since) => pullOutbound(ports(), firmId, { ...ALL, since, limit: 2 }),
  "outbound-events": (since) => pullOutboundEvents(ports(), firmId, { since, limit: 2 }),
  "connector events": (cursor) => readConnectorEvents(ports(), { firmId, customerRef: "x" }, { cursor, limit: 2 }),
  connector: (cursor) =>
    readConnectorDocuments(
      {
        ...ports(),
        sealer: createSealer([MASTER_KEY]),
        validators: { parse: () => Promise.reject(new Error("nothing is read")) },
        room: createOctets(0),
      },
      { firmId, customerRef: "x" },
      { direction: undefined, state: undefined, type: undefined, createdAfter: undefined, cursor, limit: 2 },
    ),
};

test.each(Object.keys(PLACED))(
  "%s: a cursor from before a restore, to which the database has not counted, is refused instead of passing over what comes",
  async (name) => {
    const at = async (by: number) => {
      const [row] = await db.sql<{ readonly next: string }[]>`
        select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${by}::bigint)::text as next`;
      return cursors.seal(`${name}/${firmId}`, `${row?.next ?? ""}.1`);
    };
    const read = PLACED[name] ?? (() => Promise.reject(new Error(name)));
    await expect(read(await at(1_000_000))).rejects.toMatchObject({
      reason: "REQUEST_INVALID",
      details: [{ message: expect.stringContaining("start without one") as string }],
    });
    // A place that was counted is a place, though nothing is behind it.
    await read(await at(-1));
  },
);
