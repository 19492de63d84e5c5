/**
 * Who is judged next of the documents that have arrived, and what they have in memory meanwhile. Duties are leased by
 * hand where only the order counts; elsewhere validators hold large documents for as long as the test wants.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { startStatusWork, STATUS_STEPS } from "../../../actors/status-work.js";
import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { leaseDuties } from "../../../engine/documents/inbound/mls-duties.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { PEER_SEAT, statusBench, statusNode } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";

const SENDER = "0245:1010101010" as ParticipantId;
const BUSY = "0245:2020202020" as ParticipantId;
const QUIET = "0245:3030303030" as ParticipantId;
const INVOICE = BILLING_CAPABILITIES[0] ?? { documentTypeId: "", processId: "" };
const clock = fakeClock();
let db: TestDatabase;
let bench: StatusBench;
let busyFirm: FirmId;
let quietFirm: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  bench = statusBench(db, clock);
  busyFirm = await seedFirm(db.sql, BUSY);
  quietFirm = await seedFirm(db.sql, QUIET);
});
afterAll(async () => {
  await db.drop();
});
beforeEach(async () => {
  await db.sql`truncate mls_duty`;
});

const invoice = (receiver: ParticipantId): Buffer =>
  Buffer.from(
    sampleInvoice({
      sender: SENDER,
      receiver,
      senderName: "Sender",
      receiverName: "Receiver",
      number: `N-${randomUUID()}`,
      issueDate: "2026-11-20",
      lines: 1,
    }),
  );
const LARGE = 2 * LIMITS.verdict_at_once_bytes_max;
/** What makes an invoice large: blanks, which shrink to nothing, or a comment of digits, which keeps half of itself. */
const FILLINGS = {
  small: () => Buffer.alloc(0),
  blanks: () => Buffer.alloc(LARGE, " "),
  digits: () => Buffer.from(`<!--${randomBytes(LARGE / 2).toString("hex")}-->`),
};
type Filling = keyof typeof FILLINGS;

/** Stores so many documents for a participant. @returns their ids */
async function receive(receiver: ParticipantId, count: number, filling: Filling): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const outcome = await bench.receive({
      sender: SENDER,
      receiver,
      ...INVOICE,
      as4MessageId: `${randomUUID()}@peer`,
      sbdhInstanceId: randomUUID(),
      createdAt: clock.now(),
      payload: Buffer.concat([invoice(receiver), FILLINGS[filling]()]),
      envelope: { mls: { type: "FAILURE_ONLY", to: undefined }, countryC1: "AT", peerSeat: PEER_SEAT },
    });
    if (outcome.kind !== "stored") throw new Error(outcome.kind);
    ids.push(outcome.id);
  }
  return ids;
}
const stateOf = async (id: string): Promise<unknown> =>
  (await db.sql`select status from received_document where id = ${id}`)[0]?.["status"];

/** A node whose validators hold every large document until `go` is called, one document a call. */
function holdingNode(judged_bytes_max: number) {
  // Bounded by the documents of a test.
  const held: (() => void)[] = [];
  const seen = { most: 0 };
  const node = statusNode({
    ...bench.ports,
    judged_bytes_max,
    validators: {
      ...bench.ports.validators,
      inspect: async (payload, options) => {
        if (payload.length > LARGE)
          await new Promise<void>((go) => {
            held.push(go);
            seen.most = Math.max(seen.most, held.length);
          });
        return bench.ports.validators.inspect(payload, options);
      },
    },
  });
  return { node, held, seen, go: () => held.shift()?.() };
}

