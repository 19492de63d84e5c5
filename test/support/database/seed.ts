/** Rows that most integration tests need: a firm with a participant, and a document ready to be accepted. */
import { createHash, randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";

import type { DocumentId, FirmId, KeyId, ParticipantId } from "../../../engine/base/ids.js";
import { newId } from "../../../engine/base/ids.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";
import { packPayload } from "../../../engine/storage/payloads/payloads.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { addCapabilities } from "../../../engine/storage/documents/received.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { systemClock } from "../../../engine/base/clock.js";

export const KEY_ID = "00000000-0000-7000-8000-000000000001" as KeyId;

/** Registers a firm that owns `participant` and accepts billing documents. */
export async function seedFirm(sql: Sql, participant: string): Promise<FirmId> {
  const firmId = newId(systemClock) as FirmId;
  await sql`insert into firm (id, name, peppol_status, sandbox, created_at) values (${firmId}, ${`Firm of ${participant}`}, 'registered', true, now())`;
  await sql`insert into participant (key, id, firm_id, registered_at) values (${participant.toLowerCase()}, ${participant}, ${firmId}, now())`;
  await addCapabilities(sql, participant.toLowerCase(), BILLING_CAPABILITIES);
  return firmId;
}

/** Registers many firms with a participant each that takes no documents. @returns their ids, in order */
export async function seedFirms(sql: Sql, participants: readonly string[]): Promise<FirmId[]> {
  const ids = participants.map(() => newId(systemClock) as FirmId);
  await sql`
    insert into firm (id, name, peppol_status, sandbox, created_at)
    select id, 'Firm of ' || participant, 'registered', true, now()
    from unnest(${ids}::uuid[], ${[...participants]}::text[]) as f (id, participant)`;
  await sql`
    insert into participant (key, id, firm_id, registered_at)
    select lower(participant), participant, id, now()
    from unnest(${ids}::uuid[], ${[...participants]}::text[]) as f (id, participant)`;
  return ids;
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A document that accept_documents takes; `changes` replace members. */
export function newDocumentRow(firmId: FirmId, sender: string, changes: Partial<NewDocument> = {}): NewDocument {
  const id = newId(systemClock) as DocumentId;
  return {
    id,
    door: "sapi",
    firmId,
    keyId: KEY_ID,
    sender: sender as ParticipantId,
    receiver: "0245:9999999999" as ParticipantId,
    erpDocumentId: `ERP-${id}`,
    documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
    processId: BILLING_CAPABILITIES[0]?.processId ?? "",
    creationDateTime: "2026-11-20T09:00:00Z",
    facts: { documentNumber: "1" },
    idempotencyKey: randomUUID(),
    requestSha256: sha256(id),
    payloadSha256: sha256(`payload ${id}`),
    replyStatus: 202,
    replyBody: `{"providerDocumentId":"${id}"}`,
    as4MessageId: `${id}@test`,
    sbdhInstanceId: randomUUID(),
    validationResult: { errors: [], warnings: [] },
    // A document that has been due for days is claimed by whoever comes first.
    acceptedAt: systemClock.now(),
    payloadKeyId: "k1",
    payloadSealed: Buffer.from("sealed"),
    payloadBytes: 6,
    eventId: newId(systemClock),
    ...changes,
  };
}

/** A payload of a document that an attempt can open. */
export const sealedPayload = (sealer: Sealer, id: string) =>
  ({ payloadKeyId: sealer.keyId, payloadSealed: sealer.seal(gzipSync("<Invoice/>"), id) }) as const;

/** A document ready to be accepted and sent, with a payload that its receiver can read. */
export async function sealedDocumentRow(sealer: Sealer, row: NewDocument, payload: Buffer): Promise<NewDocument> {
  const { sha256: payloadSha256, sealed } = await packPayload(sealer, row.id, payload);
  return {
    ...row,
    payloadSha256,
    payloadKeyId: sealer.keyId,
    payloadSealed: sealed,
    payloadBytes: payload.length,
  };
}
