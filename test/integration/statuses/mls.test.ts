/** Message Level Statuses and invoice responses of others, and what they do to the documents that we sent. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { newHand, STATUS_STEPS } from "../../../actors/status-work.js";
import { keyOfStatus, readDueStatuses } from "../../../engine/documents/inbound/statuses.js";
import { readResponses } from "../../../engine/documents/reads/responses.js";
import type { DocumentId, FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { OutboundTrigger, TimelineKind } from "../../../engine/lifecycle/document.js";
import type { ResponseCode } from "../../../engine/lifecycle/response.js";
import type { MlsCode } from "../../../engine/peppol/responses/mls.js";
import { takeAttempt } from "../../../engine/storage/documents/attempts.js";
import { listDocumentEvents } from "../../../engine/storage/documents/documents.js";
import { findOperatorDocument } from "../../../engine/storage/documents/operations.js";
import { applyStatus, findDueStatuses, settleStatus } from "../../../engine/storage/documents/received-responses.js";
import type { StatusKind, StatusOutcome } from "../../../engine/storage/documents/received-responses.js";
import { listReceivedResponses } from "../../../engine/storage/documents/status-evidence.js";
import { plainOf } from "../../support/as4/as4.js";
import { makeDue } from "../../support/worlds/attempts.js";
import { eventually } from "../../support/eventually.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { fakeClock } from "../../support/fake-clock.js";
import { rowsReadBy } from "../../support/database/past.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { findDocumentState } from "../../support/documents/moves.js";
import {
  pass,
  mlsExchange,
  OWN,
  PEER_SEAT,
  responseExchange,
  statusBench,
  statusNode,
  STRANGER_SEAT,
} from "../../support/as4/statuses.js";
import type { ResponseChanges, StatusBench } from "../../support/as4/statuses.js";

const SENDER = "0245:1010101010";
/** What following a status leaves behind, which Postgres has not cleaned up. */
const OWN_ROWS = 50;
const FEW = 100;
const clock = fakeClock();
let db: TestDatabase;
let bench: StatusBench;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  bench = statusBench(db, clock);
  firmId = await seedFirm(db.sql, SENDER);
});
afterAll(async () => {
  await db.drop();
});

/** Takes everything that is due, as the loop does. */
const work = async (): Promise<void> => {
  while ((await STATUS_STEPS.statuses(bench.node)) > 0);
};
const receive = async (exchange: Parameters<StatusBench["receive"]>[0]): Promise<string> => {
  const { kind } = await bench.receive(exchange);
  await work();
  return kind;
};
/** In the order in which they were decided: ids of one millisecond come in no order, transactions do. */
const outcomes = async (): Promise<string[]> =>
  (
    await db.sql<
      { outcome: string | null }[]
    >`select outcome from inbound_status order by received_at, xmin::text::bigint`
  ).map(({ outcome }) => outcome ?? "pending");
const clear = async (): Promise<void> => {
  await db.sql`delete from inbound_status`;
};
async function sent(
  ...triggers: OutboundTrigger[]
): Promise<{ id: DocumentId; sbdhInstanceId: string; sender: string }> {
  await clear();
  const document = await bench.document(firmId, SENDER);
  for (const trigger of triggers) expect(await bench.trigger(document.id, trigger)).toBe(true);
  return document;
}

/** Thousands about a document that changed nothing, as many for one reason as for the other. */
async function addSettled(id: DocumentId, kind: StatusKind, reasons: readonly [StatusOutcome, StatusOutcome]) {
  await db.sql`
    insert into inbound_status (id, kind, sender, receiver, peer_seat, as4_message_id, sbdh_instance_id, received_at,
      payload_key_id, payload_sealed, payload_sha256, tries)
    select gen_random_uuid(), ${kind}::text, 's', 'r', 'POP1', 'many ' || n, 'many ' || n, now(), 'k', 'x', 'x', n % 2
    from generate_series(1, 4000) as s (n)`;
  await db.sql`
    update inbound_status
    set document_id = ${id}, code = 'RE', handled_at = now(), next_at = null, outcome = (${[...reasons]}::text[])[tries + 1]
    where outcome is null`;
  await db.sql`vacuum inbound_status`;
}

/** Why statuses were not applied, in the order of the timeline. */
const reasonsOf = async (id: DocumentId): Promise<string[]> =>
  (
    await db.sql<{ reason: string }[]>`
      select meta ->> 'notApplied' as reason from document_event
      where document_id = ${id} and meta ? 'notApplied' order by position`
  ).map(({ reason }) => reason);

const QUEUED = "document.queued";
test.each([
  [
    "sent",
    ["transmitted"],
    "AP",
    ["queued", "sent", "delivered"],
    [QUEUED, "document.sent", "document.mls_received", "document.delivered"],
  ],
  ["sent", ["transmitted"], "AB", ["queued", "sent"], [QUEUED, "document.sent", "document.mls_received"]],
  [
    "sent",
    ["transmitted"],
    "RE",
    ["queued", "sent", "rejected"],
    [QUEUED, "document.sent", "document.mls_received", "document.rejected"],
  ],
  [
    "delivered",
    ["receipt_confirmed"],
    "AP",
    ["queued", "delivered"],
    [QUEUED, "document.sent", "document.delivered", "document.mls_received"],
  ],
  [
    "delivered",
    ["receipt_confirmed"],
    "AB",
    ["queued", "delivered"],
    [QUEUED, "document.sent", "document.delivered", "document.mls_received"],
  ],
  [
    "delivered",
    ["receipt_confirmed"],
    "RE",
    ["queued", "delivered", "rejected"],
    [QUEUED, "document.sent", "document.delivered", "document.mls_received", "document.rejected"],
  ],
] satisfies [string, OutboundTrigger[], MlsCode, string[], string[]][])(
  "a document that is %s (%j) and gets MLS %s goes the way of the table, with its events",
  async (_, triggers, code, states, events) => {
    const document = await sent(...triggers);
    expect(await receive(mlsExchange(clock, document.sbdhInstanceId, code))).toBe("stored");
    expect(await outcomes()).toEqual(["applied"]);
    const story = await bench.story(firmId, document.id);
    expect(story).toMatchObject({ states, events, reason: code === "RE" ? "Rejected for its total." : null });
  },
);

