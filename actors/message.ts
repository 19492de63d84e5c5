/**
 * The actor of one message between providers that is no customer's document: one of ours on its way out, or a received
 * status that names no document of ours.
 */
import { provedDelivery } from "../engine/documents/delivery/chain.js";
import { workOn } from "../engine/documents/delivery/leases.js";
import type { Held } from "../engine/documents/delivery/leases.js";
import { attemptMessage } from "../engine/documents/delivery/service-dispatch.js";
import type { ServiceDispatchPorts } from "../engine/documents/delivery/service-dispatch.js";
import { submitDueReports } from "../engine/documents/reports.js";
import type { ReportPorts } from "../engine/documents/reports.js";
import { followStatus } from "../engine/documents/inbound/statuses.js";
import type { ReadStatus, StatusPorts } from "../engine/documents/inbound/statuses.js";
import type { ActorKind } from "./system.js";

type Leased = Parameters<typeof attemptMessage>[1];

type MessageProtocol = {
  /** Makes the attempt that this node has leased. */
  readonly Attempt: { readonly ask: Held<Leased>; readonly reply: null };
  /** Settles a received status of this actor's id that names no document of ours. */
  readonly Settle: { readonly ask: ReadStatus; readonly reply: Awaited<ReturnType<typeof followStatus>> };
  /** Makes the reports that are due; answers how many. */
  readonly Report: { readonly ask: null; readonly reply: number };
};

/** The kind of actor that holds the turn of one message of the access point itself. */
export type MessageKind = ActorKind<MessageProtocol, null>;

/** `transport` is the bare way to another access point; see provedDelivery. */
export type MessagePorts = ServiceDispatchPorts & StatusPorts & ReportPorts;

/** Makes the kind of actor that makes the attempts at one message of the access point itself. */
export function messageKind(ports: MessagePorts): MessageKind {
  const dispatch: ServiceDispatchPorts = { ...ports, transport: provedDelivery(ports.transport, ports) };
  return {
    name: "message",
    idle_ms: 0,
    start: () => null,
    handlers: {
      Attempt: async (_, held) => {
        await workOn(held, (leased) => attemptMessage(dispatch, leased));
        return { reply: null };
      },
      Settle: async (_, read, key) => ({ reply: await followStatus(ports, key, read) }),
      Report: async () => ({ reply: await submitDueReports(ports) }),
    },
  };
}
