/** The rows of the public listener without an engine behind them: for tests of what is published, not of what it does. */
import { openApiDocuments } from "../../gateway/openapi.js";
import { apiRoutes } from "../../gateway/rows.js";
import type { PublicPorts } from "../../gateway/rows.js";
import { webRoutes } from "../../gateway/routes/web.js";

/** Whatever is asked of it, it gives itself. */
const nothing: PublicPorts = new Proxy({} as PublicPorts, { get: () => nothing });

export const publishedRows = apiRoutes(nothing);
export const publishedDocuments = openApiDocuments(publishedRows);
export const referenceRows = webRoutes(publishedDocuments);
