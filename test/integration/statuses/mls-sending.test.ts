/** The statuses that we owe, the responses that our firms give, and the messages that carry them. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { newHand, startStatusWork, STATUS_STEPS } from "../../../actors/status-work.js";
import type { StatusWorkPorts } from "../../../actors/status-work.js";
import { systemClock } from "../../../engine/base/clock.js";
import { createCursors } from "../../../engine/base/cursors.js";
import { acknowledge, createInbox } from "../../../engine/documents/inbound/inbox.js";
import type { Inbox, Reader } from "../../../engine/documents/inbound/inbox.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { alertOverdueHeld, observeHeld } from "../../../engine/documents/inbound/held.js";
import { give, Leases, workOn } from "../../../engine/documents/delivery/leases.js";
import { leaseMessages } from "../../../engine/documents/delivery/service-dispatch.js";
import { leaseDuties, observePendingMls } from "../../../engine/documents/inbound/mls-duties.js";
import { openPayload } from "../../../engine/storage/payloads/payloads.js";
import { respond } from "../../../engine/documents/inbound/respond.js";
import type { RespondRequest } from "../../../engine/documents/inbound/respond.js";
import { readResponses } from "../../../engine/documents/reads/responses.js";
import { Refusal } from "../../../engine/base/errors.js";
import { newId } from "../../../engine/base/ids.js";
import type { DocumentId, FirmId, ParticipantId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Validators } from "../../../engine/documents/accept/facts.js";
import {
  BILLING_CAPABILITIES,
  BILLING_CUSTOMIZATION,
  SELF_BILLING_CUSTOMIZATION,
  SELF_BILLING_PROCESS,
} from "../../../engine/peppol/envelope/identifiers.js";
import { RESPONSE_OF_STATUS, RESPONSE_STATUSES } from "../../../engine/lifecycle/response.js";
import type { ResponseStatus } from "../../../engine/lifecycle/response.js";
import type { Exchange, InboundExchange, Outcome, Transport } from "../../../engine/peppol/transport.js";
import { findOperatorReceived, listOperatorReceived } from "../../../engine/storage/documents/operations.js";
import { acknowledgeReceived } from "../../../engine/storage/documents/received.js";
import { releaseServiceLeases, takeServiceMessages } from "../../../engine/storage/documents/service-messages.js";
import { attemptOnce, makeDue } from "../../support/worlds/attempts.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { sealedPayload, seedFirm } from "../../support/database/seed.js";
import { mlsExchange, OWN, pass, PEER_SEAT, statusBench, statusNode } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";
import { invoiceResponseIn, mlsIn } from "../../support/as4/responses.js";

const BUYER = "0245:2020202020" as ParticipantId;
const SELLER = "0245:1010101010" as ParticipantId;
const INVOICE = BILLING_CAPABILITIES[0] ?? { documentTypeId: "", processId: "" };
const clock = fakeClock();
let db: TestDatabase;
let bench: StatusBench;
let buyerFirm: FirmId;
let sellerFirm: FirmId;
/** What was handed to the transport, and what it answers; the default is a receipt of the peer. */
let handed: Exchange[];
let answer: (exchange: Exchange) => Outcome;
const wire: Transport = {
  deliver: (exchange) => {
    handed.push(exchange);
    return Promise.resolve(answer(exchange));
  },
};

beforeAll(async () => {
  db = await freshDatabase();
  bench = statusBench(db, clock, { transport: wire });
  buyerFirm = await seedFirm(db.sql, BUYER);
  sellerFirm = await seedFirm(db.sql, SELLER);
});
afterAll(async () => {
  await db.drop();
});
beforeEach(async () => {
  handed = [];
  answer = () => ({ kind: "receipt", peerSeat: PEER_SEAT });
  await db.sql`truncate mls_duty, service_message, service_attempt, exchange, inbound_status, report_submission, outbox`;
});

const goodInvoice = (number = `N-${randomUUID()}`): Buffer =>
  Buffer.from(
    sampleInvoice({
      sender: SELLER,
      receiver: BUYER,
      senderName: "Seller & sons",
      receiverName: "Buyer a. s.",
      number,
      issueDate: "2026-11-20",
      lines: 1,
    }),
  );
const arriving = (
  changes: Partial<InboundExchange> & { readonly type?: "FAILURE_ONLY" | "ALWAYS_SEND"; readonly to?: string } = {},
): InboundExchange => {
  const { type = "FAILURE_ONLY", to, ...rest } = changes;
  return {
    sender: SELLER,
    receiver: BUYER,
    ...INVOICE,
    as4MessageId: `${randomUUID()}@peer`,
    sbdhInstanceId: randomUUID(),
    createdAt: clock.now(),
    payload: goodInvoice(),
    envelope: { mls: { type, to }, countryC1: "AT", peerSeat: PEER_SEAT },
    ...rest,
  };
};
async function receive(exchange: InboundExchange): Promise<string> {
  const outcome = await bench.receive(exchange);
  if (outcome.kind !== "stored") throw new Error(outcome.kind);
  return outcome.id;
}
const judge = async (): Promise<void> => {
  while ((await STATUS_STEPS.duties(bench.node)) + (await STATUS_STEPS.largeDuties(bench.node)) > 0);
};
/** Received and judged: its firm sees it. */
async function receiveAndJudge(exchange: InboundExchange): Promise<ReceivedDocumentId> {
  const id = await receive(exchange);
  await judge();
  return id as ReceivedDocumentId;
}
const settle = async (): Promise<void> => {
  await judge();
  while ((await STATUS_STEPS.messages(bench.node)) > 0);
};
const said = (): (string | undefined)[] =>
  handed.map(({ payload }) => {
    const mls = mlsIn(payload);
    return typeof mls === "string" ? undefined : mls.code;
  });
const broken = (): Buffer =>
  Buffer.from(
    goodInvoice()
      .toString()
      .replace(/<cbc:PayableAmount([^>]*)>[^<]*</u, "<cbc:PayableAmount$1>1.00<"),
  );

test("a document that breaks the rules is always answered with RE: to the sender's provider, with the rules as reasons", async () => {
  const exchange = arriving({ payload: broken() });
  await receive(exchange);
  await settle();
  expect(handed).toHaveLength(1);
  expect(handed[0]).toMatchObject({ sender: OWN.participant, receiver: "0242:000777" });
  const mls = mlsIn(handed[0]?.payload ?? Buffer.alloc(0));
  if (typeof mls === "string") throw new Error(mls);
  expect(mls).toMatchObject({ code: "RE", reference: exchange.sbdhInstanceId, sender: "000001", receiver: "000777" });
  expect(mls.issues.some(({ reason, description }) => reason === "BV" && description.startsWith("[BR-CO-16]"))).toBe(
    true,
  );
});

