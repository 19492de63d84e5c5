/**
 * Answers without holes. postgres.js 3.4.9 counts the rows of an answer for its connection, and begins again at zero
 * only where an answer ends well: behind a statement that failed after its first rows, or whose backend died then, the
 * rows of the next answer stand behind as many holes. A statement that found one row would read as one that found none,
 * and a valid token as a token of nobody.
 *
 * It is mended where all statements pass, in their class, and not around each call: an error says where its statement
 * was made, and has room for one caller.
 */
import type postgres from "postgres";

/** A statement of postgres.js, as far as its types do not tell. */
interface Statement {
  readonly executed: boolean;
  /** Called by the connection. */
  resolve(answer: unknown): void;
  /** Called whenever somebody waits; the first time sends the statement. */
  handle(): unknown;
}

const isStatement = (query: object): query is Statement =>
  "executed" in query && "resolve" in query && "handle" in query && typeof query.handle === "function";

const mended = new WeakSet();

/** Mends the statements of a client, and so those of every client. @throws when they are not of the form known here */
export function mendAnswers(client: postgres.Sql): void {
  const unsent = client`select`;
  const statements: unknown = Object.getPrototypeOf(unsent);
  if (!isStatement(unsent) || typeof statements !== "object" || statements === null)
    throw new Error("postgres.js has changed: its statements are not those of 3.4.9");
  if (mended.has(statements)) return;
  mended.add(statements);
  const { handle } = unsent;
  const handleOnce = function (this: Statement): unknown {
    if (!this.executed) {
      const { resolve } = this;
      this.resolve = (answer) => {
        resolve(closeUp(answer));
      };
    }
    return handle.call(this);
  };
  Object.assign(statements, { handle: handleOnce });
}

/** Takes the holes away that stand before the first row; the rows behind are whole and in order. */
function closeUp(answer: unknown): unknown {
  if (!Array.isArray(answer) || answer.length === 0 || 0 in answer) return answer;
  const first = Object.keys(answer)[0];
  answer.splice(0, first === undefined ? answer.length : Number(first));
  return answer;
}
