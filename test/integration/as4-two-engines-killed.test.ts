/**
 * Two engines exchange documents and statuses, and one of them is killed at every point of an exchange where that makes a
 * difference, and started again. Whatever the point: each document arrives once, each record ends where it should, the
 * evidence of both sides holds.
 * @source design/reliability.md, F-01, S-09, I1 to I10
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { providerOfSeat } from "../../engine/peppol/providers.js";
import { smlName } from "../../engine/peppol/sml.js";
import { buildIfNeeded } from "../../deploy/build.mjs";
import { eventually } from "../support/eventually.js";
import type { Direction, FaultProxy, Share } from "../support/fault-proxy.js";
import { createOracle, type Oracle } from "../support/oracle-facts.js";
import { enterprise, type Held, type LockMode, type Sent, settled, type Side, startSide, type Table } from "../support/side.js";
import { evidenceFaults } from "../support/side-evidence.js";
import { prepareTwo, type TwoHomes, ZONE } from "../support/two-engines.js";

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
}, 120_000);
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

/** Killed while one of its statements waits for a table; that statement ends with the process, or outlives it. */
const inStatement = (who: Who, table: Table, fate: "abandon" | "release", mode?: LockMode): Arm => async () => {
  const held = await sideOf(who).hold(table, mode);
  return { dead: killedIn(sideOf(who), held, fate) };
};

async function killedIn(side: Side, held: Held, fate: "abandon" | "release"): Promise<void> {
  await held.waiting();
  await side.kill();
  await held[fate]();
}

/** Killed when a share of the next message has passed a proxy; nothing more of it passes. */
const onTheWire = (who: Who, proxy: () => FaultProxy, direction: Direction, share: Share): Arm => async () => ({
  dead: proxy().cut(direction, share, async () => {
    await sideOf(who).kill();
    return false;
  }),
});

/** The next message of a direction waits until a table is held, and goes on; killed in the statement that follows from it. */
const afterMessage = (who: Who, proxy: () => FaultProxy, direction: Direction, table: Table, fate: "abandon" | "release", ready: () => Promise<unknown> = () => Promise.resolve()): Arm => async () => {
  let held: Held | undefined;
  const met = proxy().cut(direction, "none", async () => {
    await ready();
    held = await sideOf(who).hold(table, "writes");
    return true;
  });
  return { dead: met.then(() => (held === undefined ? undefined : killedIn(sideOf(who), held, fate))) };
};

const toB = (): FaultProxy => homes.b.as4;
const toA = (): FaultProxy => homes.a.as4;

/** Killed by the DNS server when it is asked for the other provider; the question stays without an answer. */
const asked: Arm = async () => {
  // What the process remembers of the locator, it would not ask for.
  await b.restart();
  const wanted = smlName(providerOfSeat(homes.a.seat) ?? "", ZONE);
  return { dead: new Promise((resolve, reject) => {
    homes.dns.answer = (name, transport) => {
      if (name !== wanted) return homes.names(name, transport);
      homes.dns.answer = homes.names;
      b.kill().then(resolve, reject);
      return undefined;
    };
  }) };
};

const lookedUp: Arm = async () => {
  await a.restart();
  return onTheWire("b", () => homes.b.smp, "response", "half")();
};

const drained: Arm = async () => {
  const held = await b.hold("received_document");
  return { dead: (async () => {
    await held.waiting();
    b.beginToStop();
    await eventually("it says that it is no longer ready", async () => (await fetch(`${b.sandbox.adminUrl}/readyz`)).status === 503);
    await b.kill();
    await held.abandon();
  })() };
};

const killedBefore: Arm = async () => {
  await b.kill();
  return { dead: Promise.resolve() };
};

/** B's document has its receipt: what comes next for it is A's status. */
const receipted = async (): Promise<void> => {
  await eventually("the receipt is written down", async () => await b.statusOf(b.sent.at(-1)?.id ?? "") === "delivered");
};

const document = (): Promise<Sent> => a.send(b);
/** A document that B refuses by a status, and one that A refuses. */
const refusedByB = (): Promise<Sent> => a.send(b, b.home.refuses);
const refusedByA = (): Promise<Sent> => b.send(a, a.home.refuses);

async function endsWell(who: Who, arm: Arm, act: () => Promise<Sent>): Promise<void> {
  const { dead } = await arm();
  const sent = await act();
  await dead;
  await sideOf(who).start();
  await settled(a, b);
  const [from, end] = act === refusedByA ? [b, "rejected"] : [a, act === refusedByB ? "rejected" : "delivered"];
  expect((await enterprise(from, `/documents/${sent.id}/status`)).json["status"]).toBe(end);
  await oracle.hold();
}

/** Each start of an engine takes seconds on a busy machine. */
const PATIENCE_MS = 90_000;

describe("the receiving access point is killed and started again", () => {
  const points: readonly [name: string, arm: Arm, act: () => Promise<Sent>][] = [
    ["before the connection", killedBefore, document],
    ["with half of its metadata answered", lookedUp, document],
    ["before the first octet of the message", onTheWire("b", toB, "request", "none"), document],
    ["with half of the message's octets", onTheWire("b", toB, "request", "half"), document],
    ["with the message decrypted and verified, before its recipient is known", inStatement("b", "participant", "abandon"), document],
    ["with the document about to be stored", inStatement("b", "received_document", "abandon"), document],
    ["with the document being stored, which ends after its process", inStatement("b", "received_document", "release"), document],
    ["after the document is stored, before its evidence is", inStatement("b", "evidence_head", "abandon"), document],
    ["with the evidence being stored, which ends after its process", inStatement("b", "evidence_head", "release"), document],
    ["after everything, before the first octet of the receipt", onTheWire("b", toB, "response", "none"), document],
    ["with half of the receipt's octets", onTheWire("b", toB, "response", "half"), document],
    ["in a drain, with the message under way", drained, document],
    ["with the status decided, while it looks up where it goes", asked, refusedByB],
    ["with half of its status sent", onTheWire("b", toA, "request", "half"), refusedByB],
    ["after the receipt for its status, before it is written down", afterMessage("b", toA, "response", "service_message", "abandon"), refusedByB],
    ["with a status for its own document stored and not yet followed", afterMessage("b", toB, "request", "document", "abandon", receipted), refusedByA],
  ];

  test.each(points)("%s: everything arrives once", { timeout: PATIENCE_MS }, (_, arm, act) => endsWell("b", arm, act));
});

describe("the sending access point is killed and started again", () => {
  const points: readonly [name: string, arm: Arm, act: () => Promise<Sent>][] = [
    ["with the first attempt about to be written down", inStatement("a", "document_attempt", "abandon"), document],
    ["after the receipt, before its evidence is stored", afterMessage("a", toB, "response", "evidence_head", "abandon"), document],
    ["after the receipt, before it is written down: the repeat is the same message", afterMessage("a", toB, "response", "document", "abandon"), document],
    ["after the receipt, which is written down after its process has ended", afterMessage("a", toB, "response", "document", "release"), document],
    ["while a status for its document arrives", inStatement("a", "inbound_status", "abandon"), refusedByB],
  ];

  test.each(points)("%s: everything arrives once", { timeout: PATIENCE_MS }, (_, arm, act) => endsWell("a", arm, act));
});

test("after all of this the evidence of both sides is whole", async () => {
  for (const side of [a, b]) expect(await evidenceFaults(side)).toEqual([]);
});
