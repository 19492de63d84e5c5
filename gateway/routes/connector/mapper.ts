/** The mapper of the Connector. @source spec/enterprise.md, Connector; spec/rulings.md, section 11, Mapper */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Caller } from "../../../engine/identity/caller.js";
import type { OwnFirm } from "../../../engine/identity/partners/firms.js";
import type { MapperTemplate, TemplateWish } from "../../../engine/identity/partners/templates.js";
import { connectorCreateBody } from "../../../engine/invoices/connector/create-body.js";
import { defaultsOf, unknownTargets } from "../../../engine/invoices/mapper/defaults.js";
import { SOURCE_TYPES } from "../../../engine/invoices/mapper/protocol.js";
import type { FieldMap, MapInput, MapOutput } from "../../../engine/invoices/mapper/protocol.js";
import { SEVERITIES } from "../../../validators/report.js";
import { refuseUnheld } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

/** What the rows need of the engine: sources are read in worker threads. */
interface MapperPorts {
  templates(caller: Caller): Promise<MapperTemplate[]>;
  template(caller: Caller, templateKey: string): Promise<MapperTemplate>;
  keepTemplate(
    caller: Caller,
    wish: TemplateWish,
  ): Promise<{ readonly isNew: boolean; readonly template: MapperTemplate }>;
  dropTemplate(caller: Caller, templateKey: string): Promise<unknown>;
  /** The firm as the sender. @throws Refusal TEMPORARY */
  ownFirm(firmId: FirmId): Promise<OwnFirm>;
  /** @throws Refusal TEMPORARY */
  map(input: MapInput, options: { readonly fairnessKey: string }): Promise<MapOutput>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "connector",
  credential: "partner",
  rate: "enterprise",
  tag: "Mapper",
} as const;

/** A key for one firm does not change what all firms of its integrator use. */
const OF_THE_INTEGRATOR = {
  credential: "partner_unrestricted",
  context: "forbidden",
  scopes: ["documents:send"],
} as const;

const shown = (kept: MapperTemplate) => ({ ...kept, fieldMap: { ...kept.fieldMap } });

const path = z.string().min(1).max(LIMITS.mapper_path_chars_max);
const fieldMap = z
  .record(path, path)
  .refine((map) => Object.keys(map).length <= LIMITS.mapper_field_map_entries_max, {
    message: `must have at most ${LIMITS.mapper_field_map_entries_max} entries`,
  })
  .describe(
    "Member of the create body → member, column, element path or label of the source: `number`, `recipient.companyId`, `recipient.address.city`; `lines` is the list of lines, `lines[].unitPrice` a member of each.",
  )
  .meta({ example: { number: "Doklad.Cislo", lines: "Doklad.Polozky.Polozka", "lines[].unitPrice": "Cena" } });
const defaults = z
  .record(z.string(), z.unknown())
  .describe(
    "Members of the create body that are taken where the source says nothing; `lines` holds those of each line.",
  )
  .meta({ example: { currency: "EUR", recipient: { country: "SK" }, lines: { vatRate: 23 } } });

const templateKey = z
  .string()
  // Clients take "." and ".." out of a path before they send it, so that nobody could read or delete such a one.
  .regex(/^\.*[A-Za-z0-9_-][A-Za-z0-9_.-]*$/u, "must be letters without accents, digits and _ . -, not dots alone")
  .max(LIMITS.mapper_template_key_chars_max);
const template = z
  .object({
    templateKey,
    fieldMap: z.record(z.string(), z.string()),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: "MapperTemplate" });

const mapping = z
  .object({
    templateKey: templateKey
      .optional()
      .describe("A field map that was saved before; entries of fieldMap go before its own."),
    customerRef: z.string().min(1).describe("The firm for which the document will be created."),
    sourceType: z.enum(SOURCE_TYPES),
    sourceText: z.string().optional().describe("The source, unless it is JSON: as it is in its file."),
    sourceJson: z
      .unknown()
      .optional()
      .superRefine(refuseUnheld)
      .describe("The source as JSON: the object of one document."),
    execute: z.literal("preview").optional().describe("Nothing is created or stored."),
    fieldMap: fieldMap.optional(),
    defaults: defaults.optional(),
  })
  .superRefine(({ sourceType, sourceText, sourceJson }, context) => {
    const [needed, value] = sourceType === "json" ? ["sourceJson", sourceJson] : ["sourceText", sourceText];
    if (value === undefined || value === "" || value === null)
      context.addIssue({ code: "custom", path: [needed], message: `is required where sourceType is ${sourceType}` });
  })
  .meta({
    example: {
      customerRef: "demo-sender",
      sourceType: "csv",
      sourceText:
        "Číslo faktúry;Odberateľ;IČO odberateľa;Popis;Množstvo;Cena bez DPH;Sadzba DPH\n2026001;Prijemca, a. s.;12345678;Papier A4;3;23,90;23",
      execute: "preview",
    },
  });

const issue = z
  .object({
    code: z.string().describe("AMBIGUOUS_DATE, TOTALS_DIFFER, MISSING …"),
    severity: z
      .enum(SEVERITIES)
      .describe(
        "fatal or error: the document cannot be created like this; warning: confirm the value; information: nothing to do.",
      ),
    field: z.string().optional().describe("Member of the document; `lines[].unitPrice` for that of every line."),
    source: z.string().optional().describe("Member, column or place of the source."),
    message: z.string(),
  })
  .meta({ id: "MapperIssue" });

