/** Goal: a document is delivered only when its receiver has it. A peer that refused it once calls the next attempt a duplicate. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { delivery, provedDelivery } from "../../../engine/documents/delivery/chain.js";
import { doubtHandover } from "../../../engine/documents/delivery/handover.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { provider } from "../../../engine/documents/provider.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { UNJUDGED } from "../../../engine/peppol/as4/outcomes.js";
import type { Outcome } from "../../../engine/peppol/transport.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import type { NewEvidence } from "../../../engine/storage/evidence/evidence.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { attemptOnce, makeDue } from "../../support/worlds/attempts.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, sealedPayload, seedFirm } from "../../support/database/seed.js";

let db: TestDatabase;
let firmId: FirmId;
const SENDER = "0245:1111111111";
const sealer = createSealer([Buffer.alloc(32, 1)]);
const clock = fakeClock("2026-11-20T10:00:00Z");

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
});
afterAll(() => db.drop());

async function document(): Promise<DocumentId> {
  const row = newDocumentRow(firmId, SENDER, { acceptedAt: clock.now(), receiver: "0245:9999999999" as ParticipantId });
  await acceptDocuments(db.sql, [{ ...row, ...sealedPayload(sealer, row.id) }]);
  return row.id;
}

const DISPATCH = {
  sealer,
  clock,
  metrics: createMetrics(),
  log: silentLog,
  provider: provider("PSK000001", "SK"),
  random: () => 0.5,
  announce: () => undefined,
  owner: "test/1",
};

/** Makes one attempt per outcome. @returns the state after the last, and what the last attempt is called */
async function attempts(outcomes: readonly Outcome[]): Promise<unknown> {
  const id = await document();
  for (const outcome of outcomes) {
    const transport = doubtHandover(
      { deliver: () => Promise.resolve(outcome) },
      { sql: db.sql, log: silentLog, clock },
    );
    await attemptOnce({ ...DISPATCH, sql: db.sql, transport }, id);
    await makeDue(db.sql, id);
  }
  const [row] = await db.sql<{ text: string }[]>`
    select concat_ws(' ', d.status, ':', a.outcome, a.code) as text from document as d join document_attempt as a on a.document_id = d.id where d.id = ${id} order by a.number desc limit 1`;
  return row?.text;
}

const DUPLICATE: Outcome = { kind: "already_handed_over", code: "EBMS:4001", peerSeat: "POP000001" };
const LOST: Outcome = { kind: "unconfirmed", code: "EBMS:0302" };
const NOT_TAKEN: Outcome = { kind: "transport_failed", code: "CONNECT" };
const GATEWAY: Outcome = { kind: "peer_busy", code: "HTTP 503" };
const REFUSED: Outcome = { kind: "peer_busy", code: "EBMS:0004" };
const UNSERVED: Outcome = { kind: "peer_busy", code: "EBMS:0004 PEPPOL:NOT_SERVICED" };
const [BEFORE, SINCE] = [Date.parse("2026-01-01"), Date.parse("2100-01-01")];

test.each<[string, readonly Outcome[], string]>([
  ["whose receipt was lost is delivered", [LOST, DUPLICATE], "delivered : already_handed_over EBMS:4001"],
  [
    "that first met a closed door and a full gateway is delivered",
    [NOT_TAKEN, GATEWAY, LOST, DUPLICATE],
    "delivered : already_handed_over EBMS:4001",
  ],
  ["that the peer refused is not delivered", [REFUSED, DUPLICATE], "sent : unconfirmed EBMS:4001"],
  [
    "that the peer refused is not delivered, whatever came in between",
    [REFUSED, LOST, DUPLICATE],
    "sent : unconfirmed EBMS:4001",
  ],
  [
    "for a recipient that the peer does not serve is rejected",
    [UNSERVED, DUPLICATE],
    "rejected : peer_refused EBMS:0004 PEPPOL:NOT_SERVICED",
  ],
  ["whose answer nobody judged is delivered", [UNJUDGED, DUPLICATE], "delivered : already_handed_over EBMS:4001"],
  [
    "whose answer nobody judged, with an error in it, is not delivered",
    [{ ...UNJUDGED, code: "UNJUDGED WITH_ERROR" }, DUPLICATE],
    "sent : unconfirmed EBMS:4001",
  ],
  [
    "whose receipt stood beside an error is not delivered",
    [{ ...LOST, code: "EBMS:0301 WITH_ERROR" }, LOST, DUPLICATE],
    "sent : unconfirmed EBMS:4001",
  ],
  [
    "that was refused by an error that nobody could read is not delivered",
    [{ ...GATEWAY, code: "HTTP 400 WITH_ERROR" }, DUPLICATE],
    "sent : unconfirmed EBMS:4001",
  ],
  [
    "that the peer refused and then took with a receipt is delivered",
    [REFUSED, { kind: "receipt" }],
    "delivered : receipt",
  ],
])("a document %s when the peer has its MessageId", async (_, outcomes, expected) => {
  expect(await attempts(outcomes)).toBe(expected);
});

