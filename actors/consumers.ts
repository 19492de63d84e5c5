/** The doors that are no HTTP request: stream messages and the times at which attempts become due. */
import type { Clock } from "../engine/clock.js";
import { Refusal } from "../engine/errors.js";
import type { StreamConsumer, Streams } from "../engine/events/streams.js";
import { type DocumentId, parseDocumentId } from "../engine/ids.js";
import { LIMITS } from "../engine/limits.js";
import { errorFields, type Log } from "../engine/log.js";
import type { Json } from "../engine/storage/sql.js";
import type { DocumentKind } from "./document.js";
import type { ActorSystem } from "./system.js";

function documentIdOf(body: Json): DocumentId | undefined {
  if (body === null || typeof body !== "object" || Array.isArray(body)) return undefined;
  const { documentId } = body as { documentId?: Json };
  return typeof documentId === "string" ? parseDocumentId(documentId) : undefined;
}

export interface ConsumerPorts {
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly streams: Streams;
  readonly clock: Clock;
  readonly log: Log;
}

/** Handles wake-ups of the dispatch stream. A message that names no due document is a message too many, and harmless. */
export const consumeDispatch = (ports: ConsumerPorts): Promise<StreamConsumer> =>
  ports.streams.consume("dispatch", "dispatch", { concurrency: LIMITS.attempts_concurrent_max }, async ({ body }) => {
    const id = documentIdOf(body);
    if (id === undefined) return "done";
    try {
      await ports.actors.ask(ports.document, id, "Dispatch", null);
      return "done";
    } catch (error) {
      if (!(error instanceof Refusal)) ports.log.warn("dispatch will be tried again", { documentId: id, ...errorFields(error) });
      return { retryAfter_ms: LIMITS.due_poll_ms };
    }
  });

/** Wakes one document without the stream: the way that is left when the broker is away. */
export const dispatchDirectly = (ports: Pick<ConsumerPorts, "actors" | "document">, id: DocumentId): Promise<boolean> =>
  ports.actors.ask(ports.document, id, "Dispatch", null);
