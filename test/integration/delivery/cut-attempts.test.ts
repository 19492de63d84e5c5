/**
 * Goal: an attempt that was cut may have arrived, and nothing says afterwards that its document was never sent. Method:
 * the real statements on a real Postgres; nodes that die or are frozen are played by the test.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import type { Log } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { attemptDocument } from "../../../engine/documents/delivery/dispatch.js";
import { provider } from "../../../engine/documents/provider.js";
import type { Outcome } from "../../../engine/peppol/transport.js";
import { takeAttempt } from "../../../engine/storage/documents/attempts.js";
import type { TakenAttempt } from "../../../engine/storage/documents/attempts.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { closableDatabase } from "../../support/database/closable.js";
import type { ClosableDatabase } from "../../support/database/closable.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, sealedPayload, seedFirm } from "../../support/database/seed.js";
import { fakeClock } from "../../support/fake-clock.js";
import { attemptOnce, makeDue } from "../../support/worlds/attempts.js";

const SENDER = "0245:1111111111";
const sealer = createSealer([Buffer.alloc(32, 1)]);
const clock = fakeClock("2026-11-20T10:00:00Z");
let db: TestDatabase;
let closable: ClosableDatabase;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  closable = closableDatabase(db);
  firmId = await seedFirm(db.sql, SENDER);
});
afterAll(async () => {
  await closable.stop();
  await db.drop();
});

/** @param plan  waits between attempts; none is a plan of one attempt */
const portsOf = (outcome: Outcome, plan: readonly number[] = [1]) => ({
  ...{ sql: db.sql, sealer, clock, plan, log: silentLog, owner: "test/1" },
  metrics: createMetrics(),
  provider: provider("PSK000001", "SK"),
  random: () => 0.5,
  announce: () => undefined,
  transport: { deliver: () => Promise.resolve(outcome) },
});

async function document(): Promise<DocumentId> {
  const row = newDocumentRow(firmId, SENDER, { acceptedAt: clock.now(), receiver: "0245:9999999999" as ParticipantId });
  await acceptDocuments(db.sql, [{ ...row, ...sealedPayload(sealer, row.id) }]);
  return row.id;
}

async function take(id: DocumentId): Promise<TakenAttempt> {
  const taken = await takeAttempt(db.sql, { id, owner: "frozen/1", lease_ms: LIMITS.attempt_lease_ms });
  if (taken === undefined) throw new Error("nothing was taken");
  return taken;
}

/** The node that has a document is taken for dead. */
const free = (id: DocumentId) => db.sql`
  update document set lease_until = clock_timestamp() - interval '1 second', version = version + 1 where id = ${id}`;

const standing = async (id: DocumentId): Promise<string | undefined> =>
  (await db.sql<{ status: string }[]>`select status from document where id = ${id}`)[0]?.status;
const attemptsOf = async (id: DocumentId): Promise<readonly string[]> =>
  (
    await db.sql<{ text: string }[]>`
      select number || ' ' || outcome as text from document_attempt where document_id = ${id} order by number`
  ).map(({ text }) => text);

const NOT_TAKEN: Outcome = { kind: "transport_failed", code: "CONNECT", detail: "Nothing was transmitted." };
const RECEIPT: Outcome = { kind: "receipt", peerSeat: "POP000001" };

test("a document whose plan is used up after an attempt that was cut ends as one that was transmitted, and says why", async () => {
  const [cut, whole] = [await document(), await document()];
  await take(cut);
  await free(cut);
  for (const id of [cut, whole]) expect(await attemptOnce(portsOf(NOT_TAKEN, []), id)).toBe(true);
  expect(await attemptsOf(cut)).toEqual(["1 cut", "2 transport_failed"]);
  const rows = await db.sql`
    select d.status, d.status_reason, array_agg(h.trigger order by h.version) as triggers
    from document as d join document_history as h on h.document_id = d.id
    where d.id = any(${[cut, whole]}::uuid[]) group by d.id order by d.id`;
  expect(rows).toEqual([
    {
      status: "delivery_failed",
      status_reason:
        "Nothing was transmitted. An attempt before the last was cut short, so that the document may have arrived.",
      triggers: ["accepted", "transmitted", "attempts_exhausted"],
    },
    {
      status: "send_failed",
      status_reason: "Nothing was transmitted.",
      triggers: ["accepted", "attempts_exhausted"],
    },
  ]);
});

