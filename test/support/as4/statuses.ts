/** A provider in one process: documents in any state, statuses from a peer, and the work that follows, on a database and a clock of the test. */
import { randomUUID } from "node:crypto";

import { documentKind } from "../../../actors/document.js";
import { messageKind } from "../../../actors/message.js";
import type { MessagePorts } from "../../../actors/message.js";
import type { StatusWorkPorts } from "../../../actors/status-work.js";
import { startActors } from "../../../actors/system.js";
import { inboundAtOnce } from "./inbound.js";
import { provider } from "../../../engine/documents/provider.js";
import type { Provider } from "../../../engine/documents/provider.js";
import type { Inspection, ResponseReader, Validators } from "../../../engine/documents/accept/facts.js";
import type { DispatchPorts } from "../../../engine/documents/delivery/dispatch.js";
import type { DutyPorts } from "../../../engine/documents/inbound/mls-duties.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import { bratislavaDay } from "../../../engine/base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { newId } from "../../../engine/base/ids.js";
import { outboundMove } from "../../../engine/lifecycle/document.js";
import type { OutboundTrigger } from "../../../engine/lifecycle/document.js";
import { createLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import type { Metrics } from "../../../engine/base/metrics.js";
import { createLoopback } from "../../../engine/peppol/loopback.js";
import { buildMls } from "../../../engine/peppol/responses/mls-builder.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../../engine/peppol/responses/mls.js";
import type { MlsCode } from "../../../engine/peppol/responses/mls.js";
import {
  buildInvoiceResponse,
  INVOICE_RESPONSE_DOCUMENT_TYPE,
  INVOICE_RESPONSE_PROFILE,
} from "../../../engine/peppol/responses/invoice-response.js";
import type { ResponseCode } from "../../../engine/lifecycle/response.js";
import type { EnvelopeFacts, InboundExchange, Receive, Transport } from "../../../engine/peppol/transport.js";
import { acceptDocuments, findDocument, listDocumentEvents } from "../../../engine/storage/documents/documents.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { validateDocument } from "../../../validators/validate.js";
import type { FakeClock } from "../fake-clock.js";
import type { TestDatabase } from "../database/postgres.js";
import { inlineReader } from "./responses.js";
import { recipientFound } from "../../../engine/peppol/discovery/acceptance.js";
import { newDocumentRow } from "../database/seed.js";
import { applyMove, findDocumentState } from "../documents/moves.js";

export const OWN: Provider = provider("PSK000001", "SK");
/** The other provider, and one that has nothing to do with our documents. */
export const PEER_SEAT = "POP000777";
export const STRANGER_SEAT = "POP000999";

/** The validators of the engine without threads. */
export const inlineValidators: ResponseReader & Validators = {
  ...inlineReader,
  inspect: (payload, { receivedAt }) => {
    const report = validateDocument(Buffer.from(payload), { day: bratislavaDay(receivedAt), limits: SCAN_LIMITS });
    const inspection: Inspection = { ...report, ruleSet: "test" };
    return Promise.resolve(inspection);
  },
};

/** What the engine's functions need. */
export type BenchPorts = MessagePorts &
  DutyPorts &
  Pick<DispatchPorts, "announce"> & { readonly validators: ResponseReader };

/** Time passes: on the clock of a test, and in the database for the statuses, duties and messages that wait there. */
export async function pass(sql: Sql, clock: FakeClock, ms: number): Promise<void> {
  clock.advance(ms);
  await sql`
    with messages as (
      update service_message set next_attempt_at = next_attempt_at - ${ms}::bigint * interval '1 millisecond'
      where next_attempt_at is not null
    ), duties as (
      update mls_duty set next_at = next_at - ${ms}::bigint * interval '1 millisecond' where next_at is not null
    )
    update inbound_status set next_at = next_at - ${ms}::bigint * interval '1 millisecond' where next_at is not null`;
}

/** A node with actors of its own: its timers take what is due and give it to them. */
export function statusNode(ports: BenchPorts): StatusWorkPorts {
  const { clock, metrics, log } = ports;
  const recipients = { recipient: () => Promise.resolve(recipientFound("lookup_failed")), forget: () => undefined };
  const document = documentKind({
    send: { ...ports, recipients },
    dispatch: ports,
    statuses: ports,
    duties: ports,
    respond: ports,
  });
  return {
    ...ports,
    actors: startActors({ log, metrics, monotonic: () => clock.monotonic() }),
    document,
    message: messageKind(ports),
  };
}

export interface StatusBench {
  readonly ports: BenchPorts;
  readonly node: StatusWorkPorts;
  readonly receive: Receive;
  readonly metrics: Metrics;
  /** Value of a metric line of the exposition that begins so, or 0. */
  metric(line: string): Promise<number>;
  document(firmId: FirmId, sender: string, changes?: Partial<NewDocument>): Promise<NewDocument>;
  /** Applies a trigger of the lifecycle to a document, as an attempt would. @returns whether the table has it */
  trigger(id: DocumentId, trigger: OutboundTrigger): Promise<boolean>;
  /** States in the order of the document's history, and kinds of its events in theirs. */
  story(
    firmId: FirmId,
    id: DocumentId,
  ): Promise<{
    readonly states: string[];
    readonly events: string[];
    readonly response: string | null;
    readonly reason: string | null;
  }>;
}

export function statusBench(
  db: TestDatabase,
  clock: FakeClock,
  options: { readonly transport?: Transport; readonly owner?: string } = {},
): StatusBench {
  const { sql } = db;
  const sealer = createSealer([Buffer.alloc(32, 7)]);
  const metrics = createMetrics();
  const log = createLog("silent");
  const receive = inboundAtOnce({ sql, sealer, clock, metrics, log, provider: OWN, poke: () => undefined });
  const ports: BenchPorts = {
    sql,
    countSql: sql,
    sealer,
    clock,
    metrics,
    log,
    provider: OWN,
    validators: inlineValidators,
    transport: options.transport ?? createLoopback(receive),
    owner: options.owner ?? "node/1",
    random: () => 0.5,
    environment: "production",
    poke: () => undefined,
    announce: () => undefined,
  };
  /** As an attempt leaves it that has transmitted the document. */
  const transmittedTo = (id: DocumentId, seat: string): PromiseLike<unknown> => sql`
    insert into document_attempt (document_id, number, owner, started_at, finished_at, outcome, seat)
    values (${id}, 0, 'test', now(), now(), 'unconfirmed', ${seat})
    on conflict (document_id, number) do update set seat = excluded.seat`;
  const exchanged = (id: DocumentId): PromiseLike<unknown> => sql`
    insert into exchange (id, direction, kind, firm_id, c2_seat, c3_seat, document_type_id, process_id,
      transport_profile, c1_country, end_user, exchanged_at)
    select id, 'outgoing', 'business', firm_id, ${OWN.seat}, ${PEER_SEAT}, document_type_id, process_id, 't', 'SK',
      sender_key, ${new Date(clock.now())}
    from document where id = ${id} on conflict (id) do nothing`;
  return {
    ports,
    node: statusNode(ports),
    receive,
    metrics,
    metric: async (line) => {
      const found = (await metrics.exposition()).split("\n").find((text) => text.startsWith(`kurier_${line}`));
      return found === undefined ? 0 : Number(found.split(" ").at(-1));
    },
    document: async (firmId, sender, changes = {}) => {
      const row = newDocumentRow(firmId, sender, { acceptedAt: clock.now(), ...changes });
      const [outcome] = await acceptDocuments(sql, [row]);
      if (outcome?.kind !== "accepted") throw new Error(`not accepted: ${outcome?.kind ?? "nothing"}`);
      return row;
    },
    trigger: async (id, trigger) => {
      const state = await findDocumentState(sql, id);
      const move = state === undefined ? undefined : outboundMove(state.status, trigger);
      if (state === undefined || move === undefined) return false;
      await applyMove(sql, {
        id,
        version: state.version,
        status: move.to,
        trigger,
        detail: undefined,
        now: clock.now(),
        nextAttemptAt: clock.now() + 60_000,
        changes: {},
        events: move.emits.map((kind) => ({ id: newId(clock), kind })),
      });
      await transmittedTo(id, PEER_SEAT);
      if (trigger === "receipt_confirmed") await exchanged(id);
      return true;
    },
    story: async (firmId, id) => {
      const record = await findDocument(sql, firmId, id);
      const events = await listDocumentEvents(sql, firmId, id, { after: "0", limit: 1_000 });
      if (record === undefined || events === undefined) throw new Error("no such document");
      return {
        states: record.history.map(({ status }) => status),
        events: events.map(({ kind }) => kind),
        response: record.invoiceResponseStatus,
        reason: record.statusReason,
      };
    },
  };
}

const envelope = (peerSeat: string): EnvelopeFacts => ({
  mls: { type: "FAILURE_ONLY", to: undefined },
  countryC1: "AT",
  peerSeat,
});

export interface MlsChanges {
  readonly seat?: string;
  /** Provider that the status itself names as its sender. */
  readonly says?: string;
  readonly receiver?: string;
  readonly payload?: Buffer;
}

/** A Message Level Status of the peer about a document. */
export function mlsExchange(
  clock: FakeClock,
  reference: string,
  code: MlsCode,
  changes: MlsChanges = {},
): InboundExchange {
  const seat = changes.seat ?? PEER_SEAT;
  const digits = seat.slice(3);
  const issues = code === "RE" ? [{ location: "NA", reason: "BV" as const, description: "The total is wrong." }] : [];
  return {
    sender: `0242:${digits}` as ParticipantId,
    receiver: (changes.receiver ?? OWN.participant) as ParticipantId,
    documentTypeId: MLS_DOCUMENT_TYPE,
    processId: MLS_PROCESS,
    as4MessageId: `${randomUUID()}@peer`,
    sbdhInstanceId: randomUUID(),
    createdAt: clock.now(),
    envelope: envelope(seat),
    payload:
      changes.payload ??
      buildMls({
        id: randomUUID(),
        issuedAt: clock.now(),
        sender: changes.says ?? digits,
        receiver: OWN.participant.slice(5),
        code,
        description: code === "RE" ? "Rejected for its total." : undefined,
        reference,
        issues,
      }),
  };
}

export interface ResponseChanges {
  readonly id?: string;
  readonly issuedAt?: number;
  readonly issueDate?: string;
  /** Participant that the response names as its sender. */
  readonly says?: string;
  readonly typeCode?: string;
  /** Access point that signs it. */
  readonly seat?: string;
  /** Ids of other documents that it names beside the invoice. */
  readonly otherReferences?: readonly string[];
}

/** The response with more references behind that of its invoice; an order's type code stands for any. */
const referring = (response: Buffer, ids: readonly string[]): Buffer => {
  const others = ids.map(
    (id) =>
      `<cac:DocumentReference><cbc:ID>${id}</cbc:ID><cbc:DocumentTypeCode>220</cbc:DocumentTypeCode></cac:DocumentReference>`,
  );
  return Buffer.from(response.toString().replace("</cac:DocumentReference>", (end) => end + others.join("")));
};

/** An invoice response from the buyer of a document. */
export function responseExchange(
  clock: FakeClock,
  document: Pick<NewDocument, "sender" | "receiver">,
  number: string,
  code: ResponseCode,
  changes: ResponseChanges = {},
): InboundExchange {
  return {
    sender: document.receiver,
    receiver: document.sender,
    documentTypeId: INVOICE_RESPONSE_DOCUMENT_TYPE,
    processId: INVOICE_RESPONSE_PROFILE,
    as4MessageId: `${randomUUID()}@peer`,
    sbdhInstanceId: randomUUID(),
    createdAt: clock.now(),
    envelope: envelope(changes.seat ?? PEER_SEAT),
    payload: referring(
      buildInvoiceResponse({
        id: changes.id ?? randomUUID(),
        issuedAt: changes.issuedAt ?? clock.now(),
        code,
        note: "because",
        sender: { participant: (changes.says ?? document.receiver) as ParticipantId, name: "Buyer" },
        receiver: { participant: document.sender, name: "Seller" },
        invoice: { number, issueDate: changes.issueDate, typeCode: changes.typeCode ?? "380" },
      }),
      changes.otherReferences ?? [],
    ),
  };
}
