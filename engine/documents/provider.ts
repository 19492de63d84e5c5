/** Ourselves as a service provider: what statuses, responses and reports say of us, and how their messages are made. */
import { randomUUID } from "node:crypto";

import type { Clock, Instant } from "../base/clock.js";
import { newId, newMessageId } from "../base/ids.js";
import type { FirmId, ParticipantId } from "../base/ids.js";
import { providerOfSeat } from "../peppol/seats.js";
import type { NewServiceMessage, ServiceKind } from "../storage/documents/service-messages.js";
import { noteContext } from "../storage/keyring/facts.js";
import { packPayload } from "../storage/payloads/payloads.js";
import type { Sealer } from "../storage/sealer.js";

/** What the network knows us by. */
export interface Provider {
  /** Common name of our access point's certificate, `POP000123`. */
  readonly seat: string;
  /** `0242:` and the digits of the seat. */
  readonly participant: ParticipantId;
  /** Where our end users are, ISO 3166-1: COUNTRY_C1 of what we send, C4 of what we receive. */
  readonly country: string;
}

/** @throws Error when the seat is none */
export function provider(seat: string, country: string): Provider {
  const participant = providerOfSeat(seat);
  if (participant === undefined) throw new Error(`${JSON.stringify(seat)} is no seat of a service provider`);
  return { seat, participant, country };
}

/** Profile of every exchange that we make. @source design/as4.md, section 1 */
export const TRANSPORT_PROFILE = "peppol-transport-as4-v2_0";

/** What the status work takes up: statuses that came, documents that are to be judged, messages that are to be sent. */
export type DueStatusWork = "statuses" | "duties" | "messages";

interface MessageParts {
  /** Also the id inside the message, where it has one. @default a new one */
  readonly id?: string;
  readonly kind: ServiceKind;
  readonly subject: string;
  readonly firmId?: FirmId;
  readonly about?: string;
  readonly code: string;
  readonly note?: string;
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
  readonly payload: Buffer;
  /** When it was said; the instant inside the message, where it has one. @default now */
  readonly createdAt?: Instant;
}

/** A message ready to be stored; MessageId and InstanceIdentifier are fixed here for all its attempts. */
export async function newServiceMessage(
  ports: { readonly sealer: Sealer; readonly clock: Clock },
  parts: MessageParts,
): Promise<NewServiceMessage> {
  const { payload, id = newId(ports.clock), firmId, about, note, createdAt = ports.clock.now(), ...rest } = parts;
  const sealer = await ports.sealer.forFirm(firmId);
  const { sha256, sealed } = await packPayload(sealer, id, payload);
  return {
    ...rest,
    id,
    firmId,
    about,
    noteSealed: note === undefined ? undefined : sealer.seal(Buffer.from(note), noteContext(id)),
    as4MessageId: newMessageId(),
    sbdhInstanceId: randomUUID(),
    payloadKeyId: sealer.keyId,
    payloadSealed: sealed,
    payloadSha256: sha256,
    createdAt,
  };
}
