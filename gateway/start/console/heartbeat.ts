/** Gathers the heartbeat: a few statements that read little, once for all who look at the same moment. */
import { DAY_MS, isoInstant, isoOrNull } from "../../../engine/base/clock.js";
import type { Clock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { PULSES } from "../../../engine/base/metrics.js";
import type { Pulse } from "../../../engine/base/metrics.js";
import type { Lags } from "../../../engine/events/lags.js";
import type { NodeFacts } from "../../../engine/identity/nodes/pulse.js";
import type { Expiry } from "../../../engine/peppol/pki/own-keys.js";
import { censusOfDocuments } from "../../../engine/storage/documents/documents.js";
import {
  countReviews,
  findEvidenceEnd,
  listFailingEndpoints,
  listWaitingReceivers,
} from "../../../engine/storage/operators/heartbeat.js";
import { listNodes } from "../../../engine/storage/rates.js";
import { orTemporary } from "../../../engine/storage/sql.js";
import type { Json, Sql } from "../../../engine/storage/sql.js";
import type { Heartbeat } from "../../web/console/heartbeat.js";

interface HeartbeatPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly environment: string;
  readonly lags: Lags;
  readonly expiries: () => readonly Expiry[];
}

type BeatNode = Heartbeat["nodes"][number];

const SILENT: Omit<BeatNode, "name"> = { version: "unknown", role: "unknown", startedAt: null, perSecond: null };

/** Written by our own pulse, of this release or of another one. */
const nodeOf = (id: string, facts: Json): BeatNode => {
  if (facts === null || typeof facts !== "object" || Array.isArray(facts)) return { ...SILENT, name: id };
  const { name, version, role, startedAt, perSecond } = facts as Partial<NodeFacts>;
  return {
    name: name ?? id,
    version: version ?? SILENT.version,
    role: role ?? SILENT.role,
    startedAt: startedAt ?? null,
    perSecond: perSecond ?? null,
  };
};

const paceOf = (nodes: readonly BeatNode[]): Heartbeat["perSecond"] => {
  const sum = (pulse: Pulse): number => nodes.reduce((total, { perSecond }) => total + (perSecond?.[pulse] ?? 0), 0);
  const pulses = Object.keys(PULSES) as Pulse[];
  return Object.fromEntries(pulses.map((pulse) => [pulse, sum(pulse)])) as Record<Pulse, number>;
};

const certificatesOf = (expiries: readonly Expiry[], now: number): Heartbeat["certificates"] =>
  expiries
    .filter(({ isInUse }) => isInUse)
    .toSorted((a, b) => a.notAfter - b.notAfter)
    .filter((_, at) => at < LIMITS.heartbeat_rows_max)
    .map(({ usage, name, notAfter }) => ({
      usage,
      name,
      notAfter: isoInstant(notAfter),
      days: Math.floor((notAfter - now) / DAY_MS),
    }));

async function gather({ sql, clock, environment, lags, expiries }: HeartbeatPorts): Promise<Heartbeat> {
  const now = clock.now();
  const [census, listed, receivers, endpoints, evidence, reviews, streams] = await orTemporary(
    Promise.all([
      censusOfDocuments(sql, now),
      listNodes(sql),
      listWaitingReceivers(sql),
      listFailingEndpoints(sql),
      findEvidenceEnd(sql),
      countReviews(sql, new Date(now - LIMITS.held_max_ms)),
      lags(),
    ]),
  );
  const nodes = listed.map(({ id, facts }) => nodeOf(id, facts));
  return {
    at: isoInstant(now),
    environment,
    nodes,
    perSecond: paceOf(nodes),
    documents: [...census.states].map(([state, count]) => ({ state, count })),
    oldestDue_s: census.oldestDue_s,
    streams,
    receivers: receivers.map(({ oldestAt, ...receiver }) => ({
      ...receiver,
      oldest_s: Math.max(0, (now - oldestAt.getTime()) / 1_000),
    })),
    webhooks: endpoints.map(({ restUntil, ...endpoint }) => ({
      ...endpoint,
      restUntil: isoOrNull(restUntil),
    })),
    evidence: { ...evidence, storedAt: isoOrNull(evidence.storedAt) },
    certificates: certificatesOf(expiries(), now),
    reviews,
  };
}

/**
 * @returns the heartbeat, at most LIMITS.heartbeat_cached_ms old; those who ask together get the same. @throws Refusal
 * TEMPORARY
 */
export function createHeartbeat(ports: HeartbeatPorts): () => Promise<Heartbeat> {
  let asked_ms = Number.NEGATIVE_INFINITY;
  let beat: Promise<Heartbeat> | undefined;
  return () => {
    const now_ms = ports.clock.monotonic();
    if (beat !== undefined && now_ms - asked_ms < LIMITS.heartbeat_cached_ms) return beat;
    asked_ms = now_ms;
    const fresh = gather(ports);
    beat = fresh;
    // What failed is not shown to the next one.
    fresh.catch(() => {
      if (beat === fresh) beat = undefined;
    });
    return fresh;
  };
}
