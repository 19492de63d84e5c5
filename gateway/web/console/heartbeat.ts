/**
 * The heartbeat of an engine: what operators see at a glance. It is put into words and columns once, here; the console
 * draws them as a page and `kurier top` as lines.
 */
import { z } from "zod";

import { DAY_MS } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { firstChars } from "../../../engine/base/text.js";
import { instantText, textCell } from "./cells.js";
import type { Cell, Section, Tone } from "./sections.js";

const listOf = <T extends z.ZodRawShape>(members: T) => z.array(z.object(members).readonly()).readonly();

/** Numbers in the second, of one process or of all. */
const PACE = z
  .object({
    requests: z.number(),
    accepted: z.number(),
    received: z.number(),
    attempts: z.number(),
    delivered: z.number(),
    events: z.number(),
  })
  .readonly();

/** What is known of an engine at one instant, as one release tells another. Times are RFC 3339. */
export const HEARTBEAT = z
  .object({
    at: z.string(),
    environment: z.string(),
    nodes: listOf({
      name: z.string(),
      version: z.string(),
      role: z.string(),
      startedAt: z.string().nullable(),
      perSecond: PACE.nullable(),
    }),
    /** Of all nodes. */
    perSecond: PACE,
    /** Sent documents by state. */
    documents: listOf({ state: z.string(), count: z.number() }),
    /** Age of the oldest dispatch that is due. */
    oldestDue_s: z.number(),
    /** Null for what nobody knows while their broker is away. */
    streams: listOf({ stream: z.string(), pending: z.number().nullable(), oldestAge_s: z.number().nullable() }),
    receivers: listOf({ receiver: z.string(), waiting: z.number(), attempts: z.number(), oldest_s: z.number() }),
    webhooks: listOf({ origin: z.string(), failures: z.number(), restUntil: z.string().nullable() }),
    evidence: z.object({ index: z.number(), hash: z.string(), storedAt: z.string().nullable() }).readonly(),
    certificates: listOf({ usage: z.string(), name: z.string(), notAfter: z.string(), days: z.number() }),
    /** What waits for a person. */
    reviews: z
      .object({ registrations: z.number(), whiteLabel: z.number(), onboarding: z.number(), held: z.number() })
      .readonly(),
  })
  .readonly();
/** What is known of an engine at one instant. */
export type Heartbeat = z.infer<typeof HEARTBEAT>;

/** Numbers that stand large above everything. */
interface Figure extends Cell {
  readonly name: string;
}

/** A number that nobody knows for now. */
const UNKNOWN: Cell = { text: "unknown", tone: "late", isNumber: true };
const number = (value: number, tone: Tone = "well"): Cell => ({ text: whole(value), tone, isNumber: true });

