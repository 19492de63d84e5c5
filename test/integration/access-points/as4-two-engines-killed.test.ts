/**
 * Two engines exchange documents and statuses, and one of them is killed at every point of an exchange where that makes a
 * difference, and started again. Whatever the point: each document arrives once, each record ends where it should, the
 * evidence of both sides holds.
 * @source design/reliability.md, F-01, S-09, I1 to I10
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { providerOfSeat } from "../../../engine/peppol/seats.js";
import { smlName } from "../../../engine/peppol/discovery/sml.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { eventually } from "../../support/eventually.js";
import type { Direction, FaultProxy, Share } from "../../support/network/fault-proxy.js";
import { createOracle } from "../../support/truth/oracle-facts.js";
import type { Oracle } from "../../support/truth/oracle-facts.js";
import { arrivedAs, enterprise, respondTo, settled, startSide } from "../../support/engines/side.js";
import type { Held, LockMode, Sent, Side, Table } from "../../support/engines/side.js";
import { evidenceFaults } from "../../support/engines/side-evidence.js";
import { prepareTwo, ZONE } from "../../support/engines/two-engines.js";
import type { TwoHomes } from "../../support/engines/two-engines.js";

let homes: TwoHomes;
let a: Side;
let b: Side;
let oracle: Oracle;

beforeAll(async () => {
  await buildIfNeeded();
  homes = await prepareTwo();
  [a, b] = await Promise.all([startSide(homes.a), startSide(homes.b)]);
  oracle = createOracle(a, b);
  // One document each way, so that each knows where the other is: looking it up is a point of its own.
  await Promise.all([a.send(b), b.send(a)]);
  await oracle.hold();
});
beforeEach(async () => {
  homes.dns.answer = homes.names;
  await Promise.all([a, b].map((side) => side.revive()));
});
afterAll(async () => {
  await Promise.all([a.kill(), b.kill()]);
  await homes.remove();
});

/** Makes ready what will end a process, and promises its death. */
type Arm = () => Promise<{ readonly dead: Promise<void> }>;
/** By its name, for the sides exist when the tests run. */
type Who = "a" | "b";
const sideOf = (who: Who): Side => (who === "a" ? a : b);

/** Where a process ends: one of its statements waits for a table, and ends with the process, or outlives it. */
interface Place {
  readonly table: Table;
  /** What the statement's text has. */
  readonly statement: string;
  readonly fate: "abandon" | "release";
  readonly mode?: LockMode;
}
const place = (table: Table, statement: string, fate: Place["fate"], mode?: LockMode): Place => ({
  table,
  statement,
  fate,
  ...(mode === undefined ? {} : { mode }),
});

async function killedAt(side: Side, held: Held, { statement, fate }: Place): Promise<void> {
  await held.waiting(statement);
  await side.kill();
  await held[fate]();
}

const inStatement =
  (who: Who, at: Place): Arm =>
  async () => {
    const held = await sideOf(who).hold(at.table, at.mode);
    return { dead: killedAt(sideOf(who), held, at) };
  };

/** Killed when a share of the next message has passed a proxy; nothing more of it passes. */
const onTheWire =
  (who: Who, proxy: () => FaultProxy, direction: Direction, share: Share): Arm =>
  async () => ({
    dead: proxy().cut(direction, share, async () => {
      await sideOf(who).kill();
      return false;
    }),
  });

/** The next message of a direction waits until a table is held, and goes on; killed in the statement that follows from it. */
const afterMessage =
  (
    who: Who,
    proxy: () => FaultProxy,
    direction: Direction,
    at: Place,
    ready: () => Promise<unknown> = () => Promise.resolve(),
  ): Arm =>
  async () => {
    let held: Held | undefined;
    const met = proxy().cut(direction, "none", async () => {
      await ready();
      held = await sideOf(who).hold(at.table, at.mode);
      return true;
    });
    return { dead: met.then(() => (held === undefined ? undefined : killedAt(sideOf(who), held, at))) };
  };

const toB = (): FaultProxy => homes.b.as4;
const toA = (): FaultProxy => homes.a.as4;

/** Killed by the DNS server when it is asked for the other provider; the question stays without an answer. */
const asked: Arm = async () => {
  // What the process remembers of the locator, it would not ask for.
  await b.restart();
  const wanted = smlName(providerOfSeat(homes.a.seat) ?? "", ZONE);
  return {
    dead: new Promise((resolve, reject) => {
      homes.dns.answer = (name, transport) => {
        if (name !== wanted) return homes.names(name, transport);
        homes.dns.answer = homes.names;
        b.kill().then(resolve, reject);
        return undefined;
      };
    }),
  };
};

const lookedUp: Arm = async () => {
  await a.restart();
  return onTheWire("b", () => homes.b.smp, "response", "half")();
};

const drained: Arm = async () => {
  const held = await b.hold("received_document");
  return {
    dead: (async () => {
      await held.waiting("receive_businesses");
      b.beginToStop();
      await eventually(
        "it says that it is no longer ready",
        async () => (await fetch(`${b.sandbox.adminUrl}/readyz`)).status === 503,
      );
      await b.kill();
      await held.abandon();
    })(),
  };
};

const killedBefore: Arm = async () => {
  await b.kill();
  return { dead: Promise.resolve() };
};

/** B's document has its receipt: what comes next for it is A's status. */
const receipted = async (): Promise<void> => {
  await eventually(
    "the receipt is written down",
    async () => (await b.statusOf(b.sent.at(-1)?.id ?? "")) === "delivered",
  );
};