test("a document whose syntax is wrong is answered with SV, also when it is no XML at all", async () => {
  await receive(arriving({ payload: Buffer.from("no XML") }));
  await receive(
    arriving({ payload: Buffer.from(goodInvoice().toString().replace("</cbc:ID>", "</cbc:ID><cbc:ID>2</cbc:ID>")) }),
  );
  await settle();
  const reasons = handed.map(({ payload }) => {
    const mls = mlsIn(payload);
    return typeof mls === "string" ? [mls] : mls.issues.map(({ reason }) => reason as string);
  });
  expect(reasons.map((all) => all.includes("SV"))).toEqual([true, true]);
});

test("nothing is said of a good document unless its sender asked", async () => {
  await receive(arriving());
  await settle();
  await pass(db.sql, clock, 86_400_000);
  await settle();
  expect(handed).toEqual([]);
});

test("ALWAYS_SEND: a document that its firm confirms in time is AP, another one AB, to where the sender wants it", async () => {
  const confirmed = await receive(arriving({ type: "ALWAYS_SEND" }));
  await receive(arriving({ type: "ALWAYS_SEND", to: "0242:123456-UNIT" }));
  await settle();
  expect(handed).toEqual([]);
  await acknowledgeReceived(db.sql, {
    firmId: buyerFirm,
    participantKey: BUYER,
    id: confirmed as ReceivedDocumentId,
    now: clock.now(),
  });
  await pass(db.sql, clock, LIMITS.mls_confirmation_wait_ms);
  await settle();
  expect(handed.map(({ receiver }, index) => `${receiver} ${said()[index]}`).sort()).toEqual([
    "0242:000777 AP",
    "0242:123456-UNIT AB",
  ]);
  // Both were delivered within the 20 minutes of the service level.
  expect(await bench.metric('mls_sent_duration_seconds_bucket{le="1200"}')).toBe(
    await bench.metric("mls_sent_duration_seconds_count"),
  );
  const rows = await db.sql<{ status_at: Date | null }[]>`select status_at from exchange where kind = 'business'`;
  expect(rows.map(({ status_at }) => status_at?.getTime())).toEqual([clock.now(), clock.now()]);
});

test("a type that we have no rules for is never rejected", async () => {
  const type = { documentTypeId: "urn:example:Order-2::Order##urn:example:order::2.1", processId: "urn:example:p" };
  await db.sql`insert into participant_capability (participant_key, document_type_id, process_id) values (${BUYER}, ${type.documentTypeId}, ${type.processId}) on conflict do nothing`;
  await receive(arriving({ ...type, type: "ALWAYS_SEND", payload: Buffer.from("<Order/>") }));
  await pass(db.sql, clock, LIMITS.mls_confirmation_wait_ms);
  await settle();
  expect(said()).toEqual(["AB"]);
});

test("a document that comes again owes no second status, and many nodes make one message of a duty", async () => {
  const exchange = arriving({ payload: broken() });
  await receive(exchange);
  expect((await bench.receive(exchange)).kind).toBe("duplicate");
  await Promise.all(Array.from({ length: 6 }, () => STATUS_STEPS.duties(statusNode(bench.ports))));
  await Promise.all(
    Array.from({ length: 6 }, (_, i) => STATUS_STEPS.messages(statusNode({ ...bench.ports, owner: `node/${i}` }))),
  );
  expect(handed).toHaveLength(1);
  expect(await db.sql`select id from service_message`).toHaveLength(1);
});

test("a duty whose node died between the decision and its write is decided again, into the same one message", async () => {
  await receive(arriving({ payload: broken() }));
  await db.sql`select id from take_mls_duties('dead/1', 1, 1)`;
  await eventually("the duty is taken again", async () => {
    await settle();
    return handed.length > 0;
  });
  expect(handed).toHaveLength(1);
});

test("attempts at a message keep its ids; it follows the plan and ends like a document", async () => {
  await receive(arriving({ payload: broken() }));
  const outcomes: Outcome[] = [
    { kind: "transport_failed" },
    { kind: "deferred", retryAfter_ms: 5_000 },
    { kind: "unconfirmed" },
    { kind: "already_handed_over", peerSeat: PEER_SEAT },
  ];
  answer = () => outcomes[handed.length - 1] ?? { kind: "internal" };
  for (let i = 0; i < 4; i += 1) {
    await settle();
    await pass(db.sql, clock, 3_600_000);
  }
  expect(handed).toHaveLength(4);
  expect(new Set(handed.map(({ as4MessageId, sbdhInstanceId }) => `${as4MessageId} ${sbdhInstanceId}`)).size).toBe(1);
  expect(await db.sql`select status, attempts from service_message`).toMatchObject([
    { status: "delivered", attempts: 3 },
  ]);
  expect(await db.sql`select number, outcome from service_attempt order by number`).toMatchObject([
    { number: 1, outcome: "transport_failed" },
    { number: 2, outcome: "unconfirmed" },
    { number: 3, outcome: "already_handed_over" },
  ]);
});

test("a message that is older than its plan waits on while only a place is wanting, and ends when its receiver is down", async () => {
  await receive(arriving({ payload: broken() }));
  answer = () => ({ kind: "deferred", code: "full", retryAfter_ms: 1_000, keepsPlace: true });
  const status = async (): Promise<unknown> => (await db.sql`select status, attempts from service_message`)[0];
  for (let i = 1; i <= 3; i += 1) {
    await settle();
    await pass(db.sql, clock, 3 * 86_400_000);
    expect(handed).toHaveLength(i);
    expect(await status()).toEqual({ status: "queued", attempts: 0 });
  }
  answer = () => ({ kind: "deferred", code: "down", retryAfter_ms: 1_000 });
  await settle();
  expect(await status()).toMatchObject({ status: "send_failed" });
});

test("a message that nobody takes ends when its plan is used up", async () => {
  await receive(arriving({ payload: broken() }));
  answer = () => ({ kind: "recipient_unregistered" });
  for (let i = 0; i <= LIMITS.retry_plan_ms.length + 3; i += 1) {
    await settle();
    await pass(db.sql, clock, 2 * 86_400_000);
  }
  expect(handed).toHaveLength(LIMITS.retry_plan_ms.length + 1);
  expect(await db.sql`select status, status_reason from service_message`).toMatchObject([
    { status: "send_failed", status_reason: "recipient_unregistered" },
  ]);
  await observePendingMls(bench.ports);
  expect(await bench.metric("mls_pending_oldest_seconds")).toBe(0);
});

test("a message whose node died in mid-attempt is sent again under the same ids, and the late end of the first attempt is refused", async () => {
  await receive(arriving({ payload: broken() }));
  await STATUS_STEPS.duties(bench.node);
  let release: (outcome: Outcome) => void = () => undefined;
  const stuck: Transport = {
    deliver: (exchange) => {
      handed.push(exchange);
      return new Promise((resolve) => {
        release = resolve;
      });
    },
  };
  const dying = STATUS_STEPS.messages(statusNode({ ...bench.ports, transport: stuck, owner: "dead/1" }));
  await eventually("the attempt is under way", () => handed.length === 1);
  expect(await STATUS_STEPS.messages(bench.node)).toBe(0);
  expect(await releaseServiceLeases(db.sql, "dead")).toBe(1);
  await settle();
  release({ kind: "peer_refused" });
  await dying;
  expect(handed).toHaveLength(2);
  expect(handed[1]?.as4MessageId).toBe(handed[0]?.as4MessageId);
  expect(await db.sql`select status from service_message`).toMatchObject([{ status: "delivered" }]);
});

