/**
 * Says over the dispatch stream that there is work, for processes that accept documents and send none. It is not the
 * work: what is not heard is found by the looks of the dispatchers.
 */
import { setTimeout as pause } from "node:timers/promises";

import { LIMITS } from "../base/limits.js";
import { errorFields } from "../base/log.js";
import type { Log } from "../base/log.js";
import type { Streams } from "./streams.js";

/** @returns says so once for all that is told while the last message is under way, and costs nothing */
export function createAnnouncer(ports: { readonly streams: Pick<Streams, "publish">; readonly log: Log }): () => void {
  let told = false;
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    while (told) {
      told = false;
      try {
        await ports.streams.publish("dispatch", [{ key: "due", body: {} }]);
      } catch (error) {
        ports.log.warn("relay.publish_failed", { component: "dispatch", count: 1, ...errorFields(error) });
      }
      await pause(LIMITS.dispatch_announce_ms);
    }
    running = undefined;
  };
  return () => {
    told = true;
    running ??= run();
  };
}