test.each([
  ["small", "small"],
  ["large", "blanks"],
] as const)(
  "%s documents that wait for their verdict are taken one of each firm in turn, and of one firm only some at once",
  async (size, filling) => {
    await receive(BUSY, LIMITS.duties_taken_max + LIMITS.duties_firm_max, filling);
    const [last = ""] = await receive(QUIET, 1, filling);
    const taken = await leaseDuties(bench.ports, size);
    expect(taken.map(({ id }) => id)).toContain(last);
    const others = await leaseDuties({ ...bench.ports, owner: "other/1" }, size);
    expect(
      [taken, others].map((duties) => duties.filter(({ firmId }) => firmId === busyFirm).length),
      "of the busy firm",
    ).toEqual([LIMITS.duties_firm_max, LIMITS.duties_firm_max]);
    expect(await leaseDuties(bench.ports, size), "while these are under lease").toEqual([]);
    await receive(QUIET, 1, filling);
    const next = await leaseDuties(bench.ports, size);
    expect(next.map(({ firmId }) => firmId)).toEqual([quietFirm]);
  },
);

test("two that take documents at the same moment have none of them twice, and of one firm together no more than one has", async () => {
  await receive(BUSY, LIMITS.duties_taken_max + LIMITS.duties_firm_max, "small");
  const both = (await Promise.all([1, 2, 3].map(() => leaseDuties(bench.ports)))).flat();
  expect(both).toHaveLength(LIMITS.duties_firm_max);
  expect(new Set(both.map(({ id }) => id)).size).toBe(both.length);
});

test("a small document is judged while large ones of any number of firms wait for room, and those come after it", async () => {
  const { node, held, go } = holdingNode(LARGE);
  const large = [
    ...(await receive(BUSY, LIMITS.duties_taken_max, "blanks")),
    ...(await receive(QUIET, LIMITS.duties_taken_max, "blanks")),
  ];
  const [small = ""] = await receive(BUSY, 1, "small");
  expect(await STATUS_STEPS.duties(node), "the small one alone").toBe(1);
  expect([await stateOf(small), held.length]).toEqual(["RECEIVED", 0]);
  const work = startStatusWork(node);
  for (const _ of large) {
    await eventually("a large one is being judged", () => held.length > 0);
    go();
  }
  await eventually("all were judged", async () =>
    (await Promise.all(large.map(stateOf))).every((s) => s === "RECEIVED"),
  );
  await work.stop();
});

test("a document that waits for room is not read before there is some", async () => {
  const { node, held, go } = holdingNode(LARGE);
  const ids = await receive(BUSY, 2, "blanks");
  const judged = STATUS_STEPS.largeDuties(node);
  await eventually("one of them is being judged", () => held.length === 1);
  await db.sql`delete from payload where document_id = any (${[...ids]}::uuid[])`;
  go();
  expect([await judged, held]).toEqual([2, []]);
  expect((await Promise.all(ids.map(stateOf))).toSorted()).toEqual(["HELD", "RECEIVED"]);
});

test.each([
  ["shrink to nothing are judged", "blanks", 2],
  ["do not shrink are not", "digits", 1],
] as const)(
  "room is for documents as they are stored, too: two that %s beside each other",
  async (_, filling, most) => {
    const { node, held, seen, go } = holdingNode(2.5 * LARGE);
    await receive(BUSY, 1, filling);
    await receive(QUIET, 1, filling);
    const judged = STATUS_STEPS.largeDuties(node);
    await eventually("as many as may be are being judged", () => held.length >= most);
    await receive(QUIET, 1, filling);
    expect(await STATUS_STEPS.largeDuties(bench.node), "one more, on a node of its own").toBe(1);
    for (let i = 0; i < 2; i += 1) {
      await eventually("one of them is being judged", () => held.length > 0);
      go();
    }
    expect([await judged, seen.most]).toEqual([2, most]);
  },
);

test("a document that the release before has stored, whose duty has no length, is judged within the room", async () => {
  const [id = ""] = await receive(BUSY, 1, "small");
  await db.sql`update mls_duty set payload_bytes = null`;
  expect(await STATUS_STEPS.duties(bench.node)).toBe(0);
  expect(await STATUS_STEPS.largeDuties(bench.node)).toBe(1);
  expect(await stateOf(id)).toBe("RECEIVED");
});
