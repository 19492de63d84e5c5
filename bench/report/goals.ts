/** What each benchmark is held to. @source design/performance.md, the table of benchmarks */
import type { Measure } from "./kept.js";

/** A figure and what it should come to on two cores. */
export interface Goal {
  /** The figure's name in the benchmark's file. */
  readonly figure: string;
  /** Its value unless another of its numbers is meant. */
  readonly measure?: Measure;
  readonly unit: "/s" | "ms" | "×" | "MB" | "s" | "";
  readonly at: "least" | "most";
  readonly value: number;
}

/** A benchmark with its goals. */
export interface BenchGoals {
  readonly bench: string;
  /** The question in a few words. */
  readonly asks: string;
  /** What it is measured against in the same run. */
  readonly against: string;
  readonly goals: readonly Goal[];
  /** The figure that says how much there was, and how much there must be before a goal is met without a word on it. */
  readonly size?: { readonly figure: string; readonly full: number };
  /** What makes the figures again, where it is not `npm run -s bench -- NAME`. */
  readonly command?: string;
}

const atLeast = (figure: string, value: number, unit: Goal["unit"]): Goal => ({ figure, value, unit, at: "least" });
const atMost = (figure: string, value: number, unit: Goal["unit"], measure: Measure = "value"): Goal => ({
  figure,
  value,
  unit,
  at: "most",
  measure,
});

