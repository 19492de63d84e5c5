/** Sign-in: an address, a code from a letter, a session; the account that it leads to, and the way out. */
import { z } from "zod";

import { parseEmail } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { CodeRequest, People } from "../../../engine/identity/people/people.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { deskFor, PAGE_ROW, requireOwnForm, seeOther } from "../../web/pages/desk.js";
import type { Desk, PageSettings } from "../../web/pages/desk.js";
import { html } from "../../web/pages/html.js";
import { FORM_TOKEN_FIELD, formToken } from "../../web/pages/page.js";
import type { PageReply } from "../../web/pages/page.js";
import { pressOf } from "../../web/pages/presses.js";
import { nextOf } from "../../web/pages/visitor.js";

interface SignInPorts extends PageSettings {
  readonly people: Pick<People, "startSignIn" | "finishSignIn" | "session" | "signOut">;
}

const NEXT_CHARS = 4_200;
const next = z.string().max(NEXT_CHARS).optional();
const form = <Shape extends z.ZodRawShape>(shape: Shape) => ({
  accepts: ["form"] as const,
  body_bytes_max: LIMITS.form_bytes_max,
  body: z.object({ [FORM_TOKEN_FIELD]: z.string().max(100).optional(), ...shape }),
});

const minutes = LIMITS.sign_in_code_ms / 60_000;

/** The form that asks for an address, with what was wrong with the last one. */
function addressPage(desk: Desk, settings: PageSettings, at: string, wrong?: string): PageReply {
  const { words, show } = desk;
  const token = desk.token ?? settings.visitors.newToken();
  return show({
    title: words("sign_in_title"),
    status: wrong === undefined ? 200 : 400,
    body: html`<p>${words("sign_in_lead")}</p>
      <form method="post" action="/sign-in">
        ${formToken(settings.visitors.formTokenOf(token))}<input type="hidden" name="next" value="${at}" />
        <label for="email">${words("sign_in_email")}</label>
        <input
          id="email"
          name="email"
          type="email"
          autocomplete="email"
          required
          maxlength="254"
          ${wrong !== undefined && html`aria-invalid="true" aria-describedby="wrong"`}
        />
        ${wrong !== undefined && html`<p id="wrong" class="wrong" role="alert">${wrong}</p>`}
        <button>${words("sign_in_send")}</button>
      </form>`,
    ...(desk.token === undefined ? { setCookie: settings.visitors.cookie(token) } : {}),
  });
}

function codePage(desk: Desk, settings: PageSettings, at: string, wrong?: string): PageReply {
  const { words, show, token } = desk;
  return show({
    title: words("code_title"),
    status: wrong === undefined ? 200 : 400,
    body: html`<p>${words("code_lead", { minutes })}</p>
      <form method="post" action="/sign-in/code">
        ${formToken(token === undefined ? "" : settings.visitors.formTokenOf(token))}<input
          type="hidden"
          name="next"
          value="${at}"
        />
        <label for="code">${words("code_label")}</label>
        <input
          id="code"
          name="code"
          inputmode="numeric"
          autocomplete="one-time-code"
          required
          maxlength="10"
          ${wrong !== undefined && html`aria-invalid="true" aria-describedby="wrong"`}
        />
        ${wrong !== undefined && html`<p id="wrong" class="wrong" role="alert">${wrong}</p>`}
        <button>${words("code_submit")}</button>
      </form>
      <p><a href="/sign-in?next=${encodeURIComponent(at)}">${words("code_again")}</a></p>`,
  });
}

const queryOf = (at: string): string => (at === "/account" ? "" : `?next=${encodeURIComponent(at)}`);

function addressRows(ports: SignInPorts): readonly Route[] {
  const { visitors, people, presses, publicUrl } = ports;
  /** Writes the letter in the language of the page on which the code is entered. */
  const start = async (desk: Desk, asker: Omit<CodeRequest, "letter">): Promise<void> =>
    people.startSignIn({
      ...asker,
      letter: (code) => ({
        subject: desk.words("letter_code_subject", { code }),
        text: desk.words("letter_code_text", { code, minutes, host: new URL(publicUrl).host }),
      }),
    });
  return [
    route({
      ...PAGE_ROW,
      operation: "signInPage",
      method: "GET",
      path: "/sign-in",
      summary: "Where people say who they are",
      request: { query: z.object({ next }) },
      handler: (request) => addressPage(deskFor(ports, request, undefined), ports, nextOf(request.query.next)),
    }),
    route({
      ...PAGE_ROW,
      operation: "signInStart",
      method: "POST",
      path: "/sign-in",
      summary: "Sends a code to an address that is known",
      rate: "sign_in",
      errors: ["FORM_FOREIGN", "TEMPORARY"],
      request: form({ email: z.string().max(1_000).default(""), next }),
      handler: (request) => {
        const { body } = request;
        return presses.once(pressOf(visitors, request, "/sign-in", [body.email, body.next]), async () => {
          requireOwnForm(ports, request, body[FORM_TOKEN_FIELD]);
          const desk = deskFor(ports, request, undefined);
          const email = parseEmail(body.email);
          const at = nextOf(body.next);
          if (email === undefined) return addressPage(desk, ports, at, desk.words("sign_in_email_wrong"));
          const visit = visitors.newToken();
          await start(desk, { email, visit, address: request.address });
          return seeOther(`/sign-in/code${queryOf(at)}`, visitors.cookie(visit));
        });
      },
    }),
  ];
}

