/** The other nodes: who is alive, and rate windows shared with them. A node that is alone never asks Postgres. */
import { LIMITS } from "../limits.js";
import { errorFields, type Log } from "../log.js";
import { beatNode, leaseRate, removeNode, type RateLease, type RateRequest } from "../storage/rates.js";
import type { Sql } from "../storage/sql.js";

export interface Peers {
  /** Says that this node is alive for the first time, and goes on saying it. */
  start(): Promise<void>;
  /** Nodes that are alive, this one included; the last known number while Postgres is away. */
  nodes(): number;
  /** Ids of the other nodes that are alive. */
  others(): readonly string[];
  beat(): Promise<void>;
  /** Takes admissions from a window that all nodes share. Rejects when Postgres is away. */
  lease(request: RateRequest): Promise<RateLease>;
  stop(): Promise<void>;
}

export function createPeers(deps: { readonly sql: Sql; readonly nodeId: string; readonly log: Log }): Peers {
  const { sql, nodeId, log } = deps;
  let alive: readonly string[] = [nodeId];
  let interval: NodeJS.Timeout | undefined;
  let isStopped = false;

  const beat = async (): Promise<void> => {
    try {
      const seen = await beatNode(sql, nodeId);
      if (!isStopped) alive = seen;
    } catch (error) {
      log.warn("identity.beat_failed", errorFields(error));
    }
  };
  return {
    start: async () => {
      await beat();
      interval = setInterval(() => { void beat(); }, LIMITS.node_beat_ms);
      interval.unref();
    },
    nodes: () => alive.length,
    others: () => alive.filter((id) => id !== nodeId),
    beat,
    lease: (request) => leaseRate(sql, request),
    stop: async () => {
      isStopped = true;
      clearInterval(interval);
      await removeNode(sql, nodeId).catch(() => undefined);
    },
  };
}
