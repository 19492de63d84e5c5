/**
 * The page behind a consentUrl: who asks, for which firm, for which interface and scopes, and the answer of the firm's
 * owner or admin.
 * @source spec/enterprise.md, Consent offers, rules; spec/rulings.md, section 8: the consent page
 */
import { z } from "zod";

import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { OpenedOffer } from "../../../engine/identity/partners/consents.js";
import type { PartnerOperations } from "../../../engine/identity/partners/operations.js";
import type { People } from "../../../engine/identity/people/people.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { deskFor, PAGE_ROW, personActor, requireOwnForm, seeOther } from "../../web/pages/desk.js";
import type { Desk, PageSettings } from "../../web/pages/desk.js";
import { html } from "../../web/pages/html.js";
import type { Html } from "../../web/pages/html.js";
import { FORM_TOKEN_FIELD } from "../../web/pages/page.js";
import type { PageReply } from "../../web/pages/page.js";
import { interfaceText, scopeList } from "../../web/pages/scopes.js";
import type { TextName } from "../../web/pages/texts.js";

type Session = NonNullable<Awaited<ReturnType<People["session"]>>>;
type Offices = Session["memberships"];

interface ConsentPagePorts extends PageSettings {
  readonly people: Pick<People, "session">;
  readonly consents: Pick<PartnerOperations, "openConsentOffer" | "acceptConsentOffer" | "declineConsentOffer">;
  /** Whether a firm's consent is in force. @throws Refusal TEMPORARY */
  holds(integratorId: IntegratorId, firmId: FirmId): Promise<boolean>;
}

/** The path of an offer is its secret: what has not its form is no offer. */
const params = z.object({ token: z.string().regex(/^[A-Za-z0-9_-]{16,128}$/) });

/** Firms of the person that the offer is addressed to. */
const firmsOf = (session: Session | undefined, offer: OpenedOffer): Offices =>
  (session?.memberships ?? []).filter(
    ({ firmId, ico, dic }) => firmId !== null && (ico === offer.targetIdentifier || dic === offer.targetIdentifier),
  );

/** What an offer that waits for no answer says of itself; an accepted one may have been withdrawn since. */
const ENDED: Readonly<Partial<Record<OpenedOffer["status"], TextName>>> = {
  accepted: "consent_was_accepted",
  declined: "consent_declined",
  expired: "consent_expired",
  withdrawn: "consent_withdrawn",
};

/** What became of an answer, where it was not what the person wanted. */
const OUTCOMES: Readonly<Record<string, TextName>> = {
  accepted: "consent_accepted",
  declined: "consent_declined",
  expired: "consent_expired",
  withdrawn: "consent_withdrawn",
  unavailable: "consent_unavailable",
};

function answerForm(desk: Desk, session: Session | undefined, offer: OpenedOffer, path: string): Html {
  const { words } = desk;
  if (session === undefined)
    return html`<p>${words("consent_sign_in")}</p>
      <p><a href="/sign-in?next=${encodeURIComponent(path)}">${words("menu_sign_in")}</a></p>`;
  const firms = firmsOf(session, offer);
  if (firms.length === 0)
    return html`<p role="alert">
      ${words("consent_not_yours", { email: session.email, target: offer.targetIdentifier })}
    </p>`;
  return html`<form method="post" action="${path}">
    ${desk.formTokenField}
    <fieldset>
      <legend>${words("consent_in_the_name_of")}</legend>
      ${firms.map(
        ({ firmId, name }, index) =>
          html`<label class="choice"
            ><input type="radio" name="firm" value="${firmId ?? ""}" ${index === 0 && html`checked`} /> ${name}</label
          >`,
      )}
    </fieldset>
    <button name="decision" value="accept">${words("consent_accept")}</button>
    <button class="second" name="decision" value="decline">${words("consent_decline")}</button>
  </form>`;
}

