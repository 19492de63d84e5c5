/** One document: its acceptance, and every move of its life. Long turns: workers and the network. */
import type { DispatchPorts } from "../engine/documents/dispatch.js";
import { dispatchDocument } from "../engine/documents/dispatch.js";
import { respond, type RespondPorts, type RespondReply, type RespondRequest } from "../engine/documents/respond.js";
import { acceptSend, type SendPorts, type SendReply, type SendRequest } from "../engine/documents/send.js";
import type { DocumentId, ReceivedDocumentId } from "../engine/ids.js";
import type { ActorKind } from "./system.js";

export type DocumentProtocol = {
  /** Checks and commits a new document under this actor's id. */
  Accept: { readonly ask: SendRequest; readonly reply: SendReply };
  /** Makes the next attempt if it is due; answers whether one was made. */
  Dispatch: { readonly ask: null; readonly reply: boolean };
  /** Answers the received document of this actor's id for the firm that received it. */
  Respond: { readonly ask: Omit<RespondRequest, "documentId">; readonly reply: RespondReply };
};

export type DocumentKind = ActorKind<DocumentProtocol, null>;

export const documentKind = (ports: { readonly send: SendPorts; readonly dispatch: DispatchPorts; readonly respond: RespondPorts }): DocumentKind => ({
  name: "document",
  // A document is touched a handful of times in its life: its actor goes as soon as nothing waits in it.
  idle_ms: 0,
  start: () => null,
  handlers: {
    Accept: async (_, request, key) => ({ reply: await acceptSend(ports.send, key as DocumentId, request) }),
    Dispatch: async (_, __, key) => ({ reply: await dispatchDocument(ports.dispatch, key as DocumentId) }),
    Respond: async (_, request, key) => ({ reply: await respond(ports.respond, { ...request, documentId: key as ReceivedDocumentId }) }),
  },
});
