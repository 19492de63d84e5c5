/** Writes a draft as UBL 2.1 of Peppol BIS Billing or Self-Billing 3.0. */
import { participantParts } from "../base/ids.js";
import type { Draft, Line, LineVat, Party } from "./draft.js";
import { exactText } from "./exact.js";
import { DISCOUNT, DOCUMENT_KINDS, ICO_SCHEME, PAYMENT_UNDEFINED, SLOVAK_SCHEME, VAT_CATEGORIES } from "./terms.js";
import { lineNet, totalsOf } from "./totals.js";
import { leaf, money, tree } from "./xml.js";

type Totals = ReturnType<typeof totalsOf>;

const SCHEMA = "urn:oasis:names:specification:ubl:schema:xsd";
const VAT = tree("TaxScheme", leaf("ID", "VAT"));
const REASON = leaf("AllowanceChargeReasonCode", DISCOUNT.code) + leaf("AllowanceChargeReason", DISCOUNT.reason);

export function writeUbl(draft: Draft): string {
  const { root } = DOCUMENT_KINDS[draft.kind];
  const totals = totalsOf(draft);
  const content = [
    headOf(draft),
    ...draft.precedingInvoices.map(({ number, date }) =>
      tree("BillingReference", tree("InvoiceDocumentReference", leaf("ID", number), leaf("IssueDate", date))),
    ),
    ...draft.attachments.map(({ fileName, mimeType, content: bytes, description }) =>
      tree(
        "AdditionalDocumentReference",
        leaf("ID", fileName),
        leaf("DocumentDescription", description),
        tree("Attachment", leaf("EmbeddedDocumentBinaryObject", bytes, { mimeCode: mimeType, filename: fileName })),
      ),
    ),
    tree("AccountingSupplierParty", partyOf(draft.seller, draft, "seller")),
    tree("AccountingCustomerParty", partyOf(draft.buyer, draft, "buyer")),
    deliveryOf(draft),
    paymentOf(draft),
    tree("PaymentTerms", leaf("Note", draft.paymentTerms)),
    ...allowancesOf(draft, totals),
    taxOf(draft, totals),
    sumsOf(draft, totals),
    ...draft.lines.map((line, index) => lineOf(draft, line, index)),
  ];
  const names = `xmlns="${SCHEMA}:${root}-2" xmlns:cac="${SCHEMA}:CommonAggregateComponents-2" xmlns:cbc="${SCHEMA}:CommonBasicComponents-2"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root} ${names}>\n${content.filter((part) => part !== "").join("\n")}\n</${root}>\n`;
}

/** Invoice and CreditNote order these members differently. */
function headOf(draft: Draft): string {
  const { customization, profile, root, typeCode } = DOCUMENT_KINDS[draft.kind];
  const isInvoice = root === "Invoice";
  return [
    leaf("CustomizationID", customization),
    leaf("ProfileID", profile),
    leaf("ID", draft.number),
    leaf("IssueDate", draft.issueDate),
    isInvoice ? leaf("DueDate", draft.dueDate) : leaf("TaxPointDate", draft.taxPointDate),
    leaf(`${root}TypeCode`, typeCode),
    leaf("Note", draft.note),
    isInvoice ? leaf("TaxPointDate", draft.taxPointDate) : "",
    leaf("DocumentCurrencyCode", draft.currency),
    leaf("BuyerReference", draft.buyerReference),
  ].join("");
}

const isOutsideVat = ({ lines }: Draft): boolean => lines.some(({ category }) => category === "O");

function partyOf(party: Party, draft: Draft, role: "seller" | "buyer"): string {
  const endpoint = party.participant === undefined ? undefined : participantParts(party.participant);
  // An invoice outside VAT must not name VAT ids.
  const vatId = isOutsideVat(draft) ? undefined : party.icDph;
  const isSlovak = party.country === "SK";
  const dicScheme = isSlovak ? SLOVAK_SCHEME : undefined;
  return tree(
    "Party",
    leaf("EndpointID", endpoint?.value, { schemeID: endpoint?.scheme }),
    role === "buyer" ? tree("PartyIdentification", leaf("ID", party.dic, { schemeID: dicScheme })) : "",
    tree(
      "PostalAddress",
      leaf("StreetName", party.street),
      leaf("CityName", party.city),
      leaf("PostalZone", party.postalCode),
      tree("Country", leaf("IdentificationCode", party.country)),
    ),
    vatId === undefined ? "" : tree("PartyTaxScheme", leaf("CompanyID", vatId), VAT),
    role === "buyer" || party.dic === undefined
      ? ""
      : tree("PartyTaxScheme", leaf("CompanyID", party.dic), tree("TaxScheme", leaf("ID", "TAX"))),
    tree(
      "PartyLegalEntity",
      leaf("RegistrationName", party.name),
      leaf("CompanyID", party.ico, { schemeID: isSlovak ? ICO_SCHEME : undefined }),
    ),
  );
}

