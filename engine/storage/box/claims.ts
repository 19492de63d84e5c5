/** What of the Box is due: looks, claims under lease, and the ends of dispatches that made no document. */
import type { BoxItemId, DocumentId, FirmId, KeyId, ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { BoxOutboundState } from "../../lifecycle/box.js";
import type { BoxTrigger } from "../../lifecycle/box.js";
import type { Json, Sql } from "../sql.js";

/** Milliseconds until the next item is due, by the time of the database; undefined where none waits. */
export async function nextBoxDue(sql: Sql): Promise<number | undefined> {
  const [row] = await sql<{ readonly wait_ms: number | null }[]>`
    select extract(epoch from next_box_due() - clock_timestamp())::double precision * 1000 as wait_ms`;
  return row?.wait_ms ?? undefined;
}

/** The firms that come next, whether they have something due or not. */
export async function boxFirms(
  sql: Sql,
  after: FirmId | undefined,
  max: number,
): Promise<readonly { readonly firmId: FirmId; readonly isDue: boolean }[]> {
  return sql<{ readonly firmId: FirmId; readonly isDue: boolean }[]>`
    select firm_id as "firmId", due as "isDue" from box_firms(${after ?? null}::uuid, ${max})`;
}

/** An item under lease, ready to become a document. */
export interface ClaimedItem {
  readonly id: BoxItemId;
  readonly firmId: FirmId;
  readonly keyId: KeyId;
  readonly externalId: string | null;
  readonly version: number;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  /** The id under which the document is to be accepted, however often this is tried. */
  readonly documentId: DocumentId;
  /** Dispatches before this one, in a row, that were put off. */
  readonly tries: number;
  /** Milliseconds between its time and the claim. */
  readonly late_ms: number;
  /** Whether it may still leave in the name of its firm. */
  readonly isAllowed: boolean;
  readonly payloadKeyId: string;
  readonly payloadSealed: Buffer;
  /** Octets as handed over. */
  readonly payloadBytes: number;
}

/** How much to take. */
interface BoxClaim {
  readonly firms: readonly FirmId[];
  readonly owner: string;
  readonly max: number;
  readonly bytes_max: number;
  /** Whether one item goes even when it alone has more octets than that. */
  readonly one: boolean;
}

/** Columns of a claimed item, under the names that the engine uses. */
const claimedColumns = (sql: Sql) => sql`
  id, firm_id as "firmId", key_id as "keyId", external_id as "externalId", version, sender, receiver,
  document_type_id as "documentTypeId", process_id as "processId", document_id as "documentId", tries, late_ms,
  allowed as "isAllowed", payload_key_id as "payloadKeyId", payload_sealed as "payloadSealed",
  payload_bytes as "payloadBytes"`;

/** Takes due items of these firms under lease, one of each firm in turn. */
export async function claimBoxItems(sql: Sql, claim: BoxClaim): Promise<readonly ClaimedItem[]> {
  const { firms, owner, max, bytes_max, one } = claim;
  return sql<ClaimedItem[]>`
    select ${claimedColumns(sql)}
    from claim_box_items(${[...firms]}::uuid[], ${max}, ${owner}, ${LIMITS.box_lease_ms}, ${bytes_max}::bigint,
      ${one})`;
}

/** An item that this process has taken by a move of its own; undefined when somebody else has it meanwhile. */
export async function findTaken(sql: Sql, id: BoxItemId, owner: string): Promise<ClaimedItem | undefined> {
  const rows = await sql<ClaimedItem[]>`
    select ${claimedColumns(sql)}
    from (
      select i.id, i.firm_id, i.key_id, i.external_id, i.version, i.sender, i.receiver, i.document_type_id,
        i.process_id, i.document_id, i.tries, 0::double precision as late_ms,
        box_is_allowed(i.firm_id, i.key_id, i.integrator_id, i.binding_generation, i.sender) as allowed,
        p.key_id as payload_key_id,
        p.sealed as payload_sealed, i.payload_bytes
      from box_item as i join box_payload as p on p.item_id = i.id
      where i.id = ${id} and i.lease_owner = ${owner}
    ) as taken`;
  return rows[0];
}

/** How a dispatch ended that made no document. */
interface BoxDispatchEnd {
  readonly item: Pick<ClaimedItem, "id" | "documentId">;
  readonly owner: string;
  readonly status: BoxOutboundState;
  readonly trigger: BoxTrigger;
  readonly error: Json;
  /** Until it is tried again; undefined when it is not. */
  readonly wait_ms: number | undefined;
}

/** @returns false when a document decides, or somebody else has taken the item meanwhile */
export async function endBoxDispatch(sql: Sql, end: BoxDispatchEnd): Promise<boolean> {
  const { item, owner, status, trigger, error, wait_ms } = end;
  const rows = await sql<{ readonly ended: boolean }[]>`
    select end_box_dispatch(${item.id}, ${item.documentId}, ${owner}, ${status}, ${trigger}, ${sql.json(error)},
      ${wait_ms === undefined ? null : Math.round(wait_ms)}::bigint) as ended`;
  return rows[0]?.ended ?? false;
}

/** Whose leases are looked at. */
interface BoxLeases {
  /** This process. */
  readonly owner: string;
  /** Items that it works on. */
  readonly working: readonly BoxItemId[];
  /** This node, when it starts: nothing that an earlier process of it held is worked on. */
  readonly node: string | undefined;
}

/** Frees items that dead processes had taken, and those of this one of which it does not know. @returns how many */
export async function freeBoxLeases(sql: Sql, { owner, working, node }: BoxLeases): Promise<number> {
  const rows = await sql<{ readonly freed: number }[]>`
    select free_box_leases(${owner}, ${node ?? null}, ${[...working]}::uuid[], ${LIMITS.lease_young_ms},
      ${LIMITS.dispatcher_dead_ms}) as freed`;
  return rows[0]?.freed ?? 0;
}
