/** What proves a document's way over the network, as every interface shows it. */
import { z } from "zod";

import { MLS_VIEW_STATES } from "./evidence-mls.js";
import { OUTBOUND_STATES } from "../../lifecycle/document.js";
import { INBOUND_STATES } from "../../lifecycle/received.js";
import { RESPONSE_CODES } from "../../lifecycle/response.js";
import { MLS_CODES, MLS_REASONS } from "../../peppol/responses/mls.js";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const mlsView = z.object({
  direction: z.enum(["received", "sent"]),
  state: z.enum(MLS_VIEW_STATES),
  code: z
    .string()
    .meta({ openapi: { type: "string", enum: [...MLS_CODES] } })
    .nullable(),
  reasonCodes: z.array(z.enum(MLS_REASONS)),
  description: z.string().nullable(),
  issuedAt: z.iso.datetime().nullable(),
  receivedAt: z.iso.datetime().nullable(),
  deliveredAt: z.iso.datetime().nullable(),
  sha256: sha256.nullable(),
});
/** A path on this server. */
export const link = z.string().meta({ format: "uri-reference" });
/** The evidence of one document; each interface has links of its own. @source spec/rulings.md, section 11, Evidence */
export const evidenceMembers = z.object({
  documentId: z.uuid(),
  state: z.string().meta({ openapi: { type: "string", enum: [...OUTBOUND_STATES, ...INBOUND_STATES] } }),
  as4MessageId: z.string(),
  sentAt: z.iso.datetime().nullable(),
  deliveredAt: z.iso.datetime().nullable(),
  receipt: z.object({ sha256, receivedAt: z.iso.datetime() }).nullable(),
  envelope: z.object({ sha256, bytes: z.number().int(), storedAt: z.iso.datetime() }).nullable(),
  chain: z.object({ index: z.number().int(), hash: sha256, previousHash: sha256 }).nullable(),
  mls: mlsView.nullable(),
  invoiceResponse: z
    .object({ status: z.string().meta({ openapi: { type: "string", enum: [...RESPONSE_CODES] } }) })
    .nullable(),
});
