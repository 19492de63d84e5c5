/**
 * What is broken when everything has come to rest: what clients were told and what they read is held against the
 * databases, the archives and the receiver of events, a sentence for each fault.
 * @source design/reliability.md, section 1
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { systemClock } from "../../../engine/base/clock.js";
import { FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import { FEED_START, readFeed } from "../../../engine/storage/events/feed.js";
import type { FeedEvent, FeedPlace } from "../../../engine/storage/events/feed.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { openFileEvidence } from "../../../engine/storage/evidence/store-file.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { inThread } from "../../support/as4/as4.js";
import { MACHINES_MASTER_KEY } from "../../support/engines/machines.js";
import { databaseFacts, logOf, processFacts } from "../../support/truth/oracle-facts.js";
import { violations } from "../../support/truth/oracle.js";
import type { ProcessFact, SideFacts } from "../../support/truth/oracle.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import type { Point, Points } from "./points.js";
import { brokenDeliveries, brokenNotices } from "./promises.js";
import type { Traffic } from "./traffic.js";

const FEED_PAGE = 500;

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

/** What the webhooks of firms are told of. */
const TOLD: readonly FeedEvent["kind"][] = FEED_KINDS;

/** Every event of some firms that their webhooks are told of, as any reader of the feed meets them. */
async function eventsOf(sql: Sql, firms: ReadonlySet<string>): Promise<readonly FeedEvent[]> {
  const all: FeedEvent[] = [];
  let place: FeedPlace = FEED_START;
  for (;;) {
    const page = await readFeed(sql, place, FEED_PAGE);
    const last = page.at(-1);
    if (last === undefined) return all;
    all.push(...page.filter(({ firmId, kind }) => firms.has(firmId) && TOLD.includes(kind)));
    place = last;
  }
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
      ...brokenDeliveries(sideA, sideB, [...traffic.read.B.values()]),
      ...brokenDeliveries(sideB, sideA, [...traffic.read.A.values()]),
      ...traffic.changed,
      ...traffic.log.unexpected,
      ...brokenNotices(events, receiver.calls),
      ...(await archiveFaults(sqlA, join(folder, "evidence"), Buffer.from(MACHINES_MASTER_KEY, "base64"))),
      ...(await archiveFaults(sqlB, join(b.dataDir, "evidence"), keyOfB)),
    ],
  };
}