test.each([
  ["nobody has taken the document since", async () => Promise.resolve(), []],
  [
    "another attempt has failed since",
    async (id: DocumentId) => {
      await attemptOnce(portsOf(NOT_TAKEN, [60_000]), id);
    },
    ["2 transport_failed"],
  ],
  [
    "another attempt is under way",
    async (id: DocumentId) => {
      await takeAttempt(db.sql, { id, owner: "other/1", lease_ms: LIMITS.attempt_lease_ms });
    },
    [],
  ],
])(
  "a receipt that comes to a node taken for dead delivers the document, while %s",
  async (_what, meanwhile, others) => {
    const id = await document();
    const taken = await take(id);
    await free(id);
    await meanwhile(id);
    await attemptDocument(portsOf(RECEIPT), taken);
    expect(await standing(id)).toBe("delivered");
    expect(await attemptsOf(id)).toEqual(["1 receipt", ...others]);
    const exchanges = await db.sql`select c3_seat from exchange where id = ${id}`;
    expect(exchanges).toEqual([{ c3_seat: "POP000001" }]);
    const events = await db.sql<{ kind: string }[]>`
    select kind from document_event where document_id = ${id} and feed order by position`;
    expect(events.map(({ kind }) => kind)).toEqual(["document.sent", "document.delivered"]);
  },
);

test.each([
  ["a receipt", RECEIPT, "delivered"],
  ["an answer that asks to come again", { kind: "peer_busy", code: "HTTP 503" } as const, "queued"],
])(
  "%s that comes while Postgres is started again is written when it is back, and nothing was cut",
  async (_what, outcome, status) => {
    const id = await document();
    const taken = await take(id);
    const ports = {
      ...portsOf(outcome, [60_000]),
      ...{ owner: "frozen/1", sql: closable.sql, clock: closable.openAtLook(clock, 3) },
      transport: {
        deliver: async () => {
          await closable.close();
          return outcome;
        },
      },
    };
    await attemptDocument(ports, taken);
    expect([await standing(id), await attemptsOf(id)]).toEqual([status, [`1 ${outcome.kind}`]]);
    expect(await attemptOnce(portsOf(RECEIPT), id), "nobody is at it, and it is not due").toBe(false);
  },
);

test("rows of the outbox that were published go with whatever end is written, also where it is the second", async () => {
  const [late, exhausted] = [await document(), await document()];
  const taken = await take(late);
  await free(late);
  await take(exhausted);
  await free(exhausted);
  const rows = await db.sql<{ id: string }[]>`
    insert into outbox (stream, key, body) select 'events', n::text, '{}' from generate_series(1, 8) as n returning id`;
  const left = rows.map(({ id }) => id);
  const published = (): readonly string[] => left.splice(0, 1);
  await attemptDocument({ ...portsOf(RECEIPT), published }, taken);
  await attemptOnce({ ...portsOf(NOT_TAKEN, []), published }, exhausted);
  expect([await standing(late), await standing(exhausted)]).toEqual(["delivered", "delivery_failed"]);
  const kept = await db.sql<{ id: string }[]>`
    select id from outbox where id = any(${rows.map(({ id }) => id)}::bigint[]) order by id`;
  expect(kept.map(({ id }) => id)).toEqual(left);
});

test("two nodes that both have a receipt deliver a document once", async () => {
  const id = await document();
  const frozen = await take(id);
  await free(id);
  const other = await take(id);
  await attemptDocument(portsOf(RECEIPT), frozen);
  await attemptDocument(portsOf(RECEIPT), other);
  expect(await standing(id)).toBe("delivered");
  const rows = await db.sql`select 1 from document_event where document_id = ${id} and kind = 'document.delivered'`;
  expect(rows).toHaveLength(1);
});

test("an attempt that a late receipt overtakes is in the list of attempts with its own outcome", async () => {
  for (const outcome of [NOT_TAKEN, RECEIPT]) {
    const id = await document();
    const frozen = await take(id);
    await free(id);
    const other = await take(id);
    await attemptDocument(portsOf(RECEIPT), frozen);
    await attemptDocument(portsOf(outcome), other);
    expect([await standing(id), await attemptsOf(id)]).toEqual(["delivered", ["1 receipt", `2 ${outcome.kind}`]]);
  }
});

test("a receipt that comes after its document has ended changes no state; operators are told and find it among the attempts", async () => {
  const id = await document();
  const taken = await take(id);
  await free(id);
  await attemptOnce(portsOf(NOT_TAKEN, []), id);
  const told: string[] = [];
  const log: Log = { ...silentLog, warn: (event) => told.push(event) };
  await attemptDocument({ ...portsOf(RECEIPT), log }, taken);
  expect(await standing(id)).toBe("delivery_failed");
  expect(await attemptsOf(id)).toEqual(["1 receipt", "2 transport_failed"]);
  expect(told).toEqual(["dispatch.receipt_after_end"]);
});

test("what else comes late changes nothing", async () => {
  const id = await document();
  const taken = await take(id);
  await free(id);
  await attemptOnce(portsOf(NOT_TAKEN, [60_000]), id);
  await attemptDocument(portsOf({ kind: "peer_refused", code: "EBMS:0003", peerSeat: "POP000001" }), taken);
  expect(await standing(id)).toBe("queued");
  expect(await attemptsOf(id)).toEqual(["1 cut", "2 transport_failed"]);
  await makeDue(db.sql, id);
});
