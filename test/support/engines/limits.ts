/** Limits that a test shortens, so that what takes minutes in life takes moments in the test. */
import { LIMITS } from "../../../engine/base/limits.js";

/**
 * Replaces numbers of LIMITS in this process, before what reads them is started.
 * @returns puts the numbers back
 */
export function shortenLimits(
  changes: Readonly<Partial<Record<keyof typeof LIMITS, number | readonly number[]>>>,
): () => void {
  const before = Object.fromEntries(Object.entries(LIMITS).filter(([name]) => name in changes));
  Object.assign(LIMITS as object, changes);
  return () => {
    Object.assign(LIMITS as object, before);
  };
}