test("attempts at a message that the death of its node cut use nothing of its plan, nor do faults of ours, which never end it", async () => {
  await receive(arriving({ payload: broken() }));
  await judge();
  for (let i = 0; i < 20; i += 1) {
    const [cut] = await takeServiceMessages(db.sql, { owner: "dead/1", lease_ms: 0, limit: 1 });
    expect(cut?.attempt).toBe(i + 1);
  }
  answer = () => ({ kind: "internal" });
  for (let i = 0; i < LIMITS.retry_plan_ms.length + 3; i += 1) {
    await settle();
    await pass(db.sql, clock, LIMITS.fault_wait_max_ms);
  }
  answer = () => ({ kind: "peer_busy" });
  await settle();
  expect(handed.at(-1)?.answers).toBe(0);
  expect(await db.sql`select status, answers, faults from service_message`).toEqual([
    { status: "queued", answers: 1, faults: 0 },
  ]);
  expect(
    await db.sql`select outcome, count(*)::integer as n from service_attempt group by outcome order by outcome`,
  ).toEqual([
    { outcome: "cut", n: 20 },
    { outcome: "internal", n: LIMITS.retry_plan_ms.length + 3 },
    { outcome: "peer_busy", n: 1 },
  ]);
});

const databaseNow = async (): Promise<number> =>
  (await db.sql<{ now: Date }[]>`select date_trunc('milliseconds', clock_timestamp()) as now`)[0]?.now.getTime() ?? NaN;

test("a status is not sent before the receipt of what it is about, and waits in longer and longer steps without using up its plan", async () => {
  const id = await receive(arriving({ payload: broken() }));
  await judge();
  let isReceipted = false;
  const node = statusNode({ ...bench.ports, isReceipted: (about) => Promise.resolve(about === id && isReceipted) });
  for (const [wait_ms, next_ms] of [
    [0, 1_000],
    [1_000, 1_000],
    [9_000, 2_500],
  ] as const) {
    await pass(db.sql, clock, wait_ms);
    const before = await databaseNow();
    expect(await STATUS_STEPS.messages(node)).toBe(1);
    const [message] = await db.sql<
      { attempts: number; answers: number; due: Date }[]
    >`select attempts, answers, next_attempt_at as due from service_message where about = ${id}`;
    expect(message).toMatchObject({ attempts: 0, answers: 0 });
    const due = message?.due.getTime() ?? 0;
    expect(due).toBeGreaterThanOrEqual(before + next_ms);
    expect(due).toBeLessThanOrEqual((await databaseNow()) + next_ms);
  }
  expect(handed).toHaveLength(0);
  isReceipted = true;
  await pass(db.sql, clock, 2_500);
  expect(await STATUS_STEPS.messages(node)).toBe(1);
  expect(said()).toEqual(["RE"]);
});

describe("nodes whose clocks are two minutes apart", () => {
  const nodeAt = (skew_ms: number): StatusBench =>
    statusBench(db, fakeClock(systemClock.now() + skew_ms), { transport: wire, owner: `skewed/${skew_ms}` });
  const SKEW_MS = 120_000;

  test.each([
    [SKEW_MS, -SKEW_MS],
    [-SKEW_MS, SKEW_MS],
  ])(
    "what the node at %i ms has received, the node at %i ms judges and answers at once, and neither hurries nor delays the next attempt",
    async (receiving_ms, working_ms) => {
      const [receiving, working] = [nodeAt(receiving_ms), nodeAt(working_ms)];
      const stored = await receiving.receive(arriving({ payload: broken() }));
      expect(stored.kind).toBe("stored");
      expect(await STATUS_STEPS.duties(working.node)).toBe(1);
      answer = () => ({ kind: "peer_busy" });
      expect(await STATUS_STEPS.messages(receiving.node)).toBe(1);
      expect([await STATUS_STEPS.messages(receiving.node), await STATUS_STEPS.messages(working.node)]).toEqual([0, 0]);
      await pass(db.sql, clock, (LIMITS.retry_plan_ms[0] ?? 0) * (1 + LIMITS.retry_jitter_share));
      answer = () => ({ kind: "receipt", peerSeat: PEER_SEAT });
      expect(await STATUS_STEPS.messages(working.node)).toBe(1);
      expect(said()).toEqual(["RE", "RE"]);
    },
  );

  test("a status that the node ahead has received is followed by the node behind at once", async () => {
    const [ahead, behind] = [nodeAt(SKEW_MS), nodeAt(-SKEW_MS)];
    const document = await ahead.document(sellerFirm, SELLER, { receiver: BUYER });
    await ahead.trigger(document.id, "receipt_confirmed");
    const status = mlsExchange(fakeClock(systemClock.now() + SKEW_MS), document.sbdhInstanceId, "AP");
    expect((await ahead.receive(status)).kind).toBe("stored");
    expect(await STATUS_STEPS.statuses(behind.node)).toBe(1);
    expect(await db.sql`select outcome from inbound_status`).toEqual([{ outcome: "applied" }]);
  });
});

test("the age of the oldest status that is due is a metric", async () => {
  await receive(arriving({ payload: broken() }));
  clock.advance(90_000);
  await observePendingMls(bench.ports);
  expect(await bench.metric("mls_pending_oldest_seconds")).toBe(90);
  answer = () => ({ kind: "transport_failed" });
  await settle();
  await observePendingMls(bench.ports);
  expect(await bench.metric("mls_pending_oldest_seconds")).toBe(90);
});

test("a receipt for a document is recorded once for the reports; what failed is not", async () => {
  const id = newId(clock) as DocumentId;
  const payload = sealedPayload(bench.ports.sealer, id);
  await bench.document(sellerFirm, SELLER, { id, facts: { supplierCountry: "CZ" }, ...payload });
  const recorded = (): Promise<unknown[]> =>
    Promise.resolve(
      db.sql`select direction, kind, c2_seat, c3_seat, c1_country, end_user from exchange where id = ${id}`,
    );
  answer = () => ({ kind: "unconfirmed" });
  expect(await attemptOnce({ ...bench.ports, transport: wire }, id)).toBe(true);
  expect(await recorded()).toEqual([]);
  answer = () => ({ kind: "receipt", peerSeat: PEER_SEAT });
  await makeDue(db.sql, id);
  expect(await attemptOnce({ ...bench.ports, transport: wire }, id)).toBe(true);
  expect(await attemptOnce({ ...bench.ports, transport: wire }, id), "it is delivered").toBe(false);
  expect(await recorded()).toEqual([
    {
      direction: "outgoing",
      kind: "business",
      c2_seat: OWN.seat,
      c3_seat: PEER_SEAT,
      c1_country: "CZ",
      end_user: SELLER,
    },
  ]);
});

