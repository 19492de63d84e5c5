/**
 * A rule as it is run. Tables are written in many places, some with members that others leave out; a pass reads
 * thousands of rules, and is quicker where all of them have the same members in the same order.
 */
import type { Assert, Facts, Rule, Survey, Test } from "./rule.js";

export interface Ruling<F extends Facts> {
  /** The predicate of the last step. */
  readonly when: Test<F> | undefined;
  readonly asserts: readonly Assert<F>[];
  readonly survey: Survey<F> | undefined;
}

export const rulingOf = <F extends Facts>({ when, asserts, survey }: Rule<F>): Ruling<F> => ({
  when,
  asserts: asserts.map((assert) => assertWith(assert, assert.holds)),
  survey,
});

/** The assert with this test. */
export const assertWith = <F extends Facts>(
  { id, severity, terms, message }: Assert<F>,
  holds: Test<F>,
): Assert<F> => ({ id, severity, terms, message, holds });