/** Every benchmark of the design in its order, and those that came later. */
export const BENCH_GOALS: readonly BenchGoals[] = [
  {
    bench: "validate",
    asks: "full validation of one document",
    against: "libxml2's parse and XSD alone; phive on the JVM where there is one",
    goals: [
      atMost("official base example", 0.2, "ms"),
      atMost("200 lines", 4, "ms"),
      atMost("1,000 lines", 20, "ms"),
      ...["official base example", "20 lines", "200 lines", "1,000 lines", "10,000 lines"].map((size) =>
        atMost(`${size}: chain ÷ libxml2-wasm`, 0.5, "×"),
      ),
      atMost("time per line: 100,000 ÷ 1,000 lines", 1.1, "×"),
    ],
  },
  {
    bench: "send",
    asks: "documents accepted a second: 12 KB, full validation, fsynced commit, 64 connections, many keys",
    against: "(a) a uWS handler that parses the same JSON and inserts; (b) Fastify + zod that inserts",
    goals: [
      atLeast("send ÷ limit (a)", 0.6, "×"),
      atLeast("kurier send", 3_000, "/s"),
      atMost("kurier send", 60, "ms", "p99_ms"),
    ],
  },
  {
    bench: "send-latency",
    asks: "the wait for a 202 when requests come evenly at half of the capacity",
    against: "the capacity measured a moment before, and (a) of `send` at the same rate",
    goals: [atMost("kurier send, open load", 3, "ms", "p50_ms"), atMost("kurier send, open load", 15, "ms", "p99_ms")],
  },
  {
    bench: "poll",
    asks: "reads of an inbox a second, empty and with 20 items, authenticated",
    against: "a bare server that says hello",
    goals: [atLeast("empty ÷ limit", 0.7, "×"), atLeast("20 items ÷ limit", 0.5, "×")],
  },
  {
    bench: "token",
    asks: "logins, renewals and revocations a second with 100,000 keys",
    against: "the statement of each alone; of a login also the signature of its token",
    goals: [
      atLeast("mint ÷ the statement", 0.5, "×"),
      atLeast("renew ÷ the statement", 0.5, "×"),
      atLeast("revoke ÷ the statement", 0.5, "×"),
      atLeast("mint ÷ the signature", 0.5, "×"),
    ],
  },
  {
    bench: "as4",
    asks: "messages taken a second at /as4 with store, archive and fsync",
    against: "RSA-2048 alone: decrypt, verify, sign",
    goals: [atLeast("/as4 ÷ RSA limit", 0.6, "×")],
  },
  {
    bench: "end-to-end",
    asks: "documents delivered a second, from the API to the receipt, with evidence on both sides",
    against: "RSA-2048 alone, for a whole exchange",
    goals: [atLeast("backlog drains ÷ RSA limit", 0.5, "×"), atLeast("backlog drains", 600, "/s")],
  },
  {
    bench: "keys-at-scale",
    asks: "2,000 keys, each at its full rate",
    against: "what an exact window of each key admits",
    size: { figure: "keys", full: 2_000 },
    goals: [
      atLeast("requests, one node", 5_000, "/s"),
      atMost("one node: error of the limit ÷ the limit", 0.01, "×"),
      atMost("four nodes: error of the limit ÷ the limit", 0.05, "×"),
    ],
  },
  {
    bench: "participants",
    asks: "100,000 participants at work and a million stored documents",
    against: "the same with 100 and 1,000",
    size: { figure: "participants", full: 100_000 },
    goals: [atMost("p99 many ÷ few participants", 1.3, "×"), atMost("heap of an actor that waits, octets", 2_048, "")],
  },
  {
    bench: "webhooks",
    asks: "10,000 events to 100 receivers, one dead, one slow",
    against: "the same with good receivers alone",
    goals: [
      atMost("p99 beside them ÷ alone", 1.2, "×"),
      atMost("longest wait of a second beside them ÷ alone", 1.2, "×"),
    ],
  },
  {
    bench: "fairness",
    asks: "one firm's document beside 100,000 of another and 100,000 for a dead receiver",
    against: "the same document alone",
    goals: [atMost("p99 more", 1_000, "ms")],
  },
  {
    bench: "box",
    asks: "100,000 items due within a minute",
    against: "the second that a start may be late",
    goals: [
      atMost("start of an item, 100000 due within 60 s", 1_000, "ms", "p99_ms"),
      atMost("start of an item, 20/s", 1_000, "ms", "p99_ms"),
      atLeast("the others: fewest ÷ most started of a firm", 0.8, "×"),
    ],
  },
  {
    bench: "rows",
    asks: "row writes of a delivered document, both sides together",
    against: "15 writes",
    goals: [atMost("of these after the 202", 15, "")],
  },
  {
    bench: "history",
    asks: "send, status, inbox and scrape with ten million stored documents",
    against: "the same on an empty database",
    size: { figure: "stored documents", full: 10_000_000 },
    goals: [
      ...["send", "status", "inbox"].map((name) => atMost(`${name}, p99 long past ÷ nothing stored`, 1.2, "×")),
      atMost("scrape, long past", 100, "ms", "p99_ms"),
    ],
  },
  {
    bench: "start",
    asks: "from the start of the process to ready",
    against: "a Node.js that does nothing",
    goals: [atMost("start to ready, embedded with data", 3, "s"), atMost("start to ready, database elsewhere", 1, "s")],
  },
  {
    bench: "memory",
    asks: "memory under the send benchmark for ten minutes",
    against: "its own beginning",
    goals: [
      atMost("memory of the engine and its database", 600, "MB"),
      atMost("last quarter ÷ first quarter", 1.1, "×"),
    ],
  },
  {
    bench: "hostile",
    asks: "what 200 well-behaved keys wait while strangers, a peer and a tenant are in their way",
    against: "the same keys on a quiet machine",
    goals: [
      atMost("send, p99 hostile ÷ quiet", 2, "×"),
      atMost("poll, p99 hostile ÷ quiet", 2, "×"),
      atMost("outbox, p99 hostile ÷ quiet", 2, "×"),
    ],
  },
  {
    bench: "lookup",
    asks: "look-ups of remembered participants a second, one by one and in batches",
    against: "a bare server that says hello",
    goals: [],
  },
  {
    bench: "loop-block",
    asks: "how long the event loop stands still for one document of 20 MB",
    against: "JSON.parse of the request's text",
    goals: [],
  },
  {
    bench: "newcomer",
    asks: "from a clone to the first delivered invoice, as a fresh user with a cold cache of npm",
    against: "two minutes",
    command: "npm run -s newcomer -- --keep",
    goals: [atMost("clone → first delivered invoice", 120, "s")],
  },
];