/** The newest entry of a kind in a document's timeline, with its words. */
const lastSaid = async (id: DocumentId, kind: TimelineKind) =>
  (await listDocumentEvents(db.sql, firmId, id, { after: "0", limit: 100 }))?.findLast((entry) => entry.kind === kind);

test("the status is read from the timeline with its code and its issues", async () => {
  const document = await sent("receipt_confirmed");
  await receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
  const [row] = await db.sql<
    { detail: string; meta: { mls: string; issues: unknown[] } }[]
  >`select detail, meta from document_event where document_id = ${document.id} and kind = 'document.mls_received'`;
  expect(row).toMatchObject({
    detail: "Rejected for its total.",
    meta: { mls: "RE", issues: [{ location: "NA", reason: "BV", description: "The total is wrong." }] },
  });
  expect(await lastSaid(document.id, "document.mls_received")).toMatchObject({
    detail: "Rejected for its total.",
    meta: { mls: "RE", issues: [{ reason: "BV" }] },
  });
  expect(await lastSaid(document.id, "document.response_received")).toBeUndefined();
});

test("one status, handed over again and again, counts once", async () => {
  const document = await sent("receipt_confirmed");
  const exchange = mlsExchange(clock, document.sbdhInstanceId, "AP");
  expect([
    await receive(exchange),
    await receive(exchange),
    await receive({ ...exchange, as4MessageId: "other@peer" }),
  ]).toEqual(["stored", "duplicate", "duplicate"]);
  expect(await outcomes()).toEqual(["applied"]);
});

test("an id that was used for another status is no repeat", async () => {
  const document = await sent("receipt_confirmed");
  const first = mlsExchange(clock, document.sbdhInstanceId, "AP");
  await receive(first);
  expect(
    await receive({ ...mlsExchange(clock, document.sbdhInstanceId, "RE"), sbdhInstanceId: first.sbdhInstanceId }),
  ).toBe("conflict");
});

test("a document has one status: the same said again is a duplicate, another contradicts, and neither does anything", async () => {
  const document = await sent("receipt_confirmed");
  for (const code of ["AB", "AB", "RE", "AP"] as const) {
    await receive(mlsExchange(clock, document.sbdhInstanceId, code));
    clock.advance(1);
  }
  expect(await outcomes()).toEqual(["applied", "duplicate", "contradicting", "contradicting"]);
  expect(
    (await bench.story(firmId, document.id)).events.filter((kind) => kind === "document.mls_received"),
  ).toHaveLength(1);
});

test("a status about nothing of ours, from the wrong provider, or unreadable is kept and does nothing; its receipt is not held back", async () => {
  const document = await sent("receipt_confirmed");
  const before = await bench.story(firmId, document.id);
  const received = [
    await receive(mlsExchange(clock, randomUUID(), "RE")),
    await receive(mlsExchange(clock, "no-uuid", "RE")),
    await receive(mlsExchange(clock, document.sbdhInstanceId, "RE", { seat: STRANGER_SEAT })),
    await receive(mlsExchange(clock, document.sbdhInstanceId, "RE", { says: STRANGER_SEAT.slice(3) })),
    await receive(mlsExchange(clock, document.sbdhInstanceId, "RE", { payload: Buffer.from("<hello/>") })),
  ];
  expect(received).toEqual(Array.from(received, () => "stored"));
  expect((await outcomes()).sort()).toEqual(["foreign", "foreign", "unknown", "unknown", "unreadable"]);
  expect(await bench.story(firmId, document.id)).toEqual({
    ...before,
    events: [...before.events, "document.mls_ignored", "document.mls_ignored"],
  });
  expect(await bench.metric('statuses_received_total{kind="mls",outcome="foreign"}')).toBe(2);
});

test("nothing of what a stranger wrote stands in a firm's timeline, in whichever part of a status or an answer it was", async () => {
  const document = await invoice("receipt_confirmed");
  await receive(mlsExchange(clock, document.sbdhInstanceId, "RE", { seat: STRANGER_SEAT }));
  await receive(responseExchange(clock, document, numberOf(document), "RE", { says: "0245:7777777777" }));
  expect(await reasonsOf(document.id)).toEqual(["foreign", "foreign"]);
  const events = (await listDocumentEvents(db.sql, firmId, document.id, { after: "0", limit: 100 })) ?? [];
  const [status, answer] = events.slice(-2).map(({ detail, meta }) => ({ detail, meta }));
  expect([status, answer]).toEqual([
    { detail: null, meta: expect.objectContaining({ mls: "RE", issues: [], seat: STRANGER_SEAT }) as unknown },
    { detail: null, meta: expect.objectContaining({ response: "RE", reasons: [], seat: PEER_SEAT }) as unknown },
  ]);
});

test("a timeline keeps the first contradicting statuses and the first of strangers, the last of each says so, and operators see how many there were", async () => {
  const { statuses_ignored_shown: shown } = LIMITS;
  const document = await sent("receipt_confirmed");
  await receive(mlsExchange(clock, document.sbdhInstanceId, "AB"));
  for (let n = 0; n < shown + 3; n += 1)
    await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE", { seat: STRANGER_SEAT }));
  await work();
  const { version } = (await findDocumentState(db.sql, document.id)) ?? {};
  for (let n = 0; n < shown + 2; n += 1) await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
  await work();
  expect(await reasonsOf(document.id)).toEqual([
    ...Array<string>(shown).fill("foreign"),
    ...Array<string>(shown).fill("contradicting"),
  ]);
  // What leaves no entry stands in nobody's way: the document is as it was.
  expect((await findDocumentState(db.sql, document.id))?.version).toBe((version ?? 0) + shown);
  const last = await db.sql<{ place: number }[]>`
    select place::integer from (
      select meta, row_number() over (order by position) as place from document_event
      where document_id = ${document.id} and meta ? 'notApplied'
    ) as e where meta ? 'lastShown' order by place`;
  expect(last.map(({ place }) => place)).toEqual([shown, 2 * shown]);
  const seen = await findOperatorDocument(db.sql, document.id);
  expect([seen?.notApplied.length, seen?.notAppliedCount]).toEqual([2 * shown, 2 * shown + 5]);
  expect((await outcomes()).filter((outcome) => outcome === "contradicting")).toHaveLength(shown + 2);
});