const inbox = (): Inbox =>
  createInbox({ clock, sql: db.sql, sealer: bench.ports.sealer, cursors: createCursors(Buffer.alloc(32, 7)) });
const buyer = (): Reader => ({ firmId: buyerFirm, participantId: BUYER });
const listed = async (reader = buyer()): Promise<string[]> => {
  const { documents } = await inbox().list({ reader, status: "RECEIVED", limit: 100, pageToken: undefined });
  return documents.map(({ id }) => id);
};
const stateOf = async (id: string): Promise<string | undefined> =>
  (await db.sql<{ status: string }[]>`select status from received_document where id = ${id}`)[0]?.status;
/** Everything that a firm could try with a document that it is not shown. */
async function attempts(id: string, reader = buyer()): Promise<string[]> {
  const document = id as ReceivedDocumentId;
  const tries = [
    () => inbox().read(reader, document),
    () => acknowledge(bench.ports, reader, { id: document }),
    () => respond(respondPorts(), request(id, { firmId: reader.firmId })),
  ];
  const reasons: string[] = [];
  for (const attempt of tries)
    reasons.push(
      await attempt().then(
        () => "done",
        (error: unknown) => (error instanceof Refusal ? error.reason : "thrown"),
      ),
    );
  return reasons;
}

test("a received document is shown to its firm once it was judged, and is nothing to it before", async () => {
  const id = await receive(arriving());
  expect(await listed()).not.toContain(id);
  expect(await attempts(id)).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
  await judge();
  expect(await listed()).toContain(id);
  expect(await attempts(id)).toEqual(["done", "done", "done"]);
});

test("rulings §14: a participant that moves to another firm takes none of the received documents along, and leaves the new firm's alone", async () => {
  const moved: Reader = { firmId: await seedFirm(db.sql, "0245:2000000099"), participantId: BUYER };
  const old = await receiveAndJudge(arriving());
  const [before, first] = [
    await listed(),
    await inbox().list({ reader: buyer(), status: "RECEIVED", limit: 1, pageToken: undefined }),
  ];
  expect(before).toContain(old);
  await db.sql`update participant set firm_id = ${moved.firmId} where key = ${BUYER}`;
  const fresh = await receiveAndJudge(arriving());
  await db.sql`update participant set firm_id = ${buyerFirm} where key = ${BUYER}`;
  expect(await listed(moved)).toEqual([fresh]);
  expect(await listed()).toEqual(before);
  expect(await attempts(old, moved)).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
  expect(await attempts(fresh)).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
  // What the participant took while it was the other firm's stays that firm's; nobody answers in a name that is not his.
  expect(await attempts(fresh, moved)).toEqual(["done", "done", "NOT_FOUND"]);
  const next = { reader: moved, status: "RECEIVED", limit: 1, pageToken: first.nextPageToken ?? "" } as const;
  await expect(inbox().list(next)).rejects.toMatchObject({ reason: "REQUEST_INVALID" });
});

test("rulings §14: what one participant of a firm has received is in no list of another participant of that firm, and cannot be read or acknowledged there", async () => {
  const second: Reader = { firmId: buyerFirm, participantId: "0245:2020202021" as ParticipantId };
  await db.sql`insert into participant (key, id, firm_id, registered_at)
    values (${second.participantId}, ${second.participantId}, ${buyerFirm}, now())`;
  const id = await receiveAndJudge(arriving());
  expect(await listed()).toContain(id);
  expect(await listed(second)).toEqual([]);
  expect((await attempts(id, second)).slice(0, 2)).toEqual(["NOT_FOUND", "NOT_FOUND"]);
});

test("a document that is answered with RE is never shown, read, acknowledged or answered; operators find it with its findings", async () => {
  const id = await receive(arriving({ payload: broken() }));
  await settle();
  expect(said()).toEqual(["RE"]);
  expect(await listed()).not.toContain(id);
  expect(await attempts(id)).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
  const query = { status: "REFUSED", participantKey: BUYER, since: undefined, limit: 200 } as const;
  expect((await listOperatorReceived(db.sql, query)).map((document) => document.id)).toContain(id);
  expect(await findOperatorReceived(db.sql, id as ReceivedDocumentId)).toMatchObject({
    status: "REFUSED",
    firmId: buyerFirm,
    acknowledgedAt: null,
    findings: expect.arrayContaining([expect.objectContaining({ ruleId: "BR-CO-16", severity: "fatal" })]) as unknown,
  });
  // The corrected one that its sender sends is the only one that the firm has.
  const corrected = await receiveAndJudge(arriving());
  expect((await listed()).filter((one) => one === id || one === corrected)).toEqual([corrected]);
});

test("what nobody judges is shown at once: a type without rules, and a document whose sender cannot be told", async () => {
  const type = { documentTypeId: "urn:example:Order-3::Order##urn:example:order::2.1", processId: "urn:example:p" };
  await db.sql`insert into participant_capability (participant_key, document_type_id, process_id) values (${BUYER}, ${type.documentTypeId}, ${type.processId}) on conflict do nothing`;
  const order = await receive(arriving({ ...type, payload: Buffer.from("<Order/>") }));
  const nameless = await receive(
    arriving({
      payload: broken(),
      envelope: { mls: { type: "FAILURE_ONLY", to: undefined }, countryC1: "AT", peerSeat: "no seat" },
    }),
  );
  expect(await listed()).toEqual(expect.arrayContaining([order, nameless]));
});

/** A node whose validators answer so. */
const nodeWith = (inspect: Validators["inspect"]) =>
  statusNode({ ...bench.ports, validators: { ...bench.ports.validators, inspect } });
const release = (id: string): Promise<boolean> => bench.node.actors.ask(bench.node.document, id, "Release", null);

test("held documents are unpacked to be judged within their octets, of one firm half of them, and small ones and those of another firm stand behind nobody", async () => {
  const large = Buffer.concat([goodInvoice(), Buffer.alloc(1_000_000, " ")]);
  // Bounded by the documents of this test.
  const judging: { readonly firm: string; readonly go: () => void }[] = [];
  const most = { all: 0, buyer: 0 };
  const of = (firm: FirmId): number => judging.filter((one) => one.firm === `received/${firm}`).length;
  let isSmallJudged = false;
  const node = statusNode({
    ...bench.ports,
    judged_bytes_max: 4.5 * large.length,
    validators: {
      ...bench.ports.validators,
      inspect: async (payload, options) => {
        if (payload.length < large.length) isSmallJudged = true;
        else
          await new Promise<void>((go) => {
            judging.push({ firm: options.fairnessKey, go });
            most.all = Math.max(most.all, judging.length);
            most.buyer = Math.max(most.buyer, of(buyerFirm));
          });
        return bench.ports.validators.inspect(payload, options);
      },
    },
  });
  for (let i = 0; i < 6; i += 1) await receive(arriving({ payload: large }));
  for (let i = 0; i < 3; i += 1) await receive(arriving({ sender: BUYER, receiver: SELLER, payload: large }));
  await receive(arriving());
  const judged = Promise.all([STATUS_STEPS.duties(node), STATUS_STEPS.largeDuties(node)]);
  await eventually("the small one and two of each firm are being judged", () =>
    [of(buyerFirm) >= 2, of(sellerFirm) >= 2, isSmallJudged].every(Boolean),
  );
  for (let ended = 0; ended < 9; ended += 1) {
    await eventually("another large one is being judged", () => judging.length > 0);
    judging.shift()?.go();
  }
  expect(await judged).toEqual([1, 9]);
  expect(most).toEqual({ all: 4, buyer: 2 });
});

