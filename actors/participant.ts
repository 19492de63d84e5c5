/**
 * The actor of one participant: it knows which of its idempotency keys are in flight on this node. Its turns are short;
 * long work is forwarded to the document's actor.
 */
import { storeArrival } from "../engine/documents/inbound/receive.js";
import type { Arrival, InboundPorts } from "../engine/documents/inbound/receive.js";
import { acknowledge } from "../engine/documents/inbound/inbox.js";
import type { Acknowledged, Reader } from "../engine/documents/inbound/inbox.js";
import { markOwned } from "../engine/documents/reads/marks.js";
import type { Mark, Marked, Owner } from "../engine/documents/reads/marks.js";
import { refuseConflict } from "../engine/documents/accept/doors.js";
import type { SendReply, SendRequest } from "../engine/documents/accept/request.js";
import { temporary } from "../engine/base/errors.js";
import { newDocumentId } from "../engine/base/ids.js";
import { LIMITS } from "../engine/base/limits.js";
import type { InboundOutcome } from "../engine/peppol/transport.js";
import type { DocumentKind } from "./document.js";
import type { ActorKind, ActorSystem } from "./system.js";

type ParticipantProtocol = {
  /** Claims the idempotency key for this node and hands the request to a document actor, which answers the asker. */
  readonly ClaimSend: { readonly ask: SendRequest; readonly reply: SendReply };
  /** Marks a received document as processed; answers when it first was. */
  readonly Acknowledge: {
    readonly ask: { readonly reader: Reader; readonly document: Acknowledged };
    readonly reply: Awaited<ReturnType<typeof acknowledge>>;
  };
  /** Marks a document that this participant sent or received, as its firm says. */
  readonly Mark: {
    readonly ask: { readonly owner: Owner; readonly mark: Mark };
    readonly reply: Marked;
  };
  /** Stores what another access point hands over for this participant, beside what else is on its way to it. */
  readonly Receive: { readonly ask: Arrival; readonly reply: InboundOutcome };
};

/** What is in flight on this node. Forgetting it is harmless: unique indexes decide. */
interface Claims {
  /** Idempotency keys: a claim only answers the second asker sooner. */
  readonly inFlight: Set<string>;
  /** Messages from other access points that are being stored. */
  readonly arriving: Set<Arrival>;
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
    start: () => ({ inFlight: new Set(), arriving: new Set() }),
    handlers: {
      ClaimSend: ({ inFlight }, request) => {
        const { door, idempotencyKey } = request;
        // A request without a key claims a fresh id, because no other request can be its repeat.
        const claim = idempotencyKey === undefined ? newDocumentId(inbound.clock) : `${door} ${idempotencyKey}`;
        if (inFlight.has(claim)) throw refuseConflict(door, "in_flight");
        if (inFlight.size >= LIMITS.mailbox_max) throw temporary();
        inFlight.add(claim);
        const forward = actors
          .ask(document, newDocumentId(inbound.clock), "Accept", request)
          .finally(() => inFlight.delete(claim));
        return { forward };
      },
      Acknowledge: async (_, { reader, document: acknowledged }) => ({
        reply: await acknowledge(inbound, reader, acknowledged),
      }),
      Mark: async (_, { owner, mark }) => ({ reply: await markOwned(inbound, owner, mark) }),
      // What came before is not waited for, so that what arrives together is stored by one statement.
      Receive: ({ arriving }, arrival) => {
        if (arriving.size >= LIMITS.mailbox_max) throw temporary();
        arriving.add(arrival);
        return { forward: storeArrival(inbound, arrival).finally(() => arriving.delete(arrival)) };
      },
    },
  };
}
