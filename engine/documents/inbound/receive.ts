/**
 * The inbound path of everything: what another access point hands over is classified by its document type and stored,
 * once, before it is answered. What it says is read afterwards and never holds the receipt back.
 */
import { temporary } from "../../base/errors.js";
import { newId, participantKey } from "../../base/ids.js";
import type { FirmId } from "../../base/ids.js";
import { budget } from "../../base/memory/budgets.js";
import { createOctets } from "../../base/memory/octets.js";
import { classifyInbound } from "../../peppol/responses/inbound-kind.js";
import type { InboundExchange, InboundOutcome, Prove, Receive } from "../../peppol/transport.js";
import { findStatusRepeats, storeStatus } from "../../storage/documents/received-responses.js";
import type { StatusKind } from "../../storage/documents/received-responses.js";
import { findOwnParticipant, findRepeats } from "../../storage/documents/received.js";
import type { MessageIds, Repeat } from "../../storage/documents/received.js";
import { untilBack } from "../../storage/sql.js";
import type { DueStatusWork } from "../provider.js";
import { readyBusiness, storeReady } from "./business.js";
import type { ReadyBusiness } from "./business.js";
import { dutyOf, exchangeOf, participantOfOurs, NOT_OURS, peerSeatOf, sealArrived, sealerFor } from "./arrivals.js";
import type { InboundPorts } from "./arrivals.js";

export type { InboundPorts } from "./arrivals.js";

/** What has arrived, and what has been made of it before the turn in which it is stored. */
export interface Arrival {
  readonly kind: "arrival";
  readonly exchange: InboundExchange;
  /** Of a customer's document. */
  readonly business: ReadyBusiness | undefined;
}

/** One class of what arrives: who stores it, and what work it makes due once it is stored. */
interface InboundRow {
  readonly store: (ports: InboundPorts, exchange: InboundExchange) => Promise<InboundOutcome>;
  readonly makesDue: readonly DueStatusWork[];
}

const INBOUND: Readonly<Record<Exclude<ReturnType<typeof classifyInbound>, "business">, InboundRow>> = {
  mls: { store: receiveMls, makesDue: ["statuses"] },
  invoice_response: { store: receiveInvoiceResponse, makesDue: ["statuses", "duties"] },
  report: { store: () => Promise.resolve(NOT_OURS), makesDue: [] },
};

/**
 * Does what takes time before the turn of its participant: the verdict, the receipt and its record.
 * @returns what is to be stored, or the outcome where nothing is
 */
async function prepareArrival(
  ports: InboundPorts,
  exchange: InboundExchange,
  prove?: Prove,
): Promise<Arrival | InboundOutcome> {
  if (classifyInbound(exchange.documentTypeId) !== "business")
    return { kind: "arrival", exchange, business: undefined };
  const business = await readyBusiness(ports, exchange, prove);
  return "kind" in business ? business : { kind: "arrival", exchange, business };
}

/** Stores what has arrived, once. */
export async function storeArrival(ports: InboundPorts, { exchange, business }: Arrival): Promise<InboundOutcome> {
  if (business !== undefined) {
    if (await storeReady(ports, business)) return { kind: "stored", id: business.id, firmId: business.firmId };
    const repeats = await findRepeats(ports.sql, idsOf(ports, exchange));
    if (repeats.length === 0 && !(await isOurs(ports, exchange))) return NOT_OURS;
    return judgeRepeats(repeats, exchange, business.payloadSha256);
  }
  const kind = classifyInbound(exchange.documentTypeId);
  if (kind === "business") throw new Error("a document came to its turn without having been made ready");
  const { store, makesDue } = INBOUND[kind];
  const outcome = await store(ports, exchange);
  if (outcome.kind === "stored") for (const due of makesDue) ports.poke(due);
  return outcome;
}

/**
 * @param inTurn  stores what has arrived in the turn of its participant; see storeArrival
 * @returns the port that the AS4 receiver and the loopback call. `not_serviced`: for a participant that is not ours, a
 *   status for another provider, or a report, which we are nobody to receive. `duplicate`: stored already under its
 *   MessageId or its InstanceIdentifier. It throws Refusal TEMPORARY where too much is held already.
 * @source design/as4.md, section 6: the unique insert is the same write as the message
 */
