/** The statements that own a document's truth, under races, on a real Postgres. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { DocumentId, FirmId } from "../../../engine/base/ids.js";
import { newId } from "../../../engine/base/ids.js";
import { systemClock } from "../../../engine/base/clock.js";
import { createAcceptBatches } from "../../../engine/storage/documents/accept-batches.js";
import {
  acceptDocuments,
  findDocument,
  findPrecedent,
  listDocumentEvents,
} from "../../../engine/storage/documents/documents.js";
import { endAttempt, takeAttempt } from "../../../engine/storage/documents/attempts.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { applyMove } from "../../support/documents/moves.js";
import { openTransaction } from "../../support/database/transactions.js";

let db: TestDatabase;
let firmId: FirmId;
const SENDER = "0245:1111111111";

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
});
afterAll(() => db.drop());

const accept = async (document: NewDocument): Promise<string> =>
  (await acceptDocuments(db.sql, [document]))[0]?.kind ?? "none";

describe("accept_documents", () => {
  test("an accepted document is there with its payload, history and first event, and nothing else has to tell of it", async () => {
    const document = newDocumentRow(firmId, SENDER);
    expect(await acceptDocuments(db.sql, [document])).toEqual([
      { kind: "accepted", documentId: document.id, replyStatus: 202, replyBody: document.replyBody },
    ]);
    const record = await findDocument(db.sql, firmId, document.id);
    expect(record).toMatchObject({
      status: "queued",
      sender: SENDER,
      createdAt: document.acceptedAt,
      history: [{ status: "queued", timestamp: document.acceptedAt }],
    });
    const events = await listDocumentEvents(db.sql, firmId, document.id, { after: "0", limit: 10 });
    expect(events?.map((event) => [event.kind, event.actor])).toEqual([["document.queued", "api"]]);
    const outbox = await db.sql`select body from outbox where key = ${document.id}`;
    expect(outbox).toEqual([]);
  });

  test("the same key and body answers the stored bytes; another body under it is a conflict", async () => {
    const document = newDocumentRow(firmId, SENDER);
    await accept(document);
    const again = newDocumentRow(firmId, SENDER, {
      idempotencyKey: document.idempotencyKey,
      requestSha256: document.requestSha256,
      erpDocumentId: document.erpDocumentId,
      payloadSha256: document.payloadSha256,
    });
    expect(await acceptDocuments(db.sql, [again])).toEqual([
      { kind: "replay", documentId: document.id, replyStatus: 202, replyBody: document.replyBody },
    ]);
    expect(await accept(newDocumentRow(firmId, SENDER, { idempotencyKey: document.idempotencyKey }))).toBe(
      "key_conflict",
    );
  });

  test("key goes before documentId, documentId before payload, in all eight combinations", async () => {
    const first = newDocumentRow(firmId, SENDER);
    await accept(first);
    const expected = [
      "accepted",
      "duplicate_payload",
      "duplicate_document",
      "duplicate_document",
      "key_conflict",
      "key_conflict",
      "key_conflict",
      "key_conflict",
    ];
    for (const [index, outcome] of expected.entries()) {
      const same = {
        ...(index & 4 ? { idempotencyKey: first.idempotencyKey } : {}),
        ...(index & 2 ? { erpDocumentId: first.erpDocumentId } : {}),
        ...(index & 1 ? { payloadSha256: first.payloadSha256 } : {}),
      };
      expect([index, await accept(newDocumentRow(firmId, SENDER, same))]).toEqual([index, outcome]);
    }
  });

  test("another participant may use the same key, documentId and payload", async () => {
    const other = await seedFirm(db.sql, "0245:2222222222");
    const first = newDocumentRow(firmId, SENDER);
    await accept(first);
    const { idempotencyKey, erpDocumentId, payloadSha256, requestSha256 } = first;
    expect(
      await accept(
        newDocumentRow(other, "0245:2222222222", { idempotencyKey, erpDocumentId, payloadSha256, requestSha256 }),
      ),
    ).toBe("accepted");
  });

  test("1,000 concurrent acceptances of one key in two processes make one document, and every answer names it", async () => {
    const pools = [createAcceptBatches(db.sql), createAcceptBatches(db.another("second process"))];
    const first = newDocumentRow(firmId, SENDER);
    const { idempotencyKey, erpDocumentId, payloadSha256, requestSha256, replyBody } = first;
    const outcomes = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) =>
        pools[i % 2]?.accept(
          newDocumentRow(firmId, SENDER, { idempotencyKey, erpDocumentId, payloadSha256, requestSha256, replyBody }),
        ),
      ),
    );
    const ids = new Set(
      outcomes.map((outcome) => (outcome !== undefined && "documentId" in outcome ? outcome.documentId : "none")),
    );
    expect(outcomes.filter((outcome) => outcome?.kind === "accepted")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome?.kind === "replay")).toHaveLength(999);
    expect(ids.size).toBe(1);
  });

  test("1,000 bodies under one key in two processes: one is accepted, every other is told that the key is another's, also later", async () => {
    const pools = [createAcceptBatches(db.sql), createAcceptBatches(db.another("second process"))];
    const { idempotencyKey } = newDocumentRow(firmId, SENDER);
    const rows = Array.from({ length: 1_000 }, () => newDocumentRow(firmId, SENDER, { idempotencyKey }));
    const outcomes = await Promise.all(rows.map((row, i) => pools[i % 2]?.accept(row)));
    expect(outcomes.filter((outcome) => outcome?.kind === "accepted")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome?.kind === "key_conflict")).toHaveLength(999);
    const winner = outcomes.findIndex((outcome) => outcome?.kind === "accepted");
    expect(await Promise.all([rows[winner], rows[(winner + 1) % 1_000]].map((row) => row && accept(row)))).toEqual([
      "replay",
      "key_conflict",
    ]);
  });

  test.each([
    ["the same body", true, "replay"],
    ["another body", false, "key_conflict"],
  ] as const)(
    "who waits for a rival with the same key and %s wins when the rival's connection dies before it commits",
    async (_, isSame, told) => {
      // What a statement of the rival's has written waits for a lock of ours before it is committed.
      await db.sql.unsafe(`create or replace function hold_rival() returns trigger language plpgsql as $$ begin
        if current_setting('application_name') like '%rival%' then perform pg_advisory_xact_lock(21); end if;
        return null; end $$;
        create or replace trigger hold_rival after insert on document for each statement execute function hold_rival()`);
      const holder = await openTransaction(db.url);
      await holder.run("select pg_advisory_xact_lock(21)");
      const document = newDocumentRow(firmId, SENDER);
      const { idempotencyKey, requestSha256, erpDocumentId, payloadSha256 } = document;
      const second = newDocumentRow(firmId, SENDER, {
        idempotencyKey,
        ...(isSame ? { requestSha256, erpDocumentId, payloadSha256 } : {}),
      });
      const first = acceptDocuments(db.another("rival"), [document]).then(
        () => "accepted",
        () => "failed",
      );
      const waiting = (name: string, event: string) =>
        eventually(
          `${name} waits`,
          async () =>
            (
              await db.sql`select 1 from pg_stat_activity
                where datname = current_database() and application_name like ${`%${name}%`} and wait_event = ${event}`
            ).length === 1,
        );
      await waiting("rival", "advisory");
      const loser = acceptDocuments(db.another("loser"), [second]);
      await waiting("loser", "transactionid");
      await db.sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like '%rival%'`;
      expect(await first).toBe("failed");
      expect(await loser).toEqual([
        { kind: "accepted", documentId: second.id, replyStatus: 202, replyBody: second.replyBody },
      ]);
      await holder.commit();
      expect(await accept(document)).toBe(told);
      expect(await findDocument(db.sql, firmId, document.id)).toBeUndefined();
      await db.sql.unsafe("drop trigger hold_rival on document");
    },
  );

  test("1,000 keys and documentIds with one payload make one document; the rest are duplicate_payload", async () => {
    const pools = [createAcceptBatches(db.sql), createAcceptBatches(db.another("second process"))];
    const { payloadSha256 } = newDocumentRow(firmId, SENDER);
    const outcomes = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => pools[i % 2]?.accept(newDocumentRow(firmId, SENDER, { payloadSha256 }))),
    );
    expect(outcomes.filter((outcome) => outcome?.kind === "accepted")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome?.kind === "duplicate_payload")).toHaveLength(999);
  });

  test("batches of many senders that overlap in every key finish without a deadlock, each item with its own answer", async () => {
    const senders = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const sender = `0245:30000000${String(i).padStart(2, "0")}`;
        return { sender, firm: await seedFirm(db.sql, sender) };
      }),
    );
    const pools = [createAcceptBatches(db.sql), createAcceptBatches(db.another("second process"))];
    const keys = Array.from({ length: 5 }, () => newDocumentRow(firmId, SENDER));
    const outcomes = await Promise.all(
      Array.from({ length: 2_000 }, (_, i) => {
        const { sender, firm } = senders[(i * 7) % 40] ?? { sender: SENDER, firm: firmId };
        const key = keys[i % 5];
        const erp = keys[(i * 3) % 5];
        const payload = keys[(i * 11) % 5];
        return pools[i % 2]?.accept(
          newDocumentRow(firm, sender, {
            idempotencyKey: key?.idempotencyKey ?? "",
            requestSha256: key?.requestSha256 ?? "",
            erpDocumentId: erp?.erpDocumentId ?? "",
            payloadSha256: payload?.payloadSha256 ?? "",
          }),
        );
      }),
    );
    expect(outcomes.every((outcome) => outcome !== undefined && outcome.kind !== "lost_race")).toBe(true);
    const [count] = await db.sql<
      { n: number }[]
    >`select count(*)::integer as n from document where sender like '0245:30000000%'`;
    expect(count?.n).toBe(outcomes.filter((outcome) => outcome?.kind === "accepted").length);
  });

  test("one poison item fails alone: its neighbours are accepted", async () => {
    const batches = createAcceptBatches(db.sql);
    const good = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => ({
        firm: await seedFirm(db.sql, `0245:40000000${i}0`),
        sender: `0245:40000000${i}0`,
      })),
    );
    const results = await Promise.allSettled([
      ...good.map(({ firm, sender }) => batches.accept(newDocumentRow(firm, sender))),
      batches.accept(newDocumentRow(firmId, SENDER, { erpDocumentId: "x".repeat(256) })),
    ]);
    expect(results.map((result) => result.status)).toEqual([...good.map(() => "fulfilled"), "rejected"]);
  });

  test("what an earlier acceptance says of a refused request is read without writing", async () => {
    const document = newDocumentRow(firmId, SENDER);
    await accept(document);
    const other = { ...document, idempotencyKey: "other" };
    const { id: documentId } = document;
    expect(await findPrecedent(db.sql, other)).toEqual({ kind: "duplicate_document", documentId });
    expect(await findPrecedent(db.sql, { ...other, erpDocumentId: "other" })).toEqual({
      kind: "duplicate_payload",
      documentId,
    });
    expect(await findPrecedent(db.sql, newDocumentRow(firmId, SENDER))).toBeUndefined();
    expect(await findPrecedent(db.sql, document)).toMatchObject({ kind: "replay", documentId: document.id });
    expect(await findPrecedent(db.sql, { ...document, requestSha256: "00".repeat(32) })).toEqual({
      kind: "key_conflict",
      documentId,
    });
  });
});

test("a closed list that stands in a function costs nothing: plans are those of the list itself, partial indexes included", async () => {
  const planOf = async (from: string, condition: string): Promise<string> =>
    (await db.sql.unsafe<{ "QUERY PLAN": string }[]>(`explain (costs off) select 1 from ${from} where ${condition}`))
      .map((row) => row["QUERY PLAN"])
      .join("\n");
  const id = "00000000-0000-7000-8000-000000000000";
  for (const [from, call, list, rest] of [
    ["document", "document_is_open(status)", "status in ('queued', 'sent')", "next_attempt_at <= now()"],
    ["received_document", "received_is_visible(status)", "status in ('RECEIVED', 'ACKNOWLEDGED')", `id = '${id}'`],
    [
      "inbound_status",
      "status_counts(outcome)",
      "outcome in ('applied', 'late')",
      `document_id = '${id}' and kind = 'mls'`,
    ],
  ] as const)
    expect(await planOf(from, `${call} and ${rest}`)).toBe(await planOf(from, `${list} and ${rest}`));
  expect(await planOf("inbound_status", `status_counts(outcome) and kind = 'mls' and document_id = '${id}'`)).toContain(
    "inbound_status_one_mls",
  );
});

describe("attempts and moves", () => {
  const now = Date.parse("2026-11-20T10:00:00Z");
  const queued = async (): Promise<DocumentId> => {
    const document = newDocumentRow(firmId, SENDER, { acceptedAt: now - 1 });
    await accept(document);
    return document.id;
  };
  const take = (id: DocumentId, owner = "node-a") => takeAttempt(db.sql, { id, owner, lease_ms: 60_000 });
  const end = (id: DocumentId, version: number) =>
    endAttempt(db.sql, {
      id,
      version,
      owner: "node-a",
      status: "delivered",
      now,
      wait_ms: undefined,
      uses: "answer",
      moves: [{ status: "delivered", trigger: "receipt_confirmed", detail: "receipt" }],
      events: (["document.sent", "document.delivered"] as const).map((kind) => ({ id: newId(systemClock), kind })),
      attempt: { number: 1, outcome: "receipt", code: undefined, retryable: false, detail: undefined },
      reason: undefined,
      exchange: undefined,
    });

  test("one of many nodes that wake for one document makes the attempt", async () => {
    const id = await queued();
    const taken = await Promise.all(Array.from({ length: 20 }, (_, i) => take(id, `node-${i}`)));
    expect(taken.filter((attempt) => attempt !== undefined)).toHaveLength(1);
  });

  test("an attempt's end writes state, history, events, outbox and the attempt together; a repeated decision writes nothing", async () => {
    const id = await queued();
    const taken = await take(id);
    const written = await end(id, taken?.version ?? 0);
    expect(written?.version).toBe((taken?.version ?? 0) + 1);
    expect(await end(id, taken?.version ?? 0)).toBeUndefined();
    const outbox = await db.sql<
      { body: { key: string; body: { kind: string } }[]; id: string }[]
    >`select id, body from outbox where key = ${id} and claimed_until > clock_timestamp()`;
    expect(outbox.map((row) => row.id)).toEqual([written?.announced?.id]);
    expect(outbox[0]?.body.map(({ body }) => body.kind)).toEqual(["document.sent", "document.delivered"]);
    const record = await findDocument(db.sql, firmId, id);
    expect(record).toMatchObject({
      status: "delivered",
      deliveredAt: now,
      history: [{ status: "queued" }, { status: "delivered", timestamp: now }],
    });
    expect(
      (await listDocumentEvents(db.sql, firmId, id, { after: "0", limit: 10 }))?.map((event) => event.kind),
    ).toEqual(["document.queued", "document.sent", "document.delivered"]);
    const [attempt] =
      await db.sql`select number, outcome, finished_at is not null as finished from document_attempt where document_id = ${id}`;
    expect(attempt).toEqual({ number: 1, outcome: "receipt", finished: true });
    expect(await take(id)).toBeUndefined();
  });

  test("attempts that end together are written by one statement, each with its own state, history and attempt", async () => {
    const ids = [await queued(), await queued(), await queued()];
    const taken = await Promise.all(ids.map((id) => take(id)));
    const written = await Promise.all(ids.map((id, index) => end(id, index === 1 ? 0 : (taken[index]?.version ?? 0))));
    expect(written.map((row) => row?.version)).toEqual([3, undefined, 3]);
    const rows = await db.sql<{ id: string; status: string; moves: number; attempts: number }[]>`
      select d.id, d.status, (select count(*)::integer from document_history where document_id = d.id) as moves,
        (select count(*)::integer from document_attempt where document_id = d.id) as attempts
      from document as d where d.id = any (${ids}::uuid[])`;
    const delivered = { status: "delivered", moves: 2, attempts: 1 };
    expect(ids.map((id) => rows.find((row) => row.id === id))).toEqual([
      { id: ids[0], ...delivered },
      { id: ids[1], status: "queued", moves: 1, attempts: 0 },
      { id: ids[2], ...delivered },
    ]);
  });

  test("attempts that end together are told by one row of the outbox, each of their events once and in order", async () => {
    // The first end goes at once where none was written a moment before; those that come meanwhile share the next.
    const ids = await Promise.all(Array.from({ length: 6 }, queued));
    const taken = await Promise.all(ids.map((id) => take(id)));
    const written = await Promise.all(ids.map((id, index) => end(id, taken[index]?.version ?? 0)));
    const rows = written.flatMap((row) => (row?.announced === undefined ? [] : [row.announced]));
    expect(rows.length).toBeLessThanOrEqual(2);
    const stored = await db.sql<{ id: string; body: unknown }[]>`
      select id, body from outbox where id = any (${rows.map(({ id }) => id)}::bigint[]) order by id`;
    expect(stored.map(({ id, body }) => [id, body])).toEqual(
      rows.map(({ id, body }) => [id, body]).sort(([left], [right]) => Number(left) - Number(right)),
    );
    const told = rows.flatMap(({ body }) => body as { body: { documentId: DocumentId; kind: string } }[]);
    for (const id of ids)
      expect(told.flatMap(({ body }) => (body.documentId === id ? [body.kind] : []))).toEqual([
        "document.sent",
        "document.delivered",
      ]);
    expect(told).toHaveLength(2 * ids.length);
  });

  test("history never goes back in time, whatever the clock of the node says", async () => {
    const id = await queued();
    const taken = await take(id);
    await applyMove(db.sql, {
      id,
      version: taken?.version ?? 0,
      status: "sent",
      trigger: "transmitted",
      detail: undefined,
      now: 0,
      nextAttemptAt: now,
      events: [],
      changes: {},
    });
    const times = (await findDocument(db.sql, firmId, id))?.history.map((entry) => entry.timestamp) ?? [];
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  test("a document whose lease has run out is due again", async () => {
    const id = await queued();
    await takeAttempt(db.sql, { id, owner: "dead", lease_ms: 0 });
    expect((await take(id))?.attempt).toBe(2);
    const cut = await db.sql`select number, outcome from document_attempt where document_id = ${id} order by number`;
    expect(cut, "the attempt that nobody ended was cut").toEqual([{ number: 1, outcome: "cut" }]);
  });

  test("another firm's document does not exist", async () => {
    const id = await queued();
    const other = newId(systemClock) as FirmId;
    expect(await findDocument(db.sql, other, id)).toBeUndefined();
    expect(await listDocumentEvents(db.sql, other, id, { after: "0", limit: 10 })).toBeUndefined();
  });
});
