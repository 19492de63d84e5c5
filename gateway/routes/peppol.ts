/**
 * Where other access points deliver, and what is kept of every exchange. @source design/as4.md, section 3;
 * spec/rulings.md, sections 11 and 13
 */
import { z } from "zod";

import type { Envelope, EvidenceRecordView } from "../../engine/documents/reads/evidence.js";
import type { FirmId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { As4Receiver } from "../../engine/peppol/as4/receive.js";
import { evidenceMembers, link } from "../../engine/documents/reads/evidence-shape.js";
import { uuid } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

interface As4Ports {
  readonly receive: As4Receiver;
}

/** POST /as4: any peer may post; what it posts is judged by its signature. */
export const as4Routes = ({ receive }: As4Ports): readonly Route[] => [
  route({
    operation: "receiveAs4",
    method: "POST",
    path: "/as4",
    mounts: [""],
    family: "as4",
    credential: "none",
    hidden: true,
    tag: "Peppol",
    summary: "Takes an AS4 user message of another access point and answers it with a receipt or an ebMS error",
    request: { body: z.instanceof(Uint8Array), accepts: ["raw"], body_bytes_max: LIMITS.as4_body_bytes_max },
    responses: {
      200: { description: "A signed receipt, or a signed ebMS error.", contentType: "application/soap+xml" },
      503: {
        description:
          "A signed ebMS error that says to come again; without a body where the engine is too busy to sign one.",
        contentType: "application/soap+xml",
      },
    },
    errors: [],
    handler: async (request) => {
      const { body } = request;
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const reply = await receive(bytes, request.header("content-type") ?? "", request.addressGroup);
      return { status: reply.status === 200 ? 200 : 503, body: { raw: reply.body }, contentType: reply.contentType };
    },
  }),
];

/** Reads of the engine; each throws Refusal NOT_FOUND for a document that is missing or of another firm. */
interface EvidencePorts {
  evidence(firmId: FirmId, id: string): Promise<EvidenceRecordView>;
  envelope(firmId: FirmId, id: string): Promise<Envelope>;
}

const COMMON = {
  method: "GET",
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  scopes: ["evidence:read"],
  rate: "enterprise",
  tag: "Documents",
} as const;

const documentId = z.object({ id: uuid });

const evidenceRecord = evidenceMembers.extend({ links: z.object({ self: link, envelope: link }) });

export const evidenceRoutes = (ports: EvidencePorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "getDocumentEvidence",
    path: "/documents/{id}/evidence",
    summary: "What proves a document's way over the network",
    description:
      "For a sent document its id is the providerDocumentId; for a received one the documentId of the inbox. mls is the Message Level Status that came for a sent document, or the one that we sent or owe for a received one. chain names the entry of the hash chain that holds the record.",
    request: { params: documentId },
    responses: { 200: { description: "Digests, times and the place in the chain.", schema: evidenceRecord } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm }) => ({ status: 200, body: await ports.evidence(firm.firmId, params.id) }),
  }),
  route({
    ...COMMON,
    operation: "getDocumentEnvelope",
    path: "/documents/{id}/envelope",
    summary: "The signed AS4 envelope, byte for byte",
    description:
      "The HTTP body as it was sent or received; Content-Type is the one it travelled with. The payload in it is encrypted for the receiving access point.",
    showsDocument: true,
    request: { params: documentId },
    responses: { 200: { description: "The envelope.", contentType: "multipart/related" } },
    errors: ["NOT_FOUND", "TEMPORARY"],
    handler: async ({ params, firm }) => {
      const { bytes, contentType } = await ports.envelope(firm.firmId, params.id);
      return { status: 200, body: { raw: bytes }, contentType };
    },
  }),
];