test.each<[string, readonly Outcome[]]>([
  ["to what went out twice in one attempt", [UNSERVED, { ...DUPLICATE, isRepeated: true }]],
  ["where an attempt before that was lost", [LOST, UNSERVED, DUPLICATE]],
  ["where an attempt behind that was lost", [UNSERVED, LOST, DUPLICATE]],
])("NOT_SERVICED rejects no document by a duplicate %s: another access point may have it", async (_, outcomes) => {
  expect(await attempts(outcomes)).toBe("sent : unconfirmed EBMS:4001");
});

test.each<[string, Outcome]>([
  ["could not take it", REFUSED],
  ["answered with an error that nobody could read", { ...GATEWAY, code: "HTTP 400 WITH_ERROR" }],
])(
  "NOT_SERVICED rejects no document by a duplicate behind an attempt that another access point %s",
  async (_, answer) => {
    expect(await attempts([UNSERVED, answer, { ...DUPLICATE, lookedUpAt: SINCE }])).toBe(
      "sent : unconfirmed EBMS:4001",
    );
  },
);

test("NOT_SERVICED that is not signed rejects no document by a duplicate behind it: it is doubted for longer than that", async () => {
  const unproven: Outcome = { ...UNSERVED, code: "EBMS:0004 PEPPOL:NOT_SERVICED UNPROVEN" };
  expect(await attempts([unproven, DUPLICATE])).toBe("sent : unconfirmed EBMS:4001");
});

const FINALLY_UNSERVED: Outcome = { kind: "peer_refused", code: "EBMS:0004 PEPPOL:NOT_SERVICED" };

test.each<[string, readonly Outcome[], string]>([
  ["by the first such answer, whatever was answered before", [GATEWAY, LOST, REFUSED, FINALLY_UNSERVED], "sent"],
  ["by one that followed no look-up since", [UNSERVED, { ...FINALLY_UNSERVED, lookedUpAt: BEFORE }], "queued"],
  ["by a duplicate that followed no look-up since", [UNSERVED, { ...DUPLICATE, lookedUpAt: BEFORE }], "sent"],
])("NOT_SERVICED rejects no document %s: its recipient may have moved", async (_, outcomes, status) => {
  const last = outcomes.at(-1)?.kind === "peer_refused" ? `peer_busy ${UNSERVED.code}` : "unconfirmed EBMS:4001";
  expect(await attempts(outcomes)).toBe(`${status} : ${last}`);
});

test.each<[string, readonly Outcome[]]>([
  ["by the operator's own route", [UNSERVED, FINALLY_UNSERVED]],
  ["by a look-up since", [UNSERVED, { ...FINALLY_UNSERVED, lookedUpAt: SINCE }]],
  ["by a look-up since, which the peer calls a duplicate", [UNSERVED, { ...DUPLICATE, lookedUpAt: SINCE }]],
])("NOT_SERVICED rejects a document when it is said again to what was sent %s", async (_, outcomes) => {
  expect(await attempts(outcomes)).toBe(`rejected : peer_refused ${UNSERVED.code}`);
});

