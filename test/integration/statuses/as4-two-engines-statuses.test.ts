/**
 * What two access points say to each other about the documents that they exchanged: Message Level Statuses of the access
 * points, invoice responses of the firms, both ways. Both ask to be told of successes too.
 * @source design/as4.md, section 11; spec/rulings.md, sections 5 and 11
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { createOracle } from "../../support/truth/oracle-facts.js";
import type { Oracle } from "../../support/truth/oracle-facts.js";
import { arrivedAs, enterprise, inbox, respondTo, settled, startSide } from "../../support/engines/side.js";
import type { Sent, Side } from "../../support/engines/side.js";
import { evidenceFaults } from "../../support/engines/side-evidence.js";
import { prepareTwo } from "../../support/engines/two-engines.js";
import type { TwoHomes } from "../../support/engines/two-engines.js";

let homes: TwoHomes;
let a: Side;
let b: Side;
let oracle: Oracle;

beforeAll(async () => {
  await buildIfNeeded();
  homes = await prepareTwo({ MLS_TYPE: "ALWAYS_SEND" });
  [a, b] = await Promise.all([startSide(homes.a), startSide(homes.b)]);
  oracle = createOracle(a, b);
});
afterAll(async () => {
  await Promise.all([a.kill(), b.kill()]);
  await homes.remove();
});

/** Both ways: who sends the document, and who says something about it. */
const WAYS: readonly [name: string, ways: () => readonly [from: Side, to: Side]][] = [
  ["A's document, B's word", () => [a, b]],
  ["B's document, A's word", () => [b, a]],
];

interface Event {
  readonly eventType: string;
  readonly detail: string | null;
  readonly meta: Readonly<Record<string, unknown>> | null;
}

const statusOf = async (side: Side, { id }: Sent): Promise<Record<string, unknown>> =>
  (await enterprise(side, `/documents/${id}/status`)).json;
const eventsOf = async (side: Side, { id }: Sent): Promise<readonly Event[]> =>
  (await enterprise(side, `/documents/${id}/events`)).json["events"] as Event[];
const kindsOf = async (side: Side, sent: Sent): Promise<string[]> =>
  (await eventsOf(side, sent)).map(({ eventType }) => eventType);

test.each(WAYS)(
  "%s: a document that breaks a rule of its receiver is rejected, and its sender reads which",
  async (_, ways) => {
    const [from, to] = ways();
    const sent = await from.send(to, to.home.refuses);
    await settled(a, b);
    expect(await statusOf(from, sent)).toMatchObject({
      status: "rejected",
      statusReason: "The document breaks 1 rule and was rejected.",
      statusHistory: [{ status: "queued" }, { status: "delivered" }, { status: "rejected" }],
    });
    expect(await kindsOf(from, sent)).toEqual([
      "document.queued",
      "document.sent",
      "document.delivered",
      "document.mls_received",
      "document.rejected",
    ]);
    const [told] = (await eventsOf(from, sent)).filter(({ eventType }) => eventType === "document.mls_received");
    expect(told?.meta).toMatchObject({
      mls: "RE",
      issues: [{ reason: "BV", description: expect.stringContaining("HOUSE-01") as string }],
    });
    await oracle.hold();
  },
);

test.each(WAYS)("%s: a document that its firm has confirmed is answered AP", async (_, ways) => {
  const [from, to] = ways();
  const sent = await from.send(to);
  await settled(a, b);
  expect(await kindsOf(from, sent)).not.toContain("document.mls_received");
  expect((await inbox(to, "POST", `${await arrivedAs(from, to, sent)}/acknowledge`)).status).toBe(200);
  await to.outwaitConfirmations();
  await settled(a, b);
  expect(await statusOf(from, sent)).toMatchObject({ status: "delivered" });
  expect((await eventsOf(from, sent)).at(-1)).toMatchObject({
    eventType: "document.mls_received",
    meta: { mls: "AP", issues: [] },
  });
  await oracle.hold();
});

test.each(WAYS)("%s: a document that nobody has confirmed is answered AB when the wait is over", async (_, ways) => {
  const [from, to] = ways();
  const sent = await from.send(to);
  await settled(a, b);
  await to.outwaitConfirmations();
  await settled(a, b);
  expect(await statusOf(from, sent)).toMatchObject({ status: "delivered" });
  expect((await eventsOf(from, sent)).at(-1)).toMatchObject({
    eventType: "document.mls_received",
    meta: { mls: "AB" },
  });
  await oracle.hold();
});

test.each(WAYS)("%s: a firm's answers arrive in their order, and the same answer is sent once", async (_, ways) => {
  const [from, to] = ways();
  const sent = await from.send(to);
  await settled(a, b);
  const received = await arrivedAs(from, to, sent);
  expect((await respondTo(to, received, "under_query", "Which order?")).json).toMatchObject({
    response: { delivery: "queued" },
    idempotent: false,
  });
  await settled(a, b);
  expect(await statusOf(from, sent)).toMatchObject({ status: "delivered", invoiceResponseStatus: "UQ" });
  expect((await eventsOf(from, sent)).at(-1)).toMatchObject({
    eventType: "document.response_received",
    detail: "Which order?",
    meta: { response: "UQ" },
  });

  expect((await respondTo(to, received, "under_query", "Which order?")).json).toMatchObject({
    response: { delivery: "sent" },
    idempotent: true,
  });
  expect((await respondTo(to, received, "accepted")).json).toMatchObject({ idempotent: false });
  await settled(a, b);
  expect(await statusOf(from, sent)).toMatchObject({ status: "delivered", invoiceResponseStatus: "AP" });
  expect((await kindsOf(from, sent)).filter((kind) => kind === "document.response_received")).toHaveLength(2);
  await oracle.hold();
});

test("every status and response that was sent has arrived, and the evidence of both sides is whole", async () => {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    const [sent, followed] = await Promise.all([
      from.home.db.sql<
        { kind: string; code: string }[]
      >`select kind, code from service_message where status = 'delivered' order by kind, code`,
      to.home.db.sql<
        { kind: string; code: string }[]
      >`select kind, code from inbound_status where outcome = 'applied' order by kind, code`,
    ]);
    expect(sent.map((row) => `${row.kind} ${row.code}`)).toEqual([
      "invoice_response AP",
      "invoice_response UQ",
      ...["AB", "AP", "RE"].map((code) => `mls ${code}`),
    ]);
    expect([...followed]).toEqual([...sent]);
  }
  for (const side of [a, b]) expect(await evidenceFaults(side)).toEqual([]);
});
