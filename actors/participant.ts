/**
 * The actor of one participant: it knows which of its idempotency keys are in flight on this node. Its turns are short;
 * long work is forwarded to the document's actor.
 */
import type { Instant } from "../engine/base/clock.js";
import { storeArrival } from "../engine/documents/inbound/receive.js";
import type { Arrival, InboundPorts } from "../engine/documents/inbound/receive.js";
import { acknowledge } from "../engine/documents/inbound/inbox.js";
import type { Reader } from "../engine/documents/inbound/inbox.js";
import { refuseConflict } from "../engine/documents/accept/doors.js";
import { nextDocumentId } from "../engine/documents/accept/send.js";
import type { SendReply, SendRequest } from "../engine/documents/accept/request.js";
import { temporary } from "../engine/base/errors.js";
import type { ReceivedDocumentId } from "../engine/base/ids.js";
import { LIMITS } from "../engine/base/limits.js";
import type { InboundOutcome } from "../engine/peppol/transport.js";
import type { DocumentKind } from "./document.js";
import type { ActorKind, ActorSystem } from "./system.js";

type ParticipantProtocol = {
  /** Claims the idempotency key for this node and hands the request to a document actor, which answers the asker. */
  readonly ClaimSend: { readonly ask: SendRequest; readonly reply: SendReply };
  /** Marks a received document as processed; answers when it first was. */
  readonly Acknowledge: {
    readonly ask: { readonly reader: Reader; readonly id: ReceivedDocumentId };
    readonly reply: Instant;
  };
  /** Stores what another access point hands over for this participant. */
  readonly Receive: { readonly ask: Arrival; readonly reply: InboundOutcome };
};

/**
 * The idempotency keys that are in flight on this node. Forgetting them is harmless: the unique index decides, and a
 * claim only answers the second asker sooner.
 */
interface Claims {
  readonly inFlight: Set<string>;
}

/** The kind of actor that holds the turn of one participant's keys, ids and inbox. */
export type ParticipantKind = ActorKind<ParticipantProtocol, Claims>;

interface Ports {
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly inbound: InboundPorts;
}

/** Makes the kind of actor through which a participant's documents come in and its ids are claimed. */
export function participantKind({ actors, document, inbound }: Ports): ParticipantKind {
  return {
    name: "participant",
    idle_ms: LIMITS.actor_idle_ms,
    start: () => ({ inFlight: new Set() }),
    handlers: {
      ClaimSend: ({ inFlight }, request) => {
        const { door, idempotencyKey } = request;
        // A request without a key claims a fresh id, because no other request can be its repeat.
        const claim = idempotencyKey === undefined ? nextDocumentId(inbound.clock) : `${door} ${idempotencyKey}`;
        if (inFlight.has(claim)) throw refuseConflict(door, "in_flight");
        if (inFlight.size >= LIMITS.mailbox_max) throw temporary();
        inFlight.add(claim);
        const forward = actors
          .ask(document, nextDocumentId(inbound.clock), "Accept", request)
          .finally(() => inFlight.delete(claim));
        return { forward };
      },
      Acknowledge: async (_, { reader, id }) => ({ reply: await acknowledge(inbound, reader, id) }),
      Receive: async (_, arrival) => ({ reply: await storeArrival(inbound, arrival) }),
    },
  };
}
