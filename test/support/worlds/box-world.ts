/** The Box without HTTP: real statements and the real accept path, in the hands of a test that plays every node. */
import { bratislavaDay, systemClock } from "../../../engine/base/clock.js";
import { Refusal } from "../../../engine/base/errors.js";
import { newId } from "../../../engine/base/ids.js";
import type { BoxItemId, DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { acceptSend, withBatches } from "../../../engine/documents/accept/send.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import { boxAgenda } from "../../../engine/documents/box/agenda.js";
import type { ClaimedItem } from "../../../engine/documents/box/agenda.js";
import { createItem } from "../../../engine/documents/box/create.js";
import type { BoxWish } from "../../../engine/documents/box/create.js";
import { dispatchItem } from "../../../engine/documents/box/dispatch.js";
import { operate } from "../../../engine/documents/box/operate.js";
import { readBoxDetail } from "../../../engine/documents/box/reads.js";
import type { BoxDetail } from "../../../engine/documents/box/reads.js";
import type { BoxOperation } from "../../../engine/lifecycle/box.js";
import { outboundMove } from "../../../engine/lifecycle/document.js";
import type { OutboundTrigger } from "../../../engine/lifecycle/document.js";
import { endAttempt, takeAttempt } from "../../../engine/storage/documents/attempts.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { parseDocument } from "../../../validators/summary.js";
import { invoiceXml } from "../engines/engine.js";
import { freshDatabase } from "../database/postgres.js";
import type { TestDatabase } from "../database/postgres.js";
import { KEY_ID, seedFirm } from "../database/seed.js";
import { recipientFound } from "../../../engine/peppol/discovery/acceptance.js";
import { inlineValidators } from "../as4/statuses.js";

const SENDER = "0245:1111111111" as ParticipantId;
const RECEIVER = "0245:9999999999" as ParticipantId;
const HOUR_MS = 3_600_000;
const ROOM = { places: 1_000, bytes: 64 * 1024 * 1024, one: true };

/** What a document's attempt can come to: a trigger, or nothing when it failed and comes again. */
export type AttemptResult = OutboundTrigger | "failed";

/** A Box with one firm, and any number of nodes that are named when they do something. */
export interface BoxWorld {
  readonly db: TestDatabase;
  readonly firmId: FirmId;
  create(wish?: Partial<BoxWish>): Promise<{ readonly id: BoxItemId; readonly isNew: boolean }>;
  item(id: BoxItemId): Promise<BoxDetail>;
  /** @returns "done", or the name of the refusal */
  operate(node: string, operation: BoxOperation, id: BoxItemId): Promise<string>;
  /**
   * Takes what is due and hands nothing over, as a node that dies then. @param working items that the node works on
   */
  claim(node: string, working?: readonly BoxItemId[]): Promise<readonly ClaimedItem[]>;
  dispatch(node: string, item: ClaimedItem): Promise<void>;
  /** Lets the time of an item come. */
  makeDue(id: BoxItemId): Promise<void>;
  /** One attempt at the document of an item. @returns whether there was one to make */
  attempt(id: BoxItemId, result: AttemptResult): Promise<boolean>;
}

/** An invoice of the firm. @param isBroken whether the rules refuse it */
export const worldInvoice = (isBroken = false, sender: string = SENDER): Buffer => {
  const xml = invoiceXml(sender, RECEIVER, { issueDate: bratislavaDay(systemClock.now()) });
  return Buffer.from(isBroken ? xml.replace(/<cbc:DocumentCurrencyCode>.*?<\/cbc:DocumentCurrencyCode>/, "") : xml);
};

const audit = () => ({
  id: newId(systemClock),
  at: new Date().toISOString(),
  actorType: "api_key" as const,
  actorId: KEY_ID,
  ip: null,
  userAgent: null,
});

/** Makes a world on a database of its own. */
export async function boxWorld(): Promise<BoxWorld> {
  const db = await freshDatabase();
  const { sql } = db;
  const firmId = await seedFirm(sql, SENDER);
  const sealer = createSealer([Buffer.alloc(32, 7)]);
  const metrics = createMetrics();
  const send = withBatches({
    ...{ sql, sealer, metrics, clock: systemClock, validators: inlineValidators },
    recipients: { recipient: () => Promise.resolve(recipientFound("ready")), forget: () => undefined },
    poke: () => undefined,
  });
  const nodeOf = (owner: string) => ({ sql, sealer, clock: systemClock, log: silentLog, metrics, owner, node: owner });
  const agendas = new Map<string, ReturnType<typeof boxAgenda>>();
  const agendaOf = (owner: string) => {
    const made = agendas.get(owner) ?? boxAgenda(nodeOf(owner));
    agendas.set(owner, made);
    return made;
  };
  const poke = () => undefined;
  const dispatch = (owner: string, item: ClaimedItem) =>
    dispatchItem({ ...nodeOf(owner), accept: (id, request) => acceptSend(send, id, request) }, item);
  return {
    db,
    firmId,
    create: (wish = {}) =>
      createItem(
        {
          ...nodeOf("api/1"),
          poke,
          workers: {
            parse: (payload) => Promise.resolve(parseDocument({ bytes: payload, limits: SCAN_LIMITS, linesMax: 1 })),
          },
        },
        {
          firmId,
          integratorId: undefined,
          keyId: KEY_ID,
          payload: worldInvoice(),
          scheduledFor: undefined,
          externalId: undefined,
          metadata: undefined,
          receivedAt: systemClock.now(),
          audit: audit(),
          ...wish,
        },
      ),
    item: (id) => readBoxDetail({ sql, sealer, clock: systemClock }, firmId, { id, isShown: true }),
    operate: async (owner, operation, id) => {
      const receivedAt = systemClock.now();
      const scheduledFor = operation === "schedule" ? receivedAt + HOUR_MS : undefined;
      const step = { operation, firmId, id, integratorId: undefined, scheduledFor, receivedAt, audit: audit() };
      try {
        const taken = await operate({ ...nodeOf(owner), poke, pokeDocuments: poke }, step);
        if (taken !== undefined) await dispatch(owner, taken);
        return "done";
      } catch (error) {
        if (error instanceof Refusal) return error.reason;
        throw error;
      }
    },
    claim: async (owner, working = []) => {
      const take = () => agendaOf(owner).turn({ ...ROOM, working });
      let items: readonly ClaimedItem[] = [];
      for (let turn = await take(); turn.items.length > 0; turn = await take()) items = [...items, ...turn.items];
      return items;
    },
    dispatch,
    makeDue: async (id) => {
      await sql`update box_item set due_at = clock_timestamp() where id = ${id} and due_at is not null
        and (lease_owner is null or status <> 'sending')`;
    },
    attempt: async (id, result) => {
      const [row] = await sql<{ documentId: DocumentId }[]>`
        update document as d set next_attempt_at = clock_timestamp() from box_item as i
        where i.id = ${id} and d.id = i.document_id and d.next_attempt_at is not null returning d.id as "documentId"`;
      if (row === undefined) return false;
      const taken = await takeAttempt(sql, { id: row.documentId, owner: "sender/1", lease_ms: 60_000 });
      if (taken === undefined) return false;
      const move = result === "failed" ? undefined : outboundMove(taken.status, result);
      await endAttempt(sql, {
        ...{ id: taken.id, version: taken.version, owner: "sender/1", now: systemClock.now(), exchange: undefined },
        status: move?.to ?? taken.status,
        wait_ms: HOUR_MS,
        uses: "answer",
        moves: move === undefined ? [] : [{ status: move.to, trigger: result as OutboundTrigger, detail: "test" }],
        events: (move?.emits ?? []).map((kind) => ({ id: newId(systemClock), kind })),
        attempt: {
          number: taken.attempt,
          outcome: result === "failed" ? "transport_failed" : "receipt",
          ...{ code: undefined, retryable: result === "failed", detail: undefined },
        },
        reason: undefined,
      });
      return true;
    },
  };
}