test.each([
  ["the validators are full", () => Promise.reject(new Refusal("TEMPORARY"))],
  ["the validators throw", () => Promise.reject(new RangeError("a bug"))],
] as const)(
  "a document that cannot be judged because %s stays held, operators are told, and it is judged when it can be",
  async (_, inspect) => {
    const broken_node = nodeWith(inspect);
    const id = await receive(arriving({ payload: broken() }));
    for (let step = 0; step < 60; step += 1) {
      await pass(db.sql, clock, LIMITS.status_early_max_ms);
      await STATUS_STEPS.duties(broken_node);
    }
    expect(await listed()).not.toContain(id);
    expect(await attempts(id)).toEqual(["NOT_FOUND", "NOT_FOUND", "NOT_FOUND"]);
    await observeHeld(bench.ports);
    expect(await bench.metric("received_held_overdue")).toBe(1);
    const told: unknown[] = [];
    const log = { ...bench.ports.log, error: (event: string, fields: unknown) => told.push([event, fields]) };
    expect(await alertOverdueHeld({ ...bench.ports, log })).toBe(1);
    expect(told).toEqual([["inbound.held_overdue", { count: 1 }]]);
    const query = { status: "HELD", participantKey: BUYER, since: undefined, limit: 200 } as const;
    expect((await listOperatorReceived(db.sql, query)).map((document) => document.id)).toEqual([id]);
    await pass(db.sql, clock, LIMITS.status_early_max_ms);
    await settle();
    expect([await stateOf(id), said()]).toEqual(["REFUSED", ["RE"]]);
  },
);

test("an operator shows a held document to its firm; then it is not rejected any more, and its firm's AP or AB is said as ever", async () => {
  const silent = await receive(arriving({ payload: broken() }));
  const asked = await receive(arriving({ payload: broken(), type: "ALWAYS_SEND" }));
  expect(await Promise.all([silent, asked].map(release))).toEqual([true, true]);
  expect(await Promise.all([silent, asked].map(release))).toEqual([false, false]);
  await judge();
  await pass(db.sql, clock, LIMITS.mls_confirmation_wait_ms);
  await settle();
  expect(said()).toEqual(["AB"]);
  expect(await listed()).toEqual(expect.arrayContaining([silent, asked]));
  expect(await bench.metric('received_verdicts_total{verdict="released"}')).toBe(2);
});

test("a rejection whose findings cannot be written is written without them", async () => {
  const half = {
    ruleId: "R-1",
    layer: "schema",
    severity: "fatal",
    location: "/Invoice/\ud800",
    message: "m\u0000",
  } as const;
  const node = nodeWith((payload) =>
    Promise.resolve({
      valid: false,
      wellFormed: false,
      findings: [half],
      facts: undefined,
      payloadSha256: "",
      ruleSet: String(payload.length),
    }),
  );
  const id = await receive(arriving());
  await STATUS_STEPS.duties(node);
  expect(await stateOf(id)).toBe("REFUSED");
  await settle();
  expect(said()).toEqual(["RE"]);
  expect(await findOperatorReceived(db.sql, id as ReceivedDocumentId)).toMatchObject({
    findings: [expect.objectContaining({ ruleId: "ENGINE-FINDINGS" })],
  });
});

test("a finding deep in a stranger's extension with characters beyond the first plane does not let its document escape", async () => {
  const names = ["x:aa", ...Array.from({ length: 39 }, () => "x:a")].map((name) => name + "\u{10000}".repeat(60));
  const nested =
    names.map((name, i) => `<${name}${i === 0 ? ' xmlns:x="urn:x"' : ""}>`).join("") +
    names
      .toReversed()
      .map((name) => `</${name}>`)
      .join("");
  const extension = `<ext:UBLExtensions xmlns:ext="urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2"><ext:UBLExtension><ext:ExtensionContent>${nested}</ext:ExtensionContent></ext:UBLExtension></ext:UBLExtensions>`;
  const id = await receive(
    arriving({
      payload: Buffer.from(broken().toString().replace("<cbc:CustomizationID>", `${extension}<cbc:CustomizationID>`)),
    }),
  );
  await settle();
  expect([await stateOf(id), said()]).toEqual(["REFUSED", ["RE"]]);
});

test("a verdict and an operator at the same moment: either the firm has the document or its sender has the rejection, never both", async () => {
  for (let round = 0; round < 12; round += 1) {
    const id = await receive(arriving({ payload: broken() }));
    const steps = [() => STATUS_STEPS.duties(statusNode(bench.ports)), () => release(id)];
    await Promise.all((round % 2 === 0 ? steps : steps.toReversed()).map((step) => step()));
    await db.sql`update mls_duty set lease_until = null`;
    await settle();
    const rejected = (await db.sql`select 1 from service_message where about = ${id}`).length === 1;
    expect([await stateOf(id), rejected]).toEqual(rejected ? ["REFUSED", true] : ["RECEIVED", false]);
    expect((await listed()).includes(id)).toBe(!rejected);
  }
});

test("a verdict that finds its document shown already says nothing of it", async () => {
  const id = await receive(arriving({ payload: broken() }));
  const [leased] = await leaseDuties(bench.ports);
  if (leased === undefined) throw new Error("nothing is due");
  expect(await release(id)).toBe(true);
  await bench.node.actors.ask(bench.node.document, id, "Judge", new Leases<typeof leased>().hold(leased));
  expect(await stateOf(id)).toBe("RECEIVED");
  expect(await db.sql`select 1 from service_message`).toHaveLength(0);
});

