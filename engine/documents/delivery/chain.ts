/**
 * What stands between an attempt and the network, composed here and nowhere else: "I have this already" is doubted.
 * What is left of it is recorded for the reports by the statement that ends the attempt, so that no exchange is
 * reported that we do not believe in.
 */
import { errorFields } from "../../base/log.js";
import { withoutEvidence } from "../../peppol/transport.js";
import type { Transport } from "../../peppol/transport.js";
import { chainEvidence } from "../../storage/evidence/evidence.js";
import { doubtHandover } from "./handover.js";
import type { HandoverPorts } from "./handover.js";

/**
 * The way of customers' documents and of our own messages.
 * @param transport the bare way to another access point, AS4 or loopback
 */
export const delivery = (transport: Transport, ports: HandoverPorts): Transport => doubtHandover(transport, ports);

/**
 * The same for a message whose end does not write its evidence: the record has its place in the chain before the
 * outcome is told. An exchange whose record has none proves nothing.
 */
export const provedDelivery = (transport: Transport, ports: HandoverPorts): Transport =>
  delivery(
    {
      deliver: async (exchange, signal) => {
        const { evidence, ...outcome } = await transport.deliver(exchange, signal);
        if (evidence === undefined) return outcome;
        try {
          await chainEvidence(ports.sql, evidence);
          return outcome;
        } catch (error) {
          ports.log.error("as4.evidence_not_stored", { documentId: exchange.documentId, ...errorFields(error) });
          return withoutEvidence(outcome);
        }
      },
    },
    ports,
  );
