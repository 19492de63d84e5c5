/**
 * The one oracle of the fault tests: invariants I1 to I10, each a function from facts to sentences about what is broken.
 * The facts are plain data, so that every invariant can be shown to fail (test/unit/engine/documents/oracle.test.ts);
 * oracle-facts.ts collects them from running engines.
 * @source design/reliability.md, section 1
 */
import { ATTEMPTABLE_STATES, OUTBOUND_STATES, outboundLifecycle } from "../../../engine/lifecycle/document.js";
import type { OutboundState } from "../../../engine/lifecycle/document.js";
import type { Move } from "../../../engine/lifecycle/machine.js";

/** A document that a client was told is accepted, and what the same request answers when it comes again. */
export interface AcceptedFact {
  readonly id: string;
  /** Of the payload, hex. */
  readonly sha256: string;
  readonly answer: Reply;
  readonly repeated: readonly Reply[];
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** What travels over the network: a document of a firm, or a message of the access point itself. */
export interface OutgoingFact {
  readonly id: string;
  readonly kind: "business" | "mls" | "invoice_response" | "report";
  readonly status: string;
  readonly sha256: string;
  readonly messageId: string;
  readonly instanceId: string;
  readonly nextAttemptAt: string | null;
}

/** What arrived and is stored. */
export interface IncomingFact {
  readonly id: string;
  readonly kind: "business" | "mls" | "invoice_response";
  readonly sha256: string;
  readonly messageId: string;
  readonly instanceId: string;
  /** Of a status: whether it is still to be read, and when. */
  readonly open: boolean;
  readonly nextAt: string | null;
}

export interface HistoryFact {
  readonly documentId: string;
  readonly version: number;
  readonly status: string;
  readonly trigger: string;
  readonly at: string;
}

export interface EventFact {
  readonly id: string;
  readonly documentId: string;
  readonly kind: string;
  readonly feed: boolean;
}

export interface EvidenceFact {
  readonly documentId: string;
  readonly direction: "inbound" | "outbound";
  readonly outcome: string;
  readonly messageId: string;
}

export interface ExchangeFact {
  readonly id: string;
  readonly direction: "incoming" | "outgoing";
  readonly kind: "business" | "mls" | "invoice_response";
}

/** A question about a document from somebody whom it does not belong to. */
export interface ProbeFact {
  readonly what: string;
  readonly answer: Reply;
  /** What the same question answers about a document that nobody has; the ids of requests are left out of both. */
  readonly unknown: Reply;
}

/** Text that others can read, and where it stood. */
export interface PlaceFact {
  readonly where: string;
  readonly text: string;
}

export interface ProcessFact {
  readonly alive: boolean;
  readonly live: boolean;
  readonly ready: boolean;
  readonly output: string;
  /** Undefined where the system does not tell. */
  readonly rss_bytes: number | undefined;
}

/** One access point. */
export interface SideFacts {
  readonly name: string;
  readonly accepted: readonly AcceptedFact[];
  readonly outgoing: readonly OutgoingFact[];
  readonly incoming: readonly IncomingFact[];
  /** Statuses that are owed and undecided: when they are looked at. */
  readonly duties: readonly { readonly id: string; readonly decided: boolean; readonly nextAt: string | null }[];
  readonly history: readonly HistoryFact[];
  readonly events: readonly EventFact[];
  readonly evidence: readonly EvidenceFact[];
  readonly exchanges: readonly ExchangeFact[];
  /** Exchanges of all firms that GET /reporting/statistics counts in this month. */
  readonly counted: { readonly incoming: number; readonly outgoing: number } | undefined;
  readonly probes: readonly ProbeFact[];
  readonly places: readonly PlaceFact[];
  readonly process: ProcessFact | undefined;
}

export interface Facts {
  /** One, when an engine sends to itself, or two that send to each other. */
  readonly sides: readonly SideFacts[];
  /** What must be in no place. The name is what a failure says. */
  readonly canaries: readonly { readonly name: string; readonly value: string }[];
  /** What the oracle saw the time before. */
  readonly before?: Facts;
  readonly rssMax_bytes: number;
}

const isState = (status: string): status is OutboundState => OUTBOUND_STATES.some((state) => state === status);
const mayStillMove = (status: string): boolean => ATTEMPTABLE_STATES.some((state) => state === status);
const groups = <T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> => {
  const map = new Map<string, T[]>();
  for (const item of items) map.set(key(item), [...(map.get(key(item)) ?? []), item]);
  return map;
};
/** Who receives what a side sends. */
const receiverOf = ({ sides }: Facts, side: SideFacts): SideFacts => sides.find((other) => other !== side) ?? side;

const everySide =
  (check: (side: SideFacts, facts: Facts) => string[]) =>
  (facts: Facts): string[] =>
    facts.sides.flatMap((side) => check(side, facts).map((sentence) => `${side.name}: ${sentence}`));

/** Every 202 that a client saw is one row with the same payload. */
const i1 = everySide(({ accepted, outgoing }) =>
  accepted.flatMap(({ id, sha256 }) => {
    const rows = outgoing.filter((row) => row.kind === "business" && (row.id === id || row.sha256 === sha256));
    return rows.length === 1 && rows[0]?.id === id && rows[0].sha256 === sha256
      ? []
      : [`the accepted document ${id} is ${rows.length} rows, or another's`];
  }),
);

/** One MessageId and one InstanceIdentifier per document, at the sender's evidence and at the receiver; nothing arrives that was not sent. */
const i2 = everySide((side, facts) => {
  const { incoming } = receiverOf(facts, side);
  const sent = side.outgoing.flatMap(({ id, status, sha256, messageId, instanceId }) => {
    const there = incoming.filter(
      (row) => row.sha256 === sha256 || row.messageId === messageId || row.instanceId === instanceId,
    );
    const same = there.every(
      (row) => row.sha256 === sha256 && row.messageId === messageId && row.instanceId === instanceId,
    );
    const ids = new Set(
      side.evidence.filter((one) => one.direction === "outbound" && one.documentId === id).map((one) => one.messageId),
    );
    return [
      ...(there.length > 1 || !same
        ? [`${id} is ${there.length} rows at the receiver, or has other ids or bytes there`]
        : []),
      ...(status === "delivered" && there.length === 0
        ? [`${id} is called delivered, and the receiver has nothing`]
        : []),
      ...([...ids].some((one) => one !== messageId) ? [`${id} was sent under more than one MessageId`] : []),
    ];
  });
  const known = new Set(side.outgoing.map(({ instanceId }) => instanceId));
  return [
    ...sent,
    ...incoming
      .filter(({ instanceId }) => !known.has(instanceId))
      .map(({ id }) => `the receiver has ${id}, which nobody sent`),
  ];
});

/** Nothing rests in a state that is not its last without a time at which it is looked at. */
const i3 = everySide(({ outgoing, incoming, duties }) => [
  ...outgoing
    .filter(({ status, nextAttemptAt }) => mayStillMove(status) && nextAttemptAt === null)
    .map(({ id, status }) => `${id} rests in ${status}`),
  ...incoming
    .filter(({ open, nextAt }) => open && nextAt === null)
    .map(({ id, kind }) => `the received ${kind} ${id} is not read and not due`),
  ...duties
    .filter(({ decided, nextAt }) => !decided && nextAt === null)
    .map(({ id }) => `the status of ${id} is not decided and not due`),
]);

/** Changes that are written beside the table of moves: acceptance is the first. */
function illegal(rows: readonly HistoryFact[]): string | undefined {
  let state: string | undefined;
  let at = "";
  for (const row of rows) {
    const move: Move<OutboundState, string> | undefined =
      state === undefined || !isState(state)
        ? undefined
        : (outboundLifecycle[state] as Readonly<Record<string, Move<OutboundState, string>>>)[row.trigger];
    const expected =
      state === undefined ? row.trigger === "accepted" && row.status === "queued" : move?.to === row.status;
    if (!expected) return `went from ${state ?? "nothing"} by ${row.trigger} to ${row.status}`;
    if (row.at < at) return `went to ${row.status} before it was ${state ?? ""}`;
    [state, at] = [row.status, row.at];
  }
  return undefined;
}

/** The history of a document is only added to, goes on in time, and follows the table of the lifecycle. */
const i4 = everySide(({ name, history, outgoing }, { before }) => {
  const rows = groups(history, ({ documentId }) => documentId);
  const broken = outgoing
    .filter(({ kind }) => kind === "business")
    .flatMap(({ id, status }) => {
      const own = (rows.get(id) ?? []).toSorted((x, y) => x.version - y.version);
      const fault =
        illegal(own) ??
        (own.at(-1)?.status === status
          ? undefined
          : `is ${status}, and its history ends in ${own.at(-1)?.status ?? "nothing"}`);
      return fault === undefined ? [] : [`${id} ${fault}`];
    });
  const now = new Set(history.map((row) => JSON.stringify(row)));
  const past = before?.sides.find((side) => side.name === name)?.history ?? [];
  return [
    ...broken,
    ...past
      .filter((row) => !now.has(JSON.stringify(row)))
      .map(({ documentId }) => `history of ${documentId} was changed`),
  ];
});

/** The same key and body answer the same bytes for ever. */
const i5 = everySide(({ accepted }) =>
  accepted.flatMap(({ id, answer, repeated }) =>
    repeated.some(({ status, body }) => status !== answer.status || body !== answer.body)
      ? [`the repeated request for ${id} is answered differently`]
      : [],
  ),
);

/** Events that happen once in a life, whatever is repeated. */
const ONCE = [
  "document.sent",
  "document.delivered",
  "document.rejected",
  "document.mls_received",
  "document.delivery_failed",
];

/** A document at its end has evidence and an event of the feed; what arrived has evidence; ids of events are there once. */
const i6 = everySide((side) => {
  const proofs = groups(side.evidence, ({ documentId }) => documentId);
  const told = groups(side.events, ({ documentId }) => documentId);
  const reached = groups(side.history, ({ documentId }) => documentId);
  const sent = side.outgoing
    .filter(({ status }) => !mayStillMove(status))
    .flatMap(({ id, kind, status }) => {
      const transmitted =
        status === "delivered" ||
        (reached.get(id) ?? []).some(({ trigger }) => trigger === "receipt_confirmed" || trigger === "peer_refused");
      const proven = (proofs.get(id) ?? []).some(
        ({ direction, outcome }) =>
          direction === "outbound" &&
          (status !== "delivered" || outcome === "receipt" || outcome === "already_handed_over"),
      );
      const events = told.get(id) ?? [];
      return [
        ...(transmitted && !proven ? [`${id} is ${status} without evidence`] : []),
        ...(kind === "business" && !events.some(({ feed }) => feed)
          ? [`${id} is ${status}, and the feed was not told`]
          : []),
        ...ONCE.filter((once) => events.filter((event) => event.kind === once).length > 1).map(
          (once) => `${id} has ${once} more than once`,
        ),
      ];
    });
  const arrived = side.incoming.filter(
    ({ id }) => !(proofs.get(id) ?? []).some(({ direction }) => direction === "inbound"),
  );
  const ids = groups(side.events, ({ id }) => id);
  return [
    ...sent,
    ...arrived.map(({ id, kind }) => `the received ${kind} ${id} has no evidence`),
    ...[...ids].filter(([, same]) => same.length > 1).map(([id]) => `event ${id} is there more than once`),
  ];
});

/**
 * What is counted is what was delivered. There is no meter of usage yet: counted are the rows of exchanges, one for each
 * document with a receipt and for each that arrived, of which the network's reports are sums; the statistics of a firm
 * count its invoices and credit notes alone.
 */
const i7 = everySide(({ history, outgoing, incoming, exchanges, counted }) => {
  const rows = groups(exchanges, ({ id, direction }) => `${direction} ${id}`);
  const confirmed = new Set([
    ...history.filter(({ trigger }) => trigger === "receipt_confirmed").map(({ documentId }) => documentId),
    ...outgoing
      .filter(({ kind, status }) => (kind === "mls" || kind === "invoice_response") && status === "delivered")
      .map(({ id }) => id),
  ]);
  const due = new Set([...[...confirmed].map((id) => `outgoing ${id}`), ...incoming.map(({ id }) => `incoming ${id}`)]);
  const sum = (direction: string): number =>
    exchanges.filter((row) => row.direction === direction && row.kind === "business").length;
  return [
    ...[...due]
      .filter((key) => rows.get(key)?.length !== 1)
      .map((key) => `${key} is counted ${rows.get(key)?.length ?? 0} times`),
    ...[...rows.keys()].filter((key) => !due.has(key)).map((key) => `${key} is counted and was not delivered`),
    ...(counted === undefined || (counted.incoming === sum("incoming") && counted.outgoing === sum("outgoing"))
      ? []
      : ["the statistics differ from the exchanges"]),
  ];
});

/** Nobody else's credentials find a document: the answer is the one about a document that nobody has. */
const i8 = everySide(({ probes }) =>
  probes
    .filter(
      ({ answer, unknown }) =>
        (answer.status !== 404 && answer.status !== 401) ||
        answer.status !== unknown.status ||
        answer.body !== unknown.body,
    )
    .map(({ what, answer }) => `${what} is answered ${answer.status} ${answer.body.slice(0, 200)}`),
);

/** No secret is in a place that others read. */
const i9 = everySide(({ places }, { canaries }) =>
  places.flatMap(({ where, text }) =>
    canaries.filter(({ value }) => text.includes(value)).map(({ name }) => `${where} has ${name}`),
  ),
);

const CRASH = /unhandled|uncaught|fatal error|out of memory|"level":"fatal"|^\s+at \S+ \(/im;

/** Processes live, answer, have not grown, and said nothing of a rejection that nobody handled. */
const i10 = everySide(({ process }, { rssMax_bytes }) =>
  process === undefined
    ? []
    : [
        ...(process.alive && process.live && process.ready ? [] : ["the process is dead, or does not answer"]),
        ...((process.rss_bytes ?? 0) > rssMax_bytes
          ? [`the process has ${String(process.rss_bytes)} bytes, and may have ${rssMax_bytes}`]
          : []),
        ...(CRASH.test(process.output) ? [`the process wrote: ${CRASH.exec(process.output)?.[0] ?? ""}`] : []),
      ],
);

export const INVARIANTS = {
  I1: i1,
  I2: i2,
  I3: i3,
  I4: i4,
  I5: i5,
  I6: i6,
  I7: i7,
  I8: i8,
  I9: i9,
  I10: i10,
} as const satisfies Readonly<Record<string, (facts: Facts) => string[]>>;
export type InvariantName = keyof typeof INVARIANTS;

/** What is broken, each with the name of its invariant; empty when everything holds. */
export const violations = (facts: Facts): string[] =>
  Object.entries(INVARIANTS).flatMap(([name, check]) => check(facts).map((sentence) => `${name} ${sentence}`));
