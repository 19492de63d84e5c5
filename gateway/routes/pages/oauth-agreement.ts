/** The page of OAuth: an integrator's administrator sees which program asks for what, and agrees or declines. */
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import type { AuthorizationQuery, AuthorizationRequest, OAuth } from "../../../engine/identity/people/oauth.js";
import type { People } from "../../../engine/identity/people/people.js";
import { parseIntegratorId } from "../../../engine/base/ids.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { deskFor, PAGE_ROW, requireOwnForm, seeOther } from "../../web/pages/desk.js";
import type { Desk, PageSettings } from "../../web/pages/desk.js";
import { html } from "../../web/pages/html.js";
import { FORM_TOKEN_FIELD } from "../../web/pages/page.js";
import type { PageReply } from "../../web/pages/page.js";
import { scopeList } from "../../web/pages/scopes.js";

type Session = NonNullable<Awaited<ReturnType<People["session"]>>>;

interface AgreementPorts extends PageSettings {
  readonly people: Pick<People, "session">;
  readonly oauth: Pick<OAuth, "check" | "agree" | "decline">;
}

const member = z.string().max(LIMITS.oauth_redirect_chars_max).optional();
const MEMBERS = {
  client_id: member,
  redirect_uri: member,
  response_type: member,
  code_challenge: member,
  code_challenge_method: member,
  scope: member,
  state: member,
} satisfies Record<keyof AuthorizationQuery, typeof member>;
const NAMES = Object.keys(MEMBERS) as (keyof AuthorizationQuery)[];

/** Only what belongs to the request: a form has more fields than it hands on. */
const queryOf = (given: AuthorizationQuery): AuthorizationQuery =>
  Object.fromEntries(NAMES.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));

const asText = (query: AuthorizationQuery): string => new URLSearchParams(query as Record<string, string>).toString();

function agreementPage(
  desk: Desk,
  session: Session,
  request: AuthorizationRequest,
  query: AuthorizationQuery,
): PageReply {
  const { words, show, formTokenField } = desk;
  const offices = session.memberships.filter(({ integratorId }) => integratorId !== null);
  const { program, redirectUri, scopes } = request;
  const title = words("oauth_title", { program: program.name });
  if (offices.length === 0)
    return show({
      title,
      status: 403,
      body: html`<p role="alert">${words("oauth_no_integrator", { email: session.email })}</p>`,
    });
  const target = new URL(redirectUri);
  return show({
    title,
    formTarget: target.origin,
    body: html`<p>${words("oauth_lead", { program: program.name, host: target.host })}</p>
      <h2>${words("consent_may")}</h2>
      ${scopeList(words, scopes)}
      <p class="quiet">${words("oauth_key")}</p>
      <form method="post" action="/oauth/authorize">
        ${formTokenField}${NAMES.map(
          (name) => query[name] !== undefined && html`<input type="hidden" name="${name}" value="${query[name]}" />`,
        )}
        <fieldset>
          <legend>${words("oauth_for")}</legend>
          ${offices.map(
            ({ integratorId, name }, index) =>
              html`<label class="choice"
                ><input type="radio" name="integrator" value="${integratorId ?? ""}" ${index === 0 && html`checked`} />
                ${name}</label
              >`,
          )}
        </fieldset>
        <button name="decision" value="accept">${words("consent_accept")}</button>
        <button class="second" name="decision" value="decline">${words("consent_decline")}</button>
      </form>`,
  });
}

export const agreementRoutes = (ports: AgreementPorts): readonly Route[] => {
  const sessionOf = async (token: string | undefined): Promise<Session | undefined> =>
    token === undefined ? undefined : ports.people.session(token);
  return [
    route({
      ...PAGE_ROW,
      operation: "oauthAuthorizePage",
      method: "GET",
      path: "/oauth/authorize",
      summary: "Where an integrator's administrator agrees that a program gets a key",
      rate: "forms",
      request: { query: z.object(MEMBERS) },
      handler: async (request) => {
        const query = queryOf(request.query);
        const checked = await ports.oauth.check(query);
        if (checked.kind === "refused") return seeOther(checked.location);
        const session = await sessionOf(ports.visitors.tokenOf(request));
        const desk = deskFor(ports, request, session);
        if (checked.kind === "unknown") return desk.fault("program");
        if (session === undefined)
          return seeOther(`/sign-in?next=${encodeURIComponent(`/oauth/authorize?${asText(query)}`)}`);
        return agreementPage(desk, session, checked.request, query);
      },
    }),
    route({
      ...PAGE_ROW,
      operation: "oauthAuthorize",
      method: "POST",
      path: "/oauth/authorize",
      summary: "Agrees or declines",
      rate: "forms",
      errors: ["FORM_FOREIGN", "TEMPORARY"],
      request: {
        accepts: ["form"],
        body_bytes_max: LIMITS.form_bytes_max,
        body: z.object({
          ...MEMBERS,
          [FORM_TOKEN_FIELD]: member,
          integrator: member,
          decision: z.enum(["accept", "decline"]),
        }),
      },
      handler: async (request) => {
        const { body } = request;
        const token = requireOwnForm(ports, request, body[FORM_TOKEN_FIELD]);
        const session = await sessionOf(token);
        const desk = deskFor(ports, request, session);
        const checked = await ports.oauth.check(queryOf(body));
        if (checked.kind === "unknown") return desk.fault("program");
        if (checked.kind === "refused") return seeOther(checked.location);
        if (session === undefined) return seeOther("/sign-in");
        if (body.decision === "decline") return seeOther(ports.oauth.decline(checked.request));
        const integratorId = parseIntegratorId(body.integrator ?? "");
        const location =
          integratorId === undefined
            ? undefined
            : await ports.oauth.agree({ request: checked.request, personId: session.personId, integratorId });
        return location === undefined ? desk.fault("unknown") : seeOther(location);
      },
    }),
  ];
};
