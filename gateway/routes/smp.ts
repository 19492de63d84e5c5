/** Our service metadata publisher on the wire. @source design/as4.md section 10 */
import { z } from "zod";

import { Refusal } from "../../engine/base/errors.js";
import { PARTICIPANT_SCHEME, parseParticipantId } from "../../engine/base/ids.js";
import { DOCUMENT_TYPE_SCHEME } from "../../engine/peppol/envelope/identifiers.js";
import type { SmpServer, SmpServerAnswer } from "../../engine/peppol/discovery/smp-server.js";
import { parsedBy } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";
import { LIMITS } from "../../engine/base/limits.js";

/** A participant as other access points write it in a path: `iso6523-actorid-upis::0245:…` becomes `0245:…`. */
const participant = parsedBy(
  (text) => (text.startsWith(`${PARTICIPANT_SCHEME}::`) ? parseParticipantId(text) : undefined),
  `must be ${PARTICIPANT_SCHEME}::<scheme>:<id>`,
);

const documentType = z
  .string()
  .startsWith(`${DOCUMENT_TYPE_SCHEME}::`)
  .transform((value) => value.slice(DOCUMENT_TYPE_SCHEME.length + 2));

const COMMON = {
  method: "GET",
  mounts: ["/smp"],
  family: "public",
  credential: "none",
  errors: ["NOT_FOUND", "TEMPORARY"],
  tag: "Service metadata",
} as const;
const RESPONSES = {
  200: {
    description: "XML as the Peppol SMP specification has it.",
    contentType: "application/xml",
    headers: { ETag: "Of the exact bytes." },
  },
  304: { description: "Nothing has changed since the ETag of If-None-Match." },
} as const;

/** Others may keep an answer as long as our own nodes believe one. */
const HEADERS = { "Cache-Control": `public, max-age=${LIMITS.smp_answer_cache_s}` } as const;

/** @throws Refusal NOT_FOUND, TEMPORARY */
function replyOf(answer: SmpServerAnswer, ifNoneMatch: string | undefined) {
  if (answer.kind === "failed") throw new Refusal("TEMPORARY");
  if (answer.kind !== "document") throw new Refusal("NOT_FOUND");
  const headers = { ...HEADERS, ETag: answer.etag };
  const isKnown = ifNoneMatch?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === answer.etag) === true;
  return isKnown
    ? ({ status: 304, headers } as const)
    : ({ status: 200, headers, body: { raw: answer.body }, contentType: "application/xml; charset=utf-8" } as const);
}

export const smpRoutes = (server: SmpServer): readonly Route[] => [
  route({
    ...COMMON,
    operation: "smpServiceGroup",
    path: "/{participant}",
    summary: "What a participant takes",
    description: "The list is not signed: its schema has no place for a signature, and nothing is sent by it.",
    request: { params: z.object({ participant }) },
    responses: RESPONSES,
    handler: async (request) =>
      replyOf(await server.group(request.params.participant), request.header("if-none-match")),
  }),
  route({
    ...COMMON,
    operation: "smpServiceMetadata",
    path: "/{participant}/services/{documentType}",
    summary: "Where a participant takes a document type, signed",
    request: { params: z.object({ participant, documentType }) },
    responses: RESPONSES,
    handler: async (request) =>
      replyOf(
        await server.metadata(request.params.participant, request.params.documentType),
        request.header("if-none-match"),
      ),
  }),
];
