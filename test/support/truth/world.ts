/** Plays stories with the engine's own functions on a database, many beside each other, and tells what is seen. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

import { STATUS_STEPS } from "../../../actors/status-work.js";
import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { readDocumentEvidence } from "../../../engine/documents/reads/evidence.js";
import { readStatistics } from "../../../engine/documents/statistics.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import type { Exchange, InboundExchange, Outcome } from "../../../engine/peppol/transport.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import type { EvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import type { EvidenceStore } from "../../../engine/storage/evidence/store.js";
import { packPayload } from "../../../engine/storage/payloads/payloads.js";
import { attemptOnce, makeDue } from "../worlds/attempts.js";
import type { FakeClock } from "../fake-clock.js";
import { fakeClock } from "../fake-clock.js";
import type { TestDatabase } from "../database/postgres.js";
import { seedFirm, seedFirms } from "../database/seed.js";
import { mlsExchange, pass, responseExchange, statusBench } from "../as4/statuses.js";
import type { StatusBench } from "../as4/statuses.js";
import { bratislavaDayOf } from "./claims.js";
import type { Story } from "./exchanges.js";
import { TruthModel } from "./model.js";
import type { Seen, SeenEvidence, Step, StatusStep } from "./model.js";
import { expectedStatistics, questionOf } from "./statistics.js";

const RECEIVERS = { ours: "0246:2020202020", foreign: "0246:3030303030" } as const;
/** Each story has a firm of its own, whose statistics are the story's. */
const senderOf = ({ seed }: Story): ParticipantId => `0245:${String(seed).padStart(10, "0")}` as ParticipantId;

/** A story while it is played. */
interface Played {
  readonly story: Story;
  readonly firmId: FirmId;
  readonly model: TruthModel;
  readonly rows: NewDocument[];
  /** What was handed over, by step: a repeat is the very same. */
  readonly handed: Map<number, InboundExchange>;
}

/** What the model and the engine say of one thing of a story that they do not agree on. */
export interface Disagreement {
  readonly seed: number;
  /** One sentence. */
  readonly sentence: string;
}

/** Each member on which an answer and what is expected differ, in words. */
function differences(about: string, expected: object, seen: object): string[] {
  const members = Object.entries(expected).map(([name, value]) => [
    name,
    value as unknown,
    Reflect.get(seen, name) as unknown,
  ]);
  return members
    .filter(([, value, found]) => !isDeepStrictEqual(value, found))
    .map(
      ([name, value, found]) =>
        `${about}: ${String(name)} is ${JSON.stringify(found)} instead of ${JSON.stringify(value)}`,
    );
}

export interface TruthWorld {
  /** Reasons for which statuses were not applied in any story so far: what the stories have reached. */
  readonly reasons: ReadonlySet<string>;
  /** Plays stories from this instant on. */
  play(stories: readonly Story[], from: number): Promise<Disagreement[]>;
}

export async function truthWorld(db: TestDatabase, evidence: EvidenceStore): Promise<TruthWorld> {
  await seedFirm(db.sql, RECEIVERS.ours);
  const reasons = new Set<string>();
  return {
    reasons,
    play: async (stories, from) => {
      const play = new Play(db, evidence, fakeClock(from), reasons);
      try {
        return await play.all(stories);
      } finally {
        await play.stop();
      }
    },
  };
}

class Play {
  readonly #db: TestDatabase;
  readonly #clock: FakeClock;
  readonly #beganOn: string;
  readonly #bench: StatusBench;
  readonly #archive: EvidenceArchive;
  readonly #reasons: Set<string>;
  readonly #outcomes = new Map<string, Outcome>();
  readonly #countries = new Map<string, string[]>();

  constructor(db: TestDatabase, evidence: EvidenceStore, clock: FakeClock, reasons: Set<string>) {
    this.#reasons = reasons;
    this.#db = db;
    this.#clock = clock;
    this.#beganOn = bratislavaDayOf(clock.now());
    this.#bench = statusBench(db, clock, { transport: { deliver: (exchange) => this.#deliver(exchange) } });
    this.#archive = createEvidenceArchive({ sql: db.sql, store: evidence, sealer: this.#bench.ports.sealer, clock });
  }

  stop(): Promise<void> {
    return this.#archive.stop();
  }

