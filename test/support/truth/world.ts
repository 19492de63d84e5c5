/** Plays stories with the engine's own functions on a database, many beside each other, and tells what is seen. */
import { randomUUID } from "node:crypto";

import { STATUS_STEPS } from "../../../actors/status-work.js";
import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import type { InboundExchange, Outcome } from "../../../engine/peppol/transport.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";
import { packPayload } from "../../../engine/storage/payloads/payloads.js";
import { attemptOnce, makeDue } from "../attempts.js";
import type { FakeClock } from "../fake-clock.js";
import { fakeClock } from "../fake-clock.js";
import type { TestDatabase } from "../postgres.js";
import { seedFirm } from "../seed.js";
import { mlsExchange, responseExchange, statusBench } from "../statuses.js";
import type { StatusBench } from "../statuses.js";
import type { Story } from "./exchanges.js";
import { TruthModel } from "./model.js";
import type { Seen, Step, StatusStep } from "./model.js";

const SENDER = "0245:1010101010";
const RECEIVERS = { ours: "0245:2020202020", foreign: "0245:3030303030" } as const;

/** A story while it is played. */
interface Played {
  readonly story: Story;
  readonly model: TruthModel;
  readonly rows: NewDocument[];
  /** What was handed over, by step: a repeat is the very same. */
  readonly handed: Map<number, InboundExchange>;
}

/** What the model and the engine say of one document that they do not agree on. */
export interface Disagreement {
  readonly seed: number;
  readonly document: number;
  readonly expected: Seen;
  readonly seen: Seen;
}

export interface TruthWorld {
  /** Reasons for which statuses were not applied in any story so far: what the stories have reached. */
  readonly reasons: ReadonlySet<string>;
  /** Plays stories from this instant on. */
  play(stories: readonly Story[], from: number): Promise<Disagreement[]>;
}

export async function truthWorld(db: TestDatabase): Promise<TruthWorld> {
  const firmId = await seedFirm(db.sql, SENDER);
  await seedFirm(db.sql, RECEIVERS.ours);
  const reasons = new Set<string>();
  return { reasons, play: (stories, from) => new Play(db, firmId, fakeClock(from), reasons).all(stories) };
}

class Play {
  readonly #db: TestDatabase;
  readonly #firmId: FirmId;
  readonly #clock: FakeClock;
  readonly #bench: StatusBench;
  readonly #reasons: Set<string>;
  readonly #outcomes = new Map<string, Outcome>();
  readonly #countries = new Map<string, string[]>();

