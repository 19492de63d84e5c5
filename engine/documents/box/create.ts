/** Makes an item: read, sealed, and kept once for each external id. */
import type { Clock, Instant } from "../../base/clock.js";
import { Refusal, temporary } from "../../base/errors.js";
import { newBoxItemId } from "../../base/ids.js";
import type { BoxItemId, FirmId, IntegratorId, KeyId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { AuditStamp } from "../../storage/identity/audit.js";
import { createBoxItem, findByExternalId } from "../../storage/box/items.js";
import type { BoxCreation } from "../../storage/box/items.js";
import { sealPayload } from "../../storage/payloads/payloads.js";
import { sha256InSlices } from "../../base/memory/slices.js";
import type { Sealer } from "../../storage/sealer.js";
import { orTemporary } from "../../storage/sql.js";
import type { Json, Sql } from "../../storage/sql.js";
import type { DocumentWorkers } from "../accept/validators.js";
import { refuseConflict, refuseErased, refuseGone } from "../accept/doors.js";
import { refuseSchedule } from "./operate.js";
import { stage } from "./stage.js";

/** What is to wait in the Box. */
export interface BoxWish {
  readonly firmId: FirmId;
  readonly integratorId: IntegratorId | undefined;
  readonly keyId: KeyId;
  /** UBL, exact bytes. */
  readonly payload: Buffer;
  /** Undefined sends at once. */
  readonly scheduledFor: Instant | undefined;
  readonly externalId: string | undefined;
  readonly metadata: Json | undefined;
  readonly receivedAt: Instant;
  readonly audit: AuditStamp;
}

/** What making an item needs. */
interface BoxCreatePorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly workers: Pick<DocumentWorkers, "parse">;
  /** Tells the Box's dispatchers that something is due. */
  readonly poke: () => void;
}

/** What a payload of the Box is sealed for; the document that is made of it is sealed for its own id. */
export const boxContext = (id: BoxItemId): string => `box ${id}`;
/** What an item's metadata is sealed for. */
export const metadataContext = (id: BoxItemId): string => `box metadata ${id}`;

function settled(made: BoxCreation): { readonly id: BoxItemId; readonly isNew: boolean } {
  if (made.outcome === "firm_erased") throw refuseErased();
  if (made.outcome === "conflict") throw refuseConflict("box", "duplicate_document");
  return { id: made.id, isNew: made.outcome === "created" };
}

/**
 * Makes an item. Safe to repeat with the same externalId and payload: the item that there is answers, whatever else
 * the repeat says.
 * @throws Refusal BOX_EXTERNAL_ID_CONFLICT, BOX_SCHEDULE_IN_PAST, BOX_SCHEDULE_TOO_FAR, DOCUMENT_INVALID, SAPI-DOC-025,
 * BODY_TOO_LARGE, TOKEN_INVALID for an erased firm, TEMPORARY
 * @source spec/rulings.md, section 7
 */
export async function createItem(
  ports: BoxCreatePorts,
  wish: BoxWish,
): Promise<{ readonly id: BoxItemId; readonly isNew: boolean }> {
  const { firmId, payload, externalId, scheduledFor } = wish;
  if (payload.length > LIMITS.payload_bytes_max)
    throw new Refusal("BODY_TOO_LARGE", [{ field: "payloadXml", message: "The payload is larger than 20 MB." }]);
  const payloadSha256 = await sha256InSlices(payload);
  if (externalId !== undefined) {
    const earlier = await orTemporary(findByExternalId(ports.sql, firmId, externalId, payloadSha256));
    if (earlier !== undefined) return settled(earlier);
  }
  refuseSchedule(scheduledFor, wish.receivedAt);
  const staged = await stage(ports, firmId, payload);
  const id = newBoxItemId(ports.clock);
  const sealer = await ports.sealer.forFirm(firmId).catch(refuseGone);
  const made = await orTemporary(
    createBoxItem(
      ports.sql,
      {
        id,
        firmId,
        integratorId: wish.integratorId,
        keyId: wish.keyId,
        externalId,
        ...staged,
        payloadSha256,
        payloadKeyId: sealer.keyId,
        payloadSealed: await sealPayload(sealer, boxContext(id), payload),
        payloadBytes: payload.length,
        metadataSealed:
          wish.metadata === undefined
            ? undefined
            : sealer.seal(Buffer.from(JSON.stringify(wish.metadata)), metadataContext(id)),
        scheduledFor,
        createdAt: wish.receivedAt,
      },
      wish.audit,
    ),
  );
  if (made === undefined) throw temporary();
  ports.poke();
  return settled(made);
}
