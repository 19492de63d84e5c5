/** What the monthly reports count, when they are made, and what a firm reads of its own exchanges. */
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { startStatusWork, STATUS_STEPS } from "../../../actors/status-work.js";
import { openPayload } from "../../../engine/storage/payloads/payloads.js";
import { makeReport, readSubmissions, submitDueReports } from "../../../engine/documents/reports.js";
import { readStatistics } from "../../../engine/documents/statistics.js";
import { DAY_MS, isoInstant } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { OutboundTrigger } from "../../../engine/lifecycle/document.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import {
  addMonths,
  monthBounds,
  monthOf,
  REPORT_DOCUMENT_TYPES,
  REPORT_PROCESS,
  REPORT_RECEIVER,
} from "../../../engine/peppol/reporting.js";
import type { Exchange, Transport } from "../../../engine/peppol/transport.js";
import { countEndUsers, countTransactions } from "../../../engine/storage/reporting.js";
import { plainOf } from "../../support/as4/as4.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import { answer, startPeer, trustIn } from "../../support/as4/as4-peer.js";
import { eventually } from "../../support/eventually.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import { transportTo } from "../../support/as4/outgoing.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { OWN, pass, PEER_SEAT, statusBench } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";

const SEED = Number(process.env["SEED"] ?? "20261120");
/** In a month that is over by the database's clock as well: no report of a later one is made. */
const clock = fakeClock("2024-12-01T00:00:00.000Z");
let db: TestDatabase;
let bench: StatusBench;
let firms: [FirmId, FirmId];
let handed: Exchange[];
const wire: Transport = {
  deliver: (exchange) => {
    handed.push(exchange);
    return Promise.resolve({ kind: "receipt", peerSeat: PEER_SEAT });
  },
};

beforeAll(async () => {
  db = await freshDatabase();
  bench = statusBench(db, clock, { transport: wire });
  firms = [await seedFirm(db.sql, "0245:1010101010"), await seedFirm(db.sql, "0245:2020202020")];
});
afterAll(async () => {
  await db.drop();
});
beforeEach(async () => {
  handed = [];
  clock.setNow(Date.parse("2024-12-01T00:00:00.000Z") + LIMITS.report_delay_ms);
  await db.sql`truncate exchange, service_message, service_attempt, report_submission`;
});

interface Row {
  readonly direction: "incoming" | "outgoing";
  readonly kind: "business" | "mls" | "invoice_response";
  readonly firm: 0 | 1;
  readonly peer: string;
  readonly type: string;
  readonly user: string;
  readonly c1: string;
  readonly at: string;
}
const add = async (row: Row): Promise<void> => {
  const [c2, c3] = row.direction === "incoming" ? [row.peer, OWN.seat] : [OWN.seat, row.peer];
  await db.sql`
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id, transport_profile, c1_country, c4_country, end_user, exchanged_at)
    values (${randomUUID()}, ${row.direction}, ${row.kind}, ${firms[row.firm]}, ${c2}, ${c3}, ${row.type}, 'urn:p', 'peppol-transport-as4-v2_0', ${row.c1},
      ${row.direction === "incoming" ? "SK" : null}, ${row.user}, ${new Date(row.at)})`;
};
const NOVEMBER = monthBounds("2024-11");

const rows = fc.array(
  fc.record({
    direction: fc.constantFrom("incoming", "outgoing"),
    kind: fc.constantFrom("business", "mls", "invoice_response"),
    firm: fc.constantFrom(0, 1),
    peer: fc.constantFrom(PEER_SEAT, "POP000888"),
    type: fc.constantFrom("urn:a::X##y::1", "urn:b::X##y::1"),
    user: fc.constantFrom("0245:1", "0245:2", "0245:3"),
    c1: fc.constantFrom("SK", "AT"),
    at: fc.constantFrom(
      "2024-10-31T23:59:59.999Z",
      "2024-11-01T00:00:00Z",
      "2024-11-15T12:00:00Z",
      "2024-11-30T23:59:59.999Z",
      "2024-12-01T00:00:00Z",
    ),
  }),
  { maxLength: 25 },
);

