/**
 * The oracle of the fault tests can fail: from facts of two sound access points, each invariant is broken in each of its
 * ways, and it says so and no other does. An oracle that never fails proves nothing.
 */
import { expect, test } from "vitest";

import { violations } from "../../../support/truth/oracle.js";
import type { Facts, InvariantName, SideFacts } from "../../../support/truth/oracle.js";

type Side = { -readonly [K in keyof SideFacts]: SideFacts[K] };

const ok = { status: 202, body: '{"providerDocumentId":"d1"}' };
const nobody = { status: 404, body: "{}" };

/** A side that sent document d1 and its answer m1, and received r1. */
const side = (name: string, other: string): Side => ({
  name,
  accepted: [{ id: `${name}-d1`, sha256: `${name}-sha-d`, answer: ok, repeated: [ok] }],
  outgoing: [
    {
      id: `${name}-d1`,
      kind: "business",
      status: "delivered",
      sha256: `${name}-sha-d`,
      messageId: `${name}-md`,
      instanceId: `${name}-id`,
      nextAttemptAt: null,
    },
    {
      id: `${name}-m1`,
      kind: "mls",
      status: "delivered",
      sha256: `${name}-sha-m`,
      messageId: `${name}-mm`,
      instanceId: `${name}-im`,
      nextAttemptAt: null,
    },
    {
      id: `${name}-d2`,
      kind: "business",
      status: "queued",
      sha256: `${name}-sha-2`,
      messageId: `${name}-m2`,
      instanceId: `${name}-i2`,
      nextAttemptAt: "2026-11-20T10:00:00",
    },
  ],
  incoming: [
    {
      id: `${name}-r1`,
      kind: "business",
      sha256: `${other}-sha-d`,
      messageId: `${other}-md`,
      instanceId: `${other}-id`,
      open: false,
      nextAt: null,
    },
    {
      id: `${name}-s1`,
      kind: "mls",
      sha256: `${other}-sha-m`,
      messageId: `${other}-mm`,
      instanceId: `${other}-im`,
      open: false,
      nextAt: null,
    },
  ],
  duties: [{ id: `${name}-r1`, decided: true, nextAt: null }],
  history: [
    { documentId: `${name}-d1`, version: 1, status: "queued", trigger: "accepted", at: "2026-11-20T09:00:00" },
    {
      documentId: `${name}-d1`,
      version: 3,
      status: "delivered",
      trigger: "receipt_confirmed",
      at: "2026-11-20T09:00:01",
    },
    { documentId: `${name}-d2`, version: 1, status: "queued", trigger: "accepted", at: "2026-11-20T09:00:00" },
  ],
  events: [
    { id: `${name}-e1`, documentId: `${name}-d1`, kind: "document.sent", feed: true },
    { id: `${name}-e2`, documentId: `${name}-d1`, kind: "document.delivered", feed: true },
  ],
  evidence: [
    { documentId: `${name}-d1`, direction: "outbound", outcome: "receipt", messageId: `${name}-md` },
    { documentId: `${name}-m1`, direction: "outbound", outcome: "already_handed_over", messageId: `${name}-mm` },
    { documentId: `${name}-r1`, direction: "inbound", outcome: "stored", messageId: `${other}-md` },
    { documentId: `${name}-s1`, direction: "inbound", outcome: "duplicate", messageId: `${other}-mm` },
  ],
  exchanges: [
    { id: `${name}-d1`, direction: "outgoing", kind: "business" },
    { id: `${name}-m1`, direction: "outgoing", kind: "mls" },
    { id: `${name}-r1`, direction: "incoming", kind: "business" },
    { id: `${name}-s1`, direction: "incoming", kind: "mls" },
  ],
  counted: { incoming: 1, outgoing: 1 },
  probes: [{ what: "another firm's", answer: nobody, unknown: nobody }],
  places: [{ where: "the log", text: '{"msg":"ready"}' }],
  process: { alive: true, live: true, ready: true, output: '{"msg":"ready"}\n', rss_bytes: 100 },
});

const sound = (): Facts & { sides: [Side, Side] } => ({
  sides: [side("a", "b"), side("b", "a")],
  canaries: [{ name: "a client secret", value: "sk_live_test" }],
  rssMax_bytes: 120,
});