const preview = z.object({
  preview: z.object({
    document: connectorCreateBody
      .partial()
      .extend({
        recipient: z.looseObject({}).optional(),
        lines: z.array(z.looseObject({})).optional(),
      })
      .describe("The body of POST /connector/documents; where ready is false, as much of it as the source says."),
    ready: z.boolean().describe("Whether it can be sent as it stands: complete, and nothing in it is uncertain."),
  }),
  confidence: z
    .record(z.string(), z.number().min(0).max(1))
    .describe("By member of the document, `lines[0].unitPrice`: 1 is said by the source beyond doubt."),
  unmapped: z.array(z.string()).describe("Members, columns or lines of the source that became nothing."),
  issues: z.array(issue),
  omittedCount: z.int().optional().describe("Further issues and unmapped members that are not listed."),
});

/** @throws Refusal REQUEST_INVALID that names each entry */
function checkTargets(map: FieldMap, given: Readonly<Record<string, unknown>>): void {
  const wrong = [
    ...unknownTargets(Object.keys(map)).map((target) => `fieldMap.${target}`),
    ...unknownTargets(defaultsOf(given).map(({ target }) => target)).map((target) => `defaults.${target}`),
  ].filter((_, at) => at < LIMITS.error_details_max);
  if (wrong.length === 0) return;
  throw new Refusal(
    "REQUEST_INVALID",
    wrong.map((field) => ({ field, message: "No member of a create body has this name." })),
  );
}

export const mapperRoutes = (ports: MapperPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "connectorMapper",
    context: "customer_body",
    method: "POST",
    path: "/connector/mapper",
    scopes: ["documents:send"],
    summary: "Make a create body out of JSON, CSV, XML or the text of an invoice",
    description:
      "Names of members and columns are known in Slovak, Czech, German and English; fieldMap names what is called otherwise. Nothing is guessed in silence: what can be read in two ways has an issue and a confidence below 0.8. Nothing is stored and nothing is sent.",
    request: { body: mapping, body_bytes_max: LIMITS.request_body_bytes_max },
    responses: { 200: { description: "The create body, and what is to be known of it.", schema: preview } },
    errors: ["REQUEST_INVALID", "NOT_FOUND", "DOCUMENT_INVALID", "TEMPORARY"],
    handler: async ({ body, firm, caller }) => {
      const { sourceType, sourceText, sourceJson } = body;
      const kept = body.templateKey === undefined ? undefined : await ports.template(caller, body.templateKey);
      const given = { fieldMap: { ...kept?.fieldMap, ...body.fieldMap }, defaults: body.defaults ?? {} };
      checkTargets(given.fieldMap, given.defaults);
      const own = await ports.ownFirm(firm.firmId);
      const mapped = await ports.map(
        { sourceType, sourceText, sourceJson, customerRef: firm.customerRef, own, ...given },
        { fairnessKey: firm.firmId },
      );
      if (mapped.kind === "unreadable")
        throw new Refusal("DOCUMENT_INVALID", [
          {
            field: sourceType === "json" ? "sourceJson" : "sourceText",
            ruleId: mapped.ruleId,
            message: mapped.message,
          },
        ]);
      return {
        status: 200,
        body: {
          preview: { document: mapped.document, ready: mapped.ready },
          confidence: { ...mapped.confidence },
          unmapped: [...mapped.unmapped],
          issues: [...mapped.issues],
          ...(mapped.omitted === 0 ? {} : { omittedCount: mapped.omitted }),
        },
      };
    },
  }),
  route({
    ...COMMON,
    operation: "listMapperTemplates",
    context: "forbidden",
    method: "GET",
    path: "/connector/mapper/templates",
    scopes: ["documents:send"],
    summary: "Field maps that are kept, by their keys",
    errors: ["TEMPORARY"],
    responses: { 200: { description: "All of them.", schema: z.object({ templates: z.array(template) }) } },
    handler: async ({ caller }) => ({ status: 200, body: { templates: (await ports.templates(caller)).map(shown) } }),
  }),
  route({
    ...COMMON,
    operation: "getMapperTemplate",
    context: "forbidden",
    method: "GET",
    path: "/connector/mapper/templates/{templateKey}",
    scopes: ["documents:send"],
    summary: "A field map",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: z.object({ templateKey }) },
    responses: { 200: { description: "The field map.", schema: template } },
    handler: async ({ caller, params }) => ({
      status: 200,
      body: shown(await ports.template(caller, params.templateKey)),
    }),
  }),
  route({
    ...COMMON,
    ...OF_THE_INTEGRATOR,
    operation: "putMapperTemplate",
    method: "PUT",
    path: "/connector/mapper/templates/{templateKey}",
    summary: "Keep a field map, or replace it",
    description: `At most ${LIMITS.mapper_templates_max} for each integrator, for all of its firms. A field map holds names, nothing of an invoice.`,
    errors: ["REQUEST_INVALID", "MAPPER_TEMPLATES_FULL", "TEMPORARY"],
    request: { params: z.object({ templateKey }), body: z.object({ fieldMap }) },
    responses: {
      200: { description: "It was replaced.", schema: template },
      201: { description: "It is new.", schema: template },
    },
    handler: async ({ caller, params, body }) => {
      checkTargets(body.fieldMap, {});
      const { isNew, template: kept } = await ports.keepTemplate(caller, { ...params, fieldMap: body.fieldMap });
      return { status: isNew ? 201 : 200, body: shown(kept) };
    },
  }),
  route({
    ...COMMON,
    ...OF_THE_INTEGRATOR,
    operation: "deleteMapperTemplate",
    method: "DELETE",
    path: "/connector/mapper/templates/{templateKey}",
    summary: "Delete a field map",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: z.object({ templateKey }) },
    responses: { 204: { description: "It is gone." } },
    handler: async ({ caller, params }) => {
      await ports.dropTemplate(caller, params.templateKey);
      return { status: 204 };
    },
  }),
];