test("what leaves no entry is settled by the document of which it was decided, and not by a later one", async () => {
  const document = await sent("receipt_confirmed");
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
  const [pending] = await findDueStatuses(db.sql, 1);
  const { version = 0 } = (await findDocumentState(db.sql, document.id)) ?? {};
  const settledAt = (decided: number): Promise<boolean> =>
    settleStatus(db.sql, pending?.id ?? "", {
      outcome: "contradicting",
      now: clock.now(),
      content: undefined,
      documentId: document.id,
      version: decided,
      fault: undefined,
    });
  expect([await settledAt(version - 1), await settledAt(version), await settledAt(version)]).toEqual([
    false,
    true,
    false,
  ]);
});

test("a status about a document that thousands were about reads as few rows as the second", async () => {
  // Postgres tells what a connection has read when that connection asks.
  const sql = db.one("counted");
  onTestFinished(() => sql.end({ timeout: 1 }));
  const counted = statusBench({ ...db, sql }, clock);
  const document = await sent("receipt_confirmed");
  const costOf = async (code: MlsCode): Promise<number> => {
    await bench.receive(mlsExchange(clock, document.sbdhInstanceId, code));
    return rowsReadBy(sql, async () => {
      while ((await STATUS_STEPS.statuses(counted.node)) > 0);
    });
  };
  await costOf("AB");
  const few = await costOf("RE");
  await addSettled(document.id, "mls", ["foreign", "contradicting"]);
  expect(await costOf("RE")).toBeLessThanOrEqual(few + OWN_ROWS);
  expect(await reasonsOf(document.id)).toEqual(["contradicting"]);
});

test("a status as large as a document is kept, unread", async () => {
  const document = await sent("receipt_confirmed");
  const padded = Buffer.concat([
    plainOf(mlsExchange(clock, document.sbdhInstanceId, "RE").payload),
    Buffer.alloc(LIMITS.status_bytes_max, " "),
  ]);
  expect(await receive(mlsExchange(clock, document.sbdhInstanceId, "RE", { payload: padded }))).toBe("stored");
  expect(await outcomes()).toEqual(["unreadable"]);
});

test("a status for another provider is not serviced, neither is a report", async () => {
  expect(await receive(mlsExchange(clock, randomUUID(), "AP", { receiver: "0242:000002" }))).toBe("not_serviced");
  expect(
    await receive({
      ...mlsExchange(clock, randomUUID(), "AP"),
      documentTypeId: "urn:fdc:peppol:transaction-statistics-report:1.0::TransactionStatisticsReport##x::1.0",
    }),
  ).toBe("not_serviced");
});

test.each([["attempts_exhausted"], ["rules_refused"], ["peer_refused"]] as const)(
  "a status after the end (%s) changes no state and leaves a mark in the timeline, with its reason",
  async (end) => {
    const document = await sent(end);
    const { states } = await bench.story(firmId, document.id);
    await receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
    await receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
    const story = await bench.story(firmId, document.id);
    expect(story.states).toEqual(states);
    expect(story.events.filter((kind) => kind.includes("mls"))).toEqual([
      "document.mls_ignored",
      "document.mls_ignored",
    ]);
    expect(await reasonsOf(document.id)).toEqual(["late", "contradicting"]);
    expect(await outcomes()).toEqual(expect.arrayContaining(["late", "contradicting"]));
  },
);

test("a status that overtakes our own receipt waits for it", async () => {
  const document = await sent();
  await receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
  expect(await outcomes()).toEqual(["pending"]);
  await bench.trigger(document.id, "receipt_confirmed");
  await pass(db.sql, clock, LIMITS.status_early_max_ms);
  await work();
  expect(await outcomes()).toEqual(["applied"]);
  expect((await bench.story(firmId, document.id)).states).toEqual(["queued", "delivered", "rejected"]);
});

test("a status waits while an attempt is under way, so that its end is not lost", async () => {
  const document = await sent("transmitted");
  await makeDue(db.sql, document.id);
  expect(await takeAttempt(db.sql, { id: document.id, owner: "x", lease_ms: 90_000 })).toBeDefined();
  await receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
  expect(await outcomes()).toEqual(["pending"]);
});

test("a status of a stranger leaves no mark while an attempt is under way, so that its end is not lost", async () => {
  const document = await sent("transmitted");
  await makeDue(db.sql, document.id);
  expect(await takeAttempt(db.sql, { id: document.id, owner: "x", lease_ms: 90_000 })).toBeDefined();
  const { version } = (await findDocumentState(db.sql, document.id)) ?? {};
  await receive(mlsExchange(clock, document.sbdhInstanceId, "AP", { seat: STRANGER_SEAT }));
  expect([await outcomes(), await reasonsOf(document.id)]).toEqual([["pending"], []]);
  expect((await findDocumentState(db.sql, document.id))?.version).toBe(version);
});

test("a status for a document whose receipt never comes is given up", async () => {
  const document = await sent();
  await receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
  await pass(db.sql, clock, LIMITS.status_early_ms + 1);
  await work();
  expect(await outcomes()).toEqual(["late"]);
  expect((await bench.story(firmId, document.id)).states).toEqual(["queued"]);
});

test("many nodes that handle one status make one move", async () => {
  const document = await sent("receipt_confirmed");
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
  await Promise.all(Array.from({ length: 8 }, () => STATUS_STEPS.statuses(statusNode(bench.ports))));
  expect((await bench.story(firmId, document.id)).states).toEqual(["queued", "delivered", "rejected"]);
  expect(await outcomes()).toEqual(["applied"]);
});

test("a status that was settled makes no second move, whoever still holds a decision about it", async () => {
  const document = await sent("receipt_confirmed");
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
  const [pending] = await findDueStatuses(db.sql, 1);
  if (pending === undefined) throw new Error("nothing is due");
  await work();
  const state = await findDocumentState(db.sql, document.id);
  const again = await applyStatus(
    db.sql,
    { status: pending.id, outcome: "applied", content: { code: "RE", responseId: "x", issuedAt: clock.now() } },
    {
      id: document.id,
      version: state?.version ?? 0,
      status: "rejected",
      trigger: "mls_re",
      detail: undefined,
      now: clock.now(),
      events: [],
      changes: {},
    },
  );
  expect(again).toBe(false);
  expect((await bench.story(firmId, document.id)).states).toEqual(["queued", "delivered"]);
});