describe("what the envelope declares decides", () => {
  const selfBilling = INVOICE.documentTypeId.replace(BILLING_CUSTOMIZATION, SELF_BILLING_CUSTOMIZATION);
  const rewritten = (from: string, to: string): Buffer => Buffer.from(goodInvoice().toString().replace(from, to));
  const endpoint = (participant: string): string => `>${participant.slice(5)}</cbc:EndpointID>`;

  test.each([
    [
      "another root",
      { documentTypeId: INVOICE.documentTypeId.replaceAll("Invoice", "CreditNote") },
      "ENGINE-DOCUMENT-TYPE",
    ],
    [
      "EN 16931 alone",
      { payload: rewritten(BILLING_CUSTOMIZATION, "urn:cen.eu:en16931:2017") },
      "ENGINE-CUSTOMIZATION",
    ],
    [
      "an extension of its type",
      { payload: rewritten(BILLING_CUSTOMIZATION, `${BILLING_CUSTOMIZATION}#conformant#urn:x`) },
      "ENGINE-CUSTOMIZATION",
    ],
    [
      "self-billing under the billing type",
      { payload: rewritten(BILLING_CUSTOMIZATION, SELF_BILLING_CUSTOMIZATION) },
      "ENGINE-CUSTOMIZATION",
    ],
    [
      "billing under the self-billing type",
      { documentTypeId: selfBilling, processId: SELF_BILLING_PROCESS },
      "ENGINE-CUSTOMIZATION",
    ],
    ["another process", { processId: SELF_BILLING_PROCESS }, "ENGINE-PROCESS"],
    ["another sender", { payload: rewritten(endpoint(SELLER), endpoint("0245:3030303030")) }, "ENGINE-SENDER"],
    ["another receiver", { payload: rewritten(endpoint(BUYER), endpoint("0245:3030303030")) }, "ENGINE-RECEIVER"],
  ] as const)(
    "a payload that says %s of itself than its envelope is answered with RE, and its firm never sees it",
    async (_, changes, ruleId) => {
      const id = await receive(arriving(changes));
      await settle();
      expect([await stateOf(id), said()]).toEqual(["REFUSED", ["RE"]]);
      const found = await findOperatorReceived(db.sql, id as ReceivedDocumentId);
      expect((found?.findings as { ruleId: string }[])[0]?.ruleId).toBe(ruleId);
    },
  );
});

test("a document whose node died while it was judged stays held and is judged by another", async () => {
  const id = await receive(arriving({ payload: broken() }));
  await db.sql`select id from take_mls_duties('dead/1', 1, 1)`;
  expect(await listed()).not.toContain(id);
  await eventually("the duty is taken again", async () => {
    await settle();
    return (await stateOf(id)) === "REFUSED";
  });
  expect(said()).toEqual(["RE"]);
});

test("what a dead process was judging is judged at once by the next one on its data", async () => {
  const id = await receive(arriving({ payload: broken() }));
  await leaseDuties({ ...bench.ports, owner: "dead/1" });
  await judge();
  expect(await stateOf(id)).toBe("HELD");
  expect([
    await releaseServiceLeases(db.sql, "deadly"),
    await releaseServiceLeases(db.sql, "dead"),
    await releaseServiceLeases(db.sql, "dead"),
  ]).toEqual([0, 1, 0]);
  await settle();
  expect([await stateOf(id), said()]).toEqual(["REFUSED", ["RE"]]);
});

/** Leases that were taken this long ago. */
const taken = (ago_s: number): PromiseLike<unknown> => db.sql`
  with duties as (update mls_duty set lease_until = lease_until - ${ago_s} * interval '1 second')
  update service_message set lease_until = lease_until - ${ago_s} * interval '1 second'`;

test("a lease of a living process that it does not work on is found: the document is judged, the status sent", async () => {
  const id = await receive(arriving({ payload: broken() }));
  const tenth = 2 * (LIMITS.lease_young_ms / 1_000);
  expect(await leaseDuties(bench.ports), "the answer of this claim is lost").toHaveLength(1);
  await taken(tenth);
  const judging = startStatusWork(bench.node);
  await eventually("the document is judged", async () => (await stateOf(id)) === "REFUSED");
  await eventually("its status is sent", async () => {
    const sent = await db.sql`select 1 from service_message where status = 'delivered' and kind = 'mls'`;
    return sent.length === 1;
  });
  await judging.stop();
  await receive(arriving({ payload: broken() }));
  await STATUS_STEPS.duties(bench.node);
  const claimed = await leaseMessages(bench.ports);
  expect(
    claimed.filter(({ kind }) => kind === "mls"),
    "and that of this one",
  ).toHaveLength(1);
  await taken(tenth);
  const sending = startStatusWork(bench.node);
  await eventually("both statuses are sent", async () => {
    const sent = await db.sql`
      select attempts from service_message where status = 'delivered' and kind = 'mls' order by attempts`;
    return sent.map(({ attempts }) => attempts as number).join() === "1,2";
  });
  await sending.stop();
});

test("a lease that is worked on stays, however old it is, and so does a young one", async () => {
  await receive(arriving({ payload: broken() }));
  await receive(arriving({ payload: broken() }));
  const hand = newHand();
  const [one] = await leaseDuties(bench.ports);
  if (one === undefined) throw new Error("nothing is due");
  expect(await STATUS_STEPS.leases({ ...bench.node, hand })).toBe(0);
  const held = hand.duties.hold(one);
  await taken(2 * (LIMITS.lease_young_ms / 1_000));
  expect(await STATUS_STEPS.leases({ ...bench.node, hand }), "the other is nobody's").toBe(1);
  held.end();
  expect(await STATUS_STEPS.leases({ ...bench.node, hand })).toBe(1);
});

/** A node that is sending a status, until it is told what becomes of that. */
async function sending(owner: string): Promise<{
  readonly node: StatusWorkPorts;
  readonly end: (outcome: Outcome) => Promise<unknown>;
}> {
  await receive(arriving({ payload: broken() }));
  await judge();
  let end = (_: Outcome): void => undefined;
  const over = new Promise<Outcome>((resolve) => {
    end = resolve;
  });
  const slow: Transport = {
    deliver: (exchange) => {
      handed.push(exchange);
      return handed.length === 1 ? over : Promise.resolve(answer(exchange));
    },
  };
  const hand = newHand();
  const node = { ...statusNode({ ...bench.ports, transport: slow, owner }), hand };
  const sent = STATUS_STEPS.messages(node);
  await eventually("the attempt is under way", () => handed.length === 1);
  return {
    node,
    end: (outcome) => {
      end(outcome);
      return sent;
    },
  };
}

test("a status that a living process is sending is sent by no other, however long that outlives its lease", async () => {
  const { node, end } = await sending("owner/1");
  for (let part = 0; part < 4; part += 1) {
    await taken((0.6 * LIMITS.status_lease_ms) / 1_000);
    expect(await STATUS_STEPS.leases(node), "nothing is free").toBe(0);
    expect(await STATUS_STEPS.messages(bench.node)).toBe(0);
  }
  await end({ kind: "receipt", peerSeat: PEER_SEAT });
  expect(handed).toHaveLength(1);
  expect(await db.sql`select status, attempts from service_message`).toEqual([{ status: "delivered", attempts: 1 }]);
});

