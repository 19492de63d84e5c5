/**
 * What stands between an attempt and the network, composed here and nowhere else: first "I have this already" is
 * doubted, then what is left of it is recorded for the reports, so that no exchange is reported that we do not believe
 * in.
 */
import type { Clock } from "../../base/clock.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { Transport } from "../../peppol/transport.js";
import { recordOutgoing } from "../../storage/documents/exchanges.js";
import { isPassing } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { TRANSPORT_PROFILE } from "../provider.js";
import type { Provider } from "../provider.js";
import { doubtHandover } from "./handover.js";

interface ChainPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly provider: Provider;
}

/** The way of customers' documents. @param transport  the bare way to another access point, AS4 or loopback */
export const documentDelivery = (transport: Transport, ports: ChainPorts): Transport =>
  recordingExchanges(doubtHandover(transport, ports), ports);

/** The way of our own messages: the statement that ends their attempt records their exchange too. */
export const messageDelivery = (transport: Transport, ports: Pick<ChainPorts, "sql" | "log">): Transport =>
  doubtHandover(transport, ports);

/**
 * The transport of documents, with a row for the reports at each receipt. A receipt that cannot be recorded because
 * Postgres is away is no outcome yet: the attempt is repeated, and the peer answers that it has the message.
 */
function recordingExchanges(transport: Transport, ports: ChainPorts): Transport {
  const { sql, clock, log, provider } = ports;
  return {
    deliver: async (exchange, signal) => {
      const outcome = await transport.deliver(exchange, signal);
      if (outcome.kind !== "receipt" && outcome.kind !== "already_handed_over") return outcome;
      try {
        await recordOutgoing(sql, {
          id: exchange.documentId,
          c2Seat: provider.seat,
          c3Seat: outcome.peerSeat ?? provider.seat,
          transportProfile: TRANSPORT_PROFILE,
          c1Country: exchange.countryC1,
          exchangedAt: clock.now(),
        });
        return outcome;
      } catch (error) {
        log.error("reports.exchange_not_recorded", {
          documentId: exchange.documentId,
          ...errorFields(error),
        });
        return isPassing(error) ? { kind: "internal", code: "UNRECORDED" } : outcome;
      }
    },
  };
}
