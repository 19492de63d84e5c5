/**
 * The inbound path of everything: what another access point hands over is classified by its document type and stored,
 * once, before it is answered. What it says is read afterwards and never holds the receipt back.
 */
import type { Clock, Instant } from "../../base/clock.js";
import { newId, newReceivedDocumentId, parseParticipantId, participantKey } from "../../base/ids.js";
import type { FirmId } from "../../base/ids.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { classifyInbound } from "../../peppol/responses/inbound-kind.js";
import { providerOfSeat } from "../../peppol/seats.js";
import type { InboundExchange, InboundOutcome, Receive } from "../../peppol/transport.js";
import type { NewDuty } from "../../storage/documents/duties.js";
import type { NewExchange } from "../../storage/documents/exchanges.js";
import { findStatusRepeats, storeStatus } from "../../storage/documents/received-responses.js";
import type { StatusKind } from "../../storage/documents/received-responses.js";
import { findOwnParticipant, findRepeats, storeBusiness } from "../../storage/documents/received.js";
import type { Repeat } from "../../storage/documents/received.js";
import { packPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import type { Sql } from "../../storage/sql.js";
import { isJudged } from "./mls-duties.js";
import { TRANSPORT_PROFILE } from "../provider.js";
import type { DueStatusWork, Provider } from "../provider.js";

export interface InboundPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly provider: Provider;
  /** Tells the status work what may be due now. */
  readonly poke: (due: DueStatusWork) => void;
}

/** One class of what arrives: who takes it, and what work it makes due once it is stored. */
interface InboundRow {
  readonly receive: (ports: InboundPorts, exchange: InboundExchange) => Promise<InboundOutcome>;
  readonly makesDue: readonly DueStatusWork[];
  /** Whether a participant speaks in it; statuses and reports are between providers. */
  readonly isOfParticipant: boolean;
}

const NOT_SERVICED: InboundOutcome = { kind: "not_serviced" };

const INBOUND: Readonly<Record<ReturnType<typeof classifyInbound>, InboundRow>> = {
  business: { receive: receiveBusiness, makesDue: ["duties"], isOfParticipant: true },
  mls: { receive: receiveMls, makesDue: ["statuses"], isOfParticipant: false },
  invoice_response: { receive: receiveInvoiceResponse, makesDue: ["statuses", "duties"], isOfParticipant: true },
  report: { receive: () => Promise.resolve(NOT_SERVICED), makesDue: [], isOfParticipant: false },
};

/**
 * @returns the port that the AS4 receiver and the loopback call. `not_serviced`: for a participant that is not ours, a
 *   status for another provider, or a report, which we are nobody to receive. `duplicate`: stored already under its
 *   MessageId or its InstanceIdentifier.
 * @source design/as4.md, section 6: the unique insert is the same write as the message
 */
export function createInbound(ports: InboundPorts): Receive {
  return async (exchange) => {
    const kind = classifyInbound(exchange.documentTypeId);
    const { receive, makesDue, isOfParticipant } = INBOUND[kind];
    // Asked together: both look for a participant of ours, and calls that come together share a statement.
    const [outcome, isElsewhere] = await Promise.all([
      receive(ports, exchange),
      isOfParticipant && isSignedElsewhere(ports, exchange),
    ]);
    if (outcome.kind !== "stored") return outcome;
    if (isElsewhere) {
      ports.metrics.count("signed_elsewhere_total", { kind });
      ports.log.warn("inbound.signed_elsewhere", { documentId: outcome.id, seat: peerSeatOf(ports, exchange) });
    }
    for (const due of makesDue) ports.poke(due);
    return outcome;
  };
}

/**
 * Whether another access point has signed a message whose sender is a participant of ours. A participant may send
 * elsewhere, so it is taken; operators are told, for it may also be an abuse of a name.
 * @source spec/rulings.md, section 14
 */
const isSignedElsewhere = async (ports: InboundPorts, exchange: InboundExchange): Promise<boolean> =>
  peerSeatOf(ports, exchange) !== ports.provider.seat &&
  (await findOwnParticipant(ports.sql, participantKey(exchange.sender))) !== undefined;

