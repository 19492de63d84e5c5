/** What clients do with an item that waits or has ended: schedule, send now, retry, cancel. */
import type { Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";

const FIELD = "scheduledFor";

/** @throws Refusal BOX_SCHEDULE_IN_PAST, BOX_SCHEDULE_TOO_FAR @source spec/rulings.md, section 7 */
export function refuseSchedule(scheduledFor: Instant | undefined, receivedAt: Instant): void {
  if (scheduledFor === undefined) return;
  if (scheduledFor <= receivedAt)
    throw new Refusal("BOX_SCHEDULE_IN_PAST", [
      { field: FIELD, message: "Must be later than the moment of the request." },
    ]);
  if (scheduledFor > receivedAt + LIMITS.box_schedule_ahead_max_ms)
    throw new Refusal("BOX_SCHEDULE_TOO_FAR", [{ field: FIELD, message: "Must lie within a year." }]);
}
