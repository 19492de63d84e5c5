/**
 * The inbound path of everything: what another access point hands over is classified by its document type and stored,
 * once, before it is answered. What it says is read afterwards and never holds the receipt back.
 */
import { createHash } from "node:crypto";

import type { Instant } from "../../base/clock.js";
import { newId, parseParticipantId, participantKey } from "../../base/ids.js";
import type { FirmId } from "../../base/ids.js";
import { classifyInbound } from "../../peppol/responses/inbound-kind.js";
import { providerOfSeat } from "../../peppol/seats.js";
import type { InboundExchange, InboundOutcome, Receive } from "../../peppol/transport.js";
import { findOwnParticipant } from "../../storage/documents/received.js";
import { findStatusTwins, storeBusiness, storeStatus } from "../../storage/documents/statuses.js";
import type { NewDuty, NewExchange, StatusKind } from "../../storage/documents/statuses.js";
import { isJudged } from "./mls-duties.js";
import { sealPayload, TRANSPORT_PROFILE } from "../provider.js";
import type { DueStatusWork, Provider } from "../provider.js";
import { judgeTwins, receiveDocument } from "./receive.js";
import type { ReceivePorts } from "./receive.js";

export interface InboundPorts extends Omit<ReceivePorts, "store"> {
  readonly provider: Provider;
  /** Tells the status work what may be due now. */
  readonly poke: (due: DueStatusWork) => void;
}

const MAKES_DUE: Readonly<Record<ReturnType<typeof classifyInbound>, readonly DueStatusWork[]>> = {
  business: ["duties"],
  mls: ["statuses"],
  invoice_response: ["statuses", "duties"],
  report: [],
};

/**
 * @returns the port that the AS4 receiver and the loopback call. `not_serviced`: for a participant that is not ours, a
 *   status for another provider, or a report, which we are nobody to receive.
 * @source design/as4.md, section 6: the unique insert is the same write as the message
 */
export function createInbound(ports: InboundPorts): Receive {
  const store: ReceivePorts["store"] = (document, exchange) => {
    const duty = dutyOf(ports, exchange, document.firmId, document.receivedAt);
    // Where nobody can be told of a rejection, the firm sees what came.
    const status = duty !== undefined && isJudged(exchange.documentTypeId) ? "HELD" : document.status;
    return storeBusiness(
      ports.sql,
      { ...document, status },
      exchangeOf(ports, exchange, {
        id: document.id,
        kind: "business",
        firmId: document.firmId,
        at: document.receivedAt,
      }),
      duty,
    );
  };
  const receivers: Readonly<Record<ReturnType<typeof classifyInbound>, Receive>> = {
    business: (exchange) => receiveDocument({ ...ports, store }, exchange),
    invoice_response: async (exchange) => {
      const own = await findOwnParticipant(ports.sql, participantKey(exchange.receiver));
      return own === undefined
        ? { kind: "not_serviced" }
        : receiveStatus(ports, exchange, "invoice_response", own.firmId);
    },
    mls: async (exchange) =>
      participantKey(exchange.receiver) === participantKey(ports.provider.participant)
        ? receiveStatus(ports, exchange, "mls", undefined)
        : { kind: "not_serviced" },
    report: () => Promise.resolve({ kind: "not_serviced" }),
  };
  return async (exchange) => {
    const kind = classifyInbound(exchange.documentTypeId);
    const outcome = await receivers[kind](exchange);
    if (outcome.kind === "stored") for (const due of MAKES_DUE[kind]) ports.poke(due);
    return outcome;
  };
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

/**
 * A status about a status is never owed; one about a response is. @param firmId undefined for what is between providers
 */
async function receiveStatus(
  ports: InboundPorts,
  exchange: InboundExchange,
  kind: StatusKind,
  firmId: FirmId | undefined,
): Promise<InboundOutcome> {
  const id = newId(ports.clock);
  const at = ports.clock.now();
  const payloadSha256 = createHash("sha256").update(exchange.payload).digest("hex");
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
      payloadSealed: sealPayload(ports.sealer, id, exchange.payload),
      payloadSha256,
    },
    exchangeOf(ports, exchange, { id, kind, firmId, at }),
    firmId === undefined ? undefined : dutyOf(ports, exchange, firmId, at),
  );
  return isNew
    ? { kind: "stored", id, firmId }
    : judgeTwins(
        (await findStatusTwins(ports.sql, exchange)).map((twin) => ({ ...twin, firmId })),
        exchange,
        payloadSha256,
      );
}