/** Changes the members of a fact at a place of a list. */
const changed = <T>(list: readonly T[], at: number, members: Partial<T>): T[] =>
  list.map((item, index) => (index === at ? { ...item, ...members } : item));

const BREAKS: readonly [invariant: InvariantName, how: string, breaking: (a: Side) => void][] = [
  [
    "I1",
    "an accepted document is not there",
    (a) => {
      a.accepted = [...a.accepted, { id: "gone", sha256: "gone", answer: ok, repeated: [] }];
    },
  ],
  [
    "I1",
    "an accepted document has other bytes",
    (a) => {
      a.accepted = changed(a.accepted, 0, { sha256: "other" });
    },
  ],
  [
    "I2",
    "another MessageId arrived",
    (a) => {
      a.incoming = changed(a.incoming, 0, { messageId: "other" });
    },
  ],
  [
    "I2",
    "other bytes arrived",
    (a) => {
      a.incoming = changed(a.incoming, 0, { sha256: "other" });
    },
  ],
  [
    "I2",
    "a document arrived that nobody sent",
    (a) => {
      a.incoming = [
        ...a.incoming,
        { id: "r2", kind: "business", sha256: "x", messageId: "x", instanceId: "x", open: false, nextAt: null },
      ];
      a.evidence = [...a.evidence, { documentId: "r2", direction: "inbound", outcome: "stored", messageId: "x" }];
      a.exchanges = [...a.exchanges, { id: "r2", direction: "incoming", kind: "business" }];
      a.counted = { incoming: 2, outgoing: 1 };
    },
  ],
  [
    "I2",
    "a repeat was sent under another MessageId",
    (a) => {
      a.evidence = [
        ...a.evidence,
        { documentId: "a-d1", direction: "outbound", outcome: "unconfirmed", messageId: "other" },
      ];
    },
  ],
  [
    "I3",
    "a document rests",
    (a) => {
      a.outgoing = changed(a.outgoing, 2, { nextAttemptAt: null });
    },
  ],
  [
    "I3",
    "a received status rests",
    (a) => {
      a.incoming = changed(a.incoming, 1, { open: true });
    },
  ],
  [
    "I3",
    "an owed status rests",
    (a) => {
      a.duties = changed(a.duties, 0, { decided: false });
    },
  ],
  [
    "I4",
    "a move that the table does not have",
    (a) => {
      a.history = [
        ...a.history,
        { documentId: "a-d2", version: 2, status: "delivered", trigger: "mls_ap", at: "2026-11-20T09:00:02" },
      ];
      a.outgoing = changed(a.outgoing, 2, { status: "queued" });
    },
  ],
  [
    "I4",
    "time goes back",
    (a) => {
      a.history = changed(a.history, 1, { at: "2026-11-20T08:59:59" });
    },
  ],
  [
    "I4",
    "the history ends elsewhere than the document",
    (a) => {
      a.outgoing = changed(a.outgoing, 2, { status: "sent" });
    },
  ],
  [
    "I5",
    "a repeat is answered with other bytes",
    (a) => {
      a.accepted = changed(a.accepted, 0, { repeated: [{ ...ok, body: `${ok.body} ` }] });
    },
  ],
  [
    "I5",
    "a repeat is answered with another status",
    (a) => {
      a.accepted = changed(a.accepted, 0, { repeated: [{ ...ok, status: 409 }] });
    },
  ],
  [
    "I6",
    "a delivered document has no receipt",
    (a) => {
      a.evidence = changed(a.evidence, 0, { outcome: "unconfirmed" });
    },
  ],
  [
    "I6",
    "a received document has no evidence",
    (a) => {
      a.evidence = a.evidence.filter((_, index) => index !== 2);
    },
  ],
  [
    "I6",
    "the feed was not told",
    (a) => {
      a.events = a.events.map((event) => ({ ...event, feed: false }));
    },
  ],
  [
    "I6",
    "it was delivered twice",
    (a) => {
      a.events = [...a.events, { id: "e3", documentId: "a-d1", kind: "document.delivered", feed: true }];
    },
  ],
  [
    "I6",
    "an event is there twice",
    (a) => {
      a.events = [...a.events, { id: "a-e1", documentId: "a-d1", kind: "document.queued", feed: false }];
    },
  ],
  [
    "I7",
    "a delivered document is not counted",
    (a) => {
      a.exchanges = a.exchanges.slice(1);
      a.counted = { incoming: 1, outgoing: 0 };
    },
  ],
  [
    "I7",
    "a document is counted that was not delivered",
    (a) => {
      a.exchanges = [...a.exchanges, { id: "a-d2", direction: "outgoing", kind: "business" }];
      a.counted = { incoming: 1, outgoing: 2 };
    },
  ],
  [
    "I7",
    "the statistics say something else",
    (a) => {
      a.counted = { incoming: 1, outgoing: 2 };
    },
  ],
  [
    "I8",
    "another firm reads the document",
    (a) => {
      a.probes = [{ what: "another firm's", answer: { status: 200, body: "{}" }, unknown: nobody }];
    },
  ],
  [
    "I8",
    "the answer tells that the document is there",
    (a) => {
      a.probes = [{ what: "another firm's", answer: { status: 404, body: '{"is":"another\'s"}' }, unknown: nobody }];
    },
  ],
  [
    "I9",
    "a secret is in the log",
    (a) => {
      a.places = [{ where: "the log", text: '{"msg":"sk_live_test_1"}' }];
    },
  ],
  [
    "I10",
    "the process is dead",
    (a) => {
      a.process = { alive: false, live: false, ready: false, output: "", rss_bytes: undefined };
    },
  ],
  [
    "I10",
    "the process has grown",
    (a) => {
      a.process = { alive: true, live: true, ready: true, output: "", rss_bytes: 121 };
    },
  ],
  [
    "I10",
    "a rejection was not handled",
    (a) => {
      a.process = { alive: true, live: true, ready: true, output: "[UnhandledPromiseRejection]", rss_bytes: 1 };
    },
  ],
  [
    "I10",
    "it wrote a stack",
    (a) => {
      a.process = {
        alive: true,
        live: true,
        ready: true,
        output: "TypeError\n    at run (engine/x.js:1:1)\n",
        rss_bytes: 1,
      };
    },
  ],
];

