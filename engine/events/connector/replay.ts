/** An event that is sent again because its integrator asks for it. @source spec/rulings.md, section 11, Webhook */
import type { Clock } from "../../base/clock.js";
import { keyReused, Refusal } from "../../base/errors.js";
import { newId } from "../../base/ids.js";
import type { IntegratorId } from "../../base/ids.js";
import { replayConnectorDelivery } from "../../storage/events/connector-tests.js";
import { sha256Hex } from "../../storage/evidence/record.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** Which delivery, and whether an event that was taken may come again. */
export interface ReplayWish {
  readonly deliveryId: string;
  readonly confirmSuccessfulReplay: boolean;
  readonly idempotencyKey: string;
}

/** The new delivery. */
export interface QueuedReplay {
  readonly deliveryId: string;
  readonly replayedFrom: string;
  readonly eventId: string;
  readonly status: "queued";
  /** Whether an earlier request under the key has made it. */
  readonly idempotent: boolean;
}

const REFUSALS = {
  unknown: () => new Refusal("NOT_FOUND"),
  inactive: () => new Refusal("CONNECTOR_WEBHOOK_INACTIVE"),
  pending: () => new Refusal("CONNECTOR_DELIVERY_PENDING"),
  unconfirmed: () =>
    new Refusal("CONNECTOR_REPLAY_UNCONFIRMED", [
      { field: "confirmSuccessfulReplay", message: "Send true if the receiver may get this event a second time." },
    ]),
  conflict: keyReused,
} as const;

/**
 * Sends the event of a delivery again, with its id, as a new delivery.
 * @throws Refusal NOT_FOUND, CONNECTOR_WEBHOOK_INACTIVE, CONNECTOR_DELIVERY_PENDING, CONNECTOR_REPLAY_UNCONFIRMED,
 * IDEMPOTENCY_REUSED, TEMPORARY
 */
export async function replayConnector(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  integratorId: IntegratorId,
  { deliveryId, confirmSuccessfulReplay, idempotencyKey }: ReplayWish,
): Promise<QueuedReplay> {
  const sha256 = sha256Hex(JSON.stringify(["replay", deliveryId, confirmSuccessfulReplay]));
  const replay = {
    deliveryId,
    isConfirmed: confirmSuccessfulReplay,
    id: newId(clock),
    request: { key: idempotencyKey, sha256 },
  };
  const row = await orTemporary(replayConnectorDelivery(sql, integratorId, replay));
  const { outcome, made, eventId } = row ?? { outcome: "unknown" as const, made: "", eventId: "" };
  if (outcome !== "new" && outcome !== "repeat") throw REFUSALS[outcome]();
  return { deliveryId: made, replayedFrom: deliveryId, eventId, status: "queued", idempotent: outcome === "repeat" };
}
