/**
 * What operators ask of the sandbox's participants with a fate. The rows are there where the participants are, which is
 * never in production.
 */
import { z } from "zod";

import { Refusal } from "../../engine/base/errors.js";
import { parseParticipantId } from "../../engine/base/ids.js";
import type { ParticipantId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { Fate } from "../../engine/sandbox/fates.js";
import { SAMPLE_KINDS } from "../../engine/sandbox/samples.js";
import type { ConnectedPeers } from "../../engine/sandbox/sandbox.js";
import { parsedBy } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

const participant = parsedBy(parseParticipantId, "must be a participant id such as 0245:2020202020");

interface SandboxAdminPorts extends Pick<ConnectedPeers, "send"> {
  readonly fates: ReadonlyMap<ParticipantId, Fate>;
}

const COMMON = {
  mounts: ["/admin"],
  family: "admin",
  credential: "admin",
  hidden: true,
  tag: "Sandbox",
} as const;

export const sandboxAdminRoutes = ({ fates, send }: SandboxAdminPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminSandboxParticipants",
    method: "GET",
    path: "/sandbox/participants",
    summary: "Participants of the sandbox, and what becomes of a document that is sent to each",
    errors: [],
    responses: {
      200: {
        description: "In the order of the table.",
        schema: z.object({
          participants: z.array(z.object({ participantId: z.string(), fate: z.string(), description: z.string() })),
        }),
      },
    },
    handler: () => ({
      status: 200,
      body: {
        participants: [...fates].map(([participantId, { name, description }]) => ({
          participantId,
          fate: name,
          description,
        })),
      },
    }),
  }),
  route({
    ...COMMON,
    operation: "adminSandboxReceive",
    method: "POST",
    path: "/sandbox/receive",
    summary: "Send a firm of the sandbox a document from outside",
    description:
      "Over AS4, from a participant of another access point. `broken` breaks the rule BR-CO-16; the firm sees what is done with such documents.",
    request: {
      body: z.strictObject({
        to: participant,
        kind: z.enum(SAMPLE_KINDS).default("invoice"),
        lines: z.int().min(1).max(LIMITS.sandbox_lines_max).default(1),
      }),
    },
    responses: {
      200: {
        description: "What the exchange came to.",
        schema: z.object({
          outcome: z.enum(["receipt", "refused", "unconfirmed"]),
          messageId: z.string(),
          instanceId: z.string(),
          code: z.string().nullable(),
        }),
      },
    },
    errors: ["REQUEST_INVALID"],
    handler: async ({ body }) => {
      const { outcome, messageId, instanceId, code } = await send(body);
      if (outcome === "not_found")
        throw new Refusal("REQUEST_INVALID", [
          { field: "to", message: "Is not registered here, or does not take documents of this kind." },
        ]);
      return { status: 200, body: { outcome, messageId, instanceId, code: code ?? null } };
    },
  }),
];
