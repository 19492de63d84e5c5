/** Every row of the public listener: what the server routes by and the OpenAPI documents are drawn from. */
import type { Route } from "./route.js";
import { authRoutes, type TokenPorts } from "./routes/auth.js";
import { type DocumentPorts, documentRoutes } from "./routes/documents.js";
import { type SapiPorts, sapiRoutes } from "./routes/sapi.js";

export interface PublicPorts {
  readonly tokens: TokenPorts;
  readonly sapi: SapiPorts;
  readonly documents: DocumentPorts;
}

/** The rows that make up the published contract. */
export const apiRoutes = (ports: PublicPorts): readonly Route[] => [...authRoutes(ports.tokens), ...sapiRoutes(ports.sapi), ...documentRoutes(ports.documents)];

/** All rows of the public listener. */
export const publicRoutes = (ports: PublicPorts): readonly Route[] => apiRoutes(ports);
