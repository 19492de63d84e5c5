/** What all that arrives has: the exchange that it is counted by, and the status that may be owed for it. */
import type { Clock, Instant } from "../../base/clock.js";
import { parseParticipantId, participantKey } from "../../base/ids.js";
import type { FirmId, ParticipantId } from "../../base/ids.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { providerOfSeat } from "../../peppol/seats.js";
import type { InboundExchange, InboundOutcome } from "../../peppol/transport.js";
import type { NewDuty } from "../../storage/documents/duties.js";
import type { NewExchange } from "../../storage/documents/exchanges.js";
import { FirmKeyGone } from "../../storage/keyring/firm-key-files.js";
import { packPayload, sealCompressed } from "../../storage/payloads/payloads.js";
import { findOwnParticipant } from "../../storage/documents/received.js";
import type { Sealer } from "../../storage/sealer.js";
import { untilBack } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { Validators } from "../accept/facts.js";
import { TRANSPORT_PROFILE } from "../provider.js";
import type { DueStatusWork, Provider } from "../provider.js";

export interface InboundPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly provider: Provider;
  /** Judge what arrives before it is stored, where that is quick. @default none: it is held and judged later */
  readonly validators?: Validators;
  /** Octets of what was opened and is not stored yet; more are refused. @default budget("arrivals_bytes_max") */
  readonly arrivals_bytes_max?: number;
  /** Tells the status work what may be due now. */
  readonly poke: (due: DueStatusWork) => void;
}

export const NOT_OURS = { kind: "not_serviced" } as const satisfies InboundOutcome;

/** The participant of ours that an arriving message names, also when Postgres is started again just now. */
export const participantOfOurs = (
  { sql, clock }: InboundPorts,
  named: ParticipantId,
): ReturnType<typeof findOwnParticipant> => untilBack(clock, () => findOwnParticipant(sql, participantKey(named)));

/** What seals for a firm; undefined for one that was erased, where its database is from before that. */
export async function sealerFor(
  { sealer }: Pick<InboundPorts, "sealer">,
  firmId: FirmId | undefined,
): Promise<Sealer | undefined> {
  try {
    return await sealer.forFirm(firmId);
  } catch (error) {
    if (error instanceof FirmKeyGone) return undefined;
    throw error;
  }
}

/** What is stored of an arriving payload, whether a worker has packed it or it is packed now. */
export const sealArrived = async (
  sealer: Sealer,
  id: string,
  payload: InboundExchange["payload"],
): Promise<{ readonly sha256: string; readonly sealed: Buffer }> =>
  Buffer.isBuffer(payload)
    ? packPayload(sealer, id, payload)
    : { sha256: payload.sha256, sealed: await sealCompressed(sealer, id, payload.compressed) };

/** Without an envelope a message came from ourselves. */
export const peerSeatOf = (ports: InboundPorts, exchange: InboundExchange): string =>
  exchange.envelope?.peerSeat ?? ports.provider.seat;

/** The exchange as the reports count it. */
export function exchangeOf(
  ports: InboundPorts,
  exchange: InboundExchange,
  stored: {
    readonly id: string;
    readonly kind: NewExchange["kind"];
    readonly firmId: FirmId | undefined;
    readonly at: Instant;
  },
): NewExchange {
  return {
    id: stored.id,
    direction: "incoming",
    kind: stored.kind,
    firmId: stored.firmId,
    c2Seat: peerSeatOf(ports, exchange),
    c3Seat: ports.provider.seat,
    documentTypeId: exchange.documentTypeId,
    processId: exchange.processId,
    transportProfile: TRANSPORT_PROFILE,
    c1Country: exchange.envelope?.countryC1 ?? ports.provider.country,
    c4Country: ports.provider.country,
    endUser: participantKey(exchange.receiver),
    exchangedAt: stored.at,
  };
}

/**
 * Nobody is told when the sender's provider cannot be named: its certificate has no seat, and it asked for no other
 * place.
 */
export function dutyOf(
  ports: InboundPorts,
  exchange: InboundExchange,
  firmId: FirmId,
  receivedAt: Instant,
): NewDuty | undefined {
  const named = exchange.envelope?.mls.to;
  const receiver =
    (named === undefined ? undefined : parseParticipantId(named)) ?? providerOfSeat(peerSeatOf(ports, exchange));
  return receiver === undefined
    ? undefined
    : {
        firmId,
        sbdhInstanceId: exchange.sbdhInstanceId,
        documentTypeId: exchange.documentTypeId,
        receiver,
        always: exchange.envelope?.mls.type === "ALWAYS_SEND",
        receivedAt,
        payloadBytes: exchange.payload.length,
      };
}
