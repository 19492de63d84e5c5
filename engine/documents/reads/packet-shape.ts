/** What support needs to know of a document, as every interface shows it. */
import { z } from "zod";

import { OUTBOUND_STATES, TIMELINE_KINDS } from "../../lifecycle/document.js";
import { evidenceMembers, link } from "./evidence-shape.js";
import { MARK_STATES } from "./marks.js";
import { RECEIVED_WORDS } from "./received.js";

const PACKET_STATES = [...OUTBOUND_STATES, "held", ...RECEIVED_WORDS];
const PACKET_EVENTS = [...TIMELINE_KINDS, "document.received", "document.shown", "document.acknowledged"];

const finding = z.object({ ruleId: z.string(), location: z.string(), message: z.string() }).partial();
/** A support packet as every interface shows it. @source spec/rulings.md, section 11 */
export const packetShape = z.object({
  documentId: z.uuid(),
  generatedAt: z.iso.datetime(),
  direction: z.enum(["outbound", "inbound"]),
  status: z.string().meta({ openapi: { type: "string", enum: [...PACKET_STATES] } }),
  validation: z.object({ errors: z.array(finding), warnings: z.array(finding) }).nullable(),
  versions: z.object({ ruleSets: z.array(z.string()) }),
  timeline: z.array(
    z.object({
      eventType: z.string().meta({ openapi: { type: "string", enum: [...PACKET_EVENTS] } }),
      actor: z.enum(["system", "user", "api"]),
      code: z.string().nullable(),
      occurredAt: z.iso.datetime(),
    }),
  ),
  attempts: z.array(
    z.object({
      number: z.number().int(),
      outcome: z.string().nullable(),
      code: z.string().nullable(),
      retryable: z.boolean().nullable(),
      seat: z.string().nullable(),
      startedAt: z.iso.datetime(),
      finishedAt: z.iso.datetime().nullable(),
    }),
  ),
  evidence: evidenceMembers
    .extend({ links: z.object({ self: link, envelope: link }) })
    .describe("As the evidence of the document is answered."),
  marks: z.array(z.object({ state: z.enum(MARK_STATES), markedAt: z.iso.datetime() })),
});
