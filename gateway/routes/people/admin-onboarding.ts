/** Operators' decisions on onboarding requests. @source design/interface.md, Admin JSON */
import { z } from "zod";

import { isoInstant, isoOrNull } from "../../../engine/base/clock.js";
import { parseOnboardingId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { ONBOARDING_DECISIONS } from "../../../engine/identity/onboarding/onboarding.js";
import type {
  Onboarding,
  OnboardingDecision,
  OnboardingRequest,
} from "../../../engine/identity/onboarding/onboarding.js";
import { ONBOARDING_STATES } from "../../../engine/lifecycle/onboarding.js";
import { idBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

const COMMON = { mounts: ["/admin"], family: "admin", credential: "admin", tag: "Onboarding" } as const;
const json = z.record(z.string(), z.unknown());

const SUMMARIES: Readonly<Record<OnboardingDecision, string>> = {
  approve: "Vouch for the firm of an onboarding request and activate it",
  refuse: "Refuse an onboarding request for good",
  return: "Return an onboarding request to be corrected",
  resume: "Let a returned onboarding request wait for the confirmation again",
  revoke: "End an onboarding request and the consent that it made",
};

const params = z.object({ id: idBy(parseOnboardingId) });

const viewOf = ({ createdAt, updatedAt, vouchedAt, version: _, ...request }: OnboardingRequest) => ({
  ...request,
  vouchedAt: isoOrNull(vouchedAt),
  createdAt: isoInstant(createdAt),
  updatedAt: isoInstant(updatedAt),
});

const decisionRow = (ports: Pick<Onboarding, "decide">, decision: OnboardingDecision): Route =>
  route({
    ...COMMON,
    operation: `admin_onboarding_${decision}`,
    method: "POST",
    path: `/onboarding-requests/{id}/${decision}`,
    summary: SUMMARIES[decision],
    errors: ["NOT_FOUND", "ONBOARDING_STATE", "TEMPORARY"],
    request: {
      params,
      body: z.strictObject({ words: z.string().max(LIMITS.onboarding_words_chars_max).optional() }).optional(),
    },
    responses: { 200: { description: "The request as it is now.", schema: json } },
    handler: async (request) => ({
      status: 200,
      body: viewOf(await ports.decide(request.params.id, decision, request.body?.words)),
    }),
  });

export const adminOnboardingRoutes = (ports: Pick<Onboarding, "list" | "decide">): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminListOnboardingRequests",
    method: "GET",
    path: "/onboarding-requests",
    summary: "Onboarding requests of all integrators, newest first",
    errors: ["REQUEST_INVALID", "TEMPORARY"],
    request: { query: z.object({ status: z.enum(ONBOARDING_STATES).optional() }) },
    responses: { 200: { description: "Requests.", schema: json } },
    handler: async ({ query }) => ({
      status: 200,
      body: { requests: (await ports.list(query.status)).map(viewOf) },
    }),
  }),
  ...(Object.keys(ONBOARDING_DECISIONS) as OnboardingDecision[]).map((decision) => decisionRow(ports, decision)),
];
