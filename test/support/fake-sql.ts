/** A pool without a database, for what is made of answers and not for what a statement says. */
import type { Sql } from "../../engine/storage/sql.js";

/** @param answer  what becomes of each statement, and of each part of one; it is asked when the statement is made */
export const fakeSql = (answer: () => Promise<unknown>): Sql => Object.assign(() => answer(), {} as Sql);
