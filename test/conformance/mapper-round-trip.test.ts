/**
 * Goal: what an official example says survives the way UBL → mapper → create body → builder → UBL, and what does not is
 * told by the answer or stands in the table below.
 * Method: every value of the example, by its path, is looked for in the UBL that was built.
 */
import { expect, test } from "vitest";

import type { ParticipantId } from "../../engine/base/ids.js";
import { buildInvoice } from "../../engine/invoices/build.js";
import { connectorCreateBody } from "../../engine/invoices/connector/create-body.js";
import { invoiceOfBody } from "../../engine/invoices/connector/to-invoice.js";
import type { Party } from "../../engine/invoices/draft.js";
import { mapSource } from "../../engine/invoices/mapper/map.js";
import { validateDocument } from "../../validators/validate.js";
import { childElements, parseXml } from "../../validators/xml/tree.js";
import type { XmlElement } from "../../validators/xml/tree.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";

const FOLDER = "documents/peppol-3.0.21";

/** Paths that a create body does not carry and the mapper does not name: they are the sender's, or follow from others. */
const NOT_CARRIED: readonly (readonly [path: RegExp, why: string])[] = [
  [/^AccountingSupplierParty\./u, "the sender is the firm, as the engine knows it"],
  [/^(CustomizationID|ProfileID)$/u, "the type of the document decides"],
  [/^(InvoiceTypeCode)$/u, "a corrective or other invoice is sent as an invoice"],
  [/AllowanceCharge\./u, "discounts are percentages; other allowances and all charges are lines, with the same sums"],
  [
    /^LegalMonetaryTotal\.(LineExtensionAmount|AllowanceTotalAmount|ChargeTotalAmount)$/u,
    "allowances and charges became lines",
  ],
  [/^TaxTotal\.TaxSubtotal\.TaxCategory\.TaxExemptionReason(Code)?$/u, "the builder writes the reason of the category"],
  [/^(Invoice|CreditNote)Line\.(ID|LineExtensionAmount)$/u, "lines are counted anew, and computed"],
  [/^(Invoice|CreditNote)Line\.Price\.BaseQuantity$/u, "a price is for one"],
  [/^OrderReference\.ID$/u, "is told as LOST where a buyer reference stands beside it"],
];

interface Value {
  readonly path: string;
  readonly value: string;
}

function valuesOf(element: XmlElement, path = ""): readonly Value[] {
  const children = childElements(element);
  if (children.length > 0)
    return children.flatMap((child) => valuesOf(child, path === "" ? child.local : `${path}.${child.local}`));
  const text = element.children
    .map((child) => (child.kind === "text" ? child.value : ""))
    .join("")
    .trim();
  // 410 and 410.00 are the same amount.
  return text === "" ? [] : [{ path, value: text.replace(/^(-?\d+)\.(\d*?)0*$/u, "$1.$2").replace(/\.$/u, "") }];
}

function rootOf(xml: Buffer): XmlElement {
  const document = parseXml(xml);
  if (document.kind === "refused") throw new Error(document.fault);
  return document.root;
}

const find = (element: XmlElement, path: string): XmlElement | undefined =>
  path
    .split("/")
    .reduce<XmlElement | undefined>(
      (parent, name) => (parent === undefined ? undefined : childElements(parent).find(({ local }) => local === name)),
      element,
    );

/** The seller of an example as the firm that sends it. */
function sellerOf(root: XmlElement): Party {
  const party = find(root, "AccountingSupplierParty/Party");
  if (party === undefined) throw new Error("no seller");
  const text = (path: string): string | undefined => {
    const element = find(party, path);
    return element === undefined ? undefined : valuesOf(element)[0]?.value;
  };
  const endpoint = find(party, "EndpointID");
  const scheme = endpoint?.attributes.find(({ local }) => local === "schemeID")?.value ?? "";
  const vatIds = childElements(party)
    .filter(({ local }) => local === "PartyTaxScheme")
    .filter((entry) => valuesOf(entry).some(({ value }) => value === "VAT"))
    .map((entry) => valuesOf(entry)[0]?.value);
  return {
    participant: `${scheme}:${text("EndpointID") ?? ""}` as ParticipantId,
    name: text("PartyLegalEntity/RegistrationName") ?? "",
    // Outside VAT a seller is named by its legal id, which one example leaves out.
    ico: text("PartyLegalEntity/CompanyID") ?? "5560125790",
    dic: undefined,
    icDph: vatIds[0],
    street: text("PostalAddress/StreetName"),
    city: text("PostalAddress/CityName"),
    postalCode: text("PostalAddress/PostalZone"),
    country: text("PostalAddress/Country/IdentificationCode") ?? "",
  };
}

describeConformance("UBL → mapper → create body → UBL", FOLDER, () => {
  const files = conformanceFiles(FOLDER, ".xml");

  test("there are ten official examples", () => {
    expect(files).toHaveLength(10);
  });

  test.each(files)("%s keeps every term that a create body can say, and names the others", (file) => {
    const xml = conformanceBytes(FOLDER, file);
    const root = rootOf(xml);
    const own = sellerOf(root);
    const mapped = mapSource({
      sourceType: "xml",
      sourceText: xml.toString("utf8"),
      sourceJson: undefined,
      customerRef: "customer",
      fieldMap: {},
      // Some have terms of payment instead of a day.
      defaults: { dueDate: "2018-12-31" },
      own,
    });
    if (mapped.kind === "unreadable") throw new Error(mapped.message);
    // No example has the check digits of its account right.
    expect(mapped.issues.filter(({ severity, field }) => severity !== "information" && field !== "iban")).toEqual([]);
    const body = connectorCreateBody.parse(mapped.document);
    const built = buildInvoice(invoiceOfBody(body, undefined), own);
    expect(built.problems).toEqual([]);
    const kept = new Set(valuesOf(rootOf(built.ubl ?? Buffer.alloc(0))).map(({ path, value }) => `${path} = ${value}`));
    const told = new Set(mapped.unmapped);
    const gone = valuesOf(root).filter(
      ({ path, value }) =>
        !kept.has(`${path} = ${value}`) && !told.has(path) && !NOT_CARRIED.some(([form]) => form.test(path)),
    );
    expect(gone).toEqual([]);
    const report = validateDocument(built.ubl ?? Buffer.alloc(0), { limits: SCAN_LIMITS, day: "2026-11-20" });
    expect(report.findings.filter(({ severity }) => severity !== "warning")).toEqual([]);
  });

  test("every path that is not carried is one of an example", () => {
    const paths = files.flatMap((file) => valuesOf(rootOf(conformanceBytes(FOLDER, file))).map(({ path }) => path));
    expect(NOT_CARRIED.filter(([form]) => !paths.some((path) => form.test(path)))).toEqual([]);
  });
});
