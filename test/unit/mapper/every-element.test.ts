/**
 * Goal: nothing that UBL of EN 16931 can say is lost in silence between a source and what create would send of it. Method:
 * each element and attribute that the grammar has and no rule UBL-CR or UBL-DT forbids is put into an invoice that the
 * mapper carries whole, said once more or said otherwise; then every value stands in the UBL that is built of the create
 * body, or the answer names its element, or nothing can be built and an error says why.
 */
import { expect, test } from "vitest";

import { buildInvoice } from "../../../engine/invoices/build.js";
import { connectorCreateBody } from "../../../engine/invoices/connector/create-body.js";
import { invoiceOfBody } from "../../../engine/invoices/connector/to-invoice.js";
import { mapSource } from "../../../engine/invoices/mapper/map.js";
import type { Mapped } from "../../../engine/invoices/mapper/protocol.js";
import { parseXml } from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/xml/tree.js";
import { changedDocuments } from "../../support/documents/any-element.js";
import { JSON_INVOICE, OWN_FIRM } from "../../support/documents/json-invoices.js";
import { silentlyGone } from "../../support/documents/silently-gone.js";

/** Something at each place that a create body can fill. */
const WHOLE = {
  ...JSON_INVOICE,
  receiverDic: "2020202020",
  note: "Note",
  taxPointDate: "2026-11-19",
  deliveryDate: "2026-11-19",
  precedingInvoiceRef: "P1",
  documentDiscountPercent: 10,
  prepaidAmount: 1,
  attachments: [{ fileName: "a.pdf", mimeType: "application/pdf", content: "JVBERi0=", description: "Scan" }],
};

function map(sourceText: string): Mapped {
  const given = { sourceType: "xml", sourceText, sourceJson: undefined, customerRef: "c" } as const;
  const mapped = mapSource({ ...given, fieldMap: {}, defaults: {}, own: OWN_FIRM });
  if (mapped.kind === "unreadable") throw new Error(mapped.message);
  return mapped;
}

function rootOf(xml: Uint8Array): XmlElement {
  const document = parseXml(xml);
  if (document.kind === "refused") throw new Error(document.fault);
  return document.root;
}

/** What create would send of a mapper's document; undefined where it would refuse it. */
function sent({ document }: Mapped): Buffer | undefined {
  const body = connectorCreateBody.safeParse(document);
  return body.success ? buildInvoice(invoiceOfBody(body.data, undefined), OWN_FIRM).ubl : undefined;
}

/** Elements without which it is another invoice, the second total of VAT among them. */
const ANOTHER = /^cac:(?:PayeeParty|TaxRepresentativeParty)\//u;
const isAnother = (path: string, from: number | undefined): boolean =>
  ANOTHER.test(path) || (path.startsWith("cac:TaxTotal/") && from === 0);

test.each(["invoice", "credit_note", "self_billing", "self_billing_credit_note"])(
  "an element that is put into UBL of the kind %s is sent by create, or the mapper's answer names it",
  (documentType) => {
    const { ubl = Buffer.alloc(0) } = buildInvoice({ ...WHOLE, documentType }, OWN_FIRM);
    const source = rootOf(ubl);
    const whole = map(ubl.toString("utf8"));
    expect([whole.ready, whole.unmapped, silentlyGone(source, rootOf(sent(whole) ?? ubl), whole)]).toEqual([
      true,
      [],
      [],
    ]);
    const faults: object[] = [];
    let count = 0;
    for (const { path, from, xml } of changedDocuments(source)) {
      count++;
      const mapped = map(xml);
      const errors = mapped.issues.filter(({ severity }) => severity === "error").map(({ code }) => code);
      const built = sent(mapped);
      const gone = built === undefined ? [] : silentlyGone(rootOf(Buffer.from(xml)), rootOf(built), mapped);
      if (gone.length > 0) faults.push({ path, from, gone });
      if (built === undefined && errors.length === 0) faults.push({ path, from, built });
      if (mapped.ready && errors.length > 0) faults.push({ path, from, errors });
      if (isAnother(path, from) && (mapped.ready || !errors.includes("UNSAYABLE")))
        faults.push({ path, from, ready: mapped.ready, errors });
    }
    expect(faults).toEqual([]);
    expect(count).toBeGreaterThan(350);
  },
);
