/** What proves a document's way, and what support needs of it, in the Connector's words and with its own links. */
import { connectorState } from "../../lifecycle/connector.js";
import type { ConnectorState } from "../../lifecycle/connector.js";
import { findConnectorStanding } from "../../storage/documents/connector.js";
import { orNotFound } from "../../storage/sql.js";
import { readDocumentEvidence } from "../reads/evidence.js";
import { readSupportPacket } from "../reads/support-packet.js";
import type { Customer } from "./reads.js";

type EvidencePorts = Parameters<typeof readDocumentEvidence>[0];
type PacketPorts = Parameters<typeof readSupportPacket>[0];
type Evidence = Awaited<ReturnType<typeof readDocumentEvidence>>;

/** The state of a document that the firm may see. @throws Refusal NOT_FOUND, TEMPORARY */
async function stateOf({ sql }: Pick<EvidencePorts, "sql">, { firmId }: Customer, id: string): Promise<ConnectorState> {
  return connectorState(await orNotFound(findConnectorStanding(sql, firmId, id)));
}

/** A key for the Connector reads no other interface: it is led to nothing there. */
const shownAs = (evidence: Evidence, state: ConnectorState, { customerRef }: Customer) => ({
  ...evidence,
  state,
  links: {
    self: `/api/v1/connector/documents/${evidence.documentId}/evidence?customerRef=${encodeURIComponent(customerRef)}`,
  },
});

/**
 * The evidence of a document, sent or received.
 * @throws Refusal NOT_FOUND, TEMPORARY
 * @source spec/rulings.md, section 11, Evidence and States
 */
export async function readConnectorEvidence(ports: EvidencePorts, customer: Customer, id: string) {
  const state = await stateOf(ports, customer, id);
  return shownAs(await readDocumentEvidence(ports, customer.firmId, id), state, customer);
}

/** The support packet of a document, sent or received. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readConnectorPacket(ports: PacketPorts, customer: Customer, id: string) {
  const state = await stateOf(ports, customer, id);
  const packet = await readSupportPacket(ports, customer.firmId, id);
  return { ...packet, status: state, evidence: shownAs(packet.evidence, state, customer) };
}
