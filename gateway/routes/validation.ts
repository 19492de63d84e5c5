/**
 * Validation and reading of documents that are not sent: with a token, and for everybody. @source spec/rulings.md,
 * section 13
 */
import { z } from "zod";

import { clientViewOf } from "../../engine/documents/accept/client-view.js";
import {
  conversionOf,
  jsonValidation,
  payloadValidation,
  publicValidation,
} from "../../engine/documents/accept/validation-reads.js";
import type { DocumentWorkers } from "../../engine/documents/accept/validators.js";
import { Refusal } from "../../engine/base/errors.js";
import type { FirmId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { OwnFirm } from "../../engine/identity/partners/firms.js";
import { buildInvoice } from "../../engine/invoices/build.js";
import { DOCUMENT_KINDS } from "../../engine/invoices/terms.js";
import type { InvoiceKind } from "../../engine/invoices/terms.js";
import { SEVERITIES } from "../../validators/report.js";
import type { Finding, Language } from "../../validators/report.js";
import { route } from "../contract/route.js";
import type { AnyRequest, Route } from "../contract/route.js";
import { languageOf } from "../web/pages/languages.js";

/** What the rows need of the engine: bytes go to the worker threads, nothing is parsed here. */
interface ValidationPorts extends Pick<DocumentWorkers, "report" | "parse" | "convert"> {
  /** The firm as a party: it is the seller of an invoice that comes as JSON. @throws Refusal TEMPORARY */
  ownFirm(firmId: FirmId): Promise<OwnFirm>;
}

const PAYLOADS = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  rate: "enterprise",
  tag: "Validation",
} as const;

const finding = z
  .object({
    ruleId: z.string().describe("BR-CO-15, UBL-GRAMMAR-ORDER, XML-DOCTYPE …"),
    layer: z.string().describe("xml, schema, en16931, peppol, advice, json, or pack:<id> of an imported rule pack."),
    severity: z.enum(SEVERITIES).describe("fatal and error make the document invalid, warning and information do not."),
    location: z.string().describe("XPath with the prefixes cac, cbc and ext."),
    field: z.string().optional().describe("With format json: the member, items[0].vatRate; document for none alone."),
    line: z.int().optional().describe("Line of the start tag, from 1."),
    column: z.int().optional().describe("Column of the start tag in its line, from 1, in UTF-16 units."),
    value: z.string().optional().describe("What the document says there, shortened; for sums, the terms compared."),
    message: z.string().describe("What is wrong and what to do, in the language of Content-Language."),
    btIds: z.array(z.string()).optional().describe("Business terms of EN 16931."),
  })
  .meta({ id: "ValidationFinding" });

const omission = {
  omittedCount: z.int().optional().describe("Further findings that are not listed."),
  omittedRules: z.record(z.string(), z.int()).optional().describe("How many of them each rule has."),
};

const upcoming = z
  .array(
    z.object({
      mandatoryFrom: z.iso.date().describe("First day of these rules."),
      ruleSet: z.array(z.string()),
      valid: z.boolean().describe("The verdict from that day on."),
      findings: z.array(finding).describe("What is found then and not today."),
    }),
  )
  .optional()
  .describe("With upcoming=true: rules that come into force later, and what they change; empty when there are none.");
const upcomingQuery = z.object({
  upcoming: z.enum(["true", "false"]).optional().describe("Judge by the rules of later days too."),
});

const payloadResult = z
  .object({
    valid: z.boolean(),
    errorCount: z.int(),
    warningCount: z.int(),
    errors: z.array(finding),
    warnings: z.array(finding),
    ...omission,
    upcoming,
  })
  .meta({ id: "PayloadValidation" });

const layer = z.object({ valid: z.boolean(), messages: z.array(finding) }).meta({ id: "LayerVerdict" });
const publicResult = z.object({
  valid: z.boolean(),
  profile: z.string().describe("Which rules were taken: peppol-billing, en16931, pack:<id> …, none where none fit."),
  ruleSet: z.array(z.string()).describe("Each rule set that judged, with its version; that of a pack is its SHA-256."),
  xsd: layer,
  en16931: layer,
  peppol: layer.describe("Peppol's rules, and those of imported packs."),
  advice: layer.describe("Warnings of our own: valid by every rule, and likely to fail with the receiver."),
  ...omission,
  upcoming,
});

const said = z.string().nullable();
const party = z
  .object({ name: said, participantId: said.describe("<scheme>:<id>"), companyId: said, vatId: said, country: said })
  .meta({ id: "PartySummary" });