  constructor(db: TestDatabase, firmId: FirmId, clock: FakeClock, reasons: Set<string>) {
    this.#reasons = reasons;
    this.#db = db;
    this.#firmId = firmId;
    this.#clock = clock;
    this.#bench = statusBench(db, clock, {
      transport: {
        deliver: ({ documentId, countryC1 }) => {
          this.#countries.set(documentId, [...(this.#countries.get(documentId) ?? []), countryC1]);
          return Promise.resolve(this.#outcomes.get(documentId) ?? { kind: "internal" });
        },
      },
    });
  }

  async all(stories: readonly Story[]): Promise<Disagreement[]> {
    const played = stories.map((story): Played => ({
      story,
      model: new TruthModel(story.documents),
      rows: [],
      handed: new Map(),
    }));
    await this.#accept(played);
    const steps = Math.max(...stories.map((story) => story.steps.length));
    for (let i = 0; i < steps; i += 1) {
      await this.#timePasses(played);
      await Promise.all(played.map((one) => this.#step(one, i)));
      await this.#work();
    }
    await this.#timePasses(played);
    const found = (await Promise.all(played.map((one) => this.#compare(one)))).flat();
    await this.#db.sql`delete from inbound_status where outcome is null`;
    return found;
  }

  async #accept(played: readonly Played[]): Promise<void> {
    const most = Math.max(...played.map(({ story }) => story.documents.length));
    for (let i = 0; i < most; i += 1) {
      await Promise.all(played.map((one) => this.#acceptOne(one, i)));
      this.#clock.advance(1);
    }
  }

  async #acceptOne({ story, rows }: Played, index: number): Promise<void> {
    const plan = story.documents[index];
    if (plan === undefined) return;
    const id = newId(systemClock) as DocumentId;
    const { sha256, sealed } = await packPayload(this.#bench.ports.sealer, id, Buffer.from(`<d>${id}</d>`));
    const isNote = plan.typeCode === "381" || plan.typeCode === "261";
    const type = BILLING_CAPABILITIES[(plan.selfBilling ? 2 : 0) + (isNote ? 1 : 0)];
    const { number, issueDate, typeCode, supplierCountry, customerCountry } = plan;
    rows[index] = await this.#bench.document(this.#firmId, SENDER, {
      ...type,
      id,
      receiver: RECEIVERS[plan.receiver] as ParticipantId,
      facts: { documentNumber: number, issueDate, typeCode, supplierCountry, customerCountry },
      payloadKeyId: this.#bench.ports.sealer.keyId,
      payloadSealed: sealed,
      payloadSha256: sha256,
    });
  }

  /** Whatever waits is due again. */
  async #timePasses(played: readonly Played[]): Promise<void> {
    this.#clock.advance(LIMITS.status_early_max_ms + 1_000);
    await this.#work();
    for (const { model } of played) model.timePasses();
  }

  async #work(): Promise<void> {
    while ((await STATUS_STEPS.statuses(this.#bench.node)) > 0);
  }

  async #step(played: Played, index: number): Promise<void> {
    const step = played.story.steps[index];
    if (step?.kind !== "again") {
      if (step !== undefined) await this.#do(played, index, step);
      return;
    }
    const exchange = played.handed.get(step.step);
    if (exchange === undefined) return;
    const { kind } = await this.#bench.receive(exchange);
    if (kind !== "duplicate") throw new Error(`seed ${played.story.seed}: a repeat is ${kind}`);
  }

  async #do(played: Played, index: number, step: Step): Promise<void> {
    if (step.kind === "attempt") {
      const { id } = this.#row(played, step.document);
      this.#outcomes.set(id, { kind: step.outcome, peerSeat: step.seat });
      await makeDue(this.#db.sql, id);
      await attemptOnce(this.#bench.ports, id);
      played.model.attempt(step);
      return;
    }
    const now = this.#clock.now();
    if (played.model.wouldCrowd(step, now)) return;
    const exchange = this.#exchangeOf(played, step);
    played.handed.set(index, exchange);
    const { kind } = await this.#bench.receive(exchange);
    if (kind !== "stored") throw new Error(`seed ${played.story.seed}: a status is ${kind}`);
    played.model.status(step, now);
  }

  #exchangeOf(played: Played, step: StatusStep): InboundExchange {
    if (step.kind === "mls") {
      const { code, seat, says } = step;
      const reference = step.document === undefined ? randomUUID() : this.#row(played, step.document).sbdhInstanceId;
      return mlsExchange(this.#clock, reference, code, { seat, says: says.slice(3) });
    }
    const parties = { sender: SENDER as ParticipantId, receiver: RECEIVERS[step.from] as ParticipantId };
    return responseExchange(this.#clock, parties, step.number, step.code, {
      id: step.id,
      issuedAt: Date.parse(`${step.day}T12:00:00Z`),
      typeCode: step.typeCode,
      seat: step.seat,
      ...(step.invoiceDay === undefined ? {} : { issueDate: step.invoiceDay }),
      ...(step.lies ? { says: "0245:7777777777" } : {}),
    });
  }

  #row({ rows }: Played, index: number): NewDocument {
    const row = rows[index];
    if (row === undefined) throw new RangeError("no such document");
    return row;
  }

  async #compare({ story, model, rows }: Played): Promise<Disagreement[]> {
    const found: Disagreement[] = [];
    for (const [document, expected] of model.seen().entries()) {
      for (const reason of expected.notApplied) this.#reasons.add(reason);
      const seen = await this.#seen(rows[document]?.id ?? ("" as DocumentId));
      if (JSON.stringify(seen) !== JSON.stringify(expected)) found.push({ seed: story.seed, document, expected, seen });
    }
    return found;
  }

  async #seen(id: DocumentId): Promise<Seen> {
    const { states, events, response } = await this.#bench.story(this.#firmId, id);
    const reasons = await this.#db.sql<{ reason: string }[]>`
      select meta ->> 'notApplied' as reason from document_event
      where document_id = ${id} and meta ? 'notApplied' order by position`;
    return {
      states,
      events: events.filter((kind) => kind !== "document.attempt_failed"),
      response,
      notApplied: reasons.map(({ reason }) => reason),
      countries: this.#countries.get(id) ?? [],
    };
  }
}