const whole = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 0 });
/** Slow paces keep a digit, so that one document a minute is not none. */
const pace = (value: number): string => (value === 0 || value >= 10 ? whole(value) : value.toFixed(value < 1 ? 2 : 1));

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** An age in its largest unit that is one or more. */
export function ageOf(seconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

const ageCell = (seconds: number): Cell => ({
  text: ageOf(seconds),
  tone: seconds > LIMITS.heartbeat_stuck_s ? "bad" : seconds > LIMITS.heartbeat_late_s ? "late" : "well",
  isNumber: true,
});

/** The figures that stand above the tables. */
export function figuresOf(beat: Heartbeat): readonly Figure[] {
  const open = beat.documents.filter(({ state }) => OPEN.has(state)).reduce((sum, { count }) => sum + count, 0);
  const waiting = Object.values(beat.reviews).reduce((sum, count) => sum + count, 0);
  return [
    { name: "accepted a second", text: pace(beat.perSecond.accepted) },
    { name: "delivered a second", text: pace(beat.perSecond.delivered) },
    { name: "received a second", text: pace(beat.perSecond.received) },
    { name: "events told a second", text: pace(beat.perSecond.events) },
    { name: "documents under way", text: whole(open) },
    { name: "oldest due dispatch", ...ageCell(beat.oldestDue_s) },
    { name: "wait for a person", text: whole(waiting), tone: waiting > 0 ? "late" : "well" },
    { name: "nodes", text: whole(beat.nodes.length) },
  ];
}

const OPEN: ReadonlySet<string> = new Set(["queued", "sent"]);
const FAILED: ReadonlySet<string> = new Set(["send_failed", "delivery_failed"]);

const certificateTone = (days: number): Tone =>
  days <= LIMITS.heartbeat_certificate_days
    ? "bad"
    : days * DAY_MS <= LIMITS.certificate_expiry_notice_ms
      ? "late"
      : "well";

const review = (name: string, count: number): readonly Cell[] => [
  textCell(name),
  number(count, count > 0 ? "late" : "well"),
];

/** The tables, in the order in which an operator looks at them. */
export const sectionsOf = (beat: Heartbeat): readonly Section[] => [
  {
    id: "documents",
    title: "Documents by state",
    columns: ["State", "Documents"],
    rows: beat.documents.map(({ state, count }) => [
      textCell(state.replace("_", " ")),
      number(count, count > 0 && FAILED.has(state) ? "late" : "well"),
    ]),
    empty: "None was sent yet.",
  },
  {
    id: "receivers",
    title: "Slowest receivers",
    columns: ["Receiver", "Waiting", "Attempts", "Oldest"],
    rows: beat.receivers.map(({ receiver, waiting, attempts, oldest_s }) => [
      textCell(receiver),
      number(waiting),
      number(attempts),
      ageCell(oldest_s),
    ]),
    empty: "Nothing waits for a receiver that was tried.",
  },
  {
    id: "webhooks",
    title: "Failing webhooks",
    columns: ["Receiver of events", "Failures in a row", "Rests until"],
    rows: beat.webhooks.map(({ origin, failures, restUntil }) => [
      textCell(origin),
      number(failures, restUntil === null ? "late" : "bad"),
      textCell(restUntil === null ? "tried now" : instantText(restUntil)),
    ]),
    empty: "Every receiver of events answers.",
  },
  {
    id: "reviews",
    title: "Waiting for a person",
    columns: ["What", "Waiting"],
    rows: [
      review("registrations in review", beat.reviews.registrations),
      review("White Label operations in review", beat.reviews.whiteLabel),
      review("onboarding requests", beat.reviews.onboarding),
      review("received documents without a verdict", beat.reviews.held),
    ],
    empty: "Nothing.",
  },
  {
    id: "certificates",
    title: "Certificates",
    columns: ["Use", "Name", "Ends", "Days left"],
    rows: beat.certificates.map(({ usage, name, notAfter, days }) => [
      textCell(usage.replace("_", " ")),
      textCell(name),
      textCell(instantText(notAfter)),
      number(days, certificateTone(days)),
    ]),
    empty: "This engine has no access point.",
  },
  {
    id: "evidence",
    title: "Chain of evidence",
    columns: ["Records", "Hash of the last", "Stored"],
    rows: [
      [
        number(beat.evidence.index),
        textCell(firstChars(beat.evidence.hash, HASH_CHARS)),
        textCell(beat.evidence.storedAt === null ? "nothing yet" : instantText(beat.evidence.storedAt)),
      ],
    ],
    empty: "None.",
  },
  {
    id: "streams",
    title: "Streams",
    columns: ["Stream", "Pending", "Oldest"],
    rows: beat.streams.map(({ stream, pending, oldestAge_s }) => [
      textCell(stream),
      pending === null ? UNKNOWN : number(pending),
      oldestAge_s === null ? UNKNOWN : ageCell(oldestAge_s),
    ]),
    empty: "None.",
  },
  {
    id: "nodes",
    title: "Nodes",
    columns: ["Node", "Version", "Role", "Since", "Requests a second"],
    rows: beat.nodes.map(({ name, version, role, startedAt, perSecond }) => [
      textCell(name),
      textCell(version),
      textCell(role),
      textCell(startedAt === null ? "unknown" : instantText(startedAt)),
      { text: perSecond === null ? "unknown" : pace(perSecond.requests), isNumber: true },
    ]),
    empty: "None says that it is alive.",
  },
];

/** Enough of a hash to compare two by eye. */
const HASH_CHARS = 16;
