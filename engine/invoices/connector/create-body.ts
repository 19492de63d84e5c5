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
const DECIMAL = "must be a number such as 23.90: a point, at most 12 digits before and 8 behind it, and no spaces";
const decimal = z
  .union([z.number(), z.string().regex(/^-?\d{1,12}(\.\d{1,8})?$/u, DECIMAL)], {
    error: ({ input }) => (input === undefined ? undefined : DECIMAL),
  })
  .describe("An exact decimal number; as text where it has more than 15 digits.");
const day = z.iso.date();

/** A member that may be left out, and is where it is blank: forms of programs send "" for what nobody filled in. */
const unlessBlank = <Member extends z.ZodType>(member: Member) =>
  z.preprocess((value) => (typeof value === "string" && value.trim() === "" ? undefined : value), member.optional());

const recipient = z
  .object({
    country: z
      .string()
      .regex(/^[A-Z]{2}$/u, "must be a country's code of two capitals, such as SK")
      .describe("ISO 3166-1."),
    name: unlessBlank(text),
    companyId: unlessBlank(text).describe("IČO."),
    taxId: unlessBlank(text).describe("DIČ; of a Slovak company also its IČO (8 digits) or IČ DPH (SK and 10 digits)."),
    vatId: unlessBlank(text).describe("IČ DPH."),
    networkId: unlessBlank(
      z
        .string()
        .refine(
          (value) => parseParticipantId(value) !== undefined,
          "must be a participant id, <scheme>:<id>, such as 0245:2020202020",
        ),
    ).describe("<scheme>:<id>."),
    address: z.object({ street: unlessBlank(text), city: unlessBlank(text), postalCode: unlessBlank(text) }).optional(),
  })
  .refine(
    ({ companyId, taxId, vatId, networkId }) => (companyId ?? taxId ?? vatId ?? networkId) !== undefined,
    "must name at least one of networkId, companyId, taxId and vatId",
  );

const prepayment = z.object({ amount: decimal, invoiceNumber: unlessBlank(text), date: unlessBlank(day) });
const attachment = z.object({
  fileName: text,
  mimeType: text,
  content: z.string().min(1).describe("base64."),
  description: unlessBlank(text),
});

const line = z.object({
  description: text,
  quantity: decimal,
  unit: unlessBlank(text).describe(
    "A code of UNECE Recommendation 20 or 21, or a Slovak abbreviation; C62 when absent.",
  ),
  unitPrice: decimal.describe("Without tax."),
  vatRate: decimal.describe("Percent."),
  taxTreatment: unlessBlank(z.enum(CONNECTOR_TREATMENTS)).describe("A rate of 0 needs it."),
  discount: unlessBlank(decimal).describe("Percent off the line."),
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
  buyerReference: unlessBlank(text),
  precedingDocumentNumber: unlessBlank(text),
  recipient,
  issueDate: unlessBlank(day),
  dueDate: unlessBlank(day),
  taxPointDate: unlessBlank(day),
  deliveryDate: unlessBlank(day),
  documentDiscountPercent: unlessBlank(decimal),
  currency: unlessBlank(
    z.string().regex(/^[A-Z]{3}$/u, "must be a currency's code of three capitals, such as EUR"),
  ).describe("EUR when absent."),
  note: unlessBlank(text),
  iban: unlessBlank(text),
  paymentMethod: unlessBlank(text),
  variableSymbol: unlessBlank(text),
  prepaidAmount: unlessBlank(decimal),
  prepayments: z.array(prepayment).max(LIMITS.invoice_prepayments_max).optional(),
  attachments: z.array(attachment).max(LIMITS.invoice_attachments_max).optional(),
  lines: z.array(line).min(1).max(LIMITS.invoice_lines_max),
});
