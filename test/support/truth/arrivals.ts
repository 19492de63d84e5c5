/** Claims as the engine judges them: what a caller at SAPI is told, and what becomes of what arrives. */
import { randomUUID } from "node:crypto";

import { STATUS_STEPS } from "../../../actors/status-work.js";
import { refuseSend } from "../../../engine/documents/accept/send-checks.js";
import type { FirmId, ParticipantId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { acknowledgeReceived } from "../../../engine/storage/documents/received.js";
import { fakeClock } from "../fake-clock.js";
import type { FakeClock } from "../fake-clock.js";
import type { TestDatabase } from "../postgres.js";
import { seedFirm } from "../seed.js";
import { inlineValidators, PEER_SEAT, statusBench } from "../statuses.js";
import type { StatusBench } from "../statuses.js";
import { declaredType, invoiceOf } from "./claims.js";
import type { Claim } from "./claims.js";

const PEOPLE = { sender: "0245:4040404040", receiver: "0245:5050505050", stranger: "0245:6060606060" } as const;
const SENDER = PEOPLE.sender as ParticipantId;
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
      sender: SENDER,
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

/** A firm whose participant receives claims. */
export class Arrivals {
  readonly #db: TestDatabase;
  readonly #firmId: FirmId;
  readonly #clock: FakeClock = fakeClock();
  readonly #bench: StatusBench;

  private constructor(db: TestDatabase, firmId: FirmId) {
    this.#db = db;
    this.#firmId = firmId;
    this.#bench = statusBench(db, this.#clock);
  }

  static async open(db: TestDatabase): Promise<Arrivals> {
    return new Arrivals(db, await seedFirm(db.sql, RECEIVER));
  }

  /** Receives claims, each twice, has the firm confirm what it sees, and lets the time for that pass. */
  async receive(claims: readonly Claim[]): Promise<string[]> {
    const ids = await Promise.all(claims.map((claim) => this.#hand(claim)));
    await this.#judge();
    await Promise.all(claims.map((claim, i) => (claim.confirmed ? this.#confirm(ids[i]) : undefined)));
    this.#clock.advance(LIMITS.mls_confirmation_wait_ms + 1_000);
    await this.#judge();
    return Promise.all(ids.map((id) => this.#fate(id)));
  }

  async #hand(claim: Claim): Promise<ReceivedDocumentId | undefined> {
    const exchange = {
      sender: SENDER,
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
    while ((await STATUS_STEPS.duties(this.#bench.node)) > 0);
  }

  /** What a firm does not see it cannot confirm: then nothing happens. */
  async #confirm(id: ReceivedDocumentId | undefined): Promise<void> {
    if (id === undefined) return;
    await acknowledgeReceived(this.#db.sql, {
      firmId: this.#firmId,
      participantKey: RECEIVER,
      id,
      now: this.#clock.now(),
    });
  }

  async #fate(id: ReceivedDocumentId | undefined): Promise<string> {
    if (id === undefined) return "not_serviced";
    const [row] = await this.#db.sql<{ status: string; code: string | null }[]>`
      select d.status, (select m.code from service_message as m where m.about = d.id and m.kind = 'mls') as code
      from received_document as d where d.id = ${id}`;
    return [row?.status, row?.code].filter((part) => part !== null && part !== undefined).join(" ");
  }
}
