/** Participants of the network. @source spec/rulings.md, section 13 (Peppol lookup); spec/shapes.md, section 6 */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import { PARTICIPANT_FORMS, parseParticipantId, participantParts } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { kindOf, LISTED_KINDS } from "../../../engine/documents/reads/kinds.js";
import { LOOKUP_SOURCES } from "../../../engine/lookup/network.js";
import type { AskedType, ParticipantFound, ParticipantLookups } from "../../../engine/lookup/participants.js";
import { ROUTING_STATUSES } from "../../../engine/peppol/discovery/routing.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

const COMMON = {
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  rate: "enterprise",
  scopes: ["documents:read"],
  tag: "Lookup",
} as const;

const identifierText = z.string().min(1).max(LIMITS.lookup_identifier_chars_max);
const documentTypeId = identifierText.describe("With or without busdox-docid-qns::.");
const processId = identifierText.describe("With or without cenbii-procid-ubl::.");

const scheme = z.string().regex(/^[0-9]{4}$/, "must be four digits, 0245 for Slovak tax ids");
const identifier = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,129}$/, "must be letters, digits and . _ ~ -, 130 at most");
const participantPair = z.object({ scheme, identifier }).meta({ id: "ParticipantPair" });

/** @throws Refusal REQUEST_INVALID naming the member of the path */
function participantOf(path: { readonly scheme: string; readonly identifier: string }): ParticipantId {
  const parsed = parseParticipantId(`${path.scheme}:${path.identifier}`);
  if (parsed !== undefined) return parsed;
  const field = /^[0-9]{4}$/.test(path.scheme) ? "identifier" : "scheme";
  throw new Refusal("REQUEST_INVALID", [
    { field, message: "Name the participant as /participants/0245/2020202020: four digits, then its identifier." },
  ]);
}

const routingStatus = z.enum(ROUTING_STATUSES);

const foundParticipant = z
  .object({
    found: z.boolean().describe("Whether it is registered. False also while nobody answers: see temporaryFailure."),
    accepts: z.boolean().describe("Whether it takes the document type that was asked about, now."),
    routingStatus,
    participantId: z.string().regex(PARTICIPANT_FORMS.short),
    accessPoint: z
      .object({
        url: z.url(),
        transportProfile: z.string(),
        certificate: z
          .object({ subject: z.string(), validFrom: z.iso.datetime(), validTo: z.iso.datetime() })
          .nullable(),
      })
      .nullable()
      .describe("Null unless the routing status is ready."),
    supportedDocumentTypes: z.array(z.string()).describe("With their schemes, as its SMP lists them."),
    documentTypeId: z.string().describe("The document type that the answer is about."),
    processId: z.string().nullable(),
    source: z.enum(LOOKUP_SOURCES).describe("smp: the network. internal: this engine. static: the operator's file."),
    temporaryFailure: z.boolean().describe("Somebody who had to be asked did not answer; repeat it later."),
  })
  .meta({ id: "FoundParticipant" });

/** The answer without what only the question for capabilities tells. */
const shown = ({ matchedDocumentType: _, internal: __, ...rest }: ParticipantFound): z.input<typeof foundParticipant> =>
  rest;

/** Not registered is 404; a look-up that failed says nothing, so that it is no 404. */
const statusOf = ({ routingStatus: status }: ParticipantFound): 200 | 404 =>
  status === "participant_not_found" ? 404 : 200;

const NOT_THERE = { description: "Not registered; the body is complete." };

const oneRow = (ports: ParticipantLookups): Route =>
  route({
    ...COMMON,
    operation: "peppolParticipant",
    method: "GET",
    path: "/peppol/participants/{scheme}/{identifier}",
    summary: "Whether a participant is on the network, and where its documents go",
    description:
      "Asked about an invoice of Peppol BIS Billing, in its process, unless documentTypeId names another type. Answers are remembered for some minutes.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: {
      params: z.object({ scheme: z.string(), identifier: z.string() }),
      query: z.object({ documentTypeId: documentTypeId.optional(), processId: processId.optional() }),
    },
    responses: {
      200: { description: "What is known of it.", schema: foundParticipant },
      404: { ...NOT_THERE, schema: foundParticipant },
    },
    handler: async ({ caller, params, query }) => {
      const found = await ports.one(caller.keyId, {
        participant: participantOf(params),
        ...(query.documentTypeId === undefined ? {} : { documentTypes: [{ documentTypeId: query.documentTypeId }] }),
        ...(query.processId === undefined ? {} : { processId: query.processId }),
      });
      return { status: statusOf(found), body: shown(found) };
    },
  });

const batchItem = z.union([
  z
    .string()
    .regex(PARTICIPANT_FORMS.either, "must be 0245:2020202020")
    .transform((text) => ({ participant: text, documentTypeId: undefined, processId: undefined })),
  participantPair
    .extend({ documentTypeId: documentTypeId.optional(), processId: processId.optional() })
    .transform(({ scheme: of, identifier: id, ...rest }) => ({ participant: `${of}:${id}`, ...rest })),
]);