/** Stores a customer's document for a participant of ours that takes this type, with its exchange and its duty. */
async function receiveBusiness(ports: InboundPorts, exchange: InboundExchange): Promise<InboundOutcome> {
  const key = participantKey(exchange.receiver);
  const own = await findOwnParticipant(ports.sql, key);
  if (own === undefined || !own.capabilities.some(({ documentTypeId }) => documentTypeId === exchange.documentTypeId))
    return NOT_SERVICED;
  const { firmId } = own;
  const id = newReceivedDocumentId(ports.clock);
  const at = ports.clock.now();
  const { sha256, sealed } = await packPayload(ports.sealer, id, exchange.payload);
  const duty = dutyOf(ports, exchange, firmId, at);
  const stored = await storeBusiness(
    ports.sql,
    {
      id,
      firmId,
      participantKey: key,
      sender: exchange.sender,
      receiver: exchange.receiver,
      documentTypeId: exchange.documentTypeId,
      processId: exchange.processId,
      creationDateTime: exchange.createdAt,
      payloadSha256: sha256,
      as4MessageId: exchange.as4MessageId,
      sbdhInstanceId: exchange.sbdhInstanceId,
      facts: {},
      receivedAt: at,
      payloadKeyId: ports.sealer.keyId,
      payloadSealed: sealed,
      payloadBytes: exchange.payload.length,
      // Where nobody can be told of a rejection, the firm sees what came.
      status: duty !== undefined && isJudged(exchange.documentTypeId) ? "HELD" : "RECEIVED",
    },
    exchangeOf(ports, exchange, { id, kind: "business", firmId, at }),
    duty,
  );
  if (!stored) return judgeRepeats(await findRepeats(ports.sql, exchange), exchange, sha256);
  ports.metrics.count("documents_received_total", {});
  return { kind: "stored", id, firmId };
}

/** A status is for the provider alone, and belongs to no firm. */
async function receiveMls(ports: InboundPorts, exchange: InboundExchange): Promise<InboundOutcome> {
  return participantKey(exchange.receiver) === participantKey(ports.provider.participant)
    ? receiveStatus(ports, exchange, "mls", undefined)
    : NOT_SERVICED;
}

async function receiveInvoiceResponse(ports: InboundPorts, exchange: InboundExchange): Promise<InboundOutcome> {
  const own = await findOwnParticipant(ports.sql, participantKey(exchange.receiver));
  return own === undefined ? NOT_SERVICED : receiveStatus(ports, exchange, "invoice_response", own.firmId);
}

/**
 * A status about a status is never owed; one about a response is.
 * @param firmId  undefined for what is between providers
 */
async function receiveStatus(
  ports: InboundPorts,
  exchange: InboundExchange,
  kind: StatusKind,
  firmId: FirmId | undefined,
): Promise<InboundOutcome> {
  const id = newId(ports.clock);
  const at = ports.clock.now();
  const { sha256, sealed } = await packPayload(ports.sealer, id, exchange.payload);
  const isNew = await storeStatus(
    ports.sql,
    {
      id,
      kind,
      sender: exchange.sender,
      receiver: exchange.receiver,
      peerSeat: peerSeatOf(ports, exchange),
      as4MessageId: exchange.as4MessageId,
      sbdhInstanceId: exchange.sbdhInstanceId,
      receivedAt: at,
      payloadKeyId: ports.sealer.keyId,
      payloadSealed: sealed,
      payloadSha256: sha256,
    },
    exchangeOf(ports, exchange, { id, kind, firmId, at }),
    firmId === undefined ? undefined : dutyOf(ports, exchange, firmId, at),
  );
  if (isNew) return { kind: "stored", id, firmId };
  const repeats = await findStatusRepeats(ports.sql, exchange);
  return judgeRepeats(
    repeats.map((repeat) => ({ ...repeat, firmId })),
    exchange,
    sha256,
  );
}

/** A stored message with one of the ids; of a status between providers no firm is the owner. */
type StoredRepeat = Pick<Repeat, "sender" | "receiver" | "payloadSha256"> & {
  readonly id: string;
  readonly firmId: FirmId | undefined;
};

/** A repeat is the same document from the same sender for the same receiver; anything else only borrowed an id. */
function judgeRepeats(
  repeats: readonly StoredRepeat[],
  exchange: InboundExchange,
  payloadSha256: string,
): InboundOutcome {
  const [repeat] = repeats;
  const same =
    repeat !== undefined &&
    repeats.length === 1 &&
    repeat.payloadSha256 === payloadSha256 &&
    participantKey(repeat.sender) === participantKey(exchange.sender) &&
    participantKey(repeat.receiver) === participantKey(exchange.receiver);
  return same ? { kind: "duplicate", id: repeat.id, firmId: repeat.firmId } : { kind: "conflict" };
}

/** Without an envelope a message came from ourselves. */
const peerSeatOf = (ports: InboundPorts, exchange: InboundExchange): string =>
  exchange.envelope?.peerSeat ?? ports.provider.seat;

function exchangeOf(
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
function dutyOf(
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
      };
}