test("statuses that another node has settled meanwhile are left alone, and none is counted twice", async () => {
  const document = await sent("receipt_confirmed");
  for (const seat of [PEER_SEAT, PEER_SEAT, STRANGER_SEAT])
    await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "AB", { seat }));
  await bench.receive(mlsExchange(clock, randomUUID(), "RE"));
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE", { payload: Buffer.from("<hello/>") }));
  const due = await readDueStatuses(bench.ports);
  await work();
  expect((await outcomes()).sort()).toEqual(["applied", "duplicate", "foreign", "unknown", "unreadable"]);
  const counted = async (): Promise<string[]> =>
    (await bench.metrics.exposition()).split("\n").filter((line) => /statuses_received|fencing/u.test(line));
  const before = await counted();
  for (const read of due) {
    const { actors, document: kind, message } = statusNode(bench.ports);
    const became =
      read.subject === undefined
        ? await actors.ask(message, keyOfStatus(read), "Settle", read)
        : await actors.ask(kind, keyOfStatus(read), "Follow", read);
    expect(became).toBeNull();
  }
  expect(await counted()).toEqual(before);
});

test("a status that several nodes have read is put off by one of them, is counted by that one, and is no longer put off by who comes when it is settled", async () => {
  const document = await sent("receipt_confirmed");
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
  await db.sql`update inbound_status set payload_key_id = 'gone:' || payload_key_id`;
  const [read] = await readDueStatuses(bench.ports);
  if (read === undefined) throw new Error("nothing is due");
  const follow = (): Promise<unknown> => {
    const { actors, message } = statusNode(bench.ports);
    return actors.ask(message, keyOfStatus(read), "Settle", read);
  };
  const early = (): Promise<number> => bench.metric('statuses_received_total{kind="mls",outcome="early"}');
  const before = await early();
  expect([await follow(), await follow()]).toEqual(["early", null]);
  expect(await db.sql`select tries from inbound_status`).toEqual([{ tries: 1 }]);
  await db.sql`update inbound_status set payload_key_id = substr(payload_key_id, 6)`;
  await pass(db.sql, clock, LIMITS.status_early_max_ms);
  await work();
  expect(await outcomes()).toEqual(["applied"]);
  expect(await follow()).toBeNull();
  expect(await early()).toBe(before + 1);
});

test("one counts of two statuses that two nodes handle at the same moment", async () => {
  for (let round = 0; round < 10; round += 1) {
    const document = await sent("receipt_confirmed");
    await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
    await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
    const due = await readDueStatuses(bench.ports);
    const became = await Promise.all(
      due.map((read) => {
        const { actors, document: kind } = statusNode(bench.ports);
        return actors.ask(kind, keyOfStatus(read), "Follow", read);
      }),
    );
    expect(became.sort()).toEqual(["applied", "contradicting"]);
    expect(
      (await bench.story(firmId, document.id)).events.filter((kind) => kind === "document.mls_received"),
    ).toHaveLength(1);
  }
});

/** Another turn of a document, which runs until it is let go. */
function otherTurn(id: DocumentId) {
  let end = (): void => undefined;
  const running = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { actors, document: kind } = bench.node;
  const Release = () => running.then(() => ({ reply: false }));
  const busy: typeof kind = { ...kind, handlers: { ...kind.handlers, Release } };
  return { turn: actors.ask(busy, id, "Release", null), end };
}

test("a status moves its document in that document's turn: while another turn runs it waits", async () => {
  const document = await sent("receipt_confirmed");
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
  const { turn, end } = otherTurn(document.id);
  const node = { ...bench.node, hand: newHand() };
  const working = STATUS_STEPS.statuses(node);
  await eventually(
    "the status waits in the document's mailbox",
    async () => (await bench.metric('actor_mailbox_depth_sum{kind="document"}')) > 0,
  );
  expect(await outcomes()).toEqual(["pending"]);
  end();
  await Promise.all([turn, working, ...node.hand.statuses.values()]);
  expect(await outcomes()).toEqual(["applied"]);
});

test("a status about a document whose receiver still holds our attempt is followed when that ends, and statuses of other documents do not wait for it", async () => {
  const held = await sent("transmitted");
  const other = await bench.document(firmId, SENDER);
  expect(await bench.trigger(other.id, "receipt_confirmed")).toBe(true);
  await makeDue(db.sql, held.id);
  expect(await takeAttempt(db.sql, { id: held.id, owner: "x", lease_ms: 90_000 })).toBeDefined();
  const { turn, end } = otherTurn(held.id);
  await bench.receive(mlsExchange(clock, held.sbdhInstanceId, "AP"));
  clock.advance(1);
  await bench.receive(mlsExchange(clock, held.sbdhInstanceId, "RE"));
  clock.advance(1);
  await bench.receive(mlsExchange(clock, other.sbdhInstanceId, "RE"));
  const node = { ...bench.node, hand: newHand() };
  expect(await STATUS_STEPS.statuses(node)).toBe(3);
  expect((await bench.story(firmId, other.id)).states).toEqual(["queued", "delivered", "rejected"]);
  expect(await STATUS_STEPS.statuses(node), "those that wait are not read again").toBe(0);
  await db.sql`update document set lease_owner = null, lease_until = null where id = ${held.id}`;
  end();
  await turn;
  await Promise.all(node.hand.statuses.values());
  // In the order in which they came, although both waited.
  expect((await bench.story(firmId, held.id)).states).toEqual(["queued", "sent", "delivered"]);
  expect((await outcomes()).sort()).toEqual(["applied", "applied", "contradicting"]);
  expect(node.hand.statuses.size).toBe(0);
});

