/** The rows of the public listener without an engine behind them: for tests of what is published, not of what it does. */
import { openApiDocuments } from "../../gateway/contract/openapi.js";
import { UNPLUGGED, apiRoutes } from "../../gateway/contract/rows.js";
import { webRoutes } from "../../gateway/routes/web.js";

export const publishedRows = apiRoutes(UNPLUGGED);
export const publishedDocuments = openApiDocuments(publishedRows);
export const referenceRows = webRoutes(publishedDocuments);
