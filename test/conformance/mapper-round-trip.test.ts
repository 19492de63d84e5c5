/**
 * Goal: what an official example says survives the way UBL → mapper → create → UBL, and what does not is named by the
 * mapper's answer: nothing is lost in silence.
 * Method: every value of the example, by its path and as often as it is there, is looked for in the UBL that was built;
 * once by the parts alone with the example's own seller, once over HTTP with a firm of ours as the seller.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import type { ParticipantId } from "../../engine/base/ids.js";
import { buildInvoice } from "../../engine/invoices/build.js";
import { connectorCreateBody } from "../../engine/invoices/connector/create-body.js";
import { invoiceOfBody } from "../../engine/invoices/connector/to-invoice.js";
import type { Party } from "../../engine/invoices/draft.js";
import { mapSource } from "../../engine/invoices/mapper/map.js";
import { parseDocument } from "../../validators/summary.js";
import { convertToJson } from "../../validators/to-json.js";
import { validateDocument } from "../../validators/validate.js";
import { childElements, parseXml } from "../../validators/xml/tree.js";
import type { XmlElement } from "../../validators/xml/tree.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { silentlyGone, valuesOf } from "../support/documents/silently-gone.js";
import type { Answer } from "../support/documents/silently-gone.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";
import { connectorCalls, connectorInvoice } from "../support/callers/connector.js";
import type { ConnectorCall } from "../support/callers/connector.js";
import { startTestEngine } from "../support/engines/engine.js";
import type { TestEngine } from "../support/engines/engine.js";
import { bindClient, newClient, newPartner } from "../support/callers/partners.js";
import type { Partner } from "../support/callers/partners.js";

const FOLDER = "documents/peppol-3.0.21";
/** Some have terms of payment instead of a day. */
const DEFAULTS = { dueDate: "2018-12-31" };

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

/**
 * No example has the check digits of its account right; a person has to look at reasons for which there is no member, and
 * at VAT in a second currency.
 */
const doubts = ({ issues }: Answer): readonly string[] =>
  issues
    .filter(({ severity, field, code }) => severity !== "information" && field !== "iban" && code !== "REASON_CHANGED")
    .filter(({ source }) => source !== "TaxTotal[2]")
    .map(({ code }) => code);

describeConformance("UBL → mapper → create → UBL", FOLDER, () => {
  const files = conformanceFiles(FOLDER, ".xml");
  let t: TestEngine;
  let partner: Partner;
  let call: ConnectorCall;
  beforeAll(async () => {
    t = await startTestEngine();
    partner = await newPartner(t);
    call = connectorCalls(t.sandbox, partner.key.token);
  });
  afterAll(() => t.stop());

  test("there are ten official examples", () => {
    expect(files).toHaveLength(10);
  });

  test.each(files)("%s keeps every term that a create body can say, and the answer names the others", (file) => {
    const xml = conformanceBytes(FOLDER, file);
    const root = rootOf(xml);
    const own = sellerOf(root);
    const mapped = mapSource({
      sourceType: "xml",
      sourceText: xml.toString("utf8"),
      sourceJson: undefined,
      customerRef: "customer",
      fieldMap: {},
      defaults: DEFAULTS,
      own,
    });
    if (mapped.kind === "unreadable") throw new Error(mapped.message);
    expect(doubts(mapped)).toEqual([]);
    const body = connectorCreateBody.parse(mapped.document);
    const built = buildInvoice(invoiceOfBody(body, undefined), own);
    expect(built.problems).toEqual([]);
    expect(silentlyGone(root, rootOf(built.ubl ?? Buffer.alloc(0)), mapped)).toEqual([]);
    const report = validateDocument(built.ubl ?? Buffer.alloc(0), { limits: SCAN_LIMITS, day: "2026-11-20" });
    expect(report.findings.filter(({ severity }) => severity !== "warning")).toEqual([]);
  });

  test.each(files)("%s as JSON comes to the same document again, and what JSON cannot say is named", (file) => {
    const example = conformanceBytes(FOLDER, file).toString("utf8");
    const own = sellerOf(rootOf(Buffer.from(example)));
    const before = convertToJson({ bytes: Buffer.from(example), limits: SCAN_LIMITS, own });
    // JSON has no place for an account whose check digits are wrong, and none for VAT in a second currency.
    const withAccount = example.replace(ACCOUNT, "$1SK3112000000198742637541");
    const sayable = withAccount.replace(SECOND_VAT, "$1");
    const source = Buffer.from(sayable);
    const read = convertToJson({ bytes: source, limits: SCAN_LIMITS, own });
    if (before.kind === "refused" || read.kind === "refused") throw new Error("not read");
    expect(before.problems.some(({ field }) => field === "iban")).toBe(withAccount !== example);
    const isSecond = ({ ruleId, location = "" }: { ruleId: string; location?: string }): boolean =>
      ruleId === "JSON-ELEMENT" && location.endsWith("/cac:TaxTotal[2]");
    expect(before.problems.some(isSecond)).toBe(sayable !== withAccount);
    expect(read.problems.filter(({ severity }) => severity === "fatal")).toEqual([]);
    const { ubl = Buffer.alloc(0) } = buildInvoice(read.invoice, own);
    expect(sumsOf(ubl)).toEqual(sumsOf(source));
    const named = read.problems.map(({ location = "/" }) =>
      location.replace(/^\/\w+\/|(?:cac|cbc):/gu, "").replaceAll("/", "."),
    );
    expect(
      silentlyGone(rootOf(source), rootOf(ubl), {
        unmapped: named.map((place) => place.replace(".@", "@")),
        issues: [],
      }),
    ).toEqual([]);
  });

  /** A firm of ours, and the party that the engine writes of it. */
  async function newSeller(): Promise<{ readonly customerRef: string; readonly party: string }> {
    const client = await newClient(t);
    const customerRef = client.dic;
    await bindClient(t, partner, client, { customerRef });
    const invoice = connectorInvoice(t.sandbox.receiver.participantId.replace(/^0245:/u, ""), { customerRef });
    const { json } = await call("POST", "/documents", { ...invoice, delivery: "stage" });
    const { text } = await call("GET", `/documents/${String(json["id"])}/ubl?customerRef=${customerRef}`);
    return { customerRef, party: PARTY.exec(text)?.[0] ?? "" };
  }

  test.each(files)("%s, issued by a firm of ours, keeps or names every term through the operations", async (file) => {
    const { customerRef, party } = await newSeller();
    const source = issuedBy(party, conformanceBytes(FOLDER, file).toString("utf8"));
    const mapped = await call("POST", "/mapper", {
      ...{ customerRef, sourceType: "xml", sourceText: source, execute: "preview", defaults: DEFAULTS },
    });
    expect(mapped.status, mapped.text).toBe(200);
    const answer = mapped.json as unknown as Answer & { readonly preview: { readonly document: object } };
    expect(doubts(answer)).toEqual([]);
    const created = await call("POST", "/documents", { ...answer.preview.document, delivery: "stage" });
    expect(created.status, created.text).toBe(201);
    const { text } = await call("GET", `/documents/${String(created.json["id"])}/ubl?customerRef=${customerRef}`);
    expect(silentlyGone(rootOf(Buffer.from(source)), rootOf(Buffer.from(text)), answer)).toEqual([]);
  });
});

