/** The end of rows that no part of the engine ends by itself: every table of the list, a bounded part at a time. */
import type { Clock } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import { every } from "../base/waiting/every.js";
import { SWEPT } from "../storage/retention/ends.js";
import type { SweptTable } from "../storage/retention/ends.js";
import { countSwept, earlierNow, sweepTable } from "../storage/retention/sweeps.js";
import { countUnvouched, releaseUnvouched } from "../storage/retention/unvouched.js";
import { movePayloads } from "../storage/payloads/move.js";
import type { PayloadStore } from "../storage/payloads/payload-store.js";
import type { Sql } from "../storage/sql.js";

interface RetentionPorts {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** Tables in the order in which they are swept. */
const TABLES = Object.keys(SWEPT) as readonly SweptTable[];

/** How many rows of each table have gone, or would go. */
type Swept = ReadonlyMap<SweptTable, number>;

/** Does a batch again and again until one is not full. @returns how many rows that were */
async function inBatches(batch: () => Promise<number>): Promise<number> {
  let done = 0;
  for (let round = 0; round < LIMITS.sweep_rounds_max; round += 1) {
    const some = await batch();
    done += some;
    if (some < LIMITS.sweep_batch) break;
  }
  return done;
}

/**
 * Releases operations of White Label that have waited too long for an operator's word.
 * @param options.dry counts and releases nothing
 * @returns how many
 */
export async function endUnvouched(
  { sql, clock }: RetentionPorts,
  options: { readonly dry?: boolean } = {},
): Promise<number> {
  const now = await earlierNow(sql, clock.now());
  return options.dry === true ? countUnvouched(sql, now) : inBatches(() => releaseUnvouched(sql, now));
}

/**
 * One pass. Safe to run on every node at once, and again after it was broken off.
 * @param options.dry counts and removes nothing
 */
export async function sweepRows(
  { sql, clock }: RetentionPorts,
  options: { readonly dry?: boolean } = {},
): Promise<Swept> {
  const swept = new Map<SweptTable, number>();
  const now = await earlierNow(sql, clock.now());
  for (const table of TABLES) {
    if (options.dry === true) {
      swept.set(table, await countSwept(sql, table, now));
      continue;
    }
    swept.set(table, await inBatches(() => sweepTable(sql, table, now)));
  }
  return swept;
}

/** Sweeps now and then while the engine runs. @param ports.payloads where old payloads go, if anywhere */
export function startSweeps({
  log,
  payloads,
  ...ports
}: RetentionPorts & { readonly log: Log; readonly payloads: PayloadStore | undefined }): () => Promise<void> {
  const pass = async (): Promise<void> => {
    try {
      await endUnvouched(ports);
      await sweepRows(ports);
      if (payloads !== undefined) await movePayloads(ports.sql, payloads, ports.clock.now());
    } catch (error) {
      log.warn("retention.failed", errorFields(error));
    }
  };
  let running: Promise<void> | undefined;
  const end = every(LIMITS.sweep_interval_ms, () => {
    running ??= pass().finally(() => {
      running = undefined;
    });
  });
  return async () => {
    end();
    await running;
  };
}