/** Where goods go is asked for by supplies within the union. */
function deliveryOf({ deliveryDate, lines, buyer }: Draft): string {
  const crosses = lines.some(({ category }) => category === "K");
  const country = crosses ? tree("Country", leaf("IdentificationCode", buyer.country)) : "";
  return tree("Delivery", leaf("ActualDeliveryDate", deliveryDate), tree("DeliveryLocation", tree("Address", country)));
}

/** A credit note has its due date here. */
function paymentOf({ kind, dueDate, payment }: Draft): string {
  const dueHere = DOCUMENT_KINDS[kind].root === "CreditNote" ? dueDate : undefined;
  if (payment === undefined && dueHere === undefined) return "";
  return tree(
    "PaymentMeans",
    leaf("PaymentMeansCode", payment?.code ?? PAYMENT_UNDEFINED),
    leaf("PaymentDueDate", dueHere),
    leaf("PaymentID", payment?.variableSymbol),
    tree("PayeeFinancialAccount", leaf("ID", payment?.iban)),
  );
}

/** Category O has no rate. */
const categoryOf = (element: string, { category, rate }: LineVat, exemption = ""): string =>
  tree(element, leaf("ID", category), category === "O" ? "" : leaf("Percent", rate), exemption, VAT);

function allowancesOf({ currency, discount }: Draft, { groups }: Totals): readonly string[] {
  if (discount === undefined || discount.coefficient === 0n) return [];
  return groups.map((group) =>
    tree(
      "AllowanceCharge",
      leaf("ChargeIndicator", "false"),
      REASON,
      leaf("MultiplierFactorNumeric", exactText(discount)),
      money("Amount", group.allowance, currency),
      money("BaseAmount", group.lines, currency),
      categoryOf("TaxCategory", group),
    ),
  );
}

function taxOf({ currency }: Draft, { groups, tax }: Totals): string {
  return tree(
    "TaxTotal",
    money("TaxAmount", tax, currency),
    ...groups.map((group) => {
      const { exemption } = VAT_CATEGORIES[group.category];
      return tree(
        "TaxSubtotal",
        money("TaxableAmount", group.taxable, currency),
        money("TaxAmount", group.tax, currency),
        categoryOf(
          "TaxCategory",
          group,
          leaf("TaxExemptionReasonCode", exemption?.code) + leaf("TaxExemptionReason", exemption?.reason),
        ),
      );
    }),
  );
}

function sumsOf({ currency, discount, prepaid }: Draft, totals: Totals): string {
  const isDiscounted = discount !== undefined && discount.coefficient !== 0n;
  return tree(
    "LegalMonetaryTotal",
    money("LineExtensionAmount", totals.lines, currency),
    money("TaxExclusiveAmount", totals.taxExclusive, currency),
    money("TaxInclusiveAmount", totals.taxInclusive, currency),
    isDiscounted ? money("AllowanceTotalAmount", totals.allowances, currency) : "",
    prepaid === 0n ? "" : money("PrepaidAmount", prepaid, currency),
    money("PayableAmount", totals.payable, currency),
  );
}

function lineOf({ kind, currency }: Draft, line: Line, index: number): string {
  const names = DOCUMENT_KINDS[kind];
  const { discount } = line;
  return tree(
    names.line,
    leaf("ID", String(index + 1)),
    leaf(names.quantity, exactText(line.quantity), { unitCode: line.unit }),
    money("LineExtensionAmount", lineNet(line), currency),
    discount === undefined
      ? ""
      : tree(
          "AllowanceCharge",
          leaf("ChargeIndicator", "false"),
          REASON,
          leaf("MultiplierFactorNumeric", exactText(discount)),
          money("Amount", line.discountAmount, currency),
          money("BaseAmount", line.gross, currency),
        ),
    tree("Item", leaf("Name", line.description), categoryOf("ClassifiedTaxCategory", line)),
    tree("Price", leaf("PriceAmount", exactText(line.unitPrice), { currencyID: currency })),
  );
}