/** What is owed, by whom and for what type of document. */
function sumsOf(ubl: Buffer): unknown {
  const read = parseDocument({ bytes: ubl, limits: SCAN_LIMITS, linesMax: 0 });
  if (read.kind === "refused") throw new Error("not read");
  const { typeCode, currency, totals, supplier, customer } = read.summary;
  const { taxExclusive, tax, taxInclusive, prepaid, payable } = totals;
  return {
    ...{ typeCode, currency, sellerVatId: supplier.vatId, buyer: [customer.participantId, customer.companyId] },
    sums: [taxExclusive, tax, taxInclusive, prepaid ?? "0", payable].map(Number),
  };
}

const ACCOUNT = /(<cac:PayeeFinancialAccount>\s*<cbc:ID[^>]*>)[^<]*/u;
const SECOND_VAT = /(<\/cac:TaxTotal>)\s*<cac:TaxTotal>[^]*?<\/cac:TaxTotal>/u;
const PARTY = /<cac:AccountingSupplierParty>[^]*<\/cac:AccountingSupplierParty>/u;
const VAT_ID = /<cac:PartyTaxScheme>(?:(?!<\/cac:PartyTaxScheme>)[^])*<cbc:ID>VAT<[^]*?<\/cac:PartyTaxScheme>/u;
/** Rates of the examples, and those of Slovakia on their days. */
const RATES: Readonly<Record<string, string>> = { "25": "20", "15": "10" };

/** An example with another seller, its rates, and the sums that follow from them. */
function issuedBy(party: string, example: string): string {
  const isOutsideVat = /<cac:ClassifiedTaxCategory>\s*<cbc:ID[^>]*>O</u.test(example);
  const numberAt = (text: string, name: string): number =>
    Number(new RegExp(`<cbc:${name}[^>]*>([^<]*)<`, "u").exec(text)?.[1] ?? 0);
  const withAmount = (text: string, name: string, amount: number): string =>
    text.replace(new RegExp(`(<cbc:${name}[^>]*>)[^<]*`, "u"), `$1${amount.toFixed(2)}`);
  let tax = 0;
  const rated = example
    .replace(PARTY, isOutsideVat ? party.replace(VAT_ID, "") : party)
    .replace(/(<cbc:Percent>)(25|15)(\.0+)?\b/gu, (_, before: string, rate: string) => before + (RATES[rate] ?? rate))
    .replace(/<cac:TaxSubtotal>[^]*?<\/cac:TaxSubtotal>/gu, (subtotal) => {
      const amount = (numberAt(subtotal, "TaxableAmount") * numberAt(subtotal, "Percent")) / 100;
      tax += amount;
      return withAmount(subtotal, "TaxAmount", amount);
    });
  const total = numberAt(rated, "TaxExclusiveAmount") + tax;
  const due = total - numberAt(rated, "PrepaidAmount") + numberAt(rated, "PayableRoundingAmount");
  const summed = withAmount(withAmount(rated, "TaxInclusiveAmount", total), "PayableAmount", due);
  return withAmount(summed, "TaxAmount", tax);
}
