/**
 * The actor of one document: it accepts and moves a sent document, and judges, shows and answers a received one. Its
 * turns may be long, because they wait for workers and the network.
 */
import { operateStaged } from "../engine/documents/connector/staged.js";
import type { StagedStep } from "../engine/documents/connector/staged.js";
import { delivery } from "../engine/documents/delivery/chain.js";
import { attemptDocument } from "../engine/documents/delivery/dispatch.js";
import type { ClaimedAttempt, DispatchPorts } from "../engine/documents/delivery/dispatch.js";
import { workOn } from "../engine/documents/delivery/leases.js";
import { hasten } from "../engine/documents/delivery/hasten.js";
import type { Held } from "../engine/documents/delivery/leases.js";
import { release } from "../engine/documents/inbound/held.js";
import { createJudge } from "../engine/documents/inbound/mls-duties.js";
import type { DutyPorts, TakenDuty } from "../engine/documents/inbound/mls-duties.js";
import { respond } from "../engine/documents/inbound/respond.js";
import type { RespondPorts, RespondReply, RespondRequest } from "../engine/documents/inbound/respond.js";
import { acceptSend, withBatches } from "../engine/documents/accept/send.js";
import type { SendReply, SendRequest } from "../engine/documents/accept/request.js";
import type { SendPorts } from "../engine/documents/accept/send.js";
import { followStatus } from "../engine/documents/inbound/statuses.js";
import type { ReadStatus, StatusPorts } from "../engine/documents/inbound/statuses.js";
import type { DocumentId, ReceivedDocumentId } from "../engine/base/ids.js";
import type { ActorKind } from "./system.js";

type DocumentProtocol = {
  /** Checks and commits a new document under this actor's id. */
  readonly Accept: { readonly ask: SendRequest; readonly reply: SendReply };
  /** Sends or cancels the staged document of this actor's id. */
  readonly OperateStaged: {
    readonly ask: Omit<StagedStep, "id">;
    readonly reply: Awaited<ReturnType<typeof operateStaged>>;
  };
  /** Makes the attempt that this node has leased. */
  readonly Attempt: { readonly ask: ClaimedAttempt; readonly reply: null };
  /** Moves this document as a status of another provider says. */
  readonly Follow: { readonly ask: ReadStatus; readonly reply: Awaited<ReturnType<typeof followStatus>> };
  /** Judges the received document of this actor's id, whose duty this node has leased. */
  readonly Judge: { readonly ask: Held<TakenDuty>; readonly reply: null };
  /** Shows the held document of this actor's id to its firm, as an operator decided; answers whether it was held. */
  readonly Release: { readonly ask: null; readonly reply: boolean };
  /** Makes the waiting document of this actor's id due, as an operator wants it; answers whether it waited. */
  readonly Hasten: { readonly ask: null; readonly reply: boolean };
  /** Answers the received document of this actor's id for the firm that received it. */
  readonly Respond: { readonly ask: Omit<RespondRequest, "documentId">; readonly reply: RespondReply };
};

/** The kind of actor that holds the turn of one document, sent or received. */
export type DocumentKind = ActorKind<DocumentProtocol, null>;

interface DocumentPorts {
  readonly send: Omit<SendPorts, "batches">;
  /** `transport` is the bare way to another access point; see engine/documents/delivery/chain.ts. */
  readonly dispatch: DispatchPorts;
  readonly statuses: StatusPorts;
  readonly duties: DutyPorts;
  readonly respond: RespondPorts;
}

/** Makes the kind of actor through which one document is accepted, sent and moved. */
export function documentKind(ports: DocumentPorts): DocumentKind {
  const send = withBatches(ports.send);
  const judge = createJudge(ports.duties);
  const dispatch: DispatchPorts = {
    ...ports.dispatch,
    transport: delivery(ports.dispatch.transport, ports.dispatch),
  };
  return {
    name: "document",
    // A document is touched a handful of times in its life: its actor goes as soon as nothing waits in it.
    idle_ms: 0,
    start: () => null,
    handlers: {
      Accept: async (_, request, key) => ({ reply: await acceptSend(send, key as DocumentId, request) }),
      OperateStaged: async (_, step, key) => ({ reply: await operateStaged(send, { ...step, id: key }) }),
      Attempt: async (_, held) => {
        await workOn(held, (taken) => attemptDocument(dispatch, taken));
        return { reply: null };
      },
      Follow: async (_, read, key) => ({ reply: await followStatus(ports.statuses, key, read) }),
      Judge: async (_, held) => {
        await workOn(held, judge);
        return { reply: null };
      },
      Release: async (_, __, key) => ({ reply: await release(ports.duties, key as ReceivedDocumentId) }),
      Hasten: async (_, __, key) => ({ reply: await hasten(ports.duties, key as DocumentId) }),
      Respond: async (_, request, key) => ({
        reply: await respond(ports.respond, { ...request, documentId: key as ReceivedDocumentId }),
      }),
    },
  };
}
