/** The body by which the Connector creates a document. @source spec/rulings.md, section 11 */
import { z } from "zod";

import { parseParticipantId, whyUnreadable } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";

export const CONNECTOR_TYPES = ["invoice", "credit_note", "self_billing_invoice", "self_billing_credit_note"] as const;
export type ConnectorType = (typeof CONNECTOR_TYPES)[number];

const CONNECTOR_TREATMENTS = [
  "standard",
  "zero_rated",
  "reverse_charge",
  "exempt",
  "intra_community_supply",
  // The word of POST /documents/send.
  "intra_community",
  "export",
  "out_of_scope",
] as const;

/** What names a document, told apart from others by whoever reads it. */
const name = z
  .string()
  .trim()
  .min(1)
  .superRefine((value, context) => {
    const fault = whyUnreadable(value);
    if (value !== "" && fault !== undefined) context.addIssue({ code: "custom", message: fault });
  });
const text = z.string().trim().min(1).max(LIMITS.invoice_text_chars_max);
const decimal = z
  .union([z.number(), z.string().regex(/^-?\d{1,12}(\.\d{1,8})?$/u)])
  .describe("An exact decimal number; as text where it has more than 15 digits.");
const day = z.iso.date();

const recipient = z
  .object({
    country: z
      .string()
      .regex(/^[A-Z]{2}$/u)
      .describe("ISO 3166-1."),
    name: text.optional(),
    companyId: text.optional().describe("IČO."),
    taxId: text.optional().describe("DIČ; of a Slovak company also its IČO (8 digits) or IČ DPH (SK and 10 digits)."),
    vatId: text.optional().describe("IČ DPH."),
    networkId: z
      .string()
      .refine((value) => parseParticipantId(value) !== undefined, "must be a participant id, <scheme>:<id>")
      .optional()
      .describe("<scheme>:<id>."),
    address: z.object({ street: text.optional(), city: text.optional(), postalCode: text.optional() }).optional(),
  })
  .refine(
    ({ companyId, taxId, vatId, networkId }) => (companyId ?? taxId ?? vatId ?? networkId) !== undefined,
    "must name at least one of networkId, companyId, taxId and vatId",
  );

const prepayment = z.object({ amount: decimal, invoiceNumber: text.optional(), date: day.optional() });
const attachment = z.object({
  fileName: text,
  mimeType: text,
  content: z.string().min(1).describe("base64."),
  description: text.optional(),
});

const line = z.object({
  description: text,
  quantity: decimal,
  unit: text.optional().describe("A code of UNECE Recommendation 20 or 21, or a Slovak abbreviation; C62 when absent."),
  unitPrice: decimal.describe("Without tax."),
  vatRate: decimal.describe("Percent."),
  taxTreatment: z.enum(CONNECTOR_TREATMENTS).optional().describe("A rate of 0 needs it."),
  discount: decimal.optional().describe("Percent off the line."),
});

/** An invoice as an integrator's program says it. */
export const connectorCreateBody = z.object({
  customerRef: z.string().min(1),
  externalId: name
    .max(LIMITS.connector_external_id_chars_max)
    .describe("The document's id in the program that sends it."),
  delivery: z.enum(["send", "stage"]).optional().describe("send when absent; stage waits for send or cancel."),
  type: z.enum(CONNECTOR_TYPES).optional().describe("invoice when absent."),
  number: name.max(LIMITS.invoice_text_chars_max),
  buyerReference: text.optional(),
  precedingDocumentNumber: text.optional(),
  recipient,
  issueDate: day.optional(),
  dueDate: day.optional(),
  taxPointDate: day.optional(),
  deliveryDate: day.optional(),
  documentDiscountPercent: decimal.optional(),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/u)
    .optional()
    .describe("EUR when absent."),
  note: text.optional(),
  iban: text.optional(),
  paymentMethod: text.optional(),
  variableSymbol: text.optional(),
  prepaidAmount: decimal.optional(),
  prepayments: z.array(prepayment).max(LIMITS.invoice_prepayments_max).optional(),
  attachments: z.array(attachment).max(LIMITS.invoice_attachments_max).optional(),
  lines: z.array(line).min(1).max(LIMITS.invoice_lines_max),
});
