/**
 * The door of the access point of the sandbox's participants with a fate. It is there where they are, which is never in
 * production.
 */
import { z } from "zod";

import { parseParticipantId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { ConnectedPeers } from "../../engine/sandbox/sandbox.js";
import { parsedBy } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

const participant = parsedBy(parseParticipantId, "must be a participant id such as 0245:2020202020");

/** POST /sandbox/as4/{participant}: takes what our own access point sends to them. */
export const sandboxPeerRoutes = ({ answer }: Pick<ConnectedPeers, "answer">): readonly Route[] => [
  route({
    operation: "receiveSandboxAs4",
    method: "POST",
    path: "/sandbox/as4/{participant}",
    mounts: [""],
    family: "as4",
    credential: "none",
    hidden: true,
    tag: "Peppol",
    summary: "The access point of a participant of the sandbox, which answers as its fate says",
    request: {
      params: z.object({ participant }),
      body: z.instanceof(Uint8Array),
      accepts: ["raw"],
      body_bytes_max: LIMITS.as4_body_bytes_max,
    },
    responses: {
      200: { description: "A signed receipt, a signed ebMS error, or nothing.", contentType: "application/soap+xml" },
      503: { description: "It is down.", contentType: "text/plain" },
    },
    errors: ["NOT_FOUND"],
    handler: async (request) => {
      const { body, params } = request;
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      const reply = await answer(params.participant, bytes, request.header("content-type") ?? "");
      return { status: reply.status, body: { raw: reply.body }, contentType: reply.contentType };
    },
  }),
];