  /** Ends as the story has it, and keeps evidence of what was transmitted, as the way over AS4 does. */
  async #deliver(exchange: Exchange): Promise<Outcome> {
    const { documentId, countryC1 } = exchange;
    this.#countries.set(documentId, [...(this.#countries.get(documentId) ?? []), countryC1]);
    const outcome = this.#outcomes.get(documentId) ?? { kind: "internal" };
    if (outcome.kind === "transport_failed") return outcome;
    const now = this.#clock.now();
    await this.#archive.store({
      referencesSha256: "",
      record: {
        facts: {
          direction: "outbound",
          id: randomUUID(),
          outcome: outcome.kind,
          documentId,
          ...(exchange.firmId === undefined ? {} : { firmId: exchange.firmId }),
          messageId: exchange.as4MessageId,
          instanceId: exchange.sbdhInstanceId,
          sender: exchange.sender,
          receiver: exchange.receiver,
          documentTypeId: exchange.documentTypeId,
          processId: exchange.processId,
          requestAt: now,
          answerAt: now,
          requestContentType: "multipart/related",
        },
        parts: [
          { name: "request", bytes: exchange.payload },
          { name: "answer", bytes: Buffer.from(outcome.kind) },
        ],
      },
    });
    return outcome;
  }

  async all(stories: readonly Story[]): Promise<Disagreement[]> {
    const firms = await seedFirms(this.#db.sql, stories.map(senderOf));
    const played = stories.map((story, i): Played => ({
      story,
      firmId: firms[i] ?? ("" as FirmId),
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

  async #acceptOne({ story, firmId, model, rows }: Played, index: number): Promise<void> {
    const plan = story.documents[index];
    if (plan === undefined) return;
    const id = newId(systemClock) as DocumentId;
    const { sha256, sealed } = await packPayload(this.#bench.ports.sealer, id, Buffer.from(`<d>${id}</d>`));
    const isNote = plan.typeCode === "381" || plan.typeCode === "261";
    const type = BILLING_CAPABILITIES[(plan.selfBilling ? 2 : 0) + (isNote ? 1 : 0)];
    const { number, issueDate, typeCode, supplierCountry, customerCountry, order } = plan;
    model.accepted(index, this.#clock.now());
    rows[index] = await this.#bench.document(firmId, senderOf(story), {
      ...type,
      id,
      receiver: RECEIVERS[plan.receiver] as ParticipantId,
      facts: {
        documentNumber: number,
        issueDate,
        typeCode,
        supplierCountry,
        customerCountry,
        orderReference: order ?? null,
      },
      payloadKeyId: this.#bench.ports.sealer.keyId,
      payloadSealed: sealed,
      payloadSha256: sha256,
    });
  }

  /** Whatever waits is due again. */
  async #timePasses(played: readonly Played[]): Promise<void> {
    await pass(this.#db.sql, this.#clock, LIMITS.status_early_max_ms + 1_000);
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
      played.model.attempt(step, this.#clock.now());
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
    const parties = { sender: senderOf(played.story), receiver: RECEIVERS[step.from] as ParticipantId };
    return responseExchange(this.#clock, parties, step.number, step.code, {
      id: step.id,
      issuedAt: Date.parse(`${step.day}T12:00:00Z`),
      typeCode: step.typeCode,
      seat: step.seat,
      otherReferences: step.otherReferences,
      ...(step.invoiceDay === undefined ? {} : { issueDate: step.invoiceDay }),
      ...(step.lies ? { says: "0245:7777777777" } : {}),
    });
  }

  #row({ rows }: Played, index: number): NewDocument {
    const row = rows[index];
    if (row === undefined) throw new RangeError("no such document");
    return row;
  }

  async #compare(played: Played): Promise<Disagreement[]> {
    const { story, firmId, model, rows } = played;
    const found: string[] = [];
    const seen = model.seen();
    // Of one document of each story: its evidence costs as much as everything else that is read of it.
    const shown = story.seed % seen.length;
    for (const [document, { evidence, ...expected }] of seen.entries()) {
      for (const reason of expected.notApplied) this.#reasons.add(reason);
      const id = rows[document]?.id ?? ("" as DocumentId);
      found.push(...differences(`document ${document}`, expected, await this.#seen(firmId, id)));
      if (document === shown)
        found.push(...differences(`evidence of document ${document}`, evidence, await this.#evidence(firmId, id)));
    }
    const asked = { question: questionOf(story.seed, this.#beganOn), now: this.#clock.now() };
    const {
      month: _,
      from: _from,
      to: _to,
      documentTypes: _types,
      ...statistics
    } = await readStatistics(this.#db.sql, firmId, asked.question, asked.now);
    found.push(...differences("statistics", expectedStatistics(model.counted(), RECEIVERS, asked), statistics));
    return found.map((sentence) => ({ seed: story.seed, sentence: `seed ${story.seed}, ${sentence}` }));
  }

  async #seen(firmId: FirmId, id: DocumentId): Promise<Omit<Seen, "evidence">> {
    const [{ states, events, response }, [row]] = await Promise.all([
      this.#bench.story(firmId, id),
      this.#db.sql<{ reasons: string[]; reported: string | null }[]>`
        select (select c1_country from exchange where id = ${id}) as reported,
          array(select meta ->> 'notApplied' from document_event
            where document_id = ${id} and meta ? 'notApplied' order by position) as reasons`,
    ]);
    return {
      states,
      events: events.filter((kind) => kind !== "document.attempt_failed"),
      response,
      notApplied: row?.reasons ?? [],
      countries: this.#countries.get(id) ?? [],
      reported: row?.reported ?? null,
    };
  }

  async #evidence(firmId: FirmId, id: DocumentId): Promise<SeenEvidence> {
    const { sql } = this.#db;
    const { log, sealer, validators } = this.#bench.ports;
    const shown = await readDocumentEvidence({ sql, log, sealer, validators, archive: this.#archive }, firmId, id);
    return {
      state: shown.state,
      isSent: shown.sentAt !== null,
      isDelivered: shown.deliveredAt !== null,
      hasReceipt: shown.receipt !== null,
      hasEnvelope: shown.envelope !== null,
      mls: shown.mls?.code ?? null,
      invoiceResponse: shown.invoiceResponse?.status ?? null,
    };
  }
}
