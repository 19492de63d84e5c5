/** The jobs of an exchange of messages, by their kinds; a worker reads them without loading what asks for them. */
import type { EngineTasks } from "./arrival-workers.js";

/** Those of many messages take each step together, and nobody waits for one. */
export const EXCHANGE_KINDS: ReadonlySet<string> = new Set<keyof EngineTasks>([
  "as4.arrival",
  "as4.unjudged",
  "as4.departure",
  "as4.answer",
]);