test("sound access points keep every invariant, also one that sends to itself", () => {
  expect(violations(sound())).toEqual([]);
  const {
    sides: [a, b],
  } = sound();
  const alone: SideFacts = {
    ...a,
    outgoing: [...a.outgoing, ...b.outgoing],
    history: [...a.history, ...b.history],
    events: [...a.events, ...b.events],
    incoming: [...a.incoming, ...b.incoming],
    evidence: [...a.evidence, ...b.evidence],
    exchanges: [...a.exchanges, ...b.exchanges],
    counted: undefined,
  };
  expect(violations({ ...sound(), sides: [alone] })).toEqual([]);
});

test.each(BREAKS)("%s says that %s", (invariant, _, breaking) => {
  const facts = sound();
  breaking(facts.sides[0]);
  const found = violations(facts);
  expect(found.map((sentence) => sentence.split(" ")[0])).toEqual(expect.arrayContaining([invariant]));
  expect(new Set(found.map((sentence) => sentence.split(" ")[0]))).toEqual(new Set([invariant]));
});

test("I2 says that a document is called delivered and did not arrive", () => {
  const facts = sound();
  const [, b] = facts.sides;
  b.incoming = b.incoming.filter(({ kind }) => kind !== "business");
  b.evidence = b.evidence.filter(({ documentId }) => documentId !== "b-r1");
  b.exchanges = b.exchanges.filter(({ id }) => id !== "b-r1");
  b.counted = { incoming: 0, outgoing: 1 };
  expect(violations(facts)).toEqual(["I2 a: a-d1 is called delivered, and the receiver has nothing"]);
});

test("I4 says that history was changed since it was seen before", () => {
  const before = sound();
  const facts = sound();
  facts.sides[0].history = changed(facts.sides[0].history, 0, { at: "2026-11-20T09:00:00.5" });
  expect(violations({ ...facts, before })).toEqual(["I4 a: history of a-d1 was changed"]);
});