const batchRow = (ports: ParticipantLookups): Route =>
  route({
    ...COMMON,
    operation: "peppolParticipantBatch",
    method: "POST",
    path: "/peppol/participants/batch",
    summary: "Up to 100 participants at once",
    description: "In the order of the request. An item that could not be looked up has temporaryFailure.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { body: z.object({ participants: z.array(batchItem).min(1).max(LIMITS.lookup_batch_max) }) },
    responses: {
      200: {
        description: "One result for each participant.",
        schema: z.object({
          total: z.int(),
          found: z.int(),
          results: z.array(foundParticipant.extend({ index: z.int().describe("From 0.") })),
        }),
      },
    },
    handler: async ({ caller, body }) => {
      const asked = body.participants.map(({ participant, documentTypeId: type, processId: process }) => ({
        participant: parseParticipantId(participant) ?? (participant as ParticipantId),
        ...(type === undefined ? {} : { documentTypes: [{ documentTypeId: type }] }),
        ...(process === undefined ? {} : { processId: process }),
      }));
      const results = await ports.many(caller.keyId, asked);
      return {
        status: 200,
        body: {
          total: results.length,
          found: results.filter(({ found }) => found).length,
          results: results.map((found, index) => ({ index, ...shown(found) })),
        },
      };
    },
  });

const capability = z.object({
  documentTypeId: z.string(),
  processId: z.string().nullable(),
  routingStatus,
  networkReady: z.boolean().describe("Whether a document of this type can be sent now."),
});

const capabilityOf = (found: ParticipantFound): z.input<typeof capability> => ({
  documentTypeId: found.documentTypeId,
  processId: found.processId,
  routingStatus: found.routingStatus,
  networkReady: found.accepts,
});

const capabilities = z.object({
  found: z.boolean(),
  accepts: z.boolean(),
  participant: z.object({ scheme: z.string(), identifier: z.string(), id: z.string() }),
  accessPoint: z.object({ url: z.url(), transportProfile: z.string() }).nullable(),
  internal: z.boolean().describe("Whether it is a participant of this engine."),
  supportedDocumentTypes: z.array(z.string()),
  matchedDocumentType: z
    .string()
    .nullable()
    .describe("The published type that takes the document: its own, or one of the scheme peppol-doctype-wildcard."),
  source: z.enum(LOOKUP_SOURCES),
  capability,
});

/** The word of a kind means the type and the process that a send of this kind has. */
const TYPE_OF_KIND: ReadonlyMap<string, AskedType> = new Map(
  BILLING_CAPABILITIES.map((type) => [kindOf(type.documentTypeId) ?? "", type]),
);
const askedType = identifierText
  .refine((text) => TYPE_OF_KIND.has(text) || text.includes("::"), {
    message: `must be ${LISTED_KINDS.join(", ")}, or a document type with its ::`,
  })
  .transform((text): AskedType => TYPE_OF_KIND.get(text) ?? { documentTypeId: text })
  .meta({
    openapi: { type: "string", minLength: 1, maxLength: LIMITS.lookup_identifier_chars_max },
    description: `As sends name it (${LISTED_KINDS.join(", ")}), which asks about its process too, or the document type with or without busdox-docid-qns::.`,
  });

const capabilitiesAsked = z
  .object({
    participant: participantPair,
    documentType: askedType.optional(),
    documentTypes: z.array(askedType).min(1).max(LIMITS.lookup_types_max).optional(),
    processId: processId.optional(),
  })
  .superRefine(({ documentType, documentTypes }, context) => {
    if ((documentType === undefined) === (documentTypes === undefined))
      context.addIssue({
        code: "custom",
        path: ["documentType"],
        message: "must be the only name of the type: give exactly one of documentType and documentTypes",
      });
  })
  .meta({
    example: { participant: { scheme: "0245", identifier: "2120000025" }, documentType: "invoice" },
  });

const capabilitiesRow = (ports: ParticipantLookups): Route =>
  route({
    ...COMMON,
    operation: "peppolCapabilities",
    method: "POST",
    path: "/peppol/capabilities",
    summary: "Whether a participant takes a document type",
    description: "Of several types the first that is taken counts.",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { body: capabilitiesAsked },
    responses: {
      200: { description: "The participant is registered, or could not be looked up.", schema: capabilities },
      404: {
        ...NOT_THERE,
        schema: z.object({
          found: z.boolean(),
          accepts: z.boolean(),
          reason: routingStatus,
          participant: capabilities.shape.participant,
          capability,
        }),
      },
    },
    handler: async ({ caller, body }) => {
      const id = participantOf(body.participant);
      const found = await ports.one(caller.keyId, {
        participant: id,
        documentTypes: body.documentTypes ?? [body.documentType ?? { documentTypeId: "" }],
        ...(body.processId === undefined ? {} : { processId: body.processId }),
      });
      const { scheme: of, value } = participantParts(id);
      const participant = { scheme: of, identifier: value, id };
      if (statusOf(found) === 404)
        return {
          status: 404,
          body: {
            found: false,
            accepts: false,
            reason: found.routingStatus,
            participant,
            capability: capabilityOf(found),
          },
        };
      const { url, transportProfile } = found.accessPoint ?? {};
      return {
        status: 200,
        body: {
          found: found.found,
          accepts: found.accepts,
          participant,
          accessPoint: url === undefined || transportProfile === undefined ? null : { url, transportProfile },
          internal: found.internal,
          supportedDocumentTypes: found.supportedDocumentTypes,
          matchedDocumentType: found.matchedDocumentType,
          source: found.source,
          capability: capabilityOf(found),
        },
      };
    },
  });

/** Rows of the participants of the network. */
export const participantLookupRoutes = (ports: ParticipantLookups): readonly Route[] => [
  oneRow(ports),
  batchRow(ports),
  capabilitiesRow(ports),
];