test("a status is read in the turn of the access point that sent it, whatever another one sent before", async () => {
  const document = await sent("receipt_confirmed");
  for (let i = 0; i <= LIMITS.status_batch; i += 1) {
    await bench.receive(mlsExchange(clock, randomUUID(), "AB", { seat: "PSK000666" }));
    clock.advance(1);
  }
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "AB"));
  const due = await readDueStatuses(bench.ports);
  expect(due).toHaveLength(LIMITS.status_batch);
  expect(due.at(-1)?.subject).toBe(document.id);
  const times = due.map(({ status }) => status.receivedAt);
  expect(times, "in the order in which they came").toEqual([...times].sort((a, b) => a - b));
});

test("statuses of other documents do not wait for one whose document's attempt has begun since it was read", async () => {
  const held = await sent("transmitted");
  const other = await bench.document(firmId, SENDER);
  expect(await bench.trigger(other.id, "receipt_confirmed")).toBe(true);
  // Not under lease when it is read, and in its turn when it is followed.
  const { turn, end } = otherTurn(held.id);
  await bench.receive(mlsExchange(clock, held.sbdhInstanceId, "AP"));
  clock.advance(1);
  for (let more = 0; more < LIMITS.statuses_concurrent; more += 1)
    await bench.receive(mlsExchange(clock, randomUUID(), "AP"));
  clock.advance(1);
  await bench.receive(mlsExchange(clock, other.sbdhInstanceId, "RE"));
  const node = { ...bench.node, hand: newHand() };
  expect(await STATUS_STEPS.statuses(node)).toBe(2 + LIMITS.statuses_concurrent);
  expect((await bench.story(firmId, other.id)).states).toEqual(["queued", "delivered", "rejected"]);
  expect(node.hand.statuses.size).toBe(1);
  end();
  await Promise.all([turn, ...node.hand.statuses.values()]);
  expect((await bench.story(firmId, held.id)).states).toEqual(["queued", "sent", "delivered"]);
  expect(node.hand.statuses.size).toBe(0);
});

test("statuses about documents that are under way wait as far as there is room for them: the others are put off", async () => {
  const held = await sent("transmitted");
  await makeDue(db.sql, held.id);
  expect(await takeAttempt(db.sql, { id: held.id, owner: "x", lease_ms: 90_000 })).toBeDefined();
  await bench.receive(mlsExchange(clock, held.sbdhInstanceId, "AP"));
  const hand = newHand();
  for (let i = 0; i < LIMITS.statuses_waiting_max; i += 1) hand.statuses.set(randomUUID(), Promise.resolve());
  expect(await STATUS_STEPS.statuses({ ...bench.node, hand })).toBe(1);
  expect(hand.statuses.size).toBe(LIMITS.statuses_waiting_max);
  expect(await db.sql`select tries from inbound_status`).toEqual([{ tries: 1 }]);
  expect(await outcomes()).toEqual(["pending"]);
});

test("a status that was read for one document and is about another by now is not followed in the wrong turn", async () => {
  const document = await sent("receipt_confirmed");
  const other = await bench.document(firmId, SENDER);
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
  const [read] = await readDueStatuses(bench.ports);
  if (read === undefined) throw new Error("nothing is due");
  expect(await bench.node.actors.ask(bench.node.document, other.id, "Follow", { ...read, subject: other.id })).toBe(
    "early",
  );
  await pass(db.sql, clock, LIMITS.status_early_max_ms);
  await work();
  expect(await outcomes()).toEqual(["applied"]);
});

test("a status that cannot be fetched is put off, and is followed once it can", async () => {
  const document = await sent("receipt_confirmed");
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
  await db.sql`update inbound_status set payload_key_id = 'gone:' || payload_key_id`;
  await work();
  expect(await outcomes()).toEqual(["pending"]);
  await db.sql`update inbound_status set payload_key_id = substr(payload_key_id, 6)`;
  await pass(db.sql, clock, LIMITS.status_early_max_ms);
  await work();
  expect(await outcomes()).toEqual(["applied"]);
});

test("a node that is gone in the middle leaves the status due", async () => {
  const document = await sent("receipt_confirmed");
  await bench.receive(mlsExchange(clock, document.sbdhInstanceId, "RE"));
  const dying = statusNode(bench.ports);
  await dying.actors.stop();
  expect(await STATUS_STEPS.statuses(dying)).toBe(0);
  expect(await outcomes()).toEqual(["pending"]);
  await work();
  expect(await outcomes()).toEqual(["applied"]);
});

test("M1, M2 and M3 are kept with the exchange, and their distance is measured", async () => {
  const document = await sent("receipt_confirmed");
  const m1 = clock.now();
  clock.advance(60_000);
  const exchange = mlsExchange(clock, document.sbdhInstanceId, "AP");
  clock.advance(30_000);
  await receive(exchange);
  const [row] = await db.sql<
    { exchanged_at: Date; status_at: Date; status_received_at: Date; c3_seat: string }[]
  >`select exchanged_at, status_at, status_received_at, c3_seat from exchange where id = ${document.id}`;
  expect(row).toEqual({
    exchanged_at: new Date(m1),
    status_at: new Date(Math.floor((m1 + 60_000) / 1000) * 1000),
    status_received_at: new Date(m1 + 90_000),
    c3_seat: PEER_SEAT,
  });
  expect(await bench.metric("mls_received_duration_seconds_count")).toBeGreaterThan(0);
});

test("a status within 25 minutes counts inside the service level, one second later outside", async () => {
  const counts = async (): Promise<number[]> => [
    await bench.metric('mls_received_duration_seconds_bucket{le="1500"}'),
    await bench.metric("mls_received_duration_seconds_count"),
  ];
  const [inside = 0, all = 0] = await counts();
  for (const [seconds, expected] of [
    [1_500, [inside + 1, all + 1]],
    [1_501, [inside + 1, all + 2]],
  ] as const) {
    const document = await sent("receipt_confirmed");
    clock.advance(seconds * 1_000);
    await receive(mlsExchange(clock, document.sbdhInstanceId, "AB"));
    await work();
    expect(await counts()).toEqual(expected);
  }
});

let numbers = 0;
async function invoice(...triggers: OutboundTrigger[]): ReturnType<typeof bench.document> {
  await clear();
  numbers += 1;
  const document = await bench.document(firmId, SENDER, {
    facts: { documentNumber: `F-${numbers}`, issueDate: "2026-11-20" },
  });
  for (const trigger of triggers) expect(await bench.trigger(document.id, trigger)).toBe(true);
  return document;
}
const numberOf = (document: { facts: unknown }): string =>
  (document.facts as { documentNumber: string }).documentNumber;

