/** A row of the table of faults: what is done to an engine, and the tests that show what becomes of it. */

/** Tests of one file; each title as it stands in the source, before vitest fills anything in. */
export interface Shown {
  readonly file: string;
  readonly titles: readonly string[];
}

export interface FaultRow {
  /** A stable name of design/reliability.md: `F-01`, `I7`. */
  readonly id: string;
  /** What is done, or what must always hold, in a few words of ours. */
  readonly what: string;
  /** Empty where nothing shows it; then `missing` says why. */
  readonly shown: readonly Shown[];
  /** What of the row no test shows, and why. */
  readonly missing?: string;
}

/** Tests of a file below test/. */
export const by = (file: string, ...titles: readonly string[]): Shown => ({ file: `test/${file}.test.ts`, titles });

export const row = (id: string, what: string, ...shown: readonly Shown[]): FaultRow => ({ id, what, shown });

/** A row of which something, or everything, is shown by nothing. */
export const partly = (missing: string, { id, what, shown }: FaultRow): FaultRow => ({ id, what, shown, missing });
