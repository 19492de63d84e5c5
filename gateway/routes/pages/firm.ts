/**
 * A firm's own page: which integrators may act for it, and the end of that.
 * @source spec/enterprise.md, States: firm and partner binding; spec/rulings.md, section 8: revocation by the owner
 */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import { parseFirmId, parseIntegratorId } from "../../../engine/base/ids.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { isScope } from "../../../engine/base/scopes.js";
import type { PartnerOperations } from "../../../engine/identity/partners/operations.js";
import type { FirmConsent } from "../../../engine/identity/people/firm-consents.js";
import type { People } from "../../../engine/identity/people/people.js";
import { idBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { deskFor, PAGE_ROW, personActor, requireOwnForm, seeOther } from "../../web/pages/desk.js";
import type { Desk, PageSettings } from "../../web/pages/desk.js";
import { html } from "../../web/pages/html.js";
import type { Html } from "../../web/pages/html.js";
import { FORM_TOKEN_FIELD } from "../../web/pages/page.js";
import { scopeList } from "../../web/pages/scopes.js";

type Session = NonNullable<Awaited<ReturnType<People["session"]>>>;

interface FirmPagePorts extends PageSettings {
  readonly people: Pick<People, "session">;
  consents(firmId: FirmId): Promise<readonly FirmConsent[]>;
  readonly revokeConsent: PartnerOperations["revokeConsent"];
}

const params = z.object({ firmId: idBy(parseFirmId) });

const officeOf = (session: Session | undefined, firmId: FirmId): Session["memberships"][number] | undefined =>
  session?.memberships.find((office) => office.firmId === firmId);

const dateOf = (language: string, date: Date): string =>
  date.toLocaleDateString(language, { timeZone: "Europe/Bratislava", dateStyle: "long" });

function consentCard({ words, language, formTokenField }: Desk, consent: FirmConsent, firmId: FirmId): Html {
  const { integratorId, integratorName, state, scopes, updatedAt } = consent;
  const isOver = state === "revoked";
  return html`<section class="card">
    <h2>${integratorName}</h2>
    <p>${words(isOver ? "firm_revoked" : "firm_active", { date: dateOf(language, updatedAt) })}</p>
    ${
      !isOver &&
      html`${scopeList(words, scopes.filter(isScope))}
        <form method="post" action="/firm/${firmId}/revoke">
          ${formTokenField}<input type="hidden" name="integrator" value="${integratorId}" />
          <p class="quiet">${words("firm_revoke_text")}</p>
          <button class="second" aria-label="${words("firm_revoke")}: ${integratorName}">
            ${words("firm_revoke")}
          </button>
        </form>`
    }
  </section>`;
}

const pageRows = (ports: FirmPagePorts): readonly Route[] => {
  const { visitors, people } = ports;
  return [
    route({
      ...PAGE_ROW,
      operation: "firmPage",
      method: "GET",
      path: "/firm/{firmId}",
      summary: "The consents of a firm",
      rate: "forms",
      errors: ["NOT_FOUND", "TEMPORARY"],
      request: { params },
      handler: async (request) => {
        const { firmId } = request.params;
        const token = visitors.tokenOf(request);
        const session = token === undefined ? undefined : await people.session(token);
        const desk = deskFor(ports, request, session);
        if (session === undefined) return seeOther(`/sign-in?next=${encodeURIComponent(`/firm/${firmId}`)}`);
        const office = officeOf(session, firmId);
        if (office === undefined) return desk.fault("unknown");
        const consents = await ports.consents(firmId);
        const { words, show } = desk;
        return show({
          title: office.name,
          body: html`<p>${words("firm_lead")}</p>
            ${consents.length === 0 && html`<p>${words("firm_none")}</p>`}
            ${consents.map((consent) => consentCard(desk, consent, firmId))}
            <p><a href="/account">${words("menu_account")}</a></p>`,
        });
      },
    }),
    route({
      ...PAGE_ROW,
      operation: "firmRevokeConsent",
      method: "POST",
      path: "/firm/{firmId}/revoke",
      summary: "Withdraws a firm's consent to an integrator",
      rate: "forms",
      errors: ["FORM_FOREIGN", "NOT_FOUND", "TEMPORARY"],
      request: {
        params,
        accepts: ["form"],
        body_bytes_max: LIMITS.form_bytes_max,
        body: z.object({
          [FORM_TOKEN_FIELD]: z.string().max(100).optional(),
          integrator: idBy(parseIntegratorId),
        }),
      },
      handler: async (request) => {
        const { body, params: path } = request;
        const session = await people.session(requireOwnForm(ports, request, body[FORM_TOKEN_FIELD]));
        if (session === undefined) return seeOther("/sign-in");
        if (officeOf(session, path.firmId) === undefined) throw new Refusal("NOT_FOUND");
        await revoke(ports, session, { ...path, integratorId: body.integrator }, request);
        return seeOther(`/firm/${path.firmId}`);
      },
    }),
  ];
};

/**
 * The same for programs that hold an owner's session, such as a page of the firm's own. Another site cannot send it: a
 * browser asks for leave before a DELETE, which nobody gives, and says where it comes from.
 */
const sessionRows = (ports: FirmPagePorts): readonly Route[] => [
  route({
    operation: "deleteFirmConsent",
    method: "DELETE",
    path: "/firms/{firmId}/consent",
    mounts: ["/api/v1"],
    family: "enterprise",
    credential: "none",
    hidden: true,
    tag: "Firms",
    summary: "Withdraw a firm's consent, with the session of its owner or admin",
    rate: "forms",
    errors: ["TOKEN_INVALID", "FORM_FOREIGN", "NOT_FOUND", "TEMPORARY"],
    request: { params, query: z.object({ integratorId: idBy(parseIntegratorId).optional() }) },
    responses: {
      200: {
        description: "Every access of these integrators to the firm has ended.",
        schema: z.object({ firmId: z.uuid(), revoked: z.array(z.uuid()) }),
      },
    },
    handler: async (request) => {
      const { firmId } = request.params;
      const token = ports.visitors.tokenOf(request);
      if (!ports.visitors.isOwnSite(request)) throw new Refusal("FORM_FOREIGN");
      const session = token === undefined ? undefined : await ports.people.session(token);
      if (session === undefined) throw new Refusal("TOKEN_INVALID", [], { message: "Sign in at /sign-in first." });
      if (officeOf(session, firmId) === undefined) throw new Refusal("NOT_FOUND");
      const wanted = request.query.integratorId;
      const consents = (await ports.consents(firmId)).filter(
        ({ integratorId, state }) => state !== "revoked" && (wanted === undefined || wanted === integratorId),
      );
      const revoked: string[] = [];
      for (const { integratorId } of consents)
        if (await revoke(ports, session, { firmId, integratorId }, request)) revoked.push(integratorId);
      return { status: 200, body: { firmId, revoked } };
    },
  }),
];

/** Safe to repeat: a consent that is withdrawn already stays so. */
const revoke = (
  ports: FirmPagePorts,
  session: Session,
  which: { readonly firmId: FirmId; readonly integratorId: IntegratorId },
  request: Parameters<typeof personActor>[1],
): Promise<boolean> => ports.revokeConsent(which.integratorId, which.firmId, personActor(session, request));

export const firmPageRoutes = (ports: FirmPagePorts): readonly Route[] => [...pageRows(ports), ...sessionRows(ports)];