test("a document that a living process judges is judged by no other, however long that outlives its lease", async () => {
  await receive(arriving({ payload: broken() }));
  const hand = newHand();
  const [duty] = await leaseDuties(bench.ports);
  if (duty === undefined) throw new Error("nothing is due");
  hand.duties.hold(duty);
  for (let part = 0; part < 4; part += 1) {
    await taken((0.6 * LIMITS.status_lease_ms) / 1_000);
    expect(await STATUS_STEPS.leases({ ...bench.node, hand }), "nothing is free").toBe(0);
    expect(await leaseDuties({ ...bench.ports, owner: "other/1" })).toEqual([]);
  }
});

test.each([
  ["and its receipt is the delivery", { kind: "receipt", peerSeat: PEER_SEAT }, 1],
  ["and is sent anew when that has ended without a receipt", { kind: "peer_busy" }, 2],
] as const)(
  "a status whose lease has run out is not sent a second time by the process that is still sending it, %s",
  async (_, first, times) => {
    const { node, end } = await sending("owner/1");
    await taken(LIMITS.status_lease_ms / 1_000 + 1);
    const again = STATUS_STEPS.messages(node);
    await eventually("it is taken again", async () => {
      const rows = await db.sql`select 1 from service_message where lease_until > clock_timestamp()`;
      return rows.length === 1;
    });
    await end(first);
    await again;
    expect(handed).toHaveLength(1);
    await taken(2 * (LIMITS.lease_young_ms / 1_000));
    await STATUS_STEPS.leases(node);
    await STATUS_STEPS.messages(node);
    expect(handed).toHaveLength(times);
    expect(await db.sql`select status from service_message`).toEqual([{ status: "delivered" }]);
  },
);

test("work under lease is begun once, and never after it was given up", async () => {
  const leases = new Leases<{ readonly id: string }>();
  const held = leases.hold({ id: "1" });
  await expect(give(held, () => Promise.reject(new Error("no turn")))).rejects.toThrow("no turn");
  const worked: string[] = [];
  const work = ({ id }: { readonly id: string }): Promise<void> => {
    worked.push(id);
    return Promise.resolve();
  };
  await workOn(held, work);
  const again = leases.hold({ id: "2" });
  await give(again, (one) => workOn(one, work));
  await workOn(again, work);
  expect([worked, leases.ids()]).toEqual([["2"], []]);
});

test("documents are listed in the order of their arrival, also when an earlier one was judged later", async () => {
  const first = await receive(arriving());
  const second = await receive(arriving());
  for (const lease of (await leaseDuties(bench.ports)).toReversed())
    await bench.node.actors.ask(bench.node.document, lease.id, "Judge", new Leases<typeof lease>().hold(lease));
  expect((await listed()).filter((id) => id === first || id === second)).toEqual([first, second]);
});

const request = (documentId: string, changes: Partial<RespondRequest> = {}): RespondRequest => ({
  firmId: buyerFirm,
  documentId: documentId as ReceivedDocumentId,
  status: "accepted",
  note: undefined,
  ...changes,
});
/** The answers to a document as its firm lists them. */
const answersOf = async (id: string) => (await readResponses(bench.ports, buyerFirm, id)).responses;
const respondPorts = (): Parameters<typeof respond>[0] => ({ ...bench.ports, poke: () => undefined });

test.each(Object.entries(RESPONSE_OF_STATUS))(
  "the answer %s goes out as %s and says whose invoice it is about",
  async (status, code) => {
    const id = await receiveAndJudge(arriving({ payload: goodInvoice("F-17") }));
    const reply = await respond(
      respondPorts(),
      request(id, { status: status as keyof typeof RESPONSE_OF_STATUS, note: "Thank you." }),
    );
    expect(reply).toMatchObject({
      id,
      idempotent: false,
      response: { status, direction: "sent", delivery: "queued", reason: "Thank you." },
    });
    await settle();
    expect(handed[0]).toMatchObject({ sender: BUYER, receiver: SELLER, firmId: buyerFirm });
    expect(invoiceResponseIn(handed[0]?.payload ?? Buffer.alloc(0))).toMatchObject({
      code,
      sender: BUYER,
      receiver: SELLER,
      invoice: { number: "F-17", issueDate: "2026-11-20", typeCode: "380" },
    });
    expect(handed[0]?.payload.toString()).toContain("<cbc:RegistrationName>Seller &amp; sons<");
    expect(await answersOf(id)).toMatchObject([{ status: code, delivery: "sent", reason: "Thank you." }]);
  },
);

test("an answer was given at one instant, whoever tells of it: the message in whole seconds, the reply and the list", async () => {
  const id = await receiveAndJudge(arriving());
  let reads = 0;
  // A second goes by between any two looks, as it may between reading an invoice and storing what answers it.
  const slow = { ...clock, now: () => clock.now() + (reads += 1) * 1_500 };
  const { response } = await respond({ ...respondPorts(), clock: slow }, request(id));
  await pass(db.sql, clock, 60_000);
  await settle();
  const told = invoiceResponseIn(handed[0]?.payload ?? Buffer.alloc(0));
  if (typeof told === "string") throw new Error(told);
  const respondedAt = Date.parse(response.respondedAt);
  expect(told.issuedAt).toBe(respondedAt - (respondedAt % 1_000));
  expect(await answersOf(id)).toMatchObject([{ respondedAt: response.respondedAt }]);
});

test("the answer names its addressee as the document does, also in a large one and in self-billing, where the buyer is the sender", async () => {
  const large = Buffer.from(
    sampleInvoice({
      sender: SELLER,
      receiver: BUYER,
      senderName: "Large & sons",
      receiverName: "Buyer a. s.",
      number: "L-1",
      issueDate: "2026-11-20",
      lines: 700,
    }),
  );
  expect(large.length).toBeGreaterThan(512 * 1024);
  const selfBilled = Buffer.from(
    goodInvoice("S-1")
      .toString()
      .replace(/<cbc:CustomizationID>[^<]*</u, `<cbc:CustomizationID>${SELF_BILLING_CUSTOMIZATION}<`)
      .replace(/<cbc:ProfileID>[^<]*</u, `<cbc:ProfileID>${SELF_BILLING_PROCESS}<`)
      .replace("<cbc:InvoiceTypeCode>380<", "<cbc:InvoiceTypeCode>389<"),
  );
  const type = BILLING_CAPABILITIES.find(
    ({ processId, documentTypeId }) => processId === SELF_BILLING_PROCESS && documentTypeId.includes("Invoice"),
  );
  if (type === undefined) throw new Error("no such type");
  // The supplier receives the invoice that its customer made.
  const selfBilling = { ...type, sender: BUYER, receiver: SELLER, payload: selfBilled };
  const ids = [await receiveAndJudge(arriving({ payload: large })), await receiveAndJudge(arriving(selfBilling))];
  await settle();
  handed.length = 0;
  await respond(respondPorts(), request(ids[0] ?? ""));
  await respond(respondPorts(), request(ids[1] ?? "", { firmId: sellerFirm }));
  await settle();
  const texts = handed.map(({ payload }) => payload.toString());
  expect(texts.map((text) => /<cac:ReceiverParty>.*<cbc:RegistrationName>([^<]*)</u.exec(text)?.[1]).sort()).toEqual([
    "Buyer a. s.",
    "Large &amp; sons",
  ]);
});