const summary = z.object({
  documentType: z.enum(["Invoice", "CreditNote", "ApplicationResponse"]),
  customizationId: said,
  profileId: said,
  number: said,
  typeCode: said,
  issueDate: said,
  dueDate: said,
  taxPointDate: said,
  deliveryDate: said,
  currency: said,
  buyerReference: said,
  orderReference: said,
  precedingInvoices: z.array(z.string()),
  supplier: party.describe("The seller; the sender of an ApplicationResponse."),
  customer: party.describe("The buyer; the receiver of an ApplicationResponse."),
  totals: z.object({
    lineNet: said,
    allowances: said,
    charges: said,
    taxExclusive: said,
    tax: said,
    taxInclusive: said,
    prepaid: said,
    rounding: said,
    payable: said,
  }),
  taxes: z.array(z.object({ category: said, percent: said, taxableAmount: said, taxAmount: said })),
  lineCount: z.int(),
  lines: z
    .array(
      z.object({
        id: said,
        name: said,
        quantity: said,
        unitCode: said,
        price: said.describe("Of baseQuantity units."),
        baseQuantity: said.describe("For how many units the price is; null for one."),
        netAmount: said,
        taxCategory: said,
        taxPercent: said,
      }),
    )
    .describe(`The first ${LIMITS.parsed_lines_max} lines.`),
});

const KINDS = Object.keys(DOCUMENT_KINDS) as [InvoiceKind, ...InvoiceKind[]];
const parsedItem = z.object({
  description: said,
  quantity: said,
  unit: said,
  unitPrice: said.describe("Of one unit."),
  vatRate: said,
  vatCategoryCode: said,
});
/** The names by which clients send an invoice as JSON. */
const parsedInvoice = z.object({
  documentType: z.enum(KINDS).nullable(),
  invoiceNumber: said,
  issueDate: said,
  dueDate: said,
  taxPointDate: said,
  deliveryDate: said,
  currency: said,
  buyerReference: said,
  precedingInvoiceRef: said,
  supplierName: said,
  supplierPeppolId: said,
  supplierIco: said,
  supplierIcDph: said,
  supplierCountry: said,
  receiverName: said,
  receiverPeppolId: said,
  receiverIco: said,
  receiverIcDph: said,
  receiverCountry: said,
  totalAmount: said,
  items: z.array(parsedItem),
});
/** All of them. */
const convertedInvoice = parsedInvoice.extend({
  note: said,
  receiverDic: said,
  receiverStreet: said,
  receiverCity: said,
  receiverPostalCode: said,
  iban: said,
  paymentMethod: said,
  paymentTerms: said,
  variableSymbol: said,
  documentDiscountPercent: said,
  prepaidAmount: said,
  items: z.array(parsedItem.extend({ discount: said.describe("Percent off the line.") })),
  attachments: z.array(
    z.object({
      fileName: z.string(),
      mimeType: z.string(),
      content: z.string().describe("base64."),
      description: said,
    }),
  ),
});
const allowance = z.object({
  isCharge: z.boolean(),
  reason: said,
  reasonCode: said,
  percent: said,
  amount: said,
  baseAmount: said,
  taxCategory: said,
  taxPercent: said,
});
const parsed = summary.extend({
  invoice: parsedInvoice.describe(
    "The same in the names by which an invoice is sent as JSON, to be read: discounts, charges and terms of payment are not in it. /payloads/convert makes an invoice to be sent.",
  ),
  extras: z
    .object({
      customizationId: said,
      profileId: said,
      typeCode: said,
      orderReference: said,
      totals: summary.shape.totals,
    })
    .describe("What has no name there."),
  allowances: z.array(allowance).describe("Allowances and charges on the whole document."),
});

const payloadBody = z.object({
  format: z
    .enum(["ubl", "json"])
    .describe("ubl: the document is UBL XML as text. json: an invoice by its members, as documents are sent."),
  document: z.union([z.string().min(1), z.record(z.string(), z.unknown())]),
});
const convertBody = z
  .object({
    input_format: z.enum(["json", "ubl"]),
    output_format: z.enum(["json", "ubl"]),
    document: payloadBody.shape.document.describe("What input_format says: an object, or UBL XML as text."),
  })
  .superRefine(({ input_format, output_format }, context) => {
    if (input_format === output_format)
      context.addIssue({ code: "custom", path: ["output_format"], message: "must be the other one of json and ubl" });
  })
  .meta({ example: { input_format: "ubl", output_format: "json", document: "<Invoice>…</Invoice>" } });
