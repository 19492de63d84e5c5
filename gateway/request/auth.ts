/** The pipeline's questions about callers, answered by the engine's identity. */
import { createHash, timingSafeEqual } from "node:crypto";

import type { Identity } from "../../engine/identity/identity.js";
import type { PipelinePorts } from "./ports.js";

type AuthPorts = Pick<
  PipelinePorts,
  "authenticate" | "authenticateAdmin" | "firmContext" | "customerContext" | "participantContext"
>;

const digest = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/**
 * @param adminToken the operator's token; undefined refuses every one
 */
export function createAuthPorts(
  identity: Pick<Identity, "authenticate" | "firmContext" | "customerContext" | "participantContext">,
  adminToken: string | undefined,
): AuthPorts {
  const expected = adminToken === undefined || adminToken === "" ? undefined : digest(adminToken);
  return {
    authenticate: identity.authenticate,
    authenticateAdmin: (token) => expected !== undefined && timingSafeEqual(digest(token), expected),
    firmContext: identity.firmContext,
    customerContext: identity.customerContext,
    participantContext: identity.participantContext,
  };
}