/** One sends a delivered document's answer to the other. @returns the document, whose record will have it */
const answered = (from: Who, to: Who) => async (): Promise<Sent> => {
  const sent = sideOf(from).sent[0];
  if (sent === undefined) throw new Error("no document was sent");
  const answers = await sideOf(to).home.db.sql`select 1 from service_message where kind = 'invoice_response'`;
  // Another answer than the last one each time: the same is not sent again.
  const answer = await respondTo(
    sideOf(to),
    await arrivedAs(sideOf(from), sideOf(to), sent),
    answers.length % 2 === 0 ? "in_process" : "accepted",
  );
  expect(answer.status).toBe(200);
  return sent;
};

/** What an exchange does, whose document it is about, and where that ends. */
interface Act {
  readonly act: () => Promise<Sent>;
  readonly from: Who;
  readonly ends: Readonly<Record<string, unknown>>;
}
const DELIVERED: Act = { act: () => a.send(b), from: "a", ends: { status: "delivered" } };
const REFUSED_BY_B: Act = { act: () => a.send(b, b.home.refuses), from: "a", ends: { status: "rejected" } };
const REFUSED_BY_A: Act = { act: () => b.send(a, a.home.refuses), from: "b", ends: { status: "rejected" } };
const ANSWERED_BY_B: Act = {
  act: answered("a", "b"),
  from: "a",
  ends: { status: "delivered", invoiceResponseStatus: "IP" },
};
const ANSWERED_BY_A: Act = {
  act: answered("b", "a"),
  from: "b",
  ends: { status: "delivered", invoiceResponseStatus: "IP" },
};

async function endsWell(who: Who, arm: Arm, { act, from, ends }: Act): Promise<void> {
  const { dead } = await arm();
  // Whichever of the two fails first is what the test says, and the other is waited for by nobody else.
  const [sent] = await Promise.all([act(), dead]);
  await sideOf(who).start();
  await settled(a, b);
  expect((await enterprise(sideOf(from), `/documents/${sent.id}/status`)).json).toMatchObject(ends);
  await oracle.hold();
}

describe("the receiving access point is killed and started again", () => {
  const points: readonly [name: string, arm: Arm, act: Act][] = [
    ["before the connection", killedBefore, DELIVERED],
    ["with half of its metadata answered", lookedUp, DELIVERED],
    ["before the first octet of the message", onTheWire("b", toB, "request", "none"), DELIVERED],
    ["with half of the message's octets", onTheWire("b", toB, "request", "half"), DELIVERED],
    [
      "with the message decrypted and verified, before its recipient is known",
      inStatement("b", place("participant", "from participant", "abandon", "everything")),
      DELIVERED,
    ],
    [
      "with the document about to be stored",
      inStatement("b", place("received_document", "receive_businesses", "abandon")),
      DELIVERED,
    ],
    [
      "with the document being stored, which ends after its process",
      inStatement("b", place("received_document", "receive_businesses", "release")),
      DELIVERED,
    ],
    [
      "with the document about to take its place in the evidence",
      inStatement("b", place("evidence_head", "receive_businesses", "abandon")),
      DELIVERED,
    ],
    [
      "with the document and its evidence being stored, which ends after its process",
      inStatement("b", place("evidence_head", "receive_businesses", "release")),
      DELIVERED,
    ],
    ["after everything, before the first octet of the receipt", onTheWire("b", toB, "response", "none"), DELIVERED],
    ["with half of the receipt's octets", onTheWire("b", toB, "response", "half"), DELIVERED],
    ["in a drain, with the message under way", drained, DELIVERED],
    [
      "before the first octet of the receipt for what it rejects",
      onTheWire("b", toB, "response", "none"),
      REFUSED_BY_B,
    ],
    ["with the status decided, while it looks up where it goes", asked, REFUSED_BY_B],
    ["with half of its status sent", onTheWire("b", toA, "request", "half"), REFUSED_BY_B],
    [
      "after the receipt for its status, before it is written down",
      afterMessage("b", toA, "response", place("service_message", "end_service_attempt", "abandon")),
      REFUSED_BY_B,
    ],
    [
      "with a status for its own document stored and not yet followed",
      afterMessage("b", toB, "request", place("document_history", "apply_status", "abandon"), receipted),
      REFUSED_BY_A,
    ],
    ["with half of its firm's answer sent", onTheWire("b", toA, "request", "half"), ANSWERED_BY_B],
    [
      "with an answer to its own document stored and not yet followed",
      inStatement("b", place("document_history", "apply_status", "abandon")),
      ANSWERED_BY_A,
    ],
  ];

  test.each(points)("everything arrives once when the receiving access point is killed: %s", (_, arm, act) =>
    endsWell("b", arm, act),
  );
});

describe("the sending access point is killed and started again", () => {
  const points: readonly [name: string, arm: Arm, act: Act][] = [
    [
      "with the first attempt's end about to be written down",
      inStatement("a", place("document_attempt", "end_attempts", "abandon")),
      DELIVERED,
    ],
    [
      "after the receipt, before its evidence is stored",
      afterMessage("a", toB, "response", place("evidence_head", "end_attempts", "abandon")),
      DELIVERED,
    ],
    [
      "after the receipt, before it is written down: the repeat is the same message",
      afterMessage("a", toB, "response", place("document_history", "end_attempts", "abandon")),
      DELIVERED,
    ],
    [
      "after the receipt, which is written down after its process has ended",
      afterMessage("a", toB, "response", place("document_history", "end_attempts", "release")),
      DELIVERED,
    ],
    [
      "while a status for its document arrives",
      inStatement("a", place("inbound_status", "receive_status", "abandon")),
      REFUSED_BY_B,
    ],
  ];

  test.each(points)("everything arrives once when the sending access point is killed: %s", (_, arm, act) =>
    endsWell("a", arm, act),
  );
});

test("after all of this the evidence of both sides is whole", async () => {
  for (const side of [a, b]) expect(await evidenceFaults(side)).toEqual([]);
});
