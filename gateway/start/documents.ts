/** What the operations on documents are made of: commands go to actors, reads to what holds the data. */
import type { DocumentKind } from "../../actors/document.js";
import type { ParticipantKind } from "../../actors/participant.js";
import type { ActorSystem } from "../../actors/system.js";
import type { Clock } from "../../engine/base/clock.js";
import type { Environment } from "../../engine/base/config.js";
import type { Cursors } from "../../engine/base/cursors.js";
import { Refusal } from "../../engine/base/errors.js";
import { participantKey } from "../../engine/base/ids.js";
import type { DocumentId, FirmId, ReceivedDocumentId } from "../../engine/base/ids.js";
import type { Log } from "../../engine/base/log.js";
import type { Metrics } from "../../engine/base/metrics.js";
import type { SendReply, SendRequest } from "../../engine/documents/accept/request.js";
import type { DocumentWorkers } from "../../engine/documents/accept/validators.js";
import type { Giving, Inbox } from "../../engine/documents/inbound/inbox.js";
import type { Handed } from "../../engine/documents/send/handed.js";
import { acknowledgeOwned } from "../../engine/documents/reads/acknowledge.js";
import { readDocumentReceipt } from "../../engine/documents/reads/evidence.js";
import { readDocument, readDocumentEvents, statusRecord } from "../../engine/documents/reads/lifecycle-reads.js";
import {
  pullInbound,
  readAllInboxes,
  readFirmInbox,
  readPulledReceived,
  readReceivedDetail,
  readReceivedUbl,
} from "../../engine/documents/reads/received.js";
import type { InboxAsked, ReceivedPullAsked } from "../../engine/documents/reads/received.js";
import {
  pullOutbound,
  pullOutboundEvents,
  readOutbox,
  readPulledSent,
  readSentDetail,
  readSentUbl,
  readSentStates,
} from "../../engine/documents/reads/sent.js";
import type { OutboxAsked, SentPullAsked } from "../../engine/documents/reads/sent.js";
import { ownerOf } from "../../engine/documents/reads/marks.js";
import type { Mark } from "../../engine/documents/reads/marks.js";
import { readResponses } from "../../engine/documents/reads/responses.js";
import { readSupportPacket } from "../../engine/documents/reads/support-packet.js";
import { statusNamed } from "../../engine/lifecycle/response.js";
import { sendMany } from "../../engine/documents/send/batch.js";
import { preflightHanded, sendHanded } from "../../engine/documents/send/send.js";
import type { SendFacts } from "../../engine/documents/send/send.js";
import type { Caller } from "../../engine/identity/caller.js";
import { readableFirms } from "../../engine/identity/contexts.js";
import { readOwnFirm } from "../../engine/identity/partners/firms.js";
import type { ResponseCode } from "../../engine/lifecycle/response.js";
import type { Recipients } from "../../engine/peppol/discovery/acceptance.js";
import type { EvidenceArchive } from "../../engine/storage/evidence/archive.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import type { Sql } from "../../engine/storage/sql.js";

/** What of the running engine the operations on documents need. */
export interface DocumentParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly environment: Environment;
  readonly cursors: Cursors;
  readonly inbox: Inbox;
  readonly validators: DocumentWorkers;
  readonly archive: EvidenceArchive;
  readonly recipients: Recipients;
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly participant: ParticipantKind;
}

interface Answer {
  readonly id: ReceivedDocumentId;
  readonly code: ResponseCode;
  readonly note: string | undefined;
}

type EventsPage = Parameters<typeof readDocumentEvents>[3];

/** Handing over for sending: the request goes to the sender's participant actor. */
export const sendPorts = ({ sql, metrics, validators, recipients, log, actors, participant }: DocumentParts) => {
  const ports = {
    ...{ sql, metrics, validators, recipients, log },
    own: (firmId: FirmId) => readOwnFirm(sql, firmId),
    accept: (request: SendRequest) => actors.ask(participant, participantKey(request.sender), "ClaimSend", request),
  };
  return {
    send: (handed: Handed, facts: SendFacts) => sendHanded(ports, handed, facts),
    batch: (items: Parameters<typeof sendMany>[1], send: (index: number) => Promise<SendReply>) =>
      sendMany(log, items, send),
    preflight: (handed: Handed, facts: SendFacts) => preflightHanded(ports, handed, facts),
  };
};

