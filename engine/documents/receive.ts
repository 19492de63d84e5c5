/** The inbound path: what another access point hands over is stored, once, before it is answered. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import type { Clock } from "../clock.js";
import { newReceivedDocumentId, participantKey } from "../ids.js";
import type { Metrics } from "../metrics.js";
import type { InboundExchange, InboundOutcome } from "../peppol/transport.js";
import { findOwnParticipant, storeReceived } from "../storage/received.js";
import type { Sealer } from "../storage/sealer.js";
import type { Sql } from "../storage/sql.js";

export interface ReceivePorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

const GZIP_LEVEL = 1;

/**
 * Stores one document for a participant of ours.
 * @returns `duplicate` when its MessageId or InstanceIdentifier is stored already, `not_serviced` for a participant that is not ours
 * @source design/as4.md, section 6: the unique insert is the same write as the message
 */
export async function receiveDocument(ports: ReceivePorts, exchange: InboundExchange): Promise<InboundOutcome> {
  const key = participantKey(exchange.receiver);
  const own = await findOwnParticipant(ports.sql, key);
  if (own === undefined) return "not_serviced";
  const id = newReceivedDocumentId(ports.clock);
  const stored = await storeReceived(ports.sql, {
    id, firmId: own.firmId, participantKey: key, sender: exchange.sender, receiver: exchange.receiver, documentTypeId: exchange.documentTypeId,
    processId: exchange.processId, creationDateTime: exchange.createdAt, payloadSha256: createHash("sha256").update(exchange.payload).digest("hex"),
    as4MessageId: exchange.as4MessageId, sbdhInstanceId: exchange.sbdhInstanceId, facts: {}, receivedAt: ports.clock.now(),
    payloadKeyId: ports.sealer.keyId, payloadSealed: ports.sealer.seal(gzipSync(exchange.payload, { level: GZIP_LEVEL }), id), payloadBytes: exchange.payload.length,
  });
  if (stored) ports.metrics.count("documents_received_total", {});
  return stored ? "stored" : "duplicate";
}
