/**
 * Claims as the engine judges them: what a caller at SAPI is told, and what becomes of what arrives: its verdict, who
 * sees it in which list, what evidence and statistics say of it.
 */
import { randomUUID } from "node:crypto";

import { STATUS_STEPS } from "../../../actors/status-work.js";
import { createCursors } from "../../../engine/base/cursors.js";
import { Refusal } from "../../../engine/base/errors.js";
import type { FirmId, ParticipantId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { refuseSend } from "../../../engine/documents/accept/send-checks.js";
import { createInbox } from "../../../engine/documents/inbound/inbox.js";
import type { Inbox } from "../../../engine/documents/inbound/inbox.js";
import { readDocumentEvidence } from "../../../engine/documents/reads/evidence.js";
import { readStatistics } from "../../../engine/documents/statistics.js";
import { acknowledgeReceived } from "../../../engine/storage/documents/received.js";
import { memoryArchive } from "../as4/evidence.js";
import { fakeClock } from "../fake-clock.js";
import type { FakeClock } from "../fake-clock.js";
import type { TestDatabase } from "../database/postgres.js";
import { seedFirm } from "../database/seed.js";
import { inlineValidators, pass, PEER_SEAT, statusBench } from "../as4/statuses.js";
import type { StatusBench } from "../as4/statuses.js";
import { bratislavaDayOf, declaredType, invoiceOf } from "./claims.js";
import type { Claim } from "./claims.js";
import type { SeenStatistics } from "./statistics.js";

const PEOPLE = {
  sender: "0245:4040404040",
  receiver: "0245:5050505050",
  stranger: "0245:6060606060",
  other: "0245:7070707070",
} as const;
/** Of a list: few enough that there are many pages. */
const PAGE = 37;
export const CLAIMS_SENDER = PEOPLE.sender as ParticipantId;
const RECEIVER = PEOPLE.receiver as ParticipantId;

/** What SAPI says to a claim, in the words of `outboundVerdict`. */
export async function sendClaim(claim: Claim): Promise<string> {
  const inspection = await inlineValidators.inspect(invoiceOf(claim, PEOPLE), {
    fairnessKey: "test",
    receivedAt: claim.receivedAt,
  });
  const refusal = refuseSend(
    {
      documentTypeId: declaredType(claim),
      processId: claim.declared.process,
      sender: CLAIMS_SENDER,
      receiver: RECEIVER,
      receivedAt: claim.receivedAt,
    },
    inspection,
  );
  if (refusal === undefined) return "accepted";
  return refusal.reason === "DOCUMENT_TYPE_MISMATCH"
    ? `${refusal.reason} ${refusal.details[0]?.field ?? ""}`
    : refusal.reason;
}

/** What a firm sees in the end. */
export interface SeenByFirm {
  /** Seeds of what its inbox lists in a state, in the order of their arrival; those that came together by seed. */
  readonly received: readonly number[];
  readonly acknowledged: readonly number[];
  readonly statistics: Omit<SeenStatistics, "period">;
}

interface Arrived {
  readonly claim: Claim;
  readonly id: ReceivedDocumentId;
  /** Which lot it came in. */
  readonly lot: number;
}

/** A participant that receives claims, and moves from one of two firms to the other after each lot of them. */
export class Arrivals {
  readonly #db: TestDatabase;
  readonly #firms: readonly FirmId[];
  readonly #clock: FakeClock = fakeClock();
  readonly #bench: StatusBench;
  readonly #inbox: Inbox;
  /** Nothing came over AS4 here, so that there are no records: states and statuses alone are read. */
  readonly #archive = memoryArchive();
  readonly #arrived = new Map<string, Arrived>();
  #lots = 0;

  private constructor(db: TestDatabase, firms: readonly FirmId[]) {
    this.#db = db;
    this.#firms = firms;
    this.#bench = statusBench(db, this.#clock);
    const { sealer } = this.#bench.ports;
    this.#inbox = createInbox({ sql: db.sql, sealer, clock: this.#clock, cursors: createCursors(Buffer.alloc(32, 7)) });
  }

  static async open(db: TestDatabase): Promise<Arrivals> {
    return new Arrivals(db, [await seedFirm(db.sql, RECEIVER), await seedFirm(db.sql, PEOPLE.other)]);
  }

  /** Receives a lot of claims, each twice, has the firm confirm what it sees, and lets the time for that pass. */
  async receive(claims: readonly Claim[]): Promise<string[]> {
    const lot = this.#lots;
    this.#lots += 1;
    const firmId = this.#firmOf(lot);
    await this.#db.sql`update participant set firm_id = ${firmId} where key = ${RECEIVER}`;
    const ids = await Promise.all(claims.map((claim) => this.#hand(claim)));
    for (const [i, claim] of claims.entries()) {
      const id = ids[i];
      if (id !== undefined) this.#arrived.set(id, { claim, id, lot });
    }
    await this.#judge();
    await Promise.all(claims.map((claim, i) => (claim.confirmed ? this.#confirm(firmId, ids[i]) : undefined)));
    await pass(this.#db.sql, this.#clock, LIMITS.mls_confirmation_wait_ms + 1_000);
    await this.#judge();
    return Promise.all(ids.map((id) => this.#fate(lot, id)));
  }

  /** What the firm of the even lots sees, and that of the odd ones. */
  async seen(parity: 0 | 1): Promise<SeenByFirm> {
    const firmId = this.#firmOf(parity);
    const { incoming, outgoing, sent, received, delivery_rate, top_recipients, top_senders } = await readStatistics(
      this.#db.sql,
      firmId,
      { period: bratislavaDayOf(this.#clock.now()).slice(0, 7) },
      this.#clock.now(),
    );
    return {
      received: await this.#listed(firmId, "RECEIVED"),
      acknowledged: await this.#listed(firmId, "ACKNOWLEDGED"),
      statistics: { incoming, outgoing, sent, received, delivery_rate, top_recipients, top_senders },
    };
  }

  #firmOf(lot: number): FirmId {
    return this.#firms[lot % 2] ?? ("" as FirmId);
  }

  /** All pages of a list; what came in one lot has no order that anybody promises. */
  async #listed(firmId: FirmId, status: "RECEIVED" | "ACKNOWLEDGED"): Promise<number[]> {
    const all: Arrived[] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.#inbox.list({
        reader: { firmId, participantId: RECEIVER },
        status,
        limit: PAGE,
        pageToken,
      });
      for (const { id } of page.documents) {
        const arrived = this.#arrived.get(id);
        if (arrived === undefined) throw new Error(`a document that never arrived is listed: ${id}`);
        if (arrived.lot < (all.at(-1)?.lot ?? 0)) throw new Error(`seed ${arrived.claim.seed} is listed too late`);
        all.push(arrived);
      }
      pageToken = page.nextPageToken ?? undefined;
    } while (pageToken !== undefined);
    return all.sort((a, b) => a.lot - b.lot || a.claim.seed - b.claim.seed).map(({ claim }) => claim.seed);
  }

  async #hand(claim: Claim): Promise<ReceivedDocumentId | undefined> {
    const exchange = {
      sender: CLAIMS_SENDER,
      receiver: RECEIVER,
      documentTypeId: declaredType(claim),
      processId: claim.declared.process,
      as4MessageId: `${randomUUID()}@peer`,
      sbdhInstanceId: randomUUID(),
      createdAt: this.#clock.now(),
      payload: invoiceOf(claim, PEOPLE),
      envelope: {
        mls: { type: claim.always ? ("ALWAYS_SEND" as const) : ("FAILURE_ONLY" as const), to: undefined },
        countryC1: "AT",
        peerSeat: PEER_SEAT,
      },
    };
    const first = await this.#bench.receive(exchange);
    const again = await this.#bench.receive(exchange);
    if (first.kind !== "stored") return undefined;
    if (again.kind !== "duplicate") throw new Error(`claim ${claim.seed}: a repeat is ${again.kind}`);
    return first.id as ReceivedDocumentId;
  }

  async #judge(): Promise<void> {
    const node = this.#bench.node;
    while ((await STATUS_STEPS.duties(node)) + (await STATUS_STEPS.largeDuties(node)) > 0);
  }

  /** What a firm does not see it cannot confirm: then nothing happens. */
  async #confirm(firmId: FirmId, id: ReceivedDocumentId | undefined): Promise<void> {
    if (id === undefined) return;
    await acknowledgeReceived(this.#db.sql, { firmId, participantKey: RECEIVER, id, now: this.#clock.now() });
  }

  /** Its state and its status, as its firm's evidence shows them; to the other firm it is nothing. */
  async #fate(lot: number, id: ReceivedDocumentId | undefined): Promise<string> {
    if (id === undefined) return "not_serviced";
    const { log, sealer, validators } = this.#bench.ports;
    const ports = { sql: this.#db.sql, log, sealer, validators, archive: this.#archive };
    const { state, mls } = await readDocumentEvidence(ports, this.#firmOf(lot), id);
    const stranger = await readDocumentEvidence(ports, this.#firmOf(lot + 1), id).catch((error: unknown) => error);
    if (!(stranger instanceof Refusal) || stranger.reason !== "NOT_FOUND")
      throw new Error(`another firm has evidence of ${id}`);
    return mls === null ? state : `${state} ${mls.code ?? mls.state}`;
  }
}
