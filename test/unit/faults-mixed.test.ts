/** The oracle of the mixed run sees each promise that is not kept, and its table tells what followed from each kill. */
import { expect, test } from "vitest";

import { brokenDeliveries, brokenNotices } from "../faults/mixed/promises.js";
import { recoveries, recoveryRows } from "../faults/mixed/recovery.js";
import type { OutgoingFact } from "../support/truth/oracle.js";

const accepted = [{ id: "d1", sha256: "aa", answer: { status: 202, body: "" }, repeated: [] }];
const sent: OutgoingFact = {
  ...{ id: "d1", kind: "business", status: "delivered", sha256: "aa" },
  ...{ messageId: "m1", instanceId: "i1", nextAttemptAt: null },
};
const proof = (direction: "inbound" | "outbound", outcome: string) =>
  ({ documentId: "d1", direction, outcome, messageId: "m1" }) as const;
const side = { name: "A", accepted, outgoing: [sent], evidence: [proof("outbound", "receipt")] };
const other = { evidence: [proof("inbound", "stored"), proof("inbound", "duplicate")] };
const read = [{ id: "r1", sha256: "aa" }];

test("a document that was delivered, read once and proved by either side breaks no promise, also when its message came twice", () => {
  expect(brokenDeliveries(side, other, read)).toEqual([]);
  expect(brokenDeliveries({ ...side, evidence: [...side.evidence, ...side.evidence] }, other, read)).toEqual([]);
});

test.each([
  ["is nowhere", { ...side, outgoing: [] }, other, read, "d1 is nowhere"],
  ["is not delivered", { ...side, outgoing: [{ ...sent, status: "queued" }] }, other, read, "d1 is queued"],
  ["was found by nobody", side, other, [], "found 0 times"],
  ["was found with other bytes", side, other, [{ id: "r1", sha256: "bb" }], "found 0 times"],
  ["was found twice", side, other, [...read, { id: "r2", sha256: "aa" }], "found 2 times"],
  ["has no receipt", { ...side, evidence: [] }, other, read, "0 proofs, 1 at"],
  ["arrived without a record", side, { evidence: [] }, read, "1 proofs, 0 at"],
  [
    "has two records of one arrival",
    side,
    { evidence: [other.evidence[0], other.evidence[0]] },
    read,
    "1 proofs, 2 at",
  ],
  [
    "has a receipt too many",
    { ...side, evidence: [side.evidence[0], side.evidence[0], side.evidence[0]] },
    ...[other, read, "3 proofs, 1 at"],
  ],
] as const)("an accepted document that %s is a broken promise", (_what, from, to, found, sentence) => {
  expect(brokenDeliveries(from as typeof side, to as typeof other, found).join("\n")).toContain(sentence);
});

const events = [
  { id: "e1", kind: "document.sent" },
  { id: "e2", kind: "document.delivered" },
] as const;
const call = (id: string, kind: string, more = "") => ({
  headers: { "x-webhook-event-id": id },
  body: Buffer.from(`{"event":"${kind}"${more}}`),
});
const calls = [call("e1", "document.sent"), call("e2", "document.delivered"), call("e2", "document.delivered")];

test("events that came at least once, each time with the same bytes, break no promise", () => {
  expect(brokenNotices(events, calls)).toEqual([]);
});

test.each([
  ["does not come", calls.slice(1), "document.sent e1 was told to nobody"],
  ["comes with other bytes", [...calls, call("e2", "document.delivered", ',"more":1')], "e2 came as"],
  ["has not happened", [...calls, call("e3", "document.sent")], "e3 was told and has not happened"],
  ["is of another kind", [call("e1", "document.delivered"), ...calls.slice(1)], "e1 was told and has not happened so"],
] as const)("an event that %s is a broken promise", (_what, came, sentence) => {
  expect(brokenNotices(events, came).join("\n")).toContain(sentence);
});

test("two events under one id are a broken promise", () => {
  expect(brokenNotices([...events, events[0]], calls)).toEqual(["two events have the id e1"]);
});

test("what followed from a kill is told of the access point that was struck, from answers to calls made after it", () => {
  const kills = [{ name: "B's Postgres", at: 1_000, back: 1_500 }] as const;
  const made = (point: "A" | "B", begun: number, outcome: "good" | "later") =>
    ({ kind: "list", point, begun, ended: begun + 100, outcome }) as const;
  const followed = recoveries(
    kills,
    [made("B", 900, "good"), made("A", 1_000, "good"), made("B", 1_100, "later"), made("B", 1_700, "good")],
    [
      { point: "A", accepted: 800, delivered: 1_200 },
      { point: "B", accepted: 1_400, delivered: 3_000 },
      { point: "B", accepted: 1_600, delivered: 9_000 },
    ],
  );
  expect(followed).toEqual([{ name: "B's Postgres", back: 500, answer: 800, delivery: 2_000 }]);
  const cells = ["0.50", "0.50", "0.80", "0.80", "2.00", "2.00"];
  expect(recoveryRows(followed)).toEqual([
    ["B's Postgres", 1, ...cells],
    ["all", 1, ...cells],
  ]);
});
