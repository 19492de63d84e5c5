/** The inbound path without actors: what arrives is stored at once. */
import { createInbound, storeArrival } from "../../../engine/documents/inbound/receive.js";
import type { InboundPorts } from "../../../engine/documents/inbound/receive.js";
import type { Receive } from "../../../engine/peppol/transport.js";

export const inboundAtOnce = (ports: InboundPorts): Receive =>
  createInbound(ports, (arrival) => storeArrival(ports, arrival));
