/** The rows of the public listener without an engine behind them: for tests of what is published, not of what it does. */
import { openApiDocuments } from "../../../gateway/contract/openapi.js";
import { webRoutes } from "../../../gateway/routes/web.js";
import { describedOperations } from "../../../gateway/start/operations.js";

export const publishedRows = describedOperations();
export const publishedDocuments = openApiDocuments(publishedRows);
export const referenceRows = webRoutes({
  document: (name) => publishedDocuments[name],
  sampleInvoice: () => "<Invoice/>",
  isMadeAtStart: true,
});
