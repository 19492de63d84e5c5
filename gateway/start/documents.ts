/** What the operations on documents are made of: commands go to actors, reads to what holds the data. */
import type { DocumentKind } from "../../actors/document.js";
import type { ParticipantKind } from "../../actors/participant.js";
import type { ActorSystem } from "../../actors/system.js";
import type { Clock } from "../../engine/base/clock.js";
import type { Cursors } from "../../engine/base/cursors.js";
import { participantKey } from "../../engine/base/ids.js";
import type { FirmId } from "../../engine/base/ids.js";
import type { Log } from "../../engine/base/log.js";
import type { Metrics } from "../../engine/base/metrics.js";
import type { SendRequest } from "../../engine/documents/accept/request.js";
import type { DocumentWorkers } from "../../engine/documents/accept/validators.js";
import type { Inbox } from "../../engine/documents/inbound/inbox.js";
import type { Handed } from "../../engine/documents/send/handed.js";
import { preflightHanded, sendHanded } from "../../engine/documents/send/send.js";
import type { SendFacts } from "../../engine/documents/send/send.js";
import { readOwnFirm } from "../../engine/identity/partners/firms.js";
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
  readonly cursors: Cursors;
  readonly inbox: Inbox;
  readonly validators: DocumentWorkers;
  readonly archive: EvidenceArchive;
  readonly recipients: Recipients;
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly participant: ParticipantKind;
}

/** Handing over for sending: the request goes to the sender's participant actor. */
export const sendPorts = ({ sql, metrics, validators, recipients, log, actors, participant }: DocumentParts) => {
  const ports = {
    ...{ sql, metrics, validators, recipients, log },
    own: (firmId: FirmId) => readOwnFirm(sql, firmId),
    accept: (request: SendRequest) => actors.ask(participant, participantKey(request.sender), "ClaimSend", request),
  };
  return {
    send: (handed: Handed, facts: SendFacts) => sendHanded(ports, handed, facts),
    preflight: (handed: Handed, facts: SendFacts) => preflightHanded(ports, handed, facts),
  };
};
