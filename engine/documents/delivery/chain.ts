/**
 * What stands between an attempt and the network, composed here and nowhere else: "I have this already" is doubted.
 * What is left of it is recorded for the reports by the statement that ends the attempt, so that no exchange is
 * reported that we do not believe in.
 */
import type { Log } from "../../base/log.js";
import type { Transport } from "../../peppol/transport.js";
import type { Sql } from "../../storage/sql.js";
import { doubtHandover } from "./handover.js";

/**
 * The way of customers' documents and of our own messages.
 * @param transport the bare way to another access point, AS4 or loopback
 */
export const delivery = (transport: Transport, ports: { readonly sql: Sql; readonly log: Log }): Transport =>
  doubtHandover(transport, ports);
