/** Companies of the directory, and the way from a company to its participant. @source spec/shapes.md, section 6 */
import { z } from "zod";

import { PARTICIPANT_FORMS, parseParticipantId, participantParts } from "../../../engine/base/ids.js";
import type { KeyId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { DIRECTORY_SOURCES } from "../../../engine/lookup/directory.js";
import type { Directory, DirectoryEntry } from "../../../engine/lookup/directory.js";
import type { Resolved, ResolveAsked } from "../../../engine/lookup/resolve.js";
import { ROUTING_STATUSES } from "../../../engine/peppol/discovery/routing.js";
import { wholeNumber } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

interface CompanyPorts {
  readonly directory: Directory;
  resolve(key: KeyId, asked: ResolveAsked): Promise<Resolved>;
}

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  rate: "enterprise",
  scopes: ["documents:read"],
  method: "GET",
  tag: "Lookup",
} as const;

const ICO = z.string().regex(/^\d{8}$/, "must be 8 digits");
const said = z.string().nullable();
const participantId = z.string().regex(PARTICIPANT_FORMS.short);
const source = z.enum(DIRECTORY_SOURCES).describe("The firms of this engine, or the Peppol Directory.");

const address = z.object({ street: said, city: said, zip: said, country: said });
const company = z
  .object({ name: z.string(), ico: said, dic: said, icDph: said, address, peppolId: participantId })
  .meta({ id: "Company" });

const companyOf = (entry: DirectoryEntry): z.input<typeof company> => ({
  name: entry.name,
  ico: entry.ico,
  dic: entry.dic,
  icDph: entry.icDph,
  address: { ...entry.address, country: entry.country },
  peppolId: entry.participantId,
});

const searched = z
  .string()
  .trim()
  .min(LIMITS.directory_query_chars_min)
  .max(LIMITS.directory_query_chars_max)
  .describe("Words of a name, with or without diacritics, or an identifier.");

const searchRow = ({ directory }: CompanyPorts): Route =>
  route({
    ...COMMON,
    operation: "peppolDirectorySearch",
    path: "/peppol/directory/search",
    summary: "Participants by the name of their company",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: {
      query: z.object({
        q: searched,
        country: z
          .string()
          .regex(/^[A-Z]{2}$/, "must be two capitals, SK")
          .optional(),
        page: wholeNumber({ min: 1, max: LIMITS.directory_pages_max, byDefault: 1 }),
        page_size: wholeNumber({ min: 1, max: LIMITS.directory_page_max, byDefault: LIMITS.directory_page_default }),
      }),
    },
    responses: {
      200: {
        description: "One page, by name.",
        schema: z.object({
          participants: z.array(
            z.object({
              participantId,
              name: z.string(),
              country: said,
              ico: said,
              dic: said,
              icDph: said,
              address,
              registeredOn: z.iso.date().nullable(),
              documentTypes: z.array(z.string()).describe("With their schemes."),
            }),
          ),
          pagination: z.object({
            page: z.int(),
            page_size: z.int(),
            total: z.int().describe("The directory may count no further than a thousand."),
          }),
          source,
        }),
      },
    },
    handler: async ({ query }) => {
      const [at, size] = [query.page ?? 1, query.page_size ?? LIMITS.directory_page_default];
      const found = await directory.search({ q: query.q, country: query.country, page: at, pageSize: size });
      return {
        status: 200,
        body: {
          participants: found.entries.map(({ participantId: id, registeredOn, documentTypes, country, ...entry }) => ({
            participantId: id,
            name: entry.name,
            country,
            ico: entry.ico,
            dic: entry.dic,
            icDph: entry.icDph,
            address: { ...entry.address, country },
            registeredOn,
            documentTypes,
          })),
          pagination: { page: at, page_size: size, total: found.total },
          source: directory.source,
        },
      };
    },
  });

const foundCompany = z.object({
  found: z.boolean(),
  ico: z.string(),
  name: said,
  dic: said,
  icDph: said,
  address: address.nullable(),
  peppolId: participantId.nullable(),
  peppolStatus: z.enum(["registered", "not_registered"]),
  source,
});

const NO_COMPANY = {
  found: false,
  name: null,
  dic: null,
  icDph: null,
  address: null,
  peppolId: null,
  peppolStatus: "not_registered",
} as const satisfies Omit<z.input<typeof foundCompany>, "ico" | "source">;

const companyRow = ({ directory }: CompanyPorts): Route =>
  route({
    ...COMMON,
    operation: "companyLookup",
    path: "/company/lookup/{ico}",
    summary: "A company by its company id (IČO)",
    description:
      "The directory knows companies that receive over the network. That a company is not there says nothing of its existence.",
    errors: ["TEMPORARY"],
    request: { params: z.object({ ico: ICO }) },
    responses: {
      200: { description: "The company.", schema: foundCompany },
      404: { description: "Not in the directory; the body is complete.", schema: foundCompany },
    },
    handler: async ({ params: { ico } }) => {
      const entry = await directory.find({ by: "ico", value: ico });
      const { source: of } = directory;
      if (entry === undefined) return { status: 404, body: { ...NO_COMPANY, ico, source: of } };
      return {
        status: 200,
        body: { found: true, ...companyOf(entry), ico, peppolStatus: "registered" as const, source: of },
      };
    },
  });

