/** How a received document is stored: with its verdict where that is quick, and with its evidence or not at all. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import type { DocumentKind } from "../../../actors/document.js";
import { participantKind } from "../../../actors/participant.js";
import { STATUS_STEPS } from "../../../actors/status-work.js";
import { startActors } from "../../../actors/system.js";
import type { Validators } from "../../../engine/documents/accept/facts.js";
import { createInbound } from "../../../engine/documents/inbound/receive.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import type { Clock } from "../../../engine/base/clock.js";
import { participantKey } from "../../../engine/base/ids.js";
import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import type { InboundExchange, InboundOutcome, Prove } from "../../../engine/peppol/transport.js";
import { findFirmReceived } from "../../../engine/storage/documents/firm-received.js";
import type { FirmReceived } from "../../../engine/storage/documents/firm-received.js";
import type { NewEvidence } from "../../../engine/storage/evidence/evidence.js";
import { isPassing } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { inboundAtOnce } from "../../support/as4/inbound.js";
import { closableDatabase } from "../../support/database/closable.js";
import type { ClosableDatabase } from "../../support/database/closable.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { inlineValidators, OWN, pass, PEER_SEAT, statusBench } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";
import { openTransaction } from "../../support/database/transactions.js";

const BUYER = "0245:2020202020" as ParticipantId;
const SELLER = "0245:1010101010" as ParticipantId;
const INVOICE = BILLING_CAPABILITIES[0] ?? { documentTypeId: "", processId: "" };
const clock = fakeClock();
let db: TestDatabase;
let closable: ClosableDatabase;
let firmId: FirmId;
let bench: StatusBench;
let asked: number;

beforeAll(async () => {
  db = await freshDatabase();
  closable = closableDatabase(db);
  firmId = await seedFirm(db.sql, BUYER);
  bench = statusBench(db, clock);
});
afterAll(async () => {
  await closable.stop();
  await db.drop();
});
beforeEach(() => {
  asked = 0;
});

const counting: Validators = {
  inspect: (payload, options) => {
    asked += 1;
    return inlineValidators.inspect(payload, options);
  },
};

const invoice = (): string =>
  sampleInvoice({
    sender: SELLER,
    receiver: BUYER,
    senderName: "Seller",
    receiverName: "Buyer",
    number: `N-${randomUUID()}`,
    issueDate: "2026-11-20",
    lines: 1,
  });
const broken = (): string => invoice().replace(/<cbc:PayableAmount([^>]*)>[^<]*</u, "<cbc:PayableAmount$1>1.00<");

const arriving = (xml: string, type: "FAILURE_ONLY" | "ALWAYS_SEND" = "FAILURE_ONLY"): InboundExchange => ({
  sender: SELLER,
  receiver: BUYER,
  ...INVOICE,
  as4MessageId: `${randomUUID()}@peer`,
  sbdhInstanceId: randomUUID(),
  createdAt: clock.now(),
  payload: Buffer.from(xml),
  envelope: { mls: { type, to: undefined }, countryC1: "AT", peerSeat: PEER_SEAT },
});

async function receive(
  exchange: InboundExchange,
  options: {
    readonly validators?: Validators;
    readonly prove?: Prove;
    readonly sql?: Sql;
    readonly clock?: Clock;
  } = {},
): Promise<InboundOutcome> {
  const { sealer, metrics, log } = bench.ports;
  const { validators = counting } = options;
  const inbound = inboundAtOnce({
    sql: options.sql ?? db.sql,
    sealer,
    clock: options.clock ?? clock,
    metrics,
    log,
    provider: OWN,
    validators,
    poke: () => undefined,
  });
  return inbound(exchange, options.prove);
}

const idOf = (outcome: InboundOutcome): string => {
  if (outcome.kind !== "stored") throw new Error(outcome.kind);
  return outcome.id;
};
const statusOf = async (id: string): Promise<unknown> =>
  (await db.sql`select status from received_document where id = ${id}`)[0]?.["status"];
const dutyOf = async (id: string): Promise<{ readonly always: boolean } | undefined> =>
  (
    await db.sql<{ always: boolean }[]>`
      select always from mls_duty where id = ${id} and next_at is not null`
  )[0];

test("a good document is stored as its firm sees it, and nothing is owed where no success has to be told", async () => {
  const id = idOf(await receive(arriving(invoice())));
  expect([await statusOf(id), await dutyOf(id), asked]).toEqual(["RECEIVED", undefined, 1]);
});

test("a good document whose sender asks for every status owes it after its firm had time to confirm", async () => {
  const id = idOf(await receive(arriving(invoice(), "ALWAYS_SEND")));
  expect(await statusOf(id)).toBe("RECEIVED");
  expect(await dutyOf(id)).toEqual({ always: true });
  while ((await STATUS_STEPS.duties(bench.node)) > 0);
  expect(await db.sql`select code from service_message where about = ${id}`, "its firm may still confirm").toEqual([]);
  await pass(db.sql, clock, LIMITS.mls_confirmation_wait_ms + 1);
  while ((await STATUS_STEPS.duties(bench.node)) > 0);
  expect(await db.sql`select code from service_message where about = ${id}`).toEqual([{ code: "AB" }]);
});

test("a document that breaks rules, or is not what its envelope says, is held until its rejection is written", async () => {
  for (const exchange of [arriving(broken()), { ...arriving(invoice()), sender: "0245:3030303030" as ParticipantId }]) {
    const id = idOf(await receive(exchange));
    expect([await statusOf(id), await dutyOf(id)]).toEqual(["HELD", { always: false }]);
    while ((await STATUS_STEPS.duties(bench.node)) > 0);
    expect(await statusOf(id)).toBe("REFUSED");
    expect(await db.sql`select code from service_message where about = ${id}`).toEqual([{ code: "RE" }]);
  }
});

test("a document whose verdict does not come at once is held and owes a verdict: workers that are full, that fail, that are slow; one that is large", async () => {
  const away: Validators[] = [
    { inspect: () => Promise.reject(new Error("the queue is full")) },
    { inspect: () => new Promise(() => undefined) },
  ];
  for (const validators of away) {
    const id = idOf(await receive(arriving(invoice()), { validators }));
    expect([await statusOf(id), await dutyOf(id)]).toEqual(["HELD", { always: false }]);
  }
  const large = `${invoice()}<!--${" ".repeat(LIMITS.verdict_at_once_bytes_max)}-->`;
  const id = idOf(await receive(arriving(large)));
  expect([await statusOf(id), asked]).toEqual(["HELD", 0]);
});

// shapes §6: "number"; the same members whatever a document weighs
test("a document that was held shows in lists what another shows: number, days, currency and amount", async () => {
  const xml = invoice();
  const heavy = `${xml}<!--${" ".repeat(LIMITS.verdict_at_once_bytes_max)}-->`;
  const ids = [idOf(await receive(arriving(xml))), idOf(await receive(arriving(heavy)))];
  while ((await STATUS_STEPS.largeDuties(bench.node)) > 0);
  const [light, held] = await Promise.all(ids.map((id) => findFirmReceived(db.sql, firmId, id)));
  const shown = ({ number, issueDate, dueDate, currency, total }: Partial<FirmReceived> = {}) => ({
    number,
    issueDate,
    dueDate,
    currency,
    total,
  });
  expect(shown(light)).toMatchObject({ number: /<cbc:ID>(N-[^<]*)</u.exec(xml)?.[1], issueDate: "2026-11-20" });
  expect(shown(held)).toEqual(shown(light));
});

const evidence = (documentId: string): NewEvidence => {
  const digest = randomUUID().replaceAll("-", "").repeat(2);
  return {
    direction: "inbound",
    outcome: "stored",
    documentId,
    firmId,
    messageId: `${documentId}@peer`,
    referencesSha256: digest,
    object: "object",
    offset: 0,
    length: 1,
    recordSha256: digest,
    envelopeSha256: digest,
    envelopeBytes: 1,
    envelopeContentType: "multipart/related",
    answerSha256: digest,
    requestAt: clock.now(),
    answerAt: clock.now(),
    storedAt: clock.now(),
  };
};
const chained = async (): Promise<readonly string[]> =>
  (await db.sql<{ id: string }[]>`select document_id as id from evidence order by index`).map(({ id }) => id);

test("a document and its evidence are stored together or not at all, and a repeat adds nothing to the chain", async () => {
  const exchange = arriving(invoice());
  const before = await chained();
  const failing = receive(exchange, { prove: () => Promise.reject(new Error("the disk is full")) });
  await expect(failing).rejects.toThrow("the disk is full");
  expect(await db.sql`select 1 from received_document where as4_message_id = ${exchange.as4MessageId}`).toHaveLength(0);

  const prove: Prove = ({ id }) => Promise.resolve(evidence(id));
  const id = idOf(await receive(exchange, { prove }));
  expect(await chained()).toEqual([...before, id]);
  expect(await receive(exchange, { prove })).toEqual({ kind: "duplicate", id, firmId });
  expect(await chained()).toEqual([...before, id]);
});

test.each([["before its participant was looked for"], ["when it is proved and is to be stored"]])(
  "a document that arrives while Postgres is started again, %s, is stored once when it is back",
  async (when) => {
    const before = await chained();
    const isLate = when.includes("proved");
    if (!isLate) await closable.close();
    const prove: Prove = async ({ id }) => {
      if (isLate) await closable.close();
      return evidence(id);
    };
    const exchange = arriving(invoice());
    const id = idOf(await receive(exchange, { prove, sql: closable.sql, clock: closable.openAtLook(clock, 5) }));
    expect(await receive(exchange)).toMatchObject({ kind: "duplicate", id });
    expect(await chained()).toEqual([...before, id]);
  },
);

test("a document that arrives while Postgres stays away is left to its sender, whose repeat is stored", async () => {
  const exchange = arriving(invoice());
  const hurried = fakeClock();
  let looks = 0;
  const impatient: Clock = {
    now: hurried.now,
    monotonic: () => {
      looks += 1;
      hurried.advance(LIMITS.db_back_wait_ms);
      return hurried.monotonic();
    },
  };
  await closable.close();
  const error: unknown = await receive(exchange, { sql: closable.sql, clock: impatient }).catch(
    (cause: unknown) => cause,
  );
  expect([isPassing(error), looks > 0]).toEqual([true, true]);
  await closable.open();
  idOf(await receive(exchange));
});

test("documents that arrive together are stored together, each with its own evidence; two with one InstanceIdentifier are one", async () => {
  const prove: Prove = ({ id }) => Promise.resolve(evidence(id));
  const before = await chained();
  const exchanges = Array.from({ length: 6 }, () => arriving(invoice()));
  const twins = [arriving(invoice()), arriving(invoice())].map((one) => ({
    ...one,
    sbdhInstanceId: "one and the same",
  }));
  const outcomes = await Promise.all([...exchanges, ...twins].map((one) => receive(one, { prove })));
  expect(outcomes.slice(0, 6).map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => "stored"));
  expect(
    outcomes
      .slice(6)
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(["conflict", "stored"]);
  const stored = outcomes.flatMap((outcome) => (outcome.kind === "stored" ? [outcome.id] : []));
  expect((await chained()).slice(before.length).sort()).toEqual(stored.sort());
});

test("what arrives together for one participant is stored together, and its repeat once", async () => {
  const { sealer, metrics, log } = bench.ports;
  const ports = {
    sql: db.sql,
    sealer,
    clock,
    metrics,
    log,
    provider: OWN,
    validators: counting,
    poke: () => undefined,
  };
  const actors = startActors({ log, metrics, monotonic: clock.monotonic });
  let askedFor = 0;
  const counted = {
    ...ports,
    // Read by the turn of an arrival when it asks for its statement, and in the same step.
    get sql() {
      askedFor += 1;
      return db.sql;
    },
  };
  const participant = participantKind({ actors, document: {} as DocumentKind, inbound: counted });
  const inbound = createInbound(ports, (arrival) =>
    actors.ask(participant, participantKey(arrival.exchange.receiver), "Receive", arrival),
  );
  const exchanges = Array.from({ length: 12 }, () => arriving(invoice()));
  const again = exchanges[5] ?? arriving(invoice());
  const holder = await openTransaction(db.url);
  await holder.run("lock table received_document in exclusive mode");
  const stored = Promise.all([...exchanges, again].map((exchange) => inbound(exchange)));
  await eventually("the first waits for the table, and the others for the first", async () => {
    if (askedFor <= exchanges.length) return false;
    const [row] = await db.sql<{ waiting: number }[]>`
      select count(*)::integer as waiting from pg_locks where not granted and relation = 'received_document'::regclass`;
    return row?.waiting === 1;
  });
  await holder.commit();
  const outcomes = await stored;
  await actors.stop();
  expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["duplicate", ...exchanges.map(() => "stored")]);
  const rows = await db.sql<{ statement: string }[]>`
    select xmin::text as statement from received_document
    where as4_message_id = any (${exchanges.map(({ as4MessageId }) => as4MessageId)})`;
  expect(rows.length).toBe(exchanges.length);
  expect(new Set(rows.map(({ statement }) => statement)).size).toBeLessThan(exchanges.length / 2);
});
