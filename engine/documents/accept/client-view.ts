/** A document under the names by which clients send an invoice as JSON. @source spec/rulings.md, section 13 */
import { exactOf, exactText, product, quotient } from "../../invoices/exact.js";
import { DOCUMENT_KINDS } from "../../invoices/terms.js";
import type { InvoiceKind } from "../../invoices/terms.js";
import type { DocumentSummary } from "./validators.js";

/** What /payloads/parse says beside the summary; who bills itself receives from its seller. */
export function clientViewOf(read: DocumentSummary) {
  const kind = kindOf(read);
  const receiver = kind !== null && DOCUMENT_KINDS[kind].isSelfBilling ? read.supplier : read.customer;
  return {
    invoice: {
      documentType: kind,
      invoiceNumber: read.number,
      issueDate: read.issueDate,
      dueDate: read.dueDate,
      taxPointDate: read.taxPointDate,
      deliveryDate: read.deliveryDate,
      currency: read.currency,
      buyerReference: read.buyerReference,
      precedingInvoiceRef: read.precedingInvoices[0] ?? null,
      supplierName: read.supplier.name,
      supplierPeppolId: read.supplier.participantId,
      supplierIco: read.supplier.companyId,
      supplierIcDph: read.supplier.vatId,
      supplierCountry: read.supplier.country,
      receiverName: receiver.name,
      receiverPeppolId: receiver.participantId,
      receiverIco: receiver.companyId,
      receiverIcDph: receiver.vatId,
      receiverCountry: receiver.country,
      totalAmount: read.totals.payable,
      items: read.lines.map((line) => ({
        description: line.name,
        quantity: line.quantity,
        unit: line.unitCode,
        unitPrice: unitPriceOf(line),
        vatRate: line.taxPercent,
        vatCategoryCode: line.taxCategory,
      })),
    },
    extras: {
      customizationId: read.customizationId,
      profileId: read.profileId,
      typeCode: read.typeCode,
      orderReference: read.orderReference,
      totals: read.totals,
    },
    allowances: [...read.allowances],
  };
}

const KINDS = Object.keys(DOCUMENT_KINDS) as InvoiceKind[];
const BY_ROOT = { Invoice: "invoice", CreditNote: "credit_note", ApplicationResponse: null } as const;

/** A document of a code that is none of ours is what its root says. */
const kindOf = ({ documentType, typeCode }: DocumentSummary): InvoiceKind | null =>
  KINDS.find((kind) => DOCUMENT_KINDS[kind].root === documentType && DOCUMENT_KINDS[kind].typeCode === typeCode) ??
  BY_ROOT[documentType];

/** The price of a hundred is no price of a piece; null where the quotient has more decimals than are exact. */
function unitPriceOf({ price, baseQuantity }: DocumentSummary["lines"][number]): string | null {
  if (price === null || baseQuantity === null) return price;
  const [whole, base] = [exactOf(price), exactOf(baseQuantity)];
  if (whole === undefined || base === undefined) return null;
  if (exactText(base) === "1") return price;
  const one = quotient(whole, base);
  return one !== undefined && exactText(product(one, base)) === exactText(whole) ? exactText(one) : null;
}
