/** The inbound path: what another access point hands over is stored, once, before it is answered. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import type { Clock } from "../../base/clock.js";
import { newReceivedDocumentId, participantKey } from "../../base/ids.js";
import type { FirmId } from "../../base/ids.js";
import type { Metrics } from "../../base/metrics.js";
import type { InboundExchange, InboundOutcome } from "../../peppol/transport.js";
import { findOwnParticipant, findTwins, storeReceived } from "../../storage/documents/received.js";
import type { NewReceivedDocument, Twin } from "../../storage/documents/received.js";
import type { Sealer } from "../../storage/sealer.js";
import type { Sql } from "../../storage/sql.js";

export interface ReceivePorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Writes the document, and what belongs into the same statement. @default the document alone */
  readonly store?: (document: NewReceivedDocument, exchange: InboundExchange) => Promise<boolean>;
}

const GZIP_LEVEL = 1;

/**
 * Stores one document for a participant of ours.
 * @returns `duplicate` when it is stored already, under its MessageId or its InstanceIdentifier; `not_serviced` for a
 * participant that is not ours or does not take this type
 * @source design/as4.md, section 6: the unique insert is the same write as the message
 */
export async function receiveDocument(ports: ReceivePorts, exchange: InboundExchange): Promise<InboundOutcome> {
  const key = participantKey(exchange.receiver);
  const own = await findOwnParticipant(ports.sql, key);
  if (own === undefined || !own.capabilities.some(({ documentTypeId }) => documentTypeId === exchange.documentTypeId))
    return { kind: "not_serviced" };
  const id = newReceivedDocumentId(ports.clock);
  const payloadSha256 = createHash("sha256").update(exchange.payload).digest("hex");
  const document: NewReceivedDocument = {
    id,
    firmId: own.firmId,
    participantKey: key,
    sender: exchange.sender,
    receiver: exchange.receiver,
    documentTypeId: exchange.documentTypeId,
    processId: exchange.processId,
    creationDateTime: exchange.createdAt,
    payloadSha256,
    as4MessageId: exchange.as4MessageId,
    sbdhInstanceId: exchange.sbdhInstanceId,
    facts: {},
    receivedAt: ports.clock.now(),
    payloadKeyId: ports.sealer.keyId,
    payloadSealed: ports.sealer.seal(gzipSync(exchange.payload, { level: GZIP_LEVEL }), id),
    payloadBytes: exchange.payload.length,
    status: "RECEIVED",
  };
  const stored = await (ports.store?.(document, exchange) ?? storeReceived(ports.sql, document));
  if (!stored) return judgeTwins(await findTwins(ports.sql, exchange), exchange, payloadSha256);
  ports.metrics.count("documents_received_total", {});
  return { kind: "stored", id, firmId: own.firmId };
}

/** A stored message with one of the ids; of a status between providers no firm is the owner. */
type StoredTwin = Pick<Twin, "sender" | "receiver" | "payloadSha256"> & {
  readonly id: string;
  readonly firmId: FirmId | undefined;
};

/** A repeat is the same document from the same sender for the same receiver; anything else only borrowed an id. */
export function judgeTwins(
  twins: readonly StoredTwin[],
  exchange: InboundExchange,
  payloadSha256: string,
): InboundOutcome {
  const [twin] = twins;
  const same =
    twin !== undefined &&
    twins.length === 1 &&
    twin.payloadSha256 === payloadSha256 &&
    participantKey(twin.sender) === participantKey(exchange.sender) &&
    participantKey(twin.receiver) === participantKey(exchange.receiver);
  return same ? { kind: "duplicate", id: twin.id, firmId: twin.firmId } : { kind: "conflict" };
}
