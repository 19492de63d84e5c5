/**
 * Statements of postgres.js 3.4.9, mended where all of them pass: in their class, and not around each call, because an
 * error says where its statement was made, and has room for one caller.
 */
import type postgres from "postgres";

/** A statement, as far as the types of postgres.js do not tell. */
export interface Statement {
  readonly executed: boolean;
  /** What its pool does with it, the same function for all of its statements. */
  handler(statement: Statement): unknown;
  /** Called by the connection, or by the pool. */
  resolve(answer: unknown): void;
  reject(error: unknown): void;
  /** Called whenever somebody waits; the first time sends the statement. */
  handle(): unknown;
}

/** Called with each statement of any client before it is sent. */
type Mend = (statement: Statement) => void;

const MEMBERS = ["handler", "resolve", "reject", "handle"] as const;
const isStatement = (query: object): query is Statement =>
  "executed" in query && MEMBERS.every((name) => typeof (query as Partial<Statement>)[name] === "function");

/** A statement of this client that is never sent. @throws when it is not of the form known here */
export function unsentOf(client: postgres.Sql): Statement {
  const unsent: object = client`select`;
  if (!isStatement(unsent)) throw new Error("postgres.js has changed: its statements are not those of 3.4.9");
  return unsent;
}

const mended = new WeakSet();

/** Mends the statements of a client, and so those of every client. @throws when they are not of the form known here */
export function mendStatements(client: postgres.Sql, mends: readonly Mend[]): void {
  const unsent = unsentOf(client);
  const statements = Object.getPrototypeOf(unsent) as object;
  if (mended.has(statements)) return;
  mended.add(statements);
  const { handle } = unsent;
  const handleOnce = function (this: Statement): unknown {
    if (!this.executed) for (const mend of mends) mend(this);
    return handle.call(this);
  };
  Object.assign(statements, { handle: handleOnce });
}
