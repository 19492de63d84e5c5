/**
 * The access tokens that were revoked before their time: a set in memory while announcements arrive, Postgres
 * otherwise.
 */
import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { insertRevokedToken, isTokenRevoked, listRevokedTokens } from "../../storage/identity/tokens.js";
import type { TokenEnd } from "../../storage/identity/tokens.js";
import { readOrTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** Access tokens that were revoked before their time. */
export interface Revocations {
  isRevoked(tokenId: string): boolean | Promise<boolean>;
  /** Blocks a token here and, by its row's announcement, everywhere. */
  revoke(end: TokenEnd): Promise<void>;
  /** Another node has blocked a token. */
  announced(tokenId: string): void;
  /** Announcements were missed: the set is not complete. */
  forget(): void;
  /** Reads the set again when it is not complete, and drops what has expired. */
  maintain(): Promise<void>;
}

/** Makes the list of one node; Postgres is asked only while the list may lack something. */
export function createRevocations(ports: {
  readonly sql: Sql;
  readonly clock: Clock;
  isFresh(): boolean;
}): Revocations {
  const { sql, clock } = ports;
  /**
   * Until when each is kept, on the clock that never goes back: no token lives longer than this, clocks that differ
   * included. One that went by the wall clock would be good again where that was ahead for a moment.
   */
  const kept = new Map<string, number>();
  let isComplete = false;
  /** Grows with each gap; a read that began before a gap does not complete the set. */
  let gaps = 0;

  const keep = (tokenId: string): void => {
    kept.set(tokenId, clock.monotonic() + 2 * LIMITS.token_access_s * 1000);
  };
  const add = (tokenId: string): void => {
    keep(tokenId);
    if (kept.size > LIMITS.revoked_tokens_max) isComplete = false;
  };

  return {
    isRevoked: (tokenId) =>
      isComplete && ports.isFresh() ? kept.has(tokenId) : readOrTemporary(() => isTokenRevoked(sql, tokenId)),
    revoke: async (end) => {
      await insertRevokedToken(sql, end);
      add(end.jti);
    },
    announced: add,
    forget: () => {
      isComplete = false;
      gaps += 1;
    },
    maintain: async () => {
      const now = clock.monotonic();
      for (const [tokenId, until] of kept) if (until <= now) kept.delete(tokenId);
      if (isComplete || !ports.isFresh()) return;
      const before = gaps;
      const rows = await listRevokedTokens(sql, clock.now(), LIMITS.revoked_tokens_max + 1);
      for (const { jti } of rows) keep(jti);
      isComplete = gaps === before && kept.size <= LIMITS.revoked_tokens_max;
    },
  };
}