const converted = z.object({
  input_format: convertBody.shape.input_format,
  output_format: convertBody.shape.output_format,
  document: z
    .union([z.string(), convertedInvoice])
    .describe(
      "UBL XML as text, which passes every rule; or the members of the invoice, null for what it does not say.",
    ),
  warnings: z
    .array(finding)
    .optional()
    .describe("ubl to json: what the members cannot say, or say in another way, each with its place in the UBL."),
});
const ublBody = z
  .object({
    format: z.literal("ubl").optional(),
    document: z.string().min(1).optional().describe("UBL XML as text."),
    xml: z.string().min(1).optional().describe("The same under its other name."),
  })
  .superRefine(({ document, xml }, context) => {
    if ((document === undefined) === (xml === undefined))
      context.addIssue({
        code: "custom",
        path: ["document"],
        message: "must be given, or xml, but not both",
      });
  })
  .meta({ example: { xml: "<Invoice>…</Invoice>" } });

/** @throws Refusal REQUEST_INVALID, BODY_TOO_LARGE */
function payloadOf(document: unknown): Buffer {
  if (typeof document !== "string")
    throw new Refusal("REQUEST_INVALID", [
      { field: "document", message: "Must be the UBL XML as text when format is ubl." },
    ]);
  const payload = Buffer.from(document, "utf8");
  if (payload.length > LIMITS.payload_bytes_max)
    throw new Refusal("BODY_TOO_LARGE", [{ field: "document", message: "The document is larger than 20 MB." }]);
  return payload;
}

/** @throws Refusal REQUEST_INVALID */
function invoiceOf(document: unknown): object {
  if (typeof document !== "object" || document === null)
    throw new Refusal("REQUEST_INVALID", [
      { field: "document", message: "Must be an object with the members of the invoice when format is json." },
    ]);
  return document;
}

/** The bytes of a body that came as XML; one that came as JSON is an object. */
function bytesOf(body: unknown): Uint8Array | undefined {
  if (!(body instanceof Uint8Array)) return undefined;
  if (body.length > LIMITS.payload_bytes_max) throw new Refusal("BODY_TOO_LARGE");
  return body;
}

/** What could be read. @throws Refusal DOCUMENT_INVALID with the findings */
function orInvalid<Read extends { readonly kind: "parsed" | "converted" }>(
  read: Read | { readonly kind: "refused"; readonly findings: readonly Finding[] },
): Read {
  if (read.kind !== "refused") return read;
  throw new Refusal(
    "DOCUMENT_INVALID",
    read.findings.map(({ ruleId, severity, location, message }) => ({
      field: "document",
      ruleId,
      severity,
      location,
      message,
    })),
  );
}

const told = (language: Language) => ({ "Content-Language": language, Vary: "Accept-Language" });

/** How a document that is not sent is judged, and in which language that is told. */
const askedBy = (request: Pick<AnyRequest, "receivedAt" | "header">, fairnessKey: string, upcoming = "false") => ({
  ...{ fairnessKey, receivedAt: request.receivedAt, details: true, upcoming: upcoming === "true" },
  language: languageOf(request.header("accept-language")),
});
type Asked = ReturnType<typeof askedBy>;

/** What the firm's invoice as JSON becomes, and the verdict on it. */
async function judgedJson(ports: ValidationPorts, firmId: FirmId, document: unknown, asked: Asked) {
  const built = buildInvoice(invoiceOf(document), await ports.ownFirm(firmId));
  const report = built.ubl === undefined ? undefined : await ports.report(built.ubl, asked);
  return { ubl: built.ubl, verdict: jsonValidation(built, report, asked.language) };
}

/** The exact bytes; whatever they are, the verdict says it. */
const xmlBytes = z.custom<Uint8Array>();