/** The life of sent documents. */
export const lifecyclePorts = ({ sql, cursors }: DocumentParts) => ({
  detail: (firmId: FirmId, id: DocumentId) => readSentDetail(sql, firmId, id),
  status: async (firmId: FirmId, id: DocumentId) => statusRecord(await readDocument(sql, firmId, id)),
  events: (firmId: FirmId, id: DocumentId, page: EventsPage) => readDocumentEvents({ sql, cursors }, firmId, id, page),
});

/** What a firm has sent; the bytes of both directions. */
export const outboxPorts = (parts: DocumentParts) => ({
  outbox: (firmId: FirmId, asked: OutboxAsked) => readOutbox(parts.sql, firmId, asked),
  statuses: (firmId: FirmId, ids: readonly DocumentId[]) => readSentStates(parts.sql, firmId, ids),
  ubl: async (firmId: FirmId, id: string, giving: Giving) =>
    (await readSentUbl(parts, firmId, id)) ?? readReceivedUbl(parts, firmId, id as ReceivedDocumentId, giving),
});

/** The mark goes to the actor of the participant that received the document. */
const acknowledgeWith =
  ({ sql, actors, participant }: DocumentParts) =>
  (firmId: FirmId, id: ReceivedDocumentId, reference?: string) =>
    acknowledgeOwned(
      {
        sql,
        give: (reader, document) =>
          actors.ask(participant, participantKey(reader.participantId), "Acknowledge", { reader, document }),
      },
      firmId,
      { id, reference },
    );

/** What firms have received. */
export const inboxPorts = (parts: DocumentParts) => ({
  inbox: (firmId: FirmId, asked: InboxAsked) => readFirmInbox(parts, firmId, asked),
  all: async (caller: Caller, asked: InboxAsked) =>
    readAllInboxes(parts, readableFirms(caller, parts.environment), asked),
  detail: (firmId: FirmId, id: ReceivedDocumentId, giving: Giving) => readReceivedDetail(parts, firmId, id, giving),
  acknowledge: acknowledgeWith(parts),
});

/** The pull interface. */
export const pullPorts = (parts: DocumentParts) => ({
  inbound: (firmId: FirmId, asked: ReceivedPullAsked) => pullInbound(parts, firmId, asked),
  received: (firmId: FirmId, id: ReceivedDocumentId, giving: Giving) => readPulledReceived(parts, firmId, id, giving),
  receivedUbl: (firmId: FirmId, id: ReceivedDocumentId, giving: Giving) => readReceivedUbl(parts, firmId, id, giving),
  acknowledge: acknowledgeWith(parts),
  outbound: (firmId: FirmId, asked: SentPullAsked) => pullOutbound(parts, firmId, asked),
  sent: (firmId: FirmId, id: DocumentId) => readPulledSent(parts.sql, firmId, id),
  sentUbl: async (firmId: FirmId, id: DocumentId) => {
    const bytes = await readSentUbl(parts, firmId, id);
    if (bytes === undefined) throw new Refusal("NOT_FOUND");
    return bytes;
  },
  receipt: (firmId: FirmId, id: DocumentId) => readDocumentReceipt(parts, firmId, id),
  events: (firmId: FirmId, asked: Pick<SentPullAsked, "since" | "limit">) => pullOutboundEvents(parts, firmId, asked),
});

/** What a firm says of a document, and what support needs to know. */
export const handlingPorts = (parts: DocumentParts) => ({
  respond: (firmId: FirmId, { id, code, note }: Answer) =>
    parts.actors.ask(parts.document, id, "Respond", { firmId, status: statusNamed(code), note }),
  responses: (firmId: FirmId, id: string) => readResponses(parts, firmId, id),
  mark: async (firmId: FirmId, mark: Mark) => {
    const { participantId } = await ownerOf(parts.sql, firmId, mark.id);
    const key = participantKey(participantId);
    return parts.actors.ask(parts.participant, key, "Mark", { owner: { firmId, participantId }, mark });
  },
  supportPacket: (firmId: FirmId, id: string) => readSupportPacket(parts, firmId, id),
});
