/** Every row of the public listener: what the server routes by and the OpenAPI documents are drawn from. */
import { openApiDocuments } from "./openapi.js";
import type { SmpServer } from "../../engine/peppol/discovery/smp-server.js";
import type { Route } from "./route.js";
import { authRoutes } from "../routes/auth.js";
import type { TokenPorts } from "../routes/auth.js";
import { connectorRoutes } from "../routes/connector.js";
import type { ConnectorPorts } from "../routes/connector.js";
import { documentRoutes } from "../routes/documents.js";
import type { DocumentPorts } from "../routes/documents.js";
import { as4Routes, evidenceRoutes } from "../routes/peppol.js";
import type { As4Ports, EvidencePorts } from "../routes/peppol.js";
import { reportingRoutes } from "../routes/reporting.js";
import type { ReportingPorts } from "../routes/reporting.js";
import { sapiRoutes } from "../routes/sapi.js";
import type { SapiPorts } from "../routes/sapi.js";
import { smpRoutes } from "../routes/smp.js";
import { validationRoutes } from "../routes/validation.js";
import type { ValidationPorts } from "../routes/validation.js";
import { webRoutes } from "../routes/web.js";

export interface PublicPorts {
  readonly tokens: TokenPorts;
  readonly sapi: SapiPorts;
  readonly documents: DocumentPorts;
  readonly connector: ConnectorPorts;
  readonly validation: ValidationPorts;
  readonly evidence: EvidencePorts;
  readonly reporting: ReportingPorts;
}

/** What other service providers call. */
export interface NetworkPorts {
  readonly as4: As4Ports;
  readonly smp: SmpServer;
}

/** The rows that make up the published contract. */
export const apiRoutes = (ports: PublicPorts): readonly Route[] => [
  ...authRoutes(ports.tokens),
  ...sapiRoutes(ports.sapi),
  ...documentRoutes(ports.documents),
  ...connectorRoutes(ports.connector),
  ...validationRoutes(ports.validation),
  ...evidenceRoutes(ports.evidence),
  ...reportingRoutes(ports.reporting),
];

/** All rows of the public listener: the contract, the pages and documents that describe it, and the network's doors. */
export const publicRoutes = (ports: PublicPorts, network?: NetworkPorts): readonly Route[] => {
  const rows = apiRoutes(ports);
  return [
    ...rows,
    ...webRoutes(openApiDocuments(rows)),
    ...(network === undefined ? [] : [...as4Routes(network.as4), ...smpRoutes(network.smp)]),
  ];
};

const never = (): never => {
  throw new Error("this row only describes its operation");
};

/** Ports for those who read the rows and never call them. */
export const UNPLUGGED: PublicPorts = {
  tokens: { issueTokens: never, renewTokens: never, revokeToken: never, jwks: never },
  sapi: { send: never, inbox: { list: never, read: never }, acknowledge: never },
  documents: { status: never, events: never },
  connector: { respond: never },
  validation: { report: never, parse: never },
  evidence: { evidence: never, envelope: never },
  reporting: { statistics: never, submissions: never },
};