test.each(["AB", "IP", "UQ", "CA", "RE", "AP", "PD"] as const)(
  "an invoice response %s on a delivered document sets its status with one event and no other state",
  async (code) => {
    const document = await invoice("receipt_confirmed");
    expect(
      await receive(responseExchange(clock, document, numberOf(document), code, { issueDate: "2026-11-20" })),
    ).toBe("stored");
    expect(await bench.story(firmId, document.id)).toMatchObject({
      states: ["queued", "delivered"],
      events: [QUEUED, "document.sent", "document.delivered", "document.response_received"],
      response: code,
    });
  },
);

test("a response counts once, however often and in whatever envelope it comes; an older one does not take a newer one's place", async () => {
  const document = await invoice("receipt_confirmed");
  const day = 86_400_000;
  const number = numberOf(document);
  await receive(responseExchange(clock, document, number, "AP", { id: "r1", issuedAt: clock.now() + day }));
  clock.advance(1);
  await receive(responseExchange(clock, document, number, "AP", { id: "r1", issuedAt: clock.now() + day }));
  clock.advance(1);
  await receive(responseExchange(clock, document, number, "IP", { id: "r0" }));
  clock.advance(1);
  await receive(responseExchange(clock, document, number, "PD", { id: "r2", issuedAt: clock.now() + day }));
  expect(await outcomes()).toEqual(["applied", "duplicate", "outdated", "applied"]);
  const story = await bench.story(firmId, document.id);
  expect(story.response).toBe("PD");
  expect(await lastSaid(document.id, "document.mls_received")).toBeUndefined();
  expect(await lastSaid(document.id, "document.response_received")).toMatchObject({
    detail: "because",
    meta: { response: "PD" },
  });
  expect(story.events.filter((kind) => kind === "document.response_received")).toHaveLength(2);
});

test("a response or a status under an id that fits no index is kept and does nothing, instead of being tried again for ever", async () => {
  const document = await invoice("receipt_confirmed");
  const incompressible = (bytes: number): string => randomBytes(bytes).toString("base64url").slice(0, bytes);
  const most = LIMITS.status_id_bytes_max;
  for (const [code, id] of [
    ["AP", incompressible(most)],
    ["PD", incompressible(most + 1)],
    ["PD", incompressible(100_000)],
    ["PD", "\u4e00".repeat(most / 2)],
  ] as const) {
    await receive(responseExchange(clock, document, numberOf(document), code, { id }));
    clock.advance(1);
  }
  await work();
  expect(await outcomes()).toEqual(["applied", "unreadable", "unreadable", "unreadable"]);
  expect(await bench.story(firmId, document.id)).toMatchObject({ response: "AP" });
});

test("a response to another invoice, of another party, or with another day does nothing", async () => {
  const document = await invoice("receipt_confirmed");
  await receive(responseExchange(clock, document, "F-unknown", "AP"));
  await receive(responseExchange(clock, document, numberOf(document), "AP", { says: "0245:7777777777" }));
  await receive(responseExchange(clock, document, numberOf(document), "AP", { issueDate: "2026-11-19" }));
  await receive(
    responseExchange(
      clock,
      { ...document, receiver: "0245:7777777777" as typeof document.receiver },
      numberOf(document),
      "AP",
    ),
  );
  expect((await outcomes()).sort()).toEqual(["foreign", "unknown", "unknown", "unknown"]);
  expect((await bench.story(firmId, document.id)).response).toBeNull();
});

test("a response that overtakes our receipt waits; one for a document that failed only leaves a mark", async () => {
  const early = await invoice();
  await receive(responseExchange(clock, early, numberOf(early), "AP"));
  expect(await outcomes()).toEqual(["pending"]);
  await bench.trigger(early.id, "receipt_confirmed");
  await pass(db.sql, clock, LIMITS.status_early_max_ms);
  await work();
  expect((await bench.story(firmId, early.id)).response).toBe("AP");
  const failed = await invoice("attempts_exhausted");
  await receive(responseExchange(clock, failed, numberOf(failed), "AP"));
  expect(await outcomes()).toEqual(["late"]);
  expect(await bench.story(firmId, failed.id)).toMatchObject({ response: null, states: ["queued", "send_failed"] });
});