function offerPage(desk: Desk, session: Session | undefined, offer: OpenedOffer, path: string): PageReply {
  const { words, show } = desk;
  const ended = ENDED[offer.status];
  return show({
    title: words("consent_title", { name: offer.integratorName }),
    body: html`<dl>
        <dt>${words("consent_who")}</dt>
        <dd>${offer.integratorName}</dd>
        <dt>${words("consent_whom")}</dt>
        <dd>${words("consent_company", { target: offer.targetIdentifier })}</dd>
        <dt>${words("consent_through")}</dt>
        <dd>${interfaceText(words, offer.requestedInterface)}</dd>
        <dt>${words("consent_pays")}</dt>
        <dd>${words(offer.relationshipMode === "managed_service" ? "consent_pays_partner" : "consent_pays_firm")}</dd>
      </dl>
      <h2>${words("consent_may")}</h2>
      ${scopeList(words, offer.requestedScopes)}
      <p class="quiet">${words("consent_revocable")}</p>
      ${ended === undefined ? answerForm(desk, session, offer, path) : html`<p role="status">${words(ended)}</p>`}`,
  });
}

function outcomePage({ words, show }: Desk, text: TextName, firmId: string): PageReply {
  return show({
    title: words("consent_done"),
    body: html`<p role="status">${words(text)}</p>
      <p><a href="/firm/${firmId}">${words("consent_to_firm")}</a></p>`,
  });
}

export const consentPageRoutes = (ports: ConsentPagePorts): readonly Route[] => {
  const { visitors, people, consents } = ports;
  return [
    route({
      ...PAGE_ROW,
      operation: "consentPage",
      method: "GET",
      path: "/consent/{token}",
      summary: "Shows an invitation to consent",
      rate: "forms",
      errors: ["NOT_FOUND", "TEMPORARY"],
      request: { params },
      handler: async (request) => {
        const token = visitors.tokenOf(request);
        const session = token === undefined ? undefined : await people.session(token);
        const desk = deskFor(ports, request, session);
        const offer = await consents.openConsentOffer(request.params.token);
        return offer === undefined
          ? desk.fault("unknown")
          : offerPage(desk, session, offer, `/consent/${request.params.token}`);
      },
    }),
    route({
      ...PAGE_ROW,
      operation: "consentAnswer",
      method: "POST",
      path: "/consent/{token}",
      summary: "Accepts or declines an invitation in the name of a firm",
      rate: "forms",
      errors: ["FORM_FOREIGN", "NOT_FOUND", "TEMPORARY"],
      request: {
        params,
        accepts: ["form"],
        body_bytes_max: LIMITS.form_bytes_max,
        body: z.object({
          [FORM_TOKEN_FIELD]: z.string().max(100).optional(),
          firm: z.string().max(100).default(""),
          decision: z.enum(["accept", "decline"]),
        }),
      },
      handler: async (request) => {
        const { body, params: path } = request;
        const token = requireOwnForm(ports, request, body[FORM_TOKEN_FIELD]);
        const session = await people.session(token);
        if (session === undefined) return seeOther(`/sign-in?next=${encodeURIComponent(`/consent/${path.token}`)}`);
        const desk = deskFor(ports, request, session);
        const offer = await consents.openConsentOffer(path.token);
        const firmId =
          offer === undefined ? null : firmsOf(session, offer).find((firm) => firm.firmId === body.firm)?.firmId;
        if (offer === undefined || firmId === undefined || firmId === null) return desk.fault("unknown");
        const answer = { offerId: offer.id, firmId, personId: session.personId, actor: personActor(session, request) };
        const outcome =
          body.decision === "accept"
            ? await consents.acceptConsentOffer(answer)
            : await consents.declineConsentOffer(answer);
        const wished = body.decision === "accept" ? "accepted" : "declined";
        const end = outcome === "already" ? wished : outcome;
        // A page from before may be sent long after the consent was withdrawn.
        const isOver = end === "accepted" && outcome !== wished && !(await ports.holds(offer.integratorId, firmId));
        const text = isOver ? ENDED[end] : OUTCOMES[end];
        return text === undefined ? desk.fault("unknown") : outcomePage(desk, text, firmId);
      },
    }),
  ];
};