test("what is no invoice is not answered with an Invoice Response", async () => {
  const type = { documentTypeId: "urn:example:Order-4::Order##urn:example:order::2.1", processId: "urn:example:p" };
  await db.sql`insert into participant_capability (participant_key, document_type_id, process_id) values (${BUYER}, ${type.documentTypeId}, ${type.processId}) on conflict do nothing`;
  const id = await receive(
    arriving({
      ...type,
      payload: Buffer.from(
        '<Order xmlns="urn:example"><cbc:ID xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">1</cbc:ID></Order>',
      ),
    }),
  );
  await expect(respond(respondPorts(), request(id))).rejects.toMatchObject({ reason: "DOCUMENT_INVALID" });
});

test("the same answer given again, also by many at once, is sent once; a new answer is a new message", async () => {
  const id = await receiveAndJudge(arriving());
  const replies = await Promise.all(Array.from({ length: 3 }, () => respond(respondPorts(), request(id))));
  expect(replies.filter(({ idempotent }) => !idempotent)).toHaveLength(1);
  clock.advance(1);
  expect((await respond(respondPorts(), request(id, { status: "paid" }))).idempotent).toBe(false);
  await settle();
  expect(handed).toHaveLength(2);
});

/** Answers that may follow another, from the words of spec/rulings.md, section 14. */
const MAY_FOLLOW: Readonly<Record<ResponseStatus, readonly ResponseStatus[]>> = {
  received: ["in_process", "under_query", "conditionally_accepted", "rejected", "accepted", "paid"],
  in_process: ["under_query", "conditionally_accepted", "rejected", "accepted", "paid"],
  under_query: ["in_process", "conditionally_accepted", "rejected", "accepted", "paid"],
  conditionally_accepted: ["accepted", "rejected", "paid"],
  accepted: ["paid"],
  rejected: [],
  paid: [],
};

test.each(RESPONSE_STATUSES)(
  "after the answer %s a firm may give exactly those that may follow; any other is refused with RESPONSE_STATE and not sent",
  async (first) => {
    for (const second of RESPONSE_STATUSES.filter((status) => status !== first)) {
      const id = await receiveAndJudge(arriving());
      await respond(respondPorts(), request(id, { status: first }));
      const outcome = await respond(respondPorts(), request(id, { status: second })).then(
        () => "sent",
        (error: unknown) =>
          error instanceof Refusal ? `${error.reason} ${error.details[0]?.message ?? ""}` : "thrown",
      );
      expect([second, outcome]).toEqual([
        second,
        MAY_FOLLOW[first].includes(second) ? "sent" : `RESPONSE_STATE The document is ${first} already.`,
      ]);
    }
  },
);

test("an answer that surely did not arrive forbids nothing: the firm may give another instead", async () => {
  const id = await receiveAndJudge(arriving());
  await respond(respondPorts(), request(id, { status: "rejected" }));
  answer = () => ({ kind: "peer_refused", peerSeat: PEER_SEAT });
  await settle();
  expect((await respond(respondPorts(), request(id, { status: "accepted" }))).idempotent).toBe(false);
});

test("a document of another firm, or none, cannot be answered and tells nothing of itself", async () => {
  const id = await receiveAndJudge(arriving());
  await respond(respondPorts(), request(id));
  await expect(respond(respondPorts(), request(id, { firmId: sellerFirm }))).rejects.toMatchObject({
    reason: "NOT_FOUND",
  });
  await expect(respond(respondPorts(), request(randomUUID()))).rejects.toMatchObject({ reason: "NOT_FOUND" });
});

test("service messages are no customer's documents", async () => {
  const [before] = await db.sql<{ n: number }[]>`select count(*)::integer as n from document`;
  await receive(arriving({ payload: broken() }));
  await respond(respondPorts(), request(await receiveAndJudge(arriving())));
  await settle();
  expect(handed).toHaveLength(2);
  expect(await db.sql`select count(*)::integer as n from document`).toEqual([{ n: before?.n }]);
  expect(await db.sql`select 1 from outbox where body ->> 'kind' like '%mls%'`).toHaveLength(0);
});

test("the whole circle on one node: an invoice that breaks a rule comes back to its sender as a rejection, an answer as its status", async () => {
  const circle = statusBench(db, clock);
  const document = await circle.document(sellerFirm, SELLER, {
    receiver: BUYER,
    facts: { documentNumber: "C-1", issueDate: "2026-11-20" },
  });
  await circle.trigger(document.id, "receipt_confirmed");
  await db.sql`update exchange set c3_seat = ${OWN.seat} where id = ${document.id}`;
  const outcome = await circle.receive({
    sender: SELLER,
    receiver: BUYER,
    ...INVOICE,
    as4MessageId: document.as4MessageId,
    sbdhInstanceId: document.sbdhInstanceId,
    createdAt: clock.now(),
    payload: goodInvoice("C-1"),
  });
  if (outcome.kind !== "stored") throw new Error(outcome.kind);
  while ((await STATUS_STEPS.duties(circle.node)) > 0);
  await respond(
    { ...circle.ports, poke: () => undefined },
    request(outcome.id, { status: "under_query", note: "Which order?" }),
  );
  const work = startStatusWork(circle.node);
  try {
    await eventually("the answer arrives", async () => (await circle.story(sellerFirm, document.id)).response === "UQ");
  } finally {
    await work.stop();
  }
  await db.sql`delete from inbound_status`;
  const bad = await circle.document(sellerFirm, SELLER, { receiver: BUYER });
  await circle.trigger(bad.id, "receipt_confirmed");
  await db.sql`update exchange set c3_seat = ${OWN.seat} where id = ${bad.id}`;
  await circle.receive({
    sender: SELLER,
    receiver: BUYER,
    ...INVOICE,
    as4MessageId: bad.as4MessageId,
    sbdhInstanceId: bad.sbdhInstanceId,
    createdAt: clock.now(),
    payload: broken(),
  });
  while ((await STATUS_STEPS.duties(circle.node)) > 0);
  while ((await STATUS_STEPS.messages(circle.node)) > 0);
  while ((await STATUS_STEPS.statuses(circle.node)) > 0);
  expect((await circle.story(sellerFirm, bad.id)).states).toEqual(["queued", "delivered", "rejected"]);
});

test("payloads of statuses lie sealed", async () => {
  await receive(arriving({ payload: broken() }));
  await STATUS_STEPS.duties(bench.node);
  const [taken] = await takeServiceMessages(db.sql, { owner: "x", lease_ms: 1, limit: 1 });
  if (taken === undefined) throw new Error("nothing taken");
  expect(taken.payloadSealed.includes(Buffer.from("ApplicationResponse"))).toBe(false);
  const opened = await openPayload(bench.ports.sealer, taken.id, taken.payloadKeyId, taken.payloadSealed);
  expect(opened.includes("ApplicationResponse")).toBe(true);
});
