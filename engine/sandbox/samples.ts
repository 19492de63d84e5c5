/** Documents that reach a firm of the sandbox from outside: an invoice, a credit note, and one that breaks a rule. */
import { bratislavaDay } from "../base/clock.js";
import type { Clock } from "../base/clock.js";
import { newId } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";
import { buildInvoice } from "../invoices/build.js";
import { BILLING_CAPABILITIES } from "../peppol/envelope/identifiers.js";
import { SANDBOX_SELLER } from "./fates.js";
import type { Posting } from "./posting.js";

export const SAMPLE_KINDS = ["invoice", "credit_note", "broken"] as const;
export type SampleKind = (typeof SAMPLE_KINDS)[number];

const SELLER = {
  participant: SANDBOX_SELLER,
  name: "Skúšobný dodávateľ s. r. o.",
  ico: "99000033",
  dic: "2199000001",
  icDph: "SK2199000001",
  street: "Skúšobná 1",
  city: "Košice",
  postalCode: "040 01",
  country: "SK",
} as const;

/** What of each kind differs. The amount due of a broken one fits no sum: BR-CO-16. */
const KINDS: Readonly<
  Record<SampleKind, { readonly documentType: "invoice" | "credit_note"; readonly spoil: (ubl: string) => string }>
> = {
  invoice: { documentType: "invoice", spoil: (ubl) => ubl },
  credit_note: { documentType: "credit_note", spoil: (ubl) => ubl },
  broken: {
    documentType: "invoice",
    spoil: (ubl) => ubl.replace(/(<cbc:PayableAmount[^>]*>)[^<]*/u, (_, open: string) => `${open}0.01`),
  },
};

/** @throws Error when the sample is none: a bug */
export function samplePosting(
  { to, kind, lines }: { readonly to: ParticipantId; readonly kind: SampleKind; readonly lines: number },
  clock: Clock,
): Posting {
  const { documentType, spoil } = KINDS[kind];
  const day = bratislavaDay(clock.now());
  const number = `S-${newId(clock)}`;
  const { ubl, problems } = buildInvoice(
    {
      documentType,
      invoiceNumber: number,
      issueDate: day,
      dueDate: day,
      receiverPeppolId: to,
      receiverName: `Príjemca ${to}`,
      receiverStreet: "Hlavná 1",
      receiverCity: "Bratislava",
      receiverPostalCode: "811 01",
      receiverCountry: "SK",
      buyerReference: "SANDBOX",
      ...(documentType === "credit_note" ? { precedingInvoiceRef: `S-${day}` } : {}),
      items: Array.from({ length: lines }, (_, index) => ({
        description: `Skúšobná položka ${index + 1}`,
        quantity: "1",
        unit: "ks",
        unitPrice: String(10 + (index % 90)),
        vatRate: "23",
      })),
    },
    SELLER,
  );
  const type = BILLING_CAPABILITIES.find(({ documentTypeId }) =>
    documentTypeId.includes(documentType === "invoice" ? "::Invoice##" : "::CreditNote##"),
  );
  if (ubl === undefined || type === undefined)
    throw new Error(`the sandbox's sample is wrong: ${problems.map(({ field }) => field).join(", ")}`);
  return { from: SANDBOX_SELLER, to, ...type, payload: Buffer.from(spoil(ubl.toString("utf8")), "utf8") };
}
