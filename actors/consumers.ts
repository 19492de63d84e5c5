/** The doors that are no HTTP request: stream messages and the times at which attempts become due. */
import type { Clock } from "../engine/base/clock.js";
import { Refusal } from "../engine/base/errors.js";
import type { DueDocuments, WakeUp } from "../engine/documents/delivery/due.js";
import type { StreamConsumer, Streams } from "../engine/events/streams.js";
import { createWake } from "../engine/events/wake.js";
import { parseDocumentId } from "../engine/base/ids.js";
import type { DocumentId } from "../engine/base/ids.js";
import { LIMITS } from "../engine/base/limits.js";
import { errorFields } from "../engine/base/log.js";
import type { Log } from "../engine/base/log.js";
import type { Json } from "../engine/storage/sql.js";
import type { DocumentKind } from "./document.js";
import type { ActorSystem } from "./system.js";

function documentIdOf(body: Json): DocumentId | undefined {
  if (body === null || typeof body !== "object" || Array.isArray(body)) return undefined;
  const { documentId } = body as { readonly documentId?: Json };
  return typeof documentId === "string" ? parseDocumentId(documentId) : undefined;
}

interface ConsumerPorts {
  readonly actors: ActorSystem;
  readonly document: DocumentKind;
  readonly streams: Streams;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Handles wake-ups of the dispatch stream. A message that names no due document is a message too many, and harmless.
 */
export const consumeDispatch = (ports: ConsumerPorts): Promise<StreamConsumer> =>
  ports.streams.consume("dispatch", "dispatch", { concurrency: LIMITS.attempts_concurrent_max }, async ({ body }) => {
    const id = documentIdOf(body);
    if (id === undefined) return "done";
    try {
      await ports.actors.ask(ports.document, id, "Dispatch", null);
      return "done";
    } catch (error) {
      if (!(error instanceof Refusal)) ports.log.warn("dispatch.delayed", { documentId: id, ...errorFields(error) });
      return { retryAfter_ms: LIMITS.due_poll_ms };
    }
  });

/** Wakes documents without the stream: the way that is left when the broker is away. */
async function dispatchDirectly(ports: ConsumerPorts, wakeUps: readonly WakeUp[]): Promise<void> {
  for (let i = 0; i < wakeUps.length; i += LIMITS.attempts_concurrent_max) {
    await Promise.allSettled(
      wakeUps
        .slice(i, i + LIMITS.attempts_concurrent_max)
        .map(({ key }) => ports.actors.ask(ports.document, key, "Dispatch", null)),
    );
  }
}

/**
 * Looks every LIMITS.due_poll_ms for attempts that have become due and wakes them through the stream, so that any node
 * may take them; when the broker is away, this node makes them itself.
 */
export function watchRetries(ports: ConsumerPorts & { readonly due: DueDocuments }): { stop(): Promise<void> } {
  const wake = createWake();
  let stopping = false;
  const look = async (): Promise<void> => {
    const wakeUps = await ports.due.retries();
    if (wakeUps.length === 0) return;
    try {
      await ports.streams.publish("dispatch", wakeUps);
    } catch (error) {
      ports.log.warn("dispatch.stream_bypassed", { count: wakeUps.length, ...errorFields(error) });
      await dispatchDirectly(ports, wakeUps);
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping) {
      try {
        await look();
      } catch (error) {
        ports.log.warn("dispatch.due_unreadable", errorFields(error));
      }
      await wake.wait(LIMITS.due_poll_ms);
    }
  };
  const ended = run();
  return {
    stop: async () => {
      stopping = true;
      wake.poke();
      await ended;
    },
  };
}
