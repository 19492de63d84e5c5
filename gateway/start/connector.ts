/** What the operations of the Connector are made of. */
import { LIMITS } from "../../engine/base/limits.js";
import { budget } from "../../engine/base/memory/budgets.js";
import { createOctets } from "../../engine/base/memory/octets.js";
import { createDocument } from "../../engine/documents/connector/create.js";
import type { CreateBody } from "../../engine/documents/connector/create.js";
import {
  readConnectorDocument,
  readConnectorDocuments,
  readConnectorUbl,
} from "../../engine/documents/connector/reads.js";
import type { ConnectorAsked, ConnectorGiving, Customer } from "../../engine/documents/connector/reads.js";
import { readConnectorEvidence, readConnectorPacket } from "../../engine/documents/connector/records.js";
import type { StagedStep } from "../../engine/documents/connector/staged.js";
import { stampOf } from "../../engine/identity/audit.js";
import type { Actor } from "../../engine/identity/audit.js";
import { readConnectorEvents } from "../../engine/documents/connector/events.js";
import type { ConnectorEventsAsked } from "../../engine/documents/connector/events.js";
import type { Giving } from "../../engine/documents/inbound/inbox.js";
import { inboxPorts, sendPorts } from "./documents.js";
import type { DocumentParts } from "./documents.js";
import type { LookupParts } from "./lookup.js";

interface ConnectorParts extends DocumentParts {
  readonly lookups: LookupParts;
}

/** Documents: handed over by the path of all documents; what was staged is moved by the actor of the document. */
export const connectorDocumentPorts = (parts: ConnectorParts) => {
  const room = createOctets(budget("connector_reads_bytes_max"), LIMITS.connector_reads_waiting_max);
  return {
    create: (body: CreateBody, facts: Parameters<typeof createDocument>[2]) =>
      createDocument(
        { find: (company) => parts.lookups.directory.find(company), send: sendPorts(parts).send },
        body,
        facts,
      ),
    documents: (customer: Customer, asked: ConnectorAsked) =>
      readConnectorDocuments({ ...parts, room }, customer, asked),
    document: (customer: Customer, id: string, giving?: ConnectorGiving) =>
      readConnectorDocument({ ...parts, room }, customer, id, giving),
    operate: ({ id, ...step }: Omit<StagedStep, "audit">, actor: Actor) =>
      parts.actors.ask(parts.document, id, "OperateStaged", { ...step, audit: stampOf(actor, parts.clock) }),
  };
};

/** What belongs to a document, sent or received. */
export const connectorRecordPorts = (parts: ConnectorParts) => ({
  ubl: (customer: Customer, id: string, giving: Giving) => readConnectorUbl(parts, customer, id, giving),
  evidence: (customer: Customer, id: string) => readConnectorEvidence(parts, customer, id),
  supportPacket: (customer: Customer, id: string) => readConnectorPacket(parts, customer, id),
  events: (customer: Customer, asked: ConnectorEventsAsked) => readConnectorEvents(parts, customer, asked),
  acknowledge: inboxPorts(parts).acknowledge,
});
