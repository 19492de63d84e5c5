/** Faults of evidence as the commands print them. */
import type { AuditFault } from "../../../engine/peppol/evidence/audit.js";
import { colour, print } from "../terminal.js";

/** So many faults are printed one by one, and the others are counted: a lost store has one for every entry. */
const SHOWN = 50;

/** Prints the first faults, a line each. */
export function printFaults(faults: readonly AuditFault[]): void {
  for (const { index, fault, detail } of faults.slice(0, SHOWN))
    print(`${colour("red", fault.padEnd(14))} ${index === undefined ? "head" : `entry ${index}`}: ${detail}`);
}
