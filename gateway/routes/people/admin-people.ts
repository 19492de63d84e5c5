/** People and their offices, as operators give them over the admin listener. */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import { parseEmail, parseFirmId, parseIntegratorId } from "../../../engine/base/ids.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { PERSON_ROLES } from "../../../engine/base/roles.js";
import type { Invitation, People } from "../../../engine/identity/people/people.js";
import { idBy, parsedBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";

interface AdminPeoplePorts extends Pick<People, "members" | "dismiss"> {
  /** @returns false when there is no such firm or integrator */
  invite(order: Omit<Invitation, "letter">): Promise<boolean>;
}

const personEmail = parsedBy(parseEmail, "must be an e-mail address");
const firmId = idBy(parseFirmId).optional();
const integratorId = idBy(parseIntegratorId).optional();

/** The office that a body names. @throws Refusal REQUEST_INVALID for none, and for two */
function officeIn(body: { readonly firmId?: FirmId | undefined; readonly integratorId?: IntegratorId | undefined }) {
  if ((body.firmId === undefined) === (body.integratorId === undefined))
    throw new Refusal("REQUEST_INVALID", [{ field: "firmId", message: "Name firmId or integratorId." }]);
  return {
    ...(body.firmId === undefined ? {} : { firmId: body.firmId }),
    ...(body.integratorId === undefined ? {} : { integratorId: body.integratorId }),
  };
}

const COMMON = {
  mounts: ["/admin"],
  family: "admin",
  credential: "admin",
  tag: "People",
} as const;

export const adminPeopleRoutes = (ports: AdminPeoplePorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminListPeople",
    method: "GET",
    path: "/people",
    summary: "Who may sign in for a firm or an integrator",
    errors: ["TEMPORARY"],
    request: { query: z.object({ firmId, integratorId }) },
    responses: { 200: { description: "Offices.", schema: z.record(z.string(), z.unknown()) } },
    handler: async ({ query }) => ({ status: 200, body: { people: await ports.members(query) } }),
  }),
  route({
    ...COMMON,
    operation: "adminInvitePerson",
    method: "POST",
    path: "/people",
    summary: "Give somebody a firm or an integrator",
    description: "The person gets a letter with the address of the sign-in page. Safe to repeat.",
    errors: ["REQUEST_INVALID", "NOT_FOUND", "TEMPORARY"],
    request: {
      body: z.strictObject({
        email: personEmail,
        firmId,
        integratorId,
        role: z.enum(PERSON_ROLES).default("admin"),
      }),
    },
    responses: { 201: { description: "The office.", schema: z.record(z.string(), z.unknown()) } },
    handler: async ({ body }) => {
      const { email, role } = body;
      const office = officeIn(body);
      if (body.integratorId !== undefined && role !== "admin")
        throw new Refusal("REQUEST_INVALID", [{ field: "role", message: "An integrator has admins only." }]);
      if (!(await ports.invite({ email, role, ...office }))) throw new Refusal("NOT_FOUND");
      return { status: 201, body: { email, role, ...office } };
    },
  }),
  route({
    ...COMMON,
    operation: "adminDismissPerson",
    method: "DELETE",
    path: "/people",
    summary: "Take a firm or an integrator away from somebody",
    description: "Holds from the next request on, also where the person is signed in.",
    errors: ["REQUEST_INVALID", "NOT_FOUND", "TEMPORARY"],
    request: { body: z.strictObject({ email: personEmail, firmId, integratorId }) },
    responses: { 200: { description: "The office is gone.", schema: z.record(z.string(), z.unknown()) } },
    handler: async ({ body }) => {
      const { email } = body;
      const office = officeIn(body);
      if (!(await ports.dismiss(email, office))) throw new Refusal("NOT_FOUND");
      return { status: 200, body: { email, ...office, removed: true } };
    },
  }),
];