export const validationRoutes = (ports: ValidationPorts): readonly Route[] => [
  route({
    ...PAYLOADS,
    operation: "validatePayload",
    method: "POST",
    path: "/payloads/validate",
    scopes: ["documents:send"],
    summary: "Validate a document without sending it",
    description:
      "The checks of a send: UBL 2.1, EN 16931 and Peppol BIS Billing 3.0, all findings at once. An invoice as JSON is made into UBL first, with the firm as the seller (or the buyer of a self-billing one), and every finding names its member. Nothing is stored.",
    request: { query: upcomingQuery, body: payloadBody, body_bytes_max: LIMITS.request_body_bytes_max },
    responses: {
      200: { description: "The document is valid; it may have warnings.", schema: payloadResult },
      422: { description: "The document is invalid.", schema: payloadResult },
    },
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    handler: async (request) => {
      const { body, firm, query } = request;
      const asked = askedBy(request, firm.firmId, query.upcoming);
      const verdict =
        body.format === "ubl"
          ? payloadValidation(await ports.report(payloadOf(body.document), asked))
          : (await judgedJson(ports, firm.firmId, body.document, asked)).verdict;
      return { status: verdict.valid ? 200 : 422, body: verdict, headers: told(asked.language) };
    },
  }),
  route({
    ...PAYLOADS,
    operation: "parsePayload",
    method: "POST",
    path: "/payloads/parse",
    scopes: ["documents:read"],
    summary: "Read a UBL document as JSON",
    description:
      "Parties, dates, totals, taxes and lines as plain values, without a verdict: what the document does not say is null, numbers are its own text. The body is JSON with the XML as text, or the XML itself. Nothing is stored.",
    request: { body: ublBody, accepts: ["json", "xml"], body_bytes_max: LIMITS.request_body_bytes_max },
    responses: { 200: { description: "What the document says.", schema: parsed } },
    errors: ["REQUEST_INVALID", "DOCUMENT_INVALID", "TEMPORARY"],
    handler: async ({ body, firm }) => {
      const payload = bytesOf(body) ?? payloadOf(body.document ?? body.xml);
      const read = orInvalid(await ports.parse(payload, { fairnessKey: firm.firmId })).summary;
      const { precedingInvoices, taxes, lines, ...rest } = read;
      return {
        status: 200,
        body: {
          ...rest,
          precedingInvoices: [...precedingInvoices],
          taxes: [...taxes],
          lines: [...lines],
          ...clientViewOf(read),
        },
      };
    },
  }),
  route({
    ...PAYLOADS,
    operation: "convertPayload",
    method: "POST",
    path: "/payloads/convert",
    scopes: ["documents:send"],
    summary: "Make UBL of an invoice as JSON, or the other way round",
    description:
      "json to ubl: the document that a send of these members would transmit, with the firm as the seller (or the buyer of a self-billing one); one that breaks a rule is 422 with every finding. ubl to json: what the document says under the names by which an invoice is sent as JSON. Sent by this firm, the members come to the same type, parties, VAT and amounts; a document of which they cannot is 422, and each finding names the element. What has no member and changes none of these is a warning; so is a sender that is another firm than this one. Nothing is stored.",
    request: { body: convertBody, body_bytes_max: LIMITS.request_body_bytes_max },
    responses: {
      200: { description: "The document in the other format.", schema: converted },
      422: {
        description: "The invoice as JSON is invalid, or would be another one than the UBL.",
        schema: payloadResult,
      },
    },
    errors: ["REQUEST_INVALID", "DOCUMENT_INVALID", "TEMPORARY"],
    handler: async (request) => {
      const { body, firm } = request;
      const { input_format, output_format, document } = body;
      const asked = askedBy(request, firm.firmId);
      const headers = told(asked.language);
      if (input_format === "ubl") {
        const { fairnessKey, language } = asked;
        const own = await ports.ownFirm(firm.firmId);
        const read = orInvalid(await ports.convert(payloadOf(document), { fairnessKey, own }));
        const verdict = conversionOf(read, language);
        if (!verdict.valid) return { status: 422, body: verdict, headers };
        const { warnings } = verdict;
        // The worker fills every member of the schema, which a test reads.
        const invoice = read.invoice as z.infer<typeof convertedInvoice>;
        return { status: 200, body: { input_format, output_format, document: invoice, warnings } };
      }
      const { ubl, verdict } = await judgedJson(ports, firm.firmId, document, asked);
      if (ubl === undefined || !verdict.valid) return { status: 422, body: verdict, headers };
      return { status: 200, body: { input_format, output_format, document: ubl.toString("utf8") } };
    },
  }),
  route({
    mounts: ["/api"],
    family: "public",
    credential: "none",
    rate: "public_validate",
    tag: "Validation",
    operation: "validatePublic",
    method: "POST",
    path: "/validate",
    summary: "Validate a UBL document, without an account",
    description:
      "The body is the XML. xsd covers well-formedness and UBL 2.1. A document that cannot be read is valid in no layer; a layer without rules for this kind of document has no messages. Nothing is stored.",
    request: { query: upcomingQuery, body: xmlBytes, accepts: ["xml"], body_bytes_max: LIMITS.payload_bytes_max },
    responses: { 200: { description: "The verdict, valid or not.", schema: publicResult } },
    errors: ["TEMPORARY"],
    handler: async (request) => {
      const asked = askedBy(request, `public/${request.address}`, request.query.upcoming);
      const verdict = publicValidation(await ports.report(request.body, asked));
      return { status: 200, body: verdict, headers: told(asked.language) };
    },
  }),
];