describe("who may say what of an invoice", () => {
  const day = 86_400_000;
  const facts = (number: string, typeCode = "380") => ({ documentNumber: number, issueDate: "2026-11-20", typeCode });
  const delivered = async (number: string, typeCode?: string) => {
    const document = await bench.document(firmId, SENDER, { facts: facts(number, typeCode) });
    await bench.trigger(document.id, "receipt_confirmed");
    return document;
  };
  const said = async (id: DocumentId) => (await bench.story(firmId, id)).response;

  test("an answer to an invoice is not an answer to the credit note of the same number and day", async () => {
    const [invoiced, credited] = [await delivered("W-1"), await delivered("W-1", "381")];
    await receive(responseExchange(clock, invoiced, "W-1", "RE", { issueDate: "2026-11-20" }));
    expect([await said(invoiced.id), await said(credited.id)]).toEqual(["RE", null]);
  });

  test("an answer that names the whole of a number which is kept in part is about the invoice of that number", async () => {
    const kept = `W-11${"𠀀".repeat(LIMITS.document_number_chars_max - 4)}`;
    const long = await delivered(kept);
    await receive(responseExchange(clock, long, `${kept}𠀀 and more`, "AP"));
    expect(await said(long.id)).toBe("AP");
  });

  test("another answer under the id of one that counts is not applied, and says so in the timeline", async () => {
    await clear();
    const document = await delivered("W-12");
    for (const code of ["UQ", "UQ", "AP"] as const)
      await receive(responseExchange(clock, document, "W-12", code, { id: "one id" }));
    expect([await outcomes(), await said(document.id), await reasonsOf(document.id)]).toEqual([
      ["applied", "duplicate", "contradicting"],
      "UQ",
      ["contradicting"],
    ]);
  });

  test("an answer that fits two invoices alike is about neither, and says so in the timeline", async () => {
    await clear();
    const [first, second] = [await delivered("W-2"), await delivered("W-2")];
    await receive(responseExchange(clock, first, "W-2", "AP"));
    expect([await outcomes(), await said(first.id), await said(second.id)]).toEqual([["ambiguous"], null, null]);
    expect([...(await reasonsOf(first.id)), ...(await reasonsOf(second.id))]).toEqual(["ambiguous"]);
  });

  test("an answer that breaks the rules of its type is not applied and is shown with that reason; repaired it counts", async () => {
    const document = await delivered("W-13");
    const good = responseExchange(clock, document, "W-13", "RE");
    const broken = plainOf(good.payload)
      .toString()
      .replace(/<cac:Status>.*<\/cac:Status>/su, "");
    await receive({
      ...good,
      as4MessageId: `${randomUUID()}@peer`,
      sbdhInstanceId: randomUUID(),
      payload: Buffer.from(broken),
    });
    expect([await said(document.id), await reasonsOf(document.id), await outcomes()]).toEqual([
      null,
      ["invalid"],
      expect.arrayContaining(["invalid"]),
    ]);
    await receive(good);
    expect(await said(document.id)).toBe("RE");
  });

  test("a timeline keeps the first 500 characters of a peer's words, whole ones", async () => {
    const document = await delivered("W-14");
    const good = responseExchange(clock, document, "W-14", "RE");
    const words = `${"a".repeat(LIMITS.status_text_chars_max - 1)}😀`;
    const payload = plainOf(good.payload)
      .toString()
      .replace(">because<", `>${words}z${"y".repeat(5_000)}<`);
    await receive({ ...good, payload: Buffer.from(payload) });
    expect((await lastSaid(document.id, "document.response_received"))?.detail).toBe(words);
    const [event] = await db.sql<{ octets: number }[]>`
      select octet_length(meta::text) as octets from document_event
      where document_id = ${document.id} and kind = 'document.response_received'`;
    expect(event?.octets).toBeLessThan(4 * LIMITS.status_text_chars_max);
  });

  test("operators see with a document which statuses and answers about it changed nothing, why, and who signed them", async () => {
    const [first, second] = [await delivered("W-10"), await delivered("W-10")];
    await receive(mlsExchange(clock, second.sbdhInstanceId, "RE", { seat: STRANGER_SEAT }));
    await receive(responseExchange(clock, first, "W-10", "AP", { seat: STRANGER_SEAT }));
    const seen = await findOperatorDocument(db.sql, second.id);
    expect(seen?.notApplied).toEqual([
      { kind: "document.mls_ignored", reason: "foreign", code: "RE", seat: STRANGER_SEAT, at: clock.now() },
      { kind: "document.response_ignored", reason: "ambiguous", code: "AP", seat: STRANGER_SEAT, at: clock.now() },
    ]);
    expect((await findOperatorDocument(db.sql, first.id))?.notApplied).toEqual([]);
  });

  test.each([
    ["its order", { orderReference: "PO-7" }, "PO-7"],
    ["its buyer reference", { buyerReference: "BR-7" }, "BR-7"],
    ["an invoice that it corrects", { precedingInvoiceIds: ["F-1", "F-7"] }, "F-7"],
  ])(
    "an answer that fits two invoices alike is about the one that it singles out by %s",
    async (what, own, reference) => {
      await clear();
      const number = `W-8 ${what}`;
      const made = async (more: Record<string, string | string[]>) => {
        const document = await bench.document(firmId, SENDER, { facts: { ...facts(number), ...more } });
        await bench.trigger(document.id, "receipt_confirmed");
        return document;
      };
      const [before, meant, after] = [await made({}), await made(own), await made({ orderReference: "PO-8" })];
      const answer = (code: "UQ" | "AP", otherReferences: readonly string[]) =>
        receive(responseExchange(clock, meant, number, code, { otherReferences }));
      await answer("UQ", ["nobody's"]);
      expect([await said(before.id), await said(meant.id), await said(after.id)]).toEqual([null, null, null]);
      await answer("UQ", [reference, "PO-8"]);
      expect([await said(before.id), await said(meant.id), await said(after.id)]).toEqual([null, null, null]);
      await answer("AP", ["nobody's", reference]);
      expect([await said(before.id), await said(meant.id), await said(after.id)]).toEqual([null, "AP", null]);
      expect((await outcomes()).sort()).toEqual(["ambiguous", "ambiguous", "applied"]);
    },
  );

  test("an invoice that an answer names by its order is not preferred to one that was transmitted", async () => {
    await clear();
    const sent = await delivered("W-9");
    const waiting = await bench.document(firmId, SENDER, { facts: { ...facts("W-9"), orderReference: "PO-9" } });
    await receive(responseExchange(clock, sent, "W-9", "AP", { otherReferences: ["PO-9"] }));
    expect([await said(sent.id), await said(waiting.id)]).toEqual(["AP", null]);
  });

  test("an answer dated after tomorrow or before its invoice is not applied, and the genuine one counts", async () => {
    const document = await delivered("W-3");
    for (const issuedAt of [
      Date.parse("2099-12-31T00:00:00Z"),
      Date.parse("1990-01-01T00:00:00Z"),
      clock.now() + 2 * day,
    ])
      await receive(responseExchange(clock, document, "W-3", "RE", { issuedAt }));
    expect([await said(document.id), await reasonsOf(document.id)]).toEqual([null, Array(3).fill("misdated")]);
    await receive(responseExchange(clock, document, "W-3", "AP"));
    expect(await said(document.id)).toBe("AP");
  });

  test.each([
    [
      ["AB", "IP", "UQ", "CA", "AP", "PD"],
      ["AB", "IP", "UQ", "CA", "AP", "PD"],
    ],
    [["RE", "AP", "PD"], ["RE"]],
    [["PD", "RE"], ["PD"]],
    [
      ["AP", "RE", "IP", "PD"],
      ["AP", "PD"],
    ],
    [
      ["CA", "UQ", "RE"],
      ["CA", "RE"],
    ],
    [
      ["UQ", "AB", "IP"],
      ["UQ", "IP"],
    ],
  ] as const)("answers that come as %j count as %j", async (codes, counting) => {
    const number = `W-4-${codes.join("")}`;
    const document = await delivered(number);
    for (const code of codes) await receive(responseExchange(clock, document, number, code));
    const rows = await db.sql<{ code: string }[]>`
      select meta ->> 'response' as code from document_event
      where document_id = ${document.id} and kind = 'document.response_received' order by position`;
    expect(rows.map(({ code }) => code)).toEqual([...counting]);
    expect(await reasonsOf(document.id)).toEqual(Array(codes.length - counting.length).fill("out_of_order"));
  });

  test("answers that may be said again and again are followed a bounded many times, and one that ends them still counts", async () => {
    await clear();
    const restore = shortenLimits({ responses_followed_max: 4 });
    onTestFinished(restore);
    const document = await delivered("W-15");
    for (const code of ["AB", "UQ", "IP", "UQ", "IP", "UQ", "AP"] as const)
      await receive(responseExchange(clock, document, "W-15", code));
    expect([await said(document.id), await reasonsOf(document.id)]).toEqual(["AP", ["out_of_order", "out_of_order"]]);
  });

  test("an answer that counts is listed before all that do not, those for one reason hide none for another, and a stranger's words are not shown", async () => {
    await clear();
    onTestFinished(shortenLimits({ responses_listed_max: 4 }));
    const document = await delivered("W-16");
    const answers = [["UQ"], ["AB"], ...Array.from({ length: 6 }, () => ["AP", { says: "0245:7777777777" }] as const)];
    for (const [code, changes] of answers as readonly (readonly [ResponseCode, ResponseChanges?])[]) {
      await receive(responseExchange(clock, document, "W-16", code, changes));
      clock.advance(1);
    }
    const { responses } = await readResponses(bench.ports, firmId, document.id);
    expect(responses.map(({ outcome, status, reason }) => [outcome, status, reason])).toEqual([
      ["applied", "UQ", "because"],
      ["out_of_order", "AB", "because"],
      ["foreign", "AP", null],
      ["foreign", "AP", null],
    ]);
  });

  test("what was answered to a document, and how many answers changed nothing, reads no more beside thousands of them", async () => {
    await clear();
    const sql = db.one("counted");
    onTestFinished(() => sql.end({ timeout: 1 }));
    const document = await delivered("W-17");
    await receive(responseExchange(clock, document, "W-17", "UQ"));
    await addSettled(document.id, "invoice_response", ["out_of_order", "duplicate"]);
    const costOf = async (ask: () => Promise<unknown>): Promise<number> => {
      await ask();
      return rowsReadBy(sql, ask);
    };
    const { responses_listed_max: most } = LIMITS;
    expect(await costOf(() => listReceivedResponses(sql, document.id, most))).toBeLessThanOrEqual(2 * most + OWN_ROWS);
    onTestFinished(shortenLimits({ statuses_ignored_counted_max: FEW }));
    expect(await costOf(() => findOperatorDocument(sql, document.id))).toBeLessThanOrEqual(FEW + OWN_ROWS);
  });

  test("an answer that another access point signs counts where its receiver is not ours, and names the seat", async () => {
    const document = await delivered("W-5");
    await receive(responseExchange(clock, document, "W-5", "AP", { seat: STRANGER_SEAT }));
    expect(await said(document.id)).toBe("AP");
    const [event] = await db.sql<{ seat: string }[]>`
      select meta ->> 'seat' as seat from document_event
      where document_id = ${document.id} and kind = 'document.response_received'`;
    expect(event?.seat).toBe(STRANGER_SEAT);
  });

  test("an answer in the name of a participant of ours counts only from the access point that took its invoice, and operators' metrics count who signed it elsewhere", async () => {
    const document = await delivered("W-6");
    await seedFirm(db.sql, document.receiver);
    const elsewhere = (): Promise<number> => bench.metric('signed_elsewhere_total{kind="invoice_response"}');
    const before = await elsewhere();
    await receive(responseExchange(clock, document, "W-6", "RE", { seat: STRANGER_SEAT }));
    expect([await said(document.id), await reasonsOf(document.id)]).toEqual([null, ["foreign"]]);
    expect(await elsewhere()).toBe(before + 1);
    await receive(responseExchange(clock, document, "W-6", "AP"));
    expect(await said(document.id)).toBe("AP");
    await receive(responseExchange(clock, document, "W-6", "PD", { seat: OWN.seat }));
    expect(await elsewhere()).toBe(before + 2);
    await db.sql`delete from participant_capability where participant_key = ${document.receiver.toLowerCase()}`;
    await db.sql`delete from participant where key = ${document.receiver.toLowerCase()}`;
  });

  test("an answer in the name of a participant of ours counts only from the access point that has its invoice, also where a status alone proved the delivery", async () => {
    const document = await bench.document(firmId, SENDER, { facts: facts("W-7") });
    await bench.trigger(document.id, "transmitted");
    await receive(mlsExchange(clock, document.sbdhInstanceId, "AP"));
    await seedFirm(db.sql, document.receiver);
    await receive(responseExchange(clock, document, "W-7", "RE", { seat: STRANGER_SEAT }));
    expect([await said(document.id), await reasonsOf(document.id)]).toEqual([null, ["foreign"]]);
    await receive(responseExchange(clock, document, "W-7", "AP"));
    expect(await said(document.id)).toBe("AP");
    await db.sql`delete from participant_capability where participant_key = ${document.receiver.toLowerCase()}`;
    await db.sql`delete from participant where key = ${document.receiver.toLowerCase()}`;
  });

  test.each(["AP", "RE"] as const)(
    "a status %s of an access point that never had the document does nothing, also before a receipt",
    async (code) => {
      const document = await sent("transmitted");
      await receive(mlsExchange(clock, document.sbdhInstanceId, code, { seat: STRANGER_SEAT }));
      expect(await outcomes()).toEqual(["foreign"]);
      expect(await bench.story(firmId, document.id)).toMatchObject({ states: ["queued", "sent"], reason: null });
    },
  );
});

test("a response for a participant that is not ours is not serviced", async () => {
  const document = await invoice("receipt_confirmed");
  expect(
    await receive(
      responseExchange(clock, { ...document, sender: "0245:3333333333" as typeof document.sender }, "x", "AP"),
    ),
  ).toBe("not_serviced");
});
