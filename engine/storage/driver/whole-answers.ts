/**
 * Answers without holes. postgres.js 3.4.9 counts the rows of an answer for its connection, and begins again at zero
 * only where an answer ends well: behind a statement that failed after its first rows, or whose backend died then, the
 * rows of the next answer stand behind as many holes. A statement that found one row would read as one that found none,
 * and a valid token as a token of nobody.
 */
import type { Statement } from "./statements.js";

/** Gives a statement its answer without holes. */
export function answerWhole(statement: Statement): void {
  const { resolve } = statement;
  statement.resolve = (answer) => {
    resolve(closeUp(answer));
  };
}

/** Takes the holes away that stand before the first row; the rows behind are whole and in order. */
function closeUp(answer: unknown): unknown {
  if (!Array.isArray(answer) || answer.length === 0 || 0 in answer) return answer;
  const first = Object.keys(answer)[0];
  answer.splice(0, first === undefined ? answer.length : Number(first));
  return answer;
}
