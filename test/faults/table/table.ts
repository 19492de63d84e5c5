/** The whole table of faults, family by family. */
import { CONCURRENCY } from "./concurrency.js";
import { DURABILITY } from "./durability.js";
import { IDENTITY, RATES, TENANTS } from "./identity.js";
import { HTTP_INPUT, XML_INPUT } from "./input.js";
import { INVARIANT_ROWS } from "./invariants.js";
import { CLOCK, LEAKS, OUTBOUND } from "./outside.js";
import type { FaultRow } from "./row.js";

export interface Family {
  readonly title: string;
  /** What its ids begin with. */
  readonly prefix: string;
  /** How many rows design/reliability.md has. */
  readonly count: number;
  readonly rows: readonly FaultRow[];
}

export const FAMILIES: readonly Family[] = [
  { title: "Invariants", prefix: "I", count: 10, rows: INVARIANT_ROWS },
  { title: "Crashes", prefix: "F-", count: 19, rows: DURABILITY },
  { title: "What comes at once", prefix: "C-", count: 21, rows: CONCURRENCY },
  { title: "XML", prefix: "X-", count: 16, rows: XML_INPUT },
  { title: "HTTP and JSON", prefix: "H-", count: 14, rows: HTTP_INPUT },
  { title: "Keys and tokens", prefix: "A-", count: 15, rows: IDENTITY },
  { title: "Receivers, SMP and access points", prefix: "S-", count: 10, rows: OUTBOUND },
  { title: "Tenants", prefix: "T-", count: 8, rows: TENANTS },
  { title: "Clocks", prefix: "K-", count: 8, rows: CLOCK },
  { title: "Rates", prefix: "R-", count: 7, rows: RATES },
  { title: "Leaks", prefix: "L-", count: 7, rows: LEAKS },
];