export function createInbound(ports: InboundPorts, inTurn: (arrival: Arrival) => Promise<InboundOutcome>): Receive {
  const room = createOctets(ports.arrivals_bytes_max ?? budget("arrivals_bytes_max"));
  return async (exchange, prove) => {
    const taken = room.tryTake(octetsOf(exchange));
    if (taken === undefined) throw temporary();
    try {
      return await storedOnce(ports, inTurn, { exchange, prove });
    } finally {
      taken.giveBack();
    }
  };
}

/** What an opened message holds in memory until it is stored: its payload, packed where that was done already. */
const octetsOf = ({ payload }: InboundExchange): number =>
  Buffer.isBuffer(payload) ? payload.length : payload.compressed.length;

async function storedOnce(
  ports: InboundPorts,
  inTurn: (arrival: Arrival) => Promise<InboundOutcome>,
  { exchange, prove }: { readonly exchange: InboundExchange; readonly prove: Prove | undefined },
): Promise<InboundOutcome> {
  // Asked together: both look for a participant of ours, and calls that come together share a statement.
  const [arrival, isElsewhere] = await Promise.all([
    prepareArrival(ports, exchange, prove),
    isSignedElsewhere(ports, exchange),
  ]);
  // To refuse it would cost its sender a wait of its plan. Each try has a turn of its own, so that it holds up nobody.
  const outcome = arrival.kind === "arrival" ? await untilBack(ports.clock, () => inTurn(arrival)) : arrival;
  if (outcome.kind === "stored" && isElsewhere) {
    ports.metrics.count("signed_elsewhere_total", { kind: classifyInbound(exchange.documentTypeId) });
    ports.log.warn("inbound.signed_elsewhere", { documentId: outcome.id, seat: peerSeatOf(ports, exchange) });
  }
  return outcome;
}

/** Kinds in which a participant speaks; statuses and reports are between providers. */
const OF_PARTICIPANTS: ReadonlySet<ReturnType<typeof classifyInbound>> = new Set(["business", "invoice_response"]);

/**
 * Whether another access point has signed a message whose sender is a participant of ours. A participant may send
 * elsewhere, so it is taken; operators are told, for it may also be an abuse of a name.
 * @source spec/rulings.md, section 14
 */
const isSignedElsewhere = async (ports: InboundPorts, exchange: InboundExchange): Promise<boolean> =>
  OF_PARTICIPANTS.has(classifyInbound(exchange.documentTypeId)) &&
  peerSeatOf(ports, exchange) !== ports.provider.seat &&
  (await participantOfOurs(ports, exchange.sender)) !== undefined;

/** A status is for the provider alone, and belongs to no firm. */
async function receiveMls(ports: InboundPorts, exchange: InboundExchange): Promise<InboundOutcome> {
  return participantKey(exchange.receiver) === participantKey(ports.provider.participant)
    ? receiveStatus(ports, exchange, "mls", undefined)
    : NOT_OURS;
}

async function receiveInvoiceResponse(ports: InboundPorts, exchange: InboundExchange): Promise<InboundOutcome> {
  const own = await findOwnParticipant(ports.sql, participantKey(exchange.receiver));
  return own === undefined ? NOT_OURS : receiveStatus(ports, exchange, "invoice_response", own.firmId);
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
  const sealer = await sealerFor(ports, firmId);
  if (sealer === undefined) return NOT_OURS;
  const { sha256, sealed } = await sealArrived(sealer, id, exchange.payload);
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
      payloadKeyId: sealer.keyId,
      payloadSealed: sealed,
      payloadSha256: sha256,
    },
    exchangeOf(ports, exchange, { id, kind, firmId, at }),
    firmId === undefined ? undefined : dutyOf(ports, exchange, firmId, at),
  );
  if (isNew) return { kind: "stored", id, firmId };
  const repeats = await findStatusRepeats(ports.sql, idsOf(ports, exchange));
  if (repeats.length === 0 && firmId !== undefined && !(await isOurs(ports, exchange))) return NOT_OURS;
  return judgeRepeats(
    repeats.map((repeat) => ({ ...repeat, firmId })),
    exchange,
    sha256,
  );
}

/** What was for a participant of ours may find its firm erased when it is to be stored: no row is its repeat then. */
const isOurs = async (ports: InboundPorts, { receiver }: InboundExchange): Promise<boolean> =>
  (await findOwnParticipant(ports.sql, participantKey(receiver))) !== undefined;

const idsOf = (ports: InboundPorts, exchange: InboundExchange): MessageIds => ({
  as4MessageId: exchange.as4MessageId,
  sbdhInstanceId: exchange.sbdhInstanceId,
  peerSeat: peerSeatOf(ports, exchange),
});

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