const suggestRow = ({ directory }: CompanyPorts): Route =>
  route({
    ...COMMON,
    operation: "companySearch",
    path: "/company/search",
    summary: "Companies by name, as a field suggests them",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: z.object({ q: searched }) },
    responses: {
      200: {
        description: `The first ${LIMITS.company_suggestions_max}, by name.`,
        schema: z.object({ companies: z.array(company), source }),
      },
    },
    handler: async ({ query: { q } }) => {
      const pageSize = LIMITS.company_suggestions_max;
      const { entries } = await directory.search({ q, country: undefined, page: 1, pageSize });
      const byCompany = new Map(
        [...entries].reverse().map((entry) => [entry.ico ?? entry.dic ?? entry.participantId, entry]),
      );
      return {
        status: 200,
        body: { companies: [...byCompany.values()].reverse().map(companyOf), source: directory.source },
      };
    },
  });

const identifier = z.string().min(1).max(LIMITS.lookup_identifier_chars_max).optional();

/** Which half of a participant's name is missing; the first way of all where neither is there. */
const halfOf = (scheme: string | undefined, value: string | undefined): "scheme" | "identifier" | "ico" => {
  if (scheme === undefined && value === undefined) return "ico";
  return scheme === undefined ? "scheme" : "identifier";
};

/** One way to name a company: members of the query, and what they say. */
const resolveQuery = z
  .object({
    ico: ICO.optional(),
    dic: z
      .string()
      .regex(/^\d{10}$/, "must be 10 digits")
      .optional(),
    icDph: z
      .string()
      .regex(/^SK\d{10}$/, "must be SK and 10 digits")
      .optional(),
    peppolId: z.string().regex(PARTICIPANT_FORMS.either, "must be 0245:2020202020").optional(),
    scheme: z
      .string()
      .regex(/^[0-9]{4}$/, "must be four digits")
      .optional(),
    identifier: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,129}$/, "must be letters, digits and . _ ~ -, 130 at most")
      .optional(),
    documentTypeId: identifier,
    processId: identifier,
  })
  .transform((query, context) => {
    const { ico, dic, icDph, peppolId, scheme, identifier: value } = query;
    const pair = scheme === undefined || value === undefined ? undefined : parseParticipantId(`${scheme}:${value}`);
    const participant = peppolId === undefined ? pair : parseParticipantId(peppolId);
    const ways: readonly (ResolveAsked["company"] | undefined)[] = [
      ico === undefined ? undefined : { by: "ico", value: ico },
      dic === undefined ? undefined : { by: "dic", value: dic },
      icDph === undefined ? undefined : { by: "icDph", value: icDph },
      participant === undefined ? undefined : { by: "participant", value: participant },
    ];
    const named = ways.filter((way) => way !== undefined);
    const [only] = named;
    if (only === undefined || named.length > 1 || (peppolId !== undefined && pair !== undefined)) {
      context.addIssue({
        code: "custom",
        path: [only === undefined ? halfOf(scheme, value) : "ico"],
        message:
          "must be the only name of the company: give exactly one of ico, dic, icDph, peppolId, and scheme with identifier",
      });
      return z.NEVER;
    }
    return { query, company: only };
  });

const resolveRow = ({ resolve }: CompanyPorts): Route =>
  route({
    ...COMMON,
    operation: "peppolResolve",
    path: "/peppol/participants/resolve",
    summary: "From a company to the participant that takes its invoices",
    description:
      "Name the company by one of ico, dic, icDph, peppolId, or scheme and identifier. Asked about an invoice of Peppol BIS Billing unless documentTypeId names another type.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: resolveQuery },
    responses: {
      200: {
        description: "What is known; members are null where nothing is.",
        schema: z.object({
          query: z.record(z.string(), z.string()).describe("What was asked."),
          nextAction: said.describe("What to do; null when an invoice can be sent now."),
          company: company.nullable(),
          participant: z
            .object({
              participantId,
              scheme: z.string(),
              identifier: z.string(),
              found: z.boolean(),
              supportedDocumentTypes: z.array(z.string()),
            })
            .nullable(),
          capability: z
            .object({
              documentTypeId: z.string(),
              processId: said,
              routingStatus: z.enum(ROUTING_STATUSES),
              networkReady: z.boolean(),
            })
            .nullable(),
        }),
      },
    },
    handler: async ({ caller, query: { query, company: named } }) => {
      const { documentTypeId, processId } = query;
      const resolved = await resolve(caller.keyId, { company: named, documentTypeId, processId });
      const found = resolved.participant;
      const parts = found === undefined ? undefined : participantParts(found.participantId);
      return {
        status: 200,
        body: {
          query: Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as Readonly<
            Record<string, string>
          >,
          nextAction: resolved.nextAction ?? null,
          company: resolved.company === undefined ? null : companyOf(resolved.company),
          participant:
            found === undefined || parts === undefined
              ? null
              : {
                  participantId: found.participantId,
                  scheme: parts.scheme,
                  identifier: parts.value,
                  found: found.found,
                  supportedDocumentTypes: found.supportedDocumentTypes,
                },
          capability:
            found === undefined
              ? null
              : {
                  documentTypeId: found.documentTypeId,
                  processId: found.processId,
                  routingStatus: found.routingStatus,
                  networkReady: found.accepts,
                },
        },
      };
    },
  });

/** Rows of companies. */
export const companyLookupRoutes = (ports: CompanyPorts): readonly Route[] => [
  resolveRow(ports),
  searchRow(ports),
  companyRow(ports),
  suggestRow(ports),
];
