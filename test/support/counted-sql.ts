/** A pool that tells which statements it was asked for: what is only a part of one is none. */
import type { Sql } from "../../engine/storage/sql.js";

interface Unsent {
  readonly strings: readonly string[];
  handle(): unknown;
}

/** The same pool, and the texts of its statements in the order of their being sent, without what is put into them. */
export function statementsOf(pool: Sql): { readonly sql: Sql; readonly asked: readonly string[] } {
  // Bounded by the statements of a test.
  const asked: string[] = [];
  const sql = new Proxy(pool, {
    apply: (target, self, given): unknown => {
      const made: unknown = Reflect.apply<unknown, unknown[], unknown>(target, self, given);
      if (typeof made !== "object" || made === null || !("handle" in made)) return made;
      const unsent = made as Unsent;
      const send = unsent.handle.bind(unsent);
      let isSent = false;
      unsent.handle = () => {
        if (!isSent) asked.push(unsent.strings.join("…"));
        isSent = true;
        return send();
      };
      return made;
    },
  });
  return { sql, asked };
}
