/** What makes what is due: documents, statuses and items of the Box. */
import type { BoxKind } from "../../../actors/box.js";
import { startBoxDispatcher } from "../../../actors/box-dispatcher.js";
import type { BoxDispatcher } from "../../../actors/box-dispatcher.js";
import { consumeDispatch } from "../../../actors/consumers.js";
import { startDispatcher } from "../../../actors/dispatcher.js";
import type { Dispatcher } from "../../../actors/dispatcher.js";
import { startStatusWork } from "../../../actors/status-work.js";
import type { StatusWork } from "../../../actors/status-work.js";
import type { ReceiverCapacity } from "../../../engine/documents/delivery/claims.js";
import type { Provider } from "../../../engine/documents/provider.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { releaseLeases } from "../../../engine/storage/documents/attempts.js";
import { releaseServiceLeases } from "../../../engine/storage/documents/service-messages.js";
import type { Ground } from "./ground.js";
import { leaseOwnerOf } from "./ground.js";
import type { Owners } from "./owners.js";

interface DispatchParts extends Pick<Owners, "document" | "message"> {
  readonly box: BoxKind;
  readonly self: Provider;
  readonly capacityOf: (receiver: string) => ReceiverCapacity;
  /** Keeps what is to be stopped when the actors have ended. */
  readonly afterActors: (stop: () => Promise<void>) => void;
}

/** Inside the process nobody is slow, and nobody is overrun. */
export const loopbackCapacity = (receiver: string): ReceiverCapacity => ({
  key: receiver,
  places: LIMITS.attempts_per_receiver_max,
  typical_ms: LIMITS.receiver_quick_ms,
});

/** Frees what the last process on this DATA_DIR held, and starts to make what is due. */
export async function startDispatch(
  { base: { clock, log, metrics, stack }, sql, streams, sealer, validators, actors, node }: Ground,
  { document, message, box, self, capacityOf, afterActors }: DispatchParts,
): Promise<{ readonly statuses: StatusWork; readonly dispatcher: Dispatcher; readonly box: BoxDispatcher }> {
  const freed = await releaseLeases(sql, node);
  await releaseServiceLeases(sql, node);
  if (freed > 0) log.info("dispatch.leases_freed", { count: freed });
  const dispatcher = await startDispatcher({
    sql,
    actors,
    document,
    clock,
    log,
    metrics,
    owner: leaseOwnerOf(node),
    capacityOf,
  });
  afterActors(() => dispatcher.stop());
  stack.add("dispatcher", () => dispatcher.drain());
  const consumer = await consumeDispatch(streams, dispatcher);
  stack.add("consumer of wake-ups", () => consumer.stop());
  const statuses = startStatusWork({
    sql,
    sealer,
    clock,
    log,
    validators,
    provider: self,
    owner: leaseOwnerOf(node),
    actors,
    document,
    message,
  });
  stack.add("statuses", () => statuses.stop());
  const boxes = startBoxDispatcher({ sql, actors, box, clock, log, metrics, owner: leaseOwnerOf(node), node });
  stack.add("Box", () => boxes.stop());
  return { statuses, dispatcher, box: boxes };
}
