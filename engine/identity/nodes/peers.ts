/**
 * The other nodes: who is alive, and rate windows shared with them. A node that is alone never asks Postgres for a
 * rate.
 */
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { every } from "../../base/waiting/every.js";
import { beatNode, leaseRate, removeNode } from "../../storage/rates.js";
import type { RateLease, RateRequest } from "../../storage/rates.js";
import type { Sql } from "../../storage/sql.js";
import type { NodeFacts } from "./pulse.js";

/** The nodes that are alive, this one included. */
export interface Peers {
  /** Says that this node is alive for the first time, and goes on saying it. */
  start(): Promise<void>;
  /** Nodes that are alive, this one included; the last known number while Postgres is away. */
  nodes(): number;
  /** Ids of the other nodes that are alive. */
  others(): readonly string[];
  /** Another node has said that it started or stopped; the next beat would tell as well. */
  noticed(otherId: string, event: "hello" | "bye"): void;
  beat(): Promise<void>;
  /** Takes admissions from a window that all nodes share. Rejects when Postgres is away. */
  lease(request: RateRequest): Promise<RateLease>;
  stop(): Promise<void>;
}

interface PeerPorts {
  readonly sql: Sql;
  readonly nodeId: string;
  readonly log: Log;
  /** What this node says of itself with each beat. @default nothing */
  readonly facts?: (() => Promise<NodeFacts>) | undefined;
}

/** Makes this node's place among its peers; it says nothing before `start`. */
export function createPeers({ sql, nodeId, log, facts }: PeerPorts): Peers {
  // Bounded by the nodes of the installation.
  const alive = new Set<string>();
  let stopBeats = (): void => undefined;

  const beat = async (): Promise<void> => {
    try {
      const seen = await beatNode(sql, nodeId, facts === undefined ? null : { ...(await facts()) });
      alive.clear();
      for (const id of seen) if (id !== nodeId) alive.add(id);
    } catch (error) {
      log.warn("identity.beat_failed", errorFields(error));
    }
  };
  return {
    start: async () => {
      await beat();
      stopBeats = every(LIMITS.node_beat_ms, beat);
    },
    nodes: () => alive.size + 1,
    others: () => [...alive],
    noticed: (otherId, event) => {
      if (event === "hello") alive.add(otherId);
      else alive.delete(otherId);
    },
    beat,
    lease: (request) => leaseRate(sql, request),
    stop: async () => {
      stopBeats();
      try {
        await removeNode(sql, nodeId);
      } catch (error) {
        // The others wait for this node until its heartbeat has run out.
        log.warn("identity.node_not_removed", errorFields(error));
      }
    },
  };
}
