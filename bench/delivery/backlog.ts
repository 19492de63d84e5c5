/** A backlog: documents that are accepted by the engine's own statements, faster than over HTTP, ready to be sent. */
import { createHash, randomUUID } from "node:crypto";

import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import { newId } from "../../engine/base/ids.js";
import type { DocumentId, FirmId, KeyId, ParticipantId } from "../../engine/base/ids.js";
import { sampleInvoice } from "../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/envelope/identifiers.js";
import { acceptDocuments } from "../../engine/storage/documents/documents.js";
import type { NewDocument } from "../../engine/storage/documents/documents.js";
import { packPayload } from "../../engine/storage/payloads/payloads.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import type { Sql } from "../../engine/storage/sql.js";
import type { BenchFirm } from "../engine.js";

/** Documents of one statement. */
const BATCH = 250;

interface Backlog {
  readonly sql: Sql;
  /** With the engine's own key, so that it can open what lies there. */
  readonly sealer: Sealer;
  readonly from: BenchFirm;
  /** The participant that they are for. */
  readonly to: string;
  readonly count: number;
}

async function documentOf({ sealer, from, to }: Backlog): Promise<NewDocument> {
  const id = newId(systemClock) as DocumentId;
  const payload = Buffer.from(
    sampleInvoice({
      sender: from.participantId as ParticipantId,
      receiver: to as ParticipantId,
      senderName: "Bench s. r. o.",
      receiverName: "Príjemca a. s.",
      number: id,
      issueDate: bratislavaDay(systemClock.now()),
      lines: 1,
    }),
  );
  const { sha256, sealed } = await packPayload(sealer, id, payload);
  return {
    id,
    door: "sapi",
    firmId: from.clientId as FirmId,
    keyId: from.clientId as KeyId,
    sender: from.participantId as ParticipantId,
    receiver: to as ParticipantId,
    erpDocumentId: id,
    documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
    processId: BILLING_CAPABILITIES[0]?.processId ?? "",
    creationDateTime: "2026-11-20T09:00:00Z",
    facts: { documentNumber: id },
    idempotencyKey: randomUUID(),
    requestSha256: createHash("sha256").update(id).digest("hex"),
    payloadSha256: sha256,
    replyStatus: 202,
    replyBody: `{"providerDocumentId":"${id}"}`,
    as4MessageId: `${id}@bench`,
    sbdhInstanceId: randomUUID(),
    validationResult: { errors: [], warnings: [] },
    acceptedAt: systemClock.now(),
    payloadKeyId: sealer.keyId,
    payloadSealed: sealed,
    payloadBytes: payload.length,
    eventId: newId(systemClock),
  };
}

/** Accepts so many documents of a firm for a receiver. @throws Error when one is not accepted */
export async function fillBacklog(backlog: Backlog): Promise<void> {
  for (let done = 0; done < backlog.count; done += BATCH) {
    const rows = await Promise.all(
      Array.from({ length: Math.min(BATCH, backlog.count - done) }, () => documentOf(backlog)),
    );
    const outcomes = await acceptDocuments(backlog.sql, rows);
    if (outcomes.some(({ kind }) => kind !== "accepted")) throw new Error("a document of the backlog was not accepted");
  }
}
