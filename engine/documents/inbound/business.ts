/**
 * A customer's document on its way in. Before the turn of its participant it is judged, sealed and proved; in the turn
 * it is stored by one statement, with its exchange, the status that it may owe and its evidence.
 */
import { newReceivedDocumentId, participantKey } from "../../base/ids.js";
import type { FirmId, ReceivedDocumentId } from "../../base/ids.js";
import { freeOctets } from "../../base/memory/release.js";
import type { InboundExchange, InboundOutcome, Prove } from "../../peppol/transport.js";
import type { NewDuty } from "../../storage/documents/duties.js";
import { storeBusiness } from "../../storage/documents/received.js";
import type { NewBusiness } from "../../storage/documents/received.js";
import { sealCompressed } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { keptFacts } from "../kept-facts.js";
import { dutyOf, exchangeOf, participantOfOurs, NOT_OURS, sealArrived, sealerFor } from "./arrivals.js";
import type { InboundPorts } from "./arrivals.js";
import { countVerdict } from "./held.js";
import { isJudged } from "./judged.js";
import { judgeArrival } from "./verdict.js";
import type { JudgedArrival } from "./verdict.js";

/** A document that is ready to be stored. */
export interface ReadyBusiness {
  readonly id: ReceivedDocumentId;
  readonly firmId: FirmId;
  /** Hex. */
  readonly payloadSha256: string;
  readonly row: NewBusiness;
  /** What its verdict took, in milliseconds, where it has passed already. */
  readonly passedAfter_ms: number | undefined;
}

/** What is stored of a document: what its worker has made of it, or what is made now. */
const packed = async (
  sealer: Sealer,
  id: string,
  { payload }: InboundExchange,
  judged: JudgedArrival | undefined,
): Promise<{ readonly sha256: string; readonly sealed: Buffer }> =>
  judged?.compressed === undefined
    ? sealArrived(sealer, id, payload)
    : { sha256: judged.payloadSha256, sealed: await sealCompressed(sealer, id, judged.compressed) };

/** What is owed for a document: a verdict while it is held, and a success only where it was asked for. */
const owedFor = (duty: NewDuty | undefined, isHeld: boolean): NewDuty | undefined =>
  isHeld || duty?.always === true ? duty : undefined;

/**
 * Makes a document ready for a participant of ours that takes this type.
 * @returns the outcome where there is no such participant
 */
export async function readyBusiness(
  ports: InboundPorts,
  exchange: InboundExchange,
  prove: Prove | undefined,
): Promise<ReadyBusiness | InboundOutcome> {
  const key = participantKey(exchange.receiver);
  const own = await participantOfOurs(ports, exchange.receiver);
  if (own === undefined || !own.capabilities.some(({ documentTypeId }) => documentTypeId === exchange.documentTypeId))
    return NOT_OURS;
  const { firmId } = own;
  const sealer = await sealerFor(ports, firmId);
  if (sealer === undefined) return NOT_OURS;
  const id = newReceivedDocumentId(ports.clock);
  const at = ports.clock.now();
  const duty = dutyOf(ports, exchange, firmId, at);
  const [judged, evidence] = await Promise.all([
    duty === undefined ? undefined : judgeArrival(ports, exchange),
    prove?.({ id, firmId }),
  ]);
  const { sha256, sealed } = await packed(sealer, id, exchange, judged);
  // Where nobody can be told of a rejection, the firm sees what came. One that is refused is judged again while it is
  // held: what is said of it is written with its end.
  const isHeld = duty !== undefined && isJudged(exchange.documentTypeId) && judged?.valid !== true;
  return {
    id,
    firmId,
    payloadSha256: sha256,
    passedAfter_ms: isHeld ? undefined : judged?.took_ms,
    row: {
      document: {
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
        facts: keptFacts(sealer, { id, sender: exchange.sender }, judged?.facts),
        receivedAt: at,
        payloadKeyId: sealer.keyId,
        payloadSealed: sealed,
        payloadBytes: exchange.payload.length,
        status: isHeld ? "HELD" : "RECEIVED",
      },
      exchange: exchangeOf(ports, exchange, { id, kind: "business", firmId, at }),
      duty: owedFor(duty, isHeld),
      evidence,
    },
  };
}

/** Stores a document that was made ready. @returns false when it is stored already */
export async function storeReady(ports: InboundPorts, { row, passedAfter_ms }: ReadyBusiness): Promise<boolean> {
  if (!(await storeBusiness(ports.sql, row))) return false;
  // Of a repeat they may be asked for once more.
  freeOctets(row.document.payloadSealed);
  ports.metrics.count("documents_received_total", {});
  if (row.document.status === "HELD") ports.poke("duties");
  if (passedAfter_ms !== undefined) countVerdict(ports.metrics, "passed", passedAfter_ms);
  return true;
}
