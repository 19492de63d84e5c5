/**
 * Operators' sessions at the console. The browser holds 256 random bits; what is kept of them is made with the
 * operators' token, so that nobody signs in with a copy of the database, and another token ends every session.
 */
import { createHmac } from "node:crypto";

import type { Clock } from "../../base/clock.js";
import { newId, randomOctets } from "../../base/ids.js";
import { deleteConsoleSession, findConsoleSession, insertConsoleSession } from "../../storage/operators/sessions.js";
import type { ConsoleSession } from "../../storage/operators/sessions.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

export type { ConsoleSession };

/** Who is signed in to the console of one deployment. Every function @throws Refusal TEMPORARY */
export interface ConsoleSessions {
  /** @returns the token of the new session, for its browser alone */
  open(): Promise<{ readonly token: string; readonly id: string }>;
  /** @returns undefined for no session, an ended one and one that nobody has used for too long */
  find(token: string): Promise<ConsoleSession | undefined>;
  /** The same for a page that asks by itself: a session that nobody uses ends all the same. */
  peek(token: string): Promise<ConsoleSession | undefined>;
  end(token: string): Promise<void>;
}

/** @param adminToken  the operators' token */
export function createConsoleSessions(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  adminToken: string,
): ConsoleSessions {
  const sealed = (token: string): Buffer => createHmac("sha256", adminToken).update(`console:${token}`).digest();
  return {
    open: async () => {
      const token = randomOctets(32).toString("base64url");
      const id = newId(clock);
      await orTemporary(insertConsoleSession(sql, { tokenHmac: sealed(token), id }, clock.now()));
      return { token, id };
    },
    find: (token) => orTemporary(findConsoleSession(sql, { tokenHmac: sealed(token), isUse: true }, clock.now())),
    peek: (token) => orTemporary(findConsoleSession(sql, { tokenHmac: sealed(token), isUse: false }, clock.now())),
    end: (token) => orTemporary(deleteConsoleSession(sql, sealed(token))),
  };
}