test(`what is counted is what was exchanged in the month, by hand (SEED=${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(rows, async (made: readonly Row[]) => {
      await db.sql`truncate exchange`;
      for (const row of made) await add(row);
      const inside = made.filter(({ at }) => at.startsWith("2024-11"));
      const counts = await countTransactions(db.sql, NOVEMBER);
      const sum = (of: (count: (typeof counts)[number]) => boolean): number =>
        counts.filter(of).reduce((total, { count }) => total + count, 0);
      for (const direction of ["incoming", "outgoing"] as const)
        for (const peer of [PEER_SEAT, "POP000888"]) {
          expect(sum((count) => count.direction === direction && count.peerSeat === peer)).toBe(
            inside.filter((row) => row.direction === direction && row.peer === peer).length,
          );
        }
      expect(sum(({ c1Country, direction }) => direction === "incoming" && c1Country === "AT")).toBe(
        inside.filter(({ c1, direction }) => direction === "incoming" && c1 === "AT").length,
      );
      const users = await countEndUsers(db.sql, NOVEMBER);
      const all = users.find(({ documentTypeId, country }) => documentTypeId === undefined && country === undefined);
      const distinct = (of: (row: Row) => boolean): number =>
        new Set(inside.filter((row) => row.kind !== "mls" && of(row)).map(({ user }) => user)).size;
      expect(all).toMatchObject({
        sending: distinct(({ direction }) => direction === "outgoing"),
        receiving: distinct(({ direction }) => direction === "incoming"),
        either: distinct(() => true),
      });
      for (const type of ["urn:a::X##y::1", "urn:b::X##y::1"]) {
        const found = users.find(
          ({ documentTypeId, processId, country }) =>
            documentTypeId === type && processId !== undefined && country === undefined,
        );
        expect(found?.either ?? 0).toBe(distinct((row) => row.type === type));
      }
    }),
    { seed: SEED, numRuns: 25 },
  );
});

test("both reports of a month are made once, by however many nodes, and sent to OpenPEPPOL under their identifiers", async () => {
  await add({
    direction: "incoming",
    kind: "business",
    firm: 0,
    peer: PEER_SEAT,
    type: "urn:a::X##y::1",
    user: "0245:1",
    c1: "AT",
    at: "2024-11-15T12:00:00Z",
  });
  const made = await Promise.all(Array.from({ length: 4 }, () => submitDueReports(bench.ports)));
  expect(made.reduce((a, b) => a + b)).toBe(2);
  expect(await submitDueReports(bench.ports)).toBe(0);
  while ((await STATUS_STEPS.messages(bench.node)) > 0);
  expect(
    handed
      .map(({ documentTypeId, processId, sender, receiver, firmId }) => ({
        documentTypeId,
        processId,
        sender,
        receiver,
        firmId,
      }))
      .sort((a, b) => (a.documentTypeId < b.documentTypeId ? -1 : 1)),
  ).toEqual(
    [REPORT_DOCUMENT_TYPES.EUSR, REPORT_DOCUMENT_TYPES.TSR].map((documentTypeId) => ({
      documentTypeId,
      processId: REPORT_PROCESS,
      sender: OWN.participant,
      receiver: REPORT_RECEIVER,
      firmId: undefined,
    })),
  );
  expect(handed.some(({ payload }) => payload.includes("<Incoming>1</Incoming>"))).toBe(true);
  const { submissions } = await readSubmissions(db.sql, "TSR");
  expect(submissions).toMatchObject([
    { reportType: "TSR", period: "2024-11", status: "delivered", submittedAt: "2024-12-01T06:00:00.000Z" },
  ]);
  expect((await readSubmissions(db.sql, undefined)).submissions).toHaveLength(2);
  // Reports are not counted in reports.
  expect(await db.sql`select id from exchange`).toHaveLength(1);
});

test("the timers of a node make both reports and send them over AS4; a receiver that is down gets them later, under the same ids", async () => {
  await add({
    direction: "incoming",
    kind: "business",
    firm: 0,
    peer: PEER_SEAT,
    type: "urn:a::X##y::1",
    user: "0245:1",
    c1: "AT",
    at: "2024-11-15T12:00:00Z",
  });
  const [us, them] = [accessPoint(OWN.seat), accessPoint(PEER_SEAT)];
  const peer = await startPeer(them, trustIn(us));
  const client = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] } });
  const archive = memoryArchive();
  const transport = transportTo(peer.url, [us, them], { http: client.request, evidence: archive, clock });
  peer.script.push(answer(503), answer(503));
  const onNetwork = statusBench(db, clock, { transport });
  const work = startStatusWork(onNetwork.node);
  try {
    await eventually(
      "both have been refused once",
      async () => (await db.sql`select 1 from service_attempt where finished_at is not null`).length === 2,
    );
    expect(peer.inbox.received).toEqual([]);
    await eventually("both have been delivered", async () => {
      // A receiver that was down has one place at first, so the second message may be put off until the first is there.
      await pass(db.sql, clock, 2 * 60_000);
      work.poke("messages");
      const { submissions } = await readSubmissions(db.sql, undefined);
      return submissions.filter(({ status }) => status === "delivered").length === 2;
    });
  } finally {
    await work.stop();
    client.close();
    await peer.stop();
  }
  const messageIds = peer.arrived.map(({ body }) => /<eb:MessageId>([^<]+)</.exec(body.toString("latin1"))?.[1]);
  expect([messageIds.length, new Set(messageIds).size]).toEqual([4, 2]);
  for (const type of ["TSR", "EUSR"] as const) {
    const arrived = peer.inbox.received.find(({ documentTypeId }) => documentTypeId === REPORT_DOCUMENT_TYPES[type]);
    expect(arrived).toMatchObject({
      sender: OWN.participant,
      receiver: REPORT_RECEIVER,
      processId: REPORT_PROCESS,
      envelope: { peerSeat: OWN.seat, countryC1: OWN.country },
    });
    expect(
      arrived && plainOf(arrived.payload).equals(await makeReport(db.sql, OWN.seat, { type, month: "2024-11" })),
    ).toBe(true);
  }
  expect(archive.stored.filter(({ record }) => record.facts.outcome === "receipt")).toHaveLength(2);
});

test("an empty month is reported, months left out are made up for, and the sandbox reports nothing", async () => {
  expect(await submitDueReports({ ...bench.ports, environment: "sandbox" })).toBe(0);
  expect(await submitDueReports(bench.ports)).toBe(2);
  clock.setNow(Date.parse("2025-02-01T00:00:00Z") + LIMITS.report_delay_ms);
  expect(await submitDueReports(bench.ports)).toBe(4);
  expect((await readSubmissions(db.sql, "EUSR")).submissions.map(({ period }) => period)).toEqual([
    "2025-01",
    "2024-12",
    "2024-11",
  ]);
  const [message] = await db.sql<
    { id: string; payload_key_id: string; payload_sealed: Buffer }[]
  >`select id, payload_key_id, payload_sealed from service_message where subject = 'report/TSR/2024-11'`;
  if (message === undefined) throw new Error("no report");
  const stored = await openPayload(bench.ports.sealer, message.id, message.payload_key_id, message.payload_sealed);
  expect(stored.equals(await makeReport(db.sql, OWN.seat, { type: "TSR", month: "2024-11" }))).toBe(true);
});

test("a node whose clock is months ahead reports no month that is not over by the database's clock", async () => {
  const [row] = await db.sql<{ now: Date }[]>`select now() as now`;
  const now = row?.now.getTime() ?? 0;
  clock.setNow(now + 100 * DAY_MS);
  expect(await submitDueReports(bench.ports)).toBe(2);
  expect(await submitDueReports(bench.ports)).toBe(0);
  const over = addMonths(monthOf(now - LIMITS.report_delay_ms), -1);
  const { submissions } = await readSubmissions(db.sql, undefined);
  expect(submissions.map(({ period }) => period)).toEqual([over, over]);
  expect(submissions.every(({ createdAt }) => createdAt < isoInstant(now + DAY_MS))).toBe(true);
});

const INVOICE = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:x::2.1";
const CREDIT_NOTE = "urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2::CreditNote##urn:x::2.1";
const RESPONSE = "urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2::ApplicationResponse##urn:x::2.1";
const SOLD: Row = {
  direction: "outgoing",
  kind: "business",
  firm: 0,
  peer: PEER_SEAT,
  type: INVOICE,
  user: "0245:1",
  c1: "AT",
  at: "2024-11-15T12:00:00Z",
};

test("a firm reads its own invoices and credit notes of a month, no responses, and no one else's", async () => {
  await add(SOLD);
  await add({ ...SOLD, direction: "incoming" });
  await add({ ...SOLD, direction: "incoming", type: CREDIT_NOTE });
  await add({ ...SOLD, kind: "mls" });
  await add({ ...SOLD, type: RESPONSE });
  await add({ ...SOLD, kind: "invoice_response", type: RESPONSE });
  await add({ ...SOLD, firm: 1 });
  await add({ ...SOLD, at: "2024-12-01T00:00:00Z" });
  expect(await readStatistics(db.sql, firms[0], { period: "2024-11" }, clock.now())).toEqual({
    period: { from: "2024-11-01", to: "2024-11-30" },
    month: "2024-11",
    from: "2024-10-31T23:00:00.000Z",
    to: "2024-11-30T23:00:00.000Z",
    incoming: 2,
    outgoing: 1,
    documentTypes: [
      { documentTypeId: CREDIT_NOTE, processId: "urn:p", incoming: 1, outgoing: 0 },
      { documentTypeId: INVOICE, processId: "urn:p", incoming: 1, outgoing: 1 },
    ],
    sent: { total: 1, by_type: { invoice: 1 } },
    received: { total: 2, by_type: { invoice: 1, credit_note: 1 } },
    delivery_rate: 1,
    top_recipients: [],
    top_senders: [],
    upcoming: [],
  });
  expect(await readStatistics(db.sql, firms[0], {}, clock.now())).toMatchObject({ month: "2024-12", outgoing: 1 });
  expect(await readStatistics(db.sql, firms[1], { period: "2025-01" }, clock.now())).toMatchObject({
    incoming: 0,
    outgoing: 0,
    documentTypes: [],
    delivery_rate: 0,
  });
});

test.each([
  ["2026-03", "2026-02-28T23:00:00.000Z", "2026-03-31T22:00:00.000Z"],
  ["2026-10", "2026-09-30T22:00:00.000Z", "2026-10-31T23:00:00.000Z"],
])(
  "the month %s, in which the clocks change, is counted from midnight to midnight in Bratislava",
  async (period, from, to) => {
    const [first, next] = [Date.parse(from), Date.parse(to)];
    for (const at of [first - 1, first, next - 1, next]) await add({ ...SOLD, at: new Date(at).toISOString() });
    expect(await readStatistics(db.sql, firms[0], { period }, clock.now())).toMatchObject({ from, to, outgoing: 2 });
  },
);

test("from and to are the first and the last day that count", async () => {
  for (const at of [
    "2024-11-09T22:59:59.999Z",
    "2024-11-09T23:00:00Z",
    "2024-11-11T22:59:59.999Z",
    "2024-11-11T23:00:00Z",
  ])
    await add({ ...SOLD, at });
  expect(await readStatistics(db.sql, firms[0], { from: "2024-11-10", to: "2024-11-11" }, clock.now())).toMatchObject({
    period: { from: "2024-11-10", to: "2024-11-11" },
    month: null,
    outgoing: 2,
  });
});

let firmsMade = 0;

test.each([
  ["no documents", [], 0],
  ["only documents that wait or are on their way", [[], ["transmitted"], ["transmitted", "mls_ab"]], 0],
  ["one that was delivered", [["receipt_confirmed"]], 1],
  ["one that was delivered beside others that wait", [["receipt_confirmed"], [], ["transmitted"]], 1],
  ["one that was delivered and rejected afterwards", [["receipt_confirmed", "mls_re"]], 1],
  [
    "one that was delivered beside one that a status alone proved to be, rejected afterwards",
    [["receipt_confirmed"], ["transmitted", "mls_ap", "mls_re"]],
    1,
  ],
  [
    "two of three, the third given up before it was sent",
    [["receipt_confirmed"], ["receipt_confirmed"], ["attempts_exhausted"]],
    2 / 3,
  ],
  ["one of two, the other never confirmed", [["receipt_confirmed"], ["transmitted", "attempts_exhausted"]], 1 / 2],
  ["one of two, the other refused by its access point", [["receipt_confirmed"], ["peer_refused"]], 1 / 2],
  ["one of two, the other rejected before any receipt", [["receipt_confirmed"], ["transmitted", "mls_re"]], 1 / 2],
  ["one of two, the other refused by rules after it was accepted", [["receipt_confirmed"], ["rules_refused"]], 1 / 2],
  ["none of two", [["attempts_exhausted"], ["peer_refused"]], 0],
] satisfies [string, OutboundTrigger[][], number][])(
  "delivery_rate of %s is what was delivered through what has ended or was delivered: %j gives %d, not rounded",
  async (_, lives, rate) => {
    firmsMade += 1;
    const sender = `0245:80000000${String(firmsMade).padStart(2, "0")}`;
    const firmId = await seedFirm(db.sql, sender);
    for (const triggers of lives) {
      const { id } = await bench.document(firmId, sender);
      for (const trigger of triggers) expect(await bench.trigger(id, trigger)).toBe(true);
    }
    expect((await readStatistics(db.sql, firmId, {}, clock.now())).delivery_rate).toBe(rate);
  },
);

test("the words for what was exchanged follow the declared type, whatever process stands beside it", async () => {
  const selfBilling = INVOICE.replace("urn:x", "urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0");
  await add(SOLD);
  await add({ ...SOLD, type: selfBilling });
  await add({ ...SOLD, type: selfBilling.replaceAll("Invoice", "CreditNote") });
  await db.sql`update exchange set process_id = 'urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0' where document_type_id = ${INVOICE}`;
  expect((await readStatistics(db.sql, firms[0], { period: "2024-11" }, clock.now())).sent).toEqual({
    total: 3,
    by_type: { invoice: 1, self_billing: 1, self_billing_credit_note: 1 },
  });
});

test("submissions are read page by page, newest first, and each page says how many there are", async () => {
  await submitDueReports(bench.ports);
  clock.setNow(Date.parse("2025-02-01T00:00:00Z") + LIMITS.report_delay_ms);
  await submitDueReports(bench.ports);
  const all = await readSubmissions(db.sql, undefined);
  const page = await readSubmissions(db.sql, undefined, { limit: 2, offset: 3 });
  expect(all).toMatchObject({ total: 6, limit: 100, offset: 0 });
  expect(page).toMatchObject({ total: 6, limit: 2, offset: 3 });
  expect(page.items).toEqual(all.items.slice(3, 5));
  expect((await readSubmissions(db.sql, "TSR", { limit: 1, offset: 9 })).total).toBe(3);
});
