/** The actors that own documents and messages, around a transport and an inbound path. */
import { documentKind } from "../../../actors/document.js";
import type { DocumentKind } from "../../../actors/document.js";
import { messageKind } from "../../../actors/message.js";
import type { MessageKind } from "../../../actors/message.js";
import { participantKind } from "../../../actors/participant.js";
import type { ParticipantKind } from "../../../actors/participant.js";
import type { Reserve } from "../../../engine/documents/delivery/first-attempt.js";
import { createInbound } from "../../../engine/documents/inbound/receive.js";
import type { InboundPorts } from "../../../engine/documents/inbound/receive.js";
import type { DueStatusWork, Provider } from "../../../engine/documents/provider.js";
import { participantKey } from "../../../engine/base/ids.js";
import type { AccessPoint } from "../../../engine/peppol/access-point.js";
import { createRecipients } from "../../../engine/peppol/discovery/acceptance.js";
import type { Recipients } from "../../../engine/peppol/discovery/acceptance.js";
import type { Receive, Transport } from "../../../engine/peppol/transport.js";
import type { DispatchPorts } from "../../../engine/documents/delivery/dispatch.js";
import { findOwnParticipant } from "../../../engine/storage/documents/received.js";
import { isReceipted } from "../../../engine/storage/documents/service-messages.js";
import type { Sql } from "../../../engine/storage/sql.js";
import type { Ground } from "./ground.js";
import { leaseOwnerOf } from "./ground.js";

/** The kinds of actor that own documents and messages. */
export interface Owners {
  readonly document: DocumentKind;
  readonly participant: ParticipantKind;
  readonly message: MessageKind;
  /** The inbound path through them. */
  readonly arrive: Receive;
  /** What is known of those to whom documents go. */
  readonly recipients: Recipients;
}

/** The actors around a transport and an inbound path. */
export function startOwners(
  { base: { clock, log, metrics, config }, sql, sealer, validators, relay, actors, node }: Ground,
  parts: {
    readonly transport: Transport;
    readonly accessPoint: AccessPoint | undefined;
    readonly provider: Provider;
    readonly countSql: Sql;
    readonly wakeStatuses: (due: DueStatusWork) => void;
    readonly wakeDispatcher: () => void;
    readonly reserve: Reserve;
    readonly planOf: NonNullable<DispatchPorts["planOf"]>;
  },
): Owners {
  const { transport, accessPoint, provider: self, countSql, wakeStatuses, wakeDispatcher, reserve, planOf } = parts;
  const recipients =
    accessPoint?.recipients ??
    createRecipients(async (participant) => {
      const own = await findOwnParticipant(sql, participant);
      return own?.capabilities;
    }, clock);
  const shared = {
    sql,
    sealer,
    clock,
    metrics,
    log,
    validators,
    provider: self,
    owner: leaseOwnerOf(node),
    poke: () => {
      relay.poke();
    },
    announce: relay.take,
    published: relay.published,
  };
  const document = documentKind({
    send: {
      ...shared,
      recipients,
      reserve,
      poke: wakeDispatcher,
    },
    dispatch: { ...shared, transport, planOf },
    statuses: shared,
    duties: shared,
    respond: {
      ...shared,
      poke: () => {
        wakeStatuses("messages");
      },
    },
  });
  const inbound: InboundPorts = { ...shared, poke: wakeStatuses };
  const participant = participantKind({ actors, document, inbound });
  return {
    document,
    participant,
    recipients,
    arrive: createInbound(inbound, (arrival) =>
      actors.ask(participant, participantKey(arrival.exchange.receiver), "Receive", arrival),
    ),
    message: messageKind({
      ...shared,
      countSql,
      transport,
      environment: config.ENVIRONMENT,
      ...(accessPoint === undefined ? {} : { isReceipted: (id: string) => isReceipted(sql, id) }),
    }),
  };
}
