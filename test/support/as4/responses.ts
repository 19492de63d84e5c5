/** Statuses and responses read as the engine reads them, without a thread. */
import type { ResponseReader } from "../../../engine/documents/accept/facts.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { RESPONSE_LIMITS } from "../../../engine/peppol/responses/application-response.js";
import { readInvoiceResponse } from "../../../engine/peppol/responses/invoice-response.js";
import { readMls } from "../../../engine/peppol/responses/mls.js";
import { readResponse } from "../../../validators/responses.js";
import type { ResponseFacts } from "../../../validators/responses.js";

export const factsIn = (bytes: Uint8Array): ResponseFacts | undefined =>
  readResponse({ bytes, limits: RESPONSE_LIMITS, entriesMax: LIMITS.mls_issues_max });
export const mlsIn = (bytes: Uint8Array): ReturnType<typeof readMls> => readMls(factsIn(bytes));
export const invoiceResponseIn = (bytes: Uint8Array): ReturnType<typeof readInvoiceResponse> =>
  readInvoiceResponse(factsIn(bytes));

export const inlineReader: ResponseReader = { response: (payload) => Promise.resolve(factsIn(payload)) };
