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
  /**
   * Each is kept until two clocks say that it has ended: the one that never goes back, by which no token lives longer
   * than this, clocks that differ included, and the wall clock, by which tokens are judged and which may be set back.
   */
  const kept = new Map<string, { readonly until: number; readonly expiresAt: Instant }>();
  let isComplete = false;
  /** Grows with each gap; a read that began before a gap does not complete the set. */
  let gaps = 0;

  const life_ms = 2 * LIMITS.token_access_s * 1000;
  const keep = (tokenId: string, expiresAt: Instant = clock.now() + life_ms): void => {
    const before = kept.get(tokenId)?.expiresAt ?? expiresAt;
    kept.set(tokenId, { until: clock.monotonic() + life_ms, expiresAt: Math.max(before, expiresAt) });
  };
  const add = (tokenId: string, expiresAt?: Instant): void => {
    keep(tokenId, expiresAt);
    if (kept.size > LIMITS.revoked_tokens_max) isComplete = false;
  };

  return {
    isRevoked: (tokenId) =>
      isComplete && ports.isFresh() ? kept.has(tokenId) : readOrTemporary(() => isTokenRevoked(sql, tokenId)),
    revoke: async (end) => {
      await insertRevokedToken(sql, end);
      add(end.jti, end.expiresAt);
    },
    announced: (tokenId) => {
      add(tokenId);
    },
    forget: () => {
      isComplete = false;
      gaps += 1;
    },
    maintain: async () => {
      const [passed, now] = [clock.monotonic(), clock.now()];
      for (const [tokenId, { until, expiresAt }] of kept) if (until <= passed && expiresAt <= now) kept.delete(tokenId);
      if (isComplete || !ports.isFresh()) return;
      const before = gaps;
      const rows = await listRevokedTokens(sql, clock.now(), LIMITS.revoked_tokens_max + 1);
      for (const { jti, expiresAt } of rows) keep(jti, expiresAt.getTime());
      isComplete = gaps === before && kept.size <= LIMITS.revoked_tokens_max;
    },
  };
}
