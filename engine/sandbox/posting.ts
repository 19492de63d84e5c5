/** Posts messages of the sandbox's other access point as any does: found, sealed, signed, posted, judged. */
import { randomUUID } from "node:crypto";

import type { OwnKey } from "../../validators/wss/protocol.js";
import { isoInstant } from "../base/clock.js";
import type { Clock } from "../base/clock.js";
import { newMessageId } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import type { As4Jobs } from "../peppol/as4/jobs.js";
import { commonName } from "../peppol/as4/messages.js";
import { DOCUMENT_TYPE_SCHEME, PROCESS_SCHEME } from "../peppol/envelope/identifiers.js";
import type { SmpLookup } from "../peppol/discovery/smp.js";
import type { Http } from "../peppol/network/http.js";

interface PostingPorts {
  readonly key: () => Promise<OwnKey>;
  readonly lookup: Pick<SmpLookup, "lookup">;
  readonly jobs: As4Jobs;
  readonly http: Http;
  readonly clock: Clock;
}

/** A document on its way from a participant of the sandbox. */
export interface Posting {
  readonly from: ParticipantId;
  readonly to: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly payload: Buffer;
}

/** What came of it. `not_found`: the recipient is not registered, or does not take this document. */
export interface Posted {
  readonly outcome: "receipt" | "refused" | "unconfirmed" | "not_found";
  readonly messageId: string;
  readonly instanceId: string;
  /** A code of the exchange; undefined for a receipt. */
  readonly code: string | undefined;
}

/** @throws Error when the document cannot be put into an envelope: a bug of the caller */
export async function post(ports: PostingPorts, posting: Posting): Promise<Posted> {
  const { from, to, documentTypeId, processId, payload } = posting;
  const ids = { messageId: newMessageId(), instanceId: randomUUID() };
  const found = await ports.lookup.lookup({ participant: to, documentType: documentTypeId, process: processId });
  if (found.status !== "ready") return { outcome: "not_found", ...ids, code: found.status };
  const { url, target, certificate } = found.endpoint;
  const signer = await ports.key();
  const createdAt = ports.clock.now();
  const message = await ports.jobs.build({
    sbd: {
      sender: from,
      receiver: to,
      documentType: documentTypeId,
      process: processId,
      instanceId: ids.instanceId,
      createdAt,
      countryC1: LIMITS.home_country,
      payload,
    },
    message: {
      messageId: ids.messageId,
      timestamp: isoInstant(createdAt),
      fromParty: commonName(signer.certificate) ?? "",
      toParty: commonName(certificate) ?? "",
      service: processId,
      serviceType: PROCESS_SCHEME,
      action: `${DOCUMENT_TYPE_SCHEME}::${documentTypeId}`,
      conversationId: ids.instanceId,
      originalSender: from,
      finalRecipient: to,
    },
    id: randomUUID(),
    signer,
    recipient: certificate,
  });
  if (message.kind === "refused") throw new Error(`a document of the sandbox has no envelope: ${message.fault}`);
  const result = await ports.http({
    method: "POST",
    use: "as4",
    url,
    target,
    headers: { "content-type": message.contentType },
    body: message.body,
    bytes_max: LIMITS.as4_answer_bytes_max,
    timeout_ms: LIMITS.as4_exchange_timeout_ms,
  });
  if (result.kind === "failed") return { outcome: "unconfirmed", ...ids, code: result.fault };
  const sent = { messageId: ids.messageId, references: message.references, recipient: certificate };
  const answer = await ports.jobs.judge({ bytes: result.body, contentType: result.contentType, sent });
  if (answer.kind === "receipt") return { outcome: "receipt", ...ids, code: undefined };
  const code = answer.kind === "unconfirmed" ? answer.error : (answer.errors[0]?.code ?? "EBMS:other");
  return { outcome: answer.kind === "unconfirmed" ? "unconfirmed" : "refused", ...ids, code };
}
