/** Operators' view of White Label: operations, and the end of a review. @source spec/rulings.md, section 12 */
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import type { WhiteLabelOperation } from "../../../engine/identity/white-label/reads.js";
import { WHITE_LABEL_STATES } from "../../../engine/lifecycle/white-label.js";
import type { WhiteLabelState } from "../../../engine/lifecycle/white-label.js";
import { uuid } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

interface AdminWhiteLabelPorts {
  list(status: WhiteLabelState | undefined): Promise<readonly WhiteLabelOperation[]>;
  /** Lets an operation go on whose token an operator has checked, and waits some seconds for its end. */
  vouch(vouching: { readonly id: string; readonly token: string }): Promise<WhiteLabelOperation>;
  release(id: string): Promise<WhiteLabelOperation>;
}

const COMMON = { mounts: ["/admin"], family: "admin", credential: "admin", tag: "White Label" } as const;
const json = z.record(z.string(), z.unknown());
const params = z.object({ id: uuid });

/** Rows for operators. */
export const adminWhiteLabelRoutes = (ports: AdminWhiteLabelPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "admin_white_label_list",
    method: "GET",
    path: "/white-label/operations",
    summary: "Operations on participants, newest first",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: z.object({ status: z.enum(WHITE_LABEL_STATES).optional() }) },
    responses: { 200: { description: "The operations.", schema: json } },
    handler: async ({ query }) => ({ status: 200, body: { operations: await ports.list(query.status) } }),
  }),
  route({
    ...COMMON,
    operation: "admin_white_label_release",
    method: "POST",
    path: "/white-label/operations/{id}/release",
    summary: "Ask the registry who has the participant, and end the review by its answer",
    errors: ["NOT_FOUND", "WHITE_LABEL_STATE", "REGISTRY_SILENT", "TEMPORARY"],
    request: { params },
    responses: { 200: { description: "The operation as it is now.", schema: json } },
    handler: async (request) => ({ status: 200, body: { ...(await ports.release(request.params.id)) } }),
  }),
  route({
    ...COMMON,
    operation: "admin_white_label_vouch",
    method: "POST",
    path: "/white-label/operations/{id}/vouch",
    summary: "Vouch for an operation by naming the token that was checked, and let it go on",
    errors: [
      "NOT_FOUND",
      "REQUEST_INVALID",
      "WHITE_LABEL_STATE",
      "VERIFICATION_MISMATCH",
      "INTEGRATOR_UNAPPROVED",
      "CUSTOMER_REF_CONFLICT",
      "TEMPORARY",
    ],
    request: {
      params,
      body: z.object({ token: z.string().trim().min(1).max(LIMITS.verification_token_chars_max) }),
    },
    responses: { 200: { description: "The operation as it is now.", schema: json } },
    handler: async ({ params: { id }, body: { token } }) => ({
      status: 200,
      body: { ...(await ports.vouch({ id, token })) },
    }),
  }),
];
