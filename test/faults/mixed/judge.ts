/**
 * What is broken when everything has come to rest: what clients were told and what they read is held against the
 * databases, the archives and the receiver of events, a sentence for each fault.
 * @source design/reliability.md, section 1
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { systemClock } from "../../../engine/base/clock.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import { FEED_START, readFeed } from "../../../engine/storage/events/feed.js";
import type { FeedEvent, FeedPlace } from "../../../engine/storage/events/feed.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { openFileEvidence } from "../../../engine/storage/evidence/store-file.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { inThread } from "../../support/as4.js";
import { MACHINES_MASTER_KEY } from "../../support/machines.js";
import { databaseFacts, logOf, processFacts } from "../../support/oracle-facts.js";
import { violations } from "../../support/oracle.js";
import type { ProcessFact, SideFacts } from "../../support/oracle.js";
import type { Receiver } from "../../support/receiver.js";
import type { Point, PointName, Points } from "./points.js";
import type { Traffic } from "./traffic.js";

const FEED_PAGE = 500;
const EVENT_ID = "x-webhook-event-id";

const counted = <T>(items: readonly T[]): ReadonlyMap<T, number> => {
  const counts = new Map<T, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
};

/** One for all engines of an access point: what is not so of one of them is not so. */
async function processesOf(point: Point): Promise<ProcessFact> {
  const each = await Promise.all(point.engines().map((engine) => processFacts(engine, point.output())));
  return {
    alive: each.every(({ alive }) => alive),
    live: each.every(({ live }) => live),
    ready: each.every(({ ready }) => ready),
    output: logOf(point.output()),
    rss_bytes: undefined,
  };
}

async function sideOf(point: Point, sql: Sql, { told }: Traffic): Promise<SideFacts> {
  const { name } = point;
  const facts = await databaseFacts(sql);
  const stored = new Map(facts.outgoing.map(({ id, sha256 }) => [id, sha256]));
  return {
    ...facts,
    name,
    accepted: told
      .filter(({ point }) => point === name)
      .map(({ id, sha256, answer }) => ({
        id,
        // The bytes of a document that the engine wrote are known from its row alone.
        sha256: sha256 ?? stored.get(id) ?? "",
        answer: { status: answer.status, body: answer.text },
        repeated: [],
      })),
    counted: undefined,
    probes: [],
    places: [],
    process: await processesOf(point),
  };
}

const OTHER = { A: "B", B: "A" } as const satisfies Record<PointName, PointName>;

/** Each accepted document is delivered, read once by its receiver with its bytes, and proved once by either side. */
function deliveries(side: SideFacts, other: SideFacts, { read }: Traffic): readonly string[] {
  const rows = new Map(side.outgoing.map((row) => [row.id, row]));
  const reads = counted([...read[OTHER[side.name as PointName]].values()].map(({ sha256 }) => sha256));
  const proofs = (of: SideFacts, outcomes: readonly string[]): ReadonlyMap<string, number> =>
    counted(of.evidence.filter(({ outcome }) => outcomes.includes(outcome)).map(({ messageId }) => messageId));
  // Who repeats a message signs it anew: that it came again is proved as well, beside the proof of its arrival.
  const [sent, arrived] = [proofs(side, ["receipt", "already_handed_over"]), proofs(other, ["stored"])];
  return side.accepted.flatMap(({ id, sha256 }) => {
    const row = rows.get(id);
    const [times, proved, taken] = [
      reads.get(sha256) ?? 0,
      sent.get(row?.messageId ?? "") ?? 0,
      arrived.get(row?.messageId ?? "") ?? 0,
    ];
    return [
      ...(row?.status === "delivered" ? [] : [`${side.name}: ${id} is ${row?.status ?? "nowhere"}`]),
      ...(times === 1 ? [] : [`${side.name}: ${id} was found ${times} times in the inbox of its receiver`]),
      ...(proved === 1 && taken === 1
        ? []
        : [`${side.name}: ${id} has ${proved} proofs, and ${taken} at its receiver`]),
    ];
  });
}

/** Every event of some firms, as any reader of the feed meets them. */
async function eventsOf(sql: Sql, firms: ReadonlySet<string>): Promise<readonly FeedEvent[]> {
  const all: FeedEvent[] = [];
  let place: FeedPlace = FEED_START;
  for (;;) {
    const page = await readFeed(sql, place, FEED_PAGE);
    const last = page.at(-1);
    if (last === undefined) return all;
    all.push(...page.filter(({ firmId }) => firms.has(firmId)));
    place = last;
  }
}

/** Every event came at least once, each time with the same bytes, and nothing came that has not happened. */
function notices(events: readonly FeedEvent[], receiver: Receiver): readonly string[] {
  const told = new Map<string, Set<string>>();
  for (const { headers, body } of receiver.calls) {
    const id = headers[EVENT_ID] ?? "";
    told.set(id, (told.get(id) ?? new Set()).add(body.toString("utf8")));
  }
  const happened = new Map(events.map(({ id, kind }) => [id, kind]));
  return [
    ...[...counted(events.map(({ id }) => id))].filter(([, n]) => n > 1).map(([id]) => `two events have the id ${id}`),
    ...events.filter(({ id }) => !told.has(id)).map(({ id, kind }) => `${kind} ${id} was told to nobody`),
    ...[...told]
      .filter(([, forms]) => forms.size > 1)
      .map(([id, forms]) => `${id} came as ${[...forms].join(" and ")}`),
    ...[...told.entries()]
      .filter(([id, [form]]) => !form?.includes(happened.get(id) ?? "?"))
      .map(([id]) => `${id} was told and has not happened so`),
  ];
}

/** What a check of the whole archive finds. */
async function archiveFaults(sql: Sql, dir: string, masterKey: Buffer): Promise<readonly string[]> {
  const store = openFileEvidence(dir);
  const archive = createEvidenceArchive({ sql, store, sealer: createSealer([masterKey]), clock: systemClock });
  const { faults, entries } = await auditEvidence({ sql, store, archive, crypto: inThread, now: systemClock.now() });
  return entries === 0 ? ["there is no evidence"] : faults.map((fault) => `evidence: ${JSON.stringify(fault)}`);
}

export interface Judgement {
  readonly broken: readonly string[];
  readonly events: number;
}

/** @param receiver  of the events of all firms of A */
export async function judge(points: Points, traffic: Traffic, receiver: Receiver): Promise<Judgement> {
  const { a, b, folder } = points;
  const [sqlA, sqlB] = [await a.sql(), await b.sql()];
  const [sideA, sideB] = [await sideOf(a, sqlA, traffic), await sideOf(b, sqlB, traffic)];
  const events = await eventsOf(sqlA, new Set(a.firms.map(({ clientId }) => clientId)));
  const keyOfB = Buffer.from(readFileSync(join(b.dataDir, "master.key"), "utf8").trim(), "base64");
  return {
    events: events.length,
    broken: [
      ...violations({ sides: [sideA, sideB], canaries: [], rssMax_bytes: Number.MAX_SAFE_INTEGER }),
      ...deliveries(sideA, sideB, traffic),
      ...deliveries(sideB, sideA, traffic),
      ...traffic.changed,
      ...traffic.log.unexpected,
      ...notices(events, receiver),
      ...(await archiveFaults(sqlA, join(folder, "evidence"), Buffer.from(MACHINES_MASTER_KEY, "base64"))),
      ...(await archiveFaults(sqlB, join(b.dataDir, "evidence"), keyOfB)),
    ],
  };
}
