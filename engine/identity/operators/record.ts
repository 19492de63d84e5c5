/** What operators do is written down before it is done: nothing happens that the record does not have. */
import type { Clock } from "../../base/clock.js";
import { insertOperatorEntry } from "../../storage/operators/record.js";
import type { ListedOperatorEntry, OperatorEntry, OperatorEvent } from "../../storage/operators/record.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { stampOf } from "../audit.js";
import type { Actor } from "../audit.js";

export type { ListedOperatorEntry, OperatorEntry, OperatorEvent };

/** An operator who is signed in, as the record keeps it. */
export const operatorActor = (sessionId: string, from: Pick<Actor, "address" | "userAgent">): Actor => ({
  type: "operator",
  id: sessionId,
  ...from,
});

/** Writes an entry. @throws Refusal TEMPORARY, and then nothing may be done */
export const noteOperator = (
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  actor: Actor,
  entry: OperatorEntry,
): Promise<void> => orTemporary(insertOperatorEntry(sql, stampOf(actor, clock), entry));
