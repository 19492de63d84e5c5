/** Attempts at documents, as the dispatcher of a node makes them or asks for them. */
import type { DocumentKind } from "../../../actors/document.js";
import { attemptDocument } from "../../../engine/documents/delivery/dispatch.js";
import type { ClaimedAttempt, DispatchPorts } from "../../../engine/documents/delivery/dispatch.js";
import type { DocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { takeAttempt } from "../../../engine/storage/documents/attempts.js";
import type { Sql } from "../../../engine/storage/sql.js";

/** Makes the next attempt if it is due. @returns whether one was made */
export async function attemptOnce(ports: DispatchPorts, id: DocumentId, owner = "test/1"): Promise<boolean> {
  const taken = await takeAttempt(ports.sql, { id, owner, lease_ms: LIMITS.attempt_lease_ms });
  if (taken === undefined) return false;
  await attemptDocument(ports, taken);
  return true;
}

type Handlers = DocumentKind["handlers"];

const nothingElse = (): never => {
  throw new Error("this document is asked for nothing but its attempts");
};

/** Documents that do this with an attempt which was claimed, and nothing else. */
export const attempting = (attempt: (claimed: ClaimedAttempt) => ReturnType<Handlers["Attempt"]>): DocumentKind => ({
  ...{ name: "document", idle_ms: 0, start: () => null },
  handlers: {
    Attempt: (_, claimed) => attempt(claimed),
    ...{ Accept: nothingElse, OperateStaged: nothingElse, Respond: nothingElse, Hasten: nothingElse },
    ...{ Follow: nothingElse, Judge: nothingElse, Release: nothingElse },
  },
});

/** Lets the time of a document's next attempt come. */
export async function makeDue(sql: Sql, id: DocumentId): Promise<void> {
  await sql`update document set next_attempt_at = clock_timestamp() where id = ${id} and next_attempt_at is not null`;
}

/** Milliseconds until a document's next attempt, by the database's clock; undefined when there is none. */
export async function dueIn_ms(sql: Sql, id: DocumentId): Promise<number | undefined> {
  const [row] = await sql<{ readonly ms: number | null }[]>`
    select (extract(epoch from next_attempt_at - clock_timestamp()) * 1000)::float8 as ms from document where id = ${id}`;
  return row?.ms ?? undefined;
}