const codeRows = (ports: SignInPorts): readonly Route[] => [
  route({
    ...PAGE_ROW,
    operation: "signInCodePage",
    method: "GET",
    path: "/sign-in/code",
    summary: "Where people enter the code",
    request: { query: z.object({ next }) },
    handler: (request) => {
      const desk = deskFor(ports, request, undefined);
      const at = nextOf(request.query.next);
      // A browser without our cookie has asked for no code, and no form that it sends would be taken.
      return desk.token === undefined ? seeOther(`/sign-in${queryOf(at)}`) : codePage(desk, ports, at);
    },
  }),
  route({
    ...PAGE_ROW,
    operation: "signInFinish",
    method: "POST",
    path: "/sign-in/code",
    summary: "Opens a session for the right code",
    rate: "sign_in",
    errors: ["FORM_FOREIGN", "TEMPORARY"],
    request: form({ code: z.string().max(100).default(""), next }),
    handler: (request) => {
      const { body } = request;
      return ports.presses.once(pressOf(ports.visitors, request, "/sign-in/code", [body.code, body.next]), async () => {
        const visit = requireOwnForm(ports, request, body[FORM_TOKEN_FIELD]);
        const desk = deskFor(ports, request, undefined);
        const at = nextOf(body.next);
        const { outcome, session } = await ports.people.finishSignIn({
          visit,
          address: request.address,
          code: body.code.replace(/\s/g, ""),
        });
        if (session !== undefined) return seeOther(at, ports.visitors.cookie(session));
        return codePage(desk, ports, at, desk.words(outcome === "wrong" ? "code_wrong" : "code_used_up"));
      });
    },
  }),
];

const accountRows = (ports: SignInPorts): readonly Route[] => [
  route({
    ...PAGE_ROW,
    operation: "accountPage",
    method: "GET",
    path: "/account",
    summary: "Whom somebody may act for",
    handler: async (request) => {
      const token = ports.visitors.tokenOf(request);
      const session = token === undefined ? undefined : await ports.people.session(token);
      if (session === undefined) return seeOther("/sign-in");
      const { words, show } = deskFor(ports, request, session);
      const firms = session.memberships.filter(({ firmId }) => firmId !== null);
      const integrators = session.memberships.filter(({ integratorId }) => integratorId !== null);
      return show({
        title: words("account_title"),
        body: html`<p>${words("account_signed_in", { email: session.email })}</p>
          ${session.memberships.length === 0 && html`<p>${words("account_none")}</p>`}
          ${
            firms.length > 0 &&
            html`<h2>${words("account_firms")}</h2>
              <ul>
                ${firms.map(
                  ({ name, role, firmId }) =>
                    html`<li><a href="/firm/${firmId ?? ""}">${name}</a> (${words(`role_${role}`)})</li>`,
                )}
              </ul>`
          }
          ${
            integrators.length > 0 &&
            html`<h2>${words("account_integrators")}</h2>
              <ul>
                ${integrators.map(({ name, role }) => html`<li>${name} (${words(`role_${role}`)})</li>`)}
              </ul>`
          }`,
      });
    },
  }),
  route({
    ...PAGE_ROW,
    operation: "signOut",
    method: "POST",
    path: "/sign-out",
    summary: "Ends a session",
    rate: "forms",
    errors: ["FORM_FOREIGN", "TEMPORARY"],
    request: form({}),
    handler: (request) =>
      ports.presses.once(pressOf(ports.visitors, request, "/sign-out"), async () => {
        await ports.people.signOut(requireOwnForm(ports, request, request.body[FORM_TOKEN_FIELD]));
        return seeOther("/", ports.visitors.cookie(ports.visitors.newToken()));
      }),
  }),
];

export const signInRoutes = (ports: SignInPorts): readonly Route[] => [
  ...addressRows(ports),
  ...codeRows(ports),
  ...accountRows(ports),
];
