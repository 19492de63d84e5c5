/** What an event tells of its document, as it is polled and as it was pushed. */
import { z } from "zod";

import { RESPONSE_STATUSES } from "../../lifecycle/response.js";

/** An answer to an invoice in the Connector's words. @source spec/rulings.md, section 11, Document */
export const connectorAnswer = z.object({
  status: z.enum(RESPONSE_STATUSES),
  direction: z.enum(["sent", "received"]),
  reason: z.string().nullable(),
  respondedAt: z.iso.datetime().nullable(),
});

/** @source spec/rulings.md, section 11, Events */
export const connectorEventData = z.object({
  direction: z.enum(["outbound", "inbound"]),
  type: z.string().nullable(),
  number: z.string().nullable(),
  response: connectorAnswer
    .nullable()
    .describe("The answer that stood when it happened. An answer itself is no event: it is read from the document."),
});
