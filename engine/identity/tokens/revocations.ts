/**
 * The access tokens that were revoked before their time: a set in memory while announcements arrive, Postgres
 * otherwise.
 */
import type { Clock, Instant } from "../../base/clock.js";
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
  const expiries = new Map<string, Instant>();
  let isComplete = false;
  /** Grows with each gap; a read that began before a gap does not complete the set. */
  let gaps = 0;

  const add = (tokenId: string, expiresAt: Instant): void => {
    expiries.set(tokenId, expiresAt);
    if (expiries.size > LIMITS.revoked_tokens_max) isComplete = false;
  };
  const announced = (tokenId: string): void => {
    // An announcement does not say when the token ends; none lives longer than this, clocks that differ included.
    add(tokenId, clock.now() + 2 * LIMITS.token_access_s * 1000);
  };

  return {
    isRevoked: (tokenId) =>
      isComplete && ports.isFresh() ? expiries.has(tokenId) : readOrTemporary(() => isTokenRevoked(sql, tokenId)),
    revoke: async (end) => {
      await insertRevokedToken(sql, end);
      add(end.jti, end.expiresAt);
    },
    announced,
    forget: () => {
      isComplete = false;
      gaps += 1;
    },
    maintain: async () => {
      const now = clock.now();
      for (const [tokenId, expiresAt] of expiries) if (expiresAt <= now) expiries.delete(tokenId);
      if (isComplete || !ports.isFresh()) return;
      const before = gaps;
      const rows = await listRevokedTokens(sql, now, LIMITS.revoked_tokens_max + 1);
      for (const row of rows) expiries.set(row.jti, row.expiresAt.getTime());
      isComplete = gaps === before && expiries.size <= LIMITS.revoked_tokens_max;
    },
  };
}
