/** What documents say themselves, read in groups: each is one statement, and has room for all of its octets. */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Octets } from "../../base/memory/octets.js";
import { findPayloadBytes, findSealedPayload, findSealedPayloads } from "../../storage/payloads/find.js";
import type { SealedPayload } from "../../storage/payloads/find.js";
import { openDigested } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { DocumentSummary, DocumentWorkers } from "../accept/validators.js";

/** What opening a document needs. */
export interface PayloadPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
}

/** What reading the words of documents needs. */
export interface SayingPorts extends PayloadPorts {
  readonly validators: Pick<DocumentWorkers, "parse">;
  /** Octets of documents that are read at once. */
  readonly room: Octets;
}

/** Whose documents are read, for as long as somebody waits for it. */
interface Asking {
  readonly firmId: FirmId;
  readonly gone: AbortSignal | undefined;
}

/** A document, and how large it is. */
interface Sized {
  readonly id: string;
  readonly bytes: number;
}

const openedOf = (sealer: Sealer, id: string, { keyId, sealed, sha256 }: SealedPayload): Promise<Buffer> =>
  openDigested(sealer, id, { payloadKeyId: keyId, payloadSealed: sealed, payloadSha256: sha256 });

/** The exact bytes. @throws Refusal NOT_FOUND, TEMPORARY */
export async function payloadOf({ sql, sealer }: PayloadPorts, firmId: FirmId, id: string): Promise<Buffer> {
  return openedOf(sealer, id, await orNotFound(findSealedPayload(sql, firmId, id)));
}

/**
 * What each document itself says, in their order; undefined for one that is no readable invoice. A page of large
 * documents is opened as there is room, whoever else reads.
 * @throws Refusal NOT_FOUND, TEMPORARY
 */
export async function saidIn(
  ports: SayingPorts,
  asking: Asking,
  ids: readonly string[],
): Promise<readonly (DocumentSummary | undefined)[]> {
  const { firmId } = asking;
  // Asked for in one turn, the sizes of a page are one statement.
  const sizes = await Promise.all(ids.map((id) => orTemporary(findPayloadBytes(ports.sql, { id, firmId }))));
  const groups = groupsOf(ids.map((id, at) => ({ id, bytes: sizes[at] ?? 0 })));
  const said: (DocumentSummary | undefined)[] = [];
  for (let at = 0; at < groups.length; at += LIMITS.connector_groups_read_at_once) {
    const some = groups.slice(at, at + LIMITS.connector_groups_read_at_once);
    const read = await Promise.all(some.map((group) => saidInGroup(ports, asking, group)));
    said.push(...read.flat());
  }
  return said;
}

/** Neighbours of a page together, as far as their octets allow; what is larger goes alone. */
function groupsOf(documents: readonly Sized[]): readonly (readonly Sized[])[] {
  const groups: Sized[][] = [];
  let held = 0;
  for (const document of documents) {
    const group = groups.at(-1);
    held += document.bytes;
    const hasRoom = held <= LIMITS.connector_group_bytes_max;
    if (group !== undefined && hasRoom && group.length < LIMITS.connector_group_documents_max) group.push(document);
    else {
      groups.push([document]);
      held = document.bytes;
    }
  }
  return groups;
}

async function saidInGroup(
  { sql, sealer, validators, room }: SayingPorts,
  { firmId, gone }: Asking,
  group: readonly Sized[],
): Promise<readonly (DocumentSummary | undefined)[]> {
  const bytes = group.reduce((sum, document) => sum + document.bytes, 0);
  const taken = await room.take(bytes * LIMITS.connector_read_copies, undefined, gone);
  try {
    const ids = group.map(({ id }) => id);
    const found = await orTemporary(findSealedPayloads(sql, firmId, ids));
    const reads = ids.map(async (id) => {
      const payload = await openedOf(sealer, id, await orNotFound(Promise.resolve(found.get(id))));
      const read = await validators.parse(payload, { fairnessKey: firmId });
      return read.kind === "parsed" ? read.summary : undefined;
    });
    // To their ends, also where one has failed: until then their octets are held.
    await Promise.allSettled(reads);
    return await Promise.all(reads);
  } finally {
    taken.giveBack();
  }
}
