/**
 * Good documents beside as many hostile ones: how long each good one waits for its report. Method: the pool of workers
 * as the engine opens it; good documents of many senders come at a steady pace, alone, and then beside hostile ones that
 * come as often. Times are kept, not judged; that every good document is found good is.
 *
 * KURIER_TEST_DOCUMENTS: of each sort in a round. KURIER_TEST_FIGURES: a folder for the figures.
 * @source design/reliability.md, X-12
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";

import { invoiceWithLines } from "../../../bench/documents.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createPool, PoolBusy } from "../../../validators/pool.js";
import type { ValidatorPool } from "../../../validators/pool.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { keepFigures } from "../figures.js";
import { quantile } from "../records.js";

const DOCUMENTS = Number(process.env["KURIER_TEST_DOCUMENTS"] ?? "1000");
/** Of each sort: a small part of what two threads judge. */
const A_SECOND = 40;
const GOOD_SENDERS = 20;
const WARM_UP = 60;
const LINES = 6;
const REPEATS = { deep: 50_000, wide: 40_000, notes: 10_000, entities: 1_000 } as const;
const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20" } as const;

const good = (n: number): Buffer => invoiceWithLines(LINES, { number: `G-${n}` });

const invoice = good(0).toString();
/** Bodies that are refused, or cost much before they are; each document is one of them behind a comment of its own. */
const HOSTILE: readonly Buffer[] = [
  `<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "${"&a;".repeat(REPEATS.entities)}">]><a>${"&b;".repeat(REPEATS.entities)}</a>`,
  "<a>".repeat(REPEATS.deep),
  `<a ${Array.from({ length: REPEATS.wide }, (_, n) => `b${n}=""`).join(" ")}/>`,
  `<a>${Array.from({ length: REPEATS.wide }, (_, n) => `<b xmlns:p${n}="u"/>`).join("")}</a>`,
  invoice.replace("<cbc:BuyerReference>", `${"<cbc:Note>x</cbc:Note>".repeat(REPEATS.notes)}<cbc:BuyerReference>`),
  invoice.replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/, `$1${"9".repeat(REPEATS.notes)}`),
].map((text) => Buffer.from(text.replace(/^<\?xml[^>]*>\s*/, "")));
const hostile = (n: number): Buffer =>
  Buffer.concat([Buffer.from(`<!--${n}-->`), HOSTILE[n % HOSTILE.length] ?? Buffer.alloc(0)]);

interface Round {
  readonly name: string;
  /** Who sends hostile documents; nobody when zero. */
  readonly hostileSenders: number;
}
const ROUNDS: readonly Round[] = [
  { name: "nothing else", hostileSenders: 0 },
  { name: "hostile ones of one sender", hostileSenders: 1 },
  { name: "hostile ones of ten senders", hostileSenders: 10 },
];

interface Judged {
  /** From the hand-over of each good document to its report. */
  readonly times: readonly number[];
  readonly found: number;
  readonly hostileFound: number;
  readonly hostileRefused: number;
}

async function play(pool: ValidatorPool, { hostileSenders }: Round, documents = DOCUMENTS): Promise<Judged> {
  const times: number[] = [];
  const counts = { found: 0, hostileFound: 0, hostileRefused: 0 };
  const judged: Promise<void>[] = [];
  const judgeGood = async (n: number): Promise<void> => {
    const begun = systemClock.monotonic();
    const { valid } = await pool.validate(good(n), { ...OPTIONS, fairnessKey: `good-${n % GOOD_SENDERS}` });
    times.push(systemClock.monotonic() - begun);
    if (valid) counts.found += 1;
  };
  const judgeHostile = async (n: number): Promise<void> => {
    try {
      const { valid } = await pool.validate(hostile(n), { ...OPTIONS, fairnessKey: `hostile-${n % hostileSenders}` });
      if (!valid) counts.hostileFound += 1;
    } catch (error) {
      if (!(error instanceof PoolBusy)) throw error;
      counts.hostileRefused += 1;
    }
  };
  const begun = systemClock.monotonic();
  for (let n = 0; n < documents; n += 1) {
    const wait_ms = begun + (n * 1_000) / A_SECOND - systemClock.monotonic();
    if (wait_ms > 0) await delay(wait_ms);
    if (hostileSenders > 0) judged.push(judgeHostile(n));
    judged.push(judgeGood(n));
  }
  await Promise.all(judged);
  return { times, ...counts };
}

test("every good document is found good beside as many hostile ones, and the figures say how long it waits", async () => {
  await buildIfNeeded();
  const pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: LIMITS.validator_queue_max,
    queueBytesMax: LIMITS.validator_queue_bytes_max,
    keyShare: LIMITS.validator_key_share,
    niceness: { small: 0, large: LIMITS.validator_large_niceness },
    jobTimeoutMs: LIMITS.validator_document_timeout_ms,
    preload: ["validate"],
  });
  try {
    const rows: (readonly (string | number)[])[] = [];
    let alone: number | undefined;
    // Whatever is slow for the first time alone is over when the first round begins.
    for (const round of ROUNDS) await play(pool, round, WARM_UP);
    for (const round of ROUNDS) {
      const { times, found, hostileFound, hostileRefused } = await play(pool, round);
      expect({ found, hostile: hostileFound + hostileRefused }).toEqual({
        found: DOCUMENTS,
        hostile: round.hostileSenders === 0 ? 0 : DOCUMENTS,
      });
      const p99 = quantile(times, 0.99);
      alone ??= p99;
      rows.push([
        ...[round.name, found, hostileFound, hostileRefused],
        ...[quantile(times, 0.5), p99, Math.max(...times)].map((ms) => ms.toFixed(1)),
        (p99 / alone).toFixed(1),
      ]);
    }
    expect(pool.stats().quarantined).toBe(0);
    keepFigures("beside-hostile", {
      title: "Good documents beside hostile ones",
      command: "npm run -s test:faults -- beside-hostile",
      remark: `Invoices of ${LINES} lines and ${GOOD_SENDERS} senders, ${A_SECOND} a second, in a pool with one thread for small documents and one for large ones, alone and beside as many hostile documents of six kinds: entities, depth, attributes, namespaces, ten thousand notes, an amount of ten thousand digits.`,
      columns: [
        ...["Beside", "Good ones found good", "Hostile ones refused", "Not taken"],
        ...["p50, ms", "p99, ms", "max, ms", "p99 against that alone"],
      ],
      rows,
    });
  } finally {
    await pool.stop();
  }
});