test.each([1, 2])(
  "a document that one access point does not serve is not rejected by a duplicate where attempt %i was cut: another may have it",
  async (cut) => {
    const id = await document();
    const outcomes = [UNSERVED, DUPLICATE];
    outcomes.splice(cut - 1, 0, NOT_TAKEN);
    for (const outcome of outcomes) {
      const transport = delivery({ deliver: () => Promise.resolve(outcome) }, { sql: db.sql, log: silentLog, clock });
      await attemptOnce({ ...DISPATCH, sql: db.sql, transport }, id);
      await makeDue(db.sql, id);
      await db.sql`
        update document_attempt set outcome = 'cut' where document_id = ${id} and outcome = 'transport_failed'`;
    }
    const [row] = await db.sql`
      select d.status, a.outcome, a.code from document as d join document_attempt as a on a.document_id = d.id
        where d.id = ${id} order by a.number desc limit 1`;
    expect(row).toEqual({ status: "sent", outcome: "unconfirmed", code: "EBMS:4001" });
  },
);

test("a handover that is not believed is no exchange in the reports, and one that is believed is", async () => {
  const exchanged = async (outcomes: readonly Outcome[]): Promise<boolean> => {
    const id = await document();
    for (const outcome of outcomes) {
      const transport = delivery({ deliver: () => Promise.resolve(outcome) }, { sql: db.sql, log: silentLog, clock });
      await attemptOnce({ ...DISPATCH, sql: db.sql, transport }, id);
      await makeDue(db.sql, id);
    }
    return (await db.sql`select id from exchange where id = ${id}`).length === 1;
  };
  expect(await exchanged([REFUSED, DUPLICATE])).toBe(false);
  expect(await exchanged([LOST, DUPLICATE])).toBe(true);
});

test("a refusal whose evidence has found no place in the chain is remembered: the duplicate after it delivers nothing", async () => {
  const id = await document();
  // No such direction is known: the statement that would chain it fails.
  const unchained = { direction: "neither" } as unknown as NewEvidence;
  const outcomes: readonly Outcome[] = [{ ...REFUSED, evidence: unchained }, DUPLICATE];
  for (const outcome of outcomes) {
    const way = provedDelivery({ deliver: () => Promise.resolve(outcome) }, { sql: db.sql, log: silentLog, clock });
    await attemptOnce({ ...DISPATCH, sql: db.sql, transport: way }, id);
    await makeDue(db.sql, id);
  }
  const rows = await db.sql`
    select outcome, code from document_attempt where document_id = ${id} order by number`;
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { outcome: "peer_busy", code: "EBMS:0004" },
    { outcome: "unconfirmed", code: "EBMS:4001" },
  ]);
});

test("earlier attempts that a restart of the database keeps from being read are read when it is back", async () => {
  const id = await document();
  let tries = 0;
  const restarting = Object.assign((...args: Parameters<typeof db.sql>) => {
    tries += 1;
    if (tries > 1) return db.sql(...args);
    return Promise.reject(Object.assign(new Error("the connection is gone"), { code: "CONNECTION_CLOSED" }));
  }, db.sql) as typeof db.sql;
  const transport = doubtHandover(
    { deliver: () => Promise.resolve(DUPLICATE) },
    { sql: restarting, log: silentLog, clock },
  );
  await attemptOnce({ ...DISPATCH, sql: db.sql, transport }, id);
  const [row] = await db.sql`select status from document where id = ${id}`;
  expect([row, tries]).toEqual([{ status: "delivered" }, 2]);
});

test.each<[string, Outcome, Readonly<Record<string, string>>]>([
  ["a duplicate was sent", DUPLICATE, { status: "sent", outcome: "unconfirmed", code: "UNJUDGED" }],
  [
    "NOT_SERVICED is not rejected",
    FINALLY_UNSERVED,
    { status: "queued", outcome: "peer_busy", code: "EBMS:0004 PEPPOL:NOT_SERVICED" },
  ],
])("where the earlier attempts cannot be read %s, and is tried again", async (_, outcome, expected) => {
  const other = await freshDatabase();
  await other.sql`alter table service_attempt rename to hidden`;
  const id = await document();
  const transport = doubtHandover(
    { deliver: () => Promise.resolve(outcome) },
    { sql: other.sql, log: silentLog, clock },
  );
  await attemptOnce({ ...DISPATCH, sql: db.sql, transport }, id);
  const [row] = await db.sql`
    select d.status, a.outcome, a.code, d.next_attempt_at is not null as again from document as d
      join document_attempt as a on a.document_id = d.id where d.id = ${id}`;
  expect(row).toEqual({ ...expected, again: true });
  await other.drop();
});
