/** How far a thread of workers stands behind the event loop when both want the same processor. */
import { constants, getPriority, platform, setPriority } from "node:os";

/**
 * Puts the calling thread behind those of ordinary priority. On Linux a priority is a thread's own; elsewhere it is the
 * process's, and is left as it is.
 * @param steps  of niceness behind what the thread has now, 0 to 19
 * @returns the niceness that it has then, undefined where the system takes none
 */
export function giveWay(steps: number): number | undefined {
  if (steps === 0 || platform() !== "linux") return undefined;
  try {
    setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + steps));
    return getPriority();
  } catch (error) {
    // A sandbox that forbids it still has its documents judged, in no order of its threads.
    if (error instanceof Error && "code" in error && error.code === "ERR_SYSTEM_ERROR") return undefined;
    throw error;
  }
}
