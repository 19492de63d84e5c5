/** What makes what is due: documents, statuses and items of the Box. */
import type { BoxKind } from "../../../actors/box.js";
import { startBoxDispatcher } from "../../../actors/box-dispatcher.js";
import type { BoxDispatcher } from "../../../actors/box-dispatcher.js";
import { consumeDispatch } from "../../../actors/consumers.js";
import { startDispatcher } from "../../../actors/delivery/dispatcher.js";
import type { Dispatcher } from "../../../actors/delivery/dispatcher.js";
import { startStatusWork } from "../../../actors/status-work.js";
import type { StatusWork } from "../../../actors/status-work.js";
import type { ReceiverCapacity } from "../../../engine/documents/delivery/claims.js";
import type { Provider } from "../../../engine/documents/provider.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { releaseLeases } from "../../../engine/storage/documents/attempts.js";
import { releaseServiceLeases } from "../../../engine/storage/documents/service-messages.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import type { Ground } from "./ground.js";
import { leaseOwnerOf } from "./ground.js";
import type { Owners } from "./owners.js";

interface DispatchParts extends Pick<Owners, "document" | "message"> {
  readonly databaseUrl: string;
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

/** The connection of the signs of life: behind other statements, or on one that hangs, they would come too late. */
const openBeatSql = (url: string): Sql =>
  openSql({
    url,
    name: "kurier-beats",
    connections: 1,
    statement_timeout_ms: LIMITS.beat_statement_ms,
    silence_ms: LIMITS.beat_silence_ms,
  });

/** Frees what the last process on this DATA_DIR held, and starts to make what is due. */
export async function startDispatch(
  { base: { clock, log, metrics, stack }, sql, streams, sealer, validators, actors, node }: Ground,
  { databaseUrl, document, message, box, self, capacityOf, afterActors }: DispatchParts,
): Promise<{ readonly statuses: StatusWork; readonly dispatcher: Dispatcher; readonly box: BoxDispatcher }> {
  const freed = await releaseLeases(sql, node);
  await releaseServiceLeases(sql, node);
  if (freed > 0) log.info("dispatch.leases_freed", { count: freed });
  const beatSql = openBeatSql(databaseUrl);
  let stopDispatcher = (): Promise<void> => Promise.resolve();
  afterActors(async () => {
    await stopDispatcher();
    await beatSql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 });
  });
  const dispatcher = await startDispatcher({
    sql,
    beatSql,
    actors,
    document,
    clock,
    log,
    owner: leaseOwnerOf(node),
    capacityOf,
  });
  stopDispatcher = () => dispatcher.stop();
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
