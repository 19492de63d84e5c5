/** The door that is no HTTP request: messages of the dispatch stream. They say that there is work, not which. */
import { LIMITS } from "../engine/base/limits.js";
import type { StreamConsumer, Streams } from "../engine/events/streams.js";
import type { Dispatcher } from "./delivery/dispatcher.js";

/**
 * Wakes this node's dispatcher at each message. A message that comes twice, late or not at all does no harm: every
 * dispatcher looks by itself, too.
 */
export const consumeDispatch = (streams: Streams, dispatcher: Pick<Dispatcher, "poke">): Promise<StreamConsumer> =>
  streams.consume("dispatch", "dispatch", { concurrency: LIMITS.stream_wake_ups_concurrent }, () => {
    dispatcher.poke();
    return Promise.resolve("done");
  });
