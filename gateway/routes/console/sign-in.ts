/** The way into the console and out of it, and the files that each of its pages loads. */
import { readFileSync } from "node:fs";
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import type { ConsoleSessions } from "../../../engine/identity/operators/sessions.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { CONSOLE_PATH, consoleCookie, consoleTokens } from "../../web/console/cookie.js";
import { CONSOLE_ROW, consoleLeadsTo, requireConsoleForm, toSignIn } from "../../web/console/desk.js";
import { consolePage } from "../../web/console/frame.js";
import type { ConsoleReply } from "../../web/console/frame.js";
import { html } from "../../web/pages/html.js";
import { FORM_TOKEN_FIELD, formToken } from "../../web/pages/page.js";
import { pressOf } from "../../web/pages/presses.js";
import type { Presses } from "../../web/pages/presses.js";

interface ConsoleSignInPorts {
  /** Whether this is the operators' token; compares in constant time. */
  isAdminToken(token: string): boolean;
  readonly sessions: Pick<ConsoleSessions, "open" | "end">;
  /** Writes down who signs in. @throws Refusal TEMPORARY */
  signedIn(session: string, from: { readonly address: string; readonly userAgent: string | null }): Promise<void>;
  /** Tells the log who tries. */
  refused(address: string): void;
  readonly presses: Presses<ConsoleReply>;
}

interface Request {
  header(name: string): string | undefined;
}

/** @param wrong  what was wrong with the last token */
function signInPage(request: Request, wrong?: string): ConsoleReply {
  const known = consoleTokens.tokenOf(request);
  const token = known ?? consoleTokens.newToken();
  return consolePage({
    title: "Sign in",
    status: wrong === undefined ? 200 : 400,
    setCookie: known === undefined ? consoleCookie(request, token) : undefined,
    body: html`<p>
        With the operators' token, which the engine knows as ADMIN_TOKEN; a sandbox has its own in sandbox.json.
      </p>
      <form method="post" action="/console/sign-in">
        ${formToken(consoleTokens.formTokenOf(token))}
        <label for="token">Operators' token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          maxlength="${LIMITS.console_token_chars_max}"
          ${wrong !== undefined && html`aria-invalid="true" aria-describedby="wrong"`}
        />
        ${wrong !== undefined && html`<p id="wrong" class="wrong" role="alert">${wrong}</p>`}
        <button>Sign in</button>
      </form>`,
  });
}

const form = <Shape extends z.ZodRawShape>(shape: Shape) => ({
  accepts: ["form"] as const,
  body_bytes_max: LIMITS.form_bytes_max,
  body: z.object({ [FORM_TOKEN_FIELD]: z.string().max(LIMITS.console_token_chars_max).optional(), ...shape }),
});

const sessionRows = (ports: ConsoleSignInPorts): readonly Route[] => [
  route({
    ...CONSOLE_ROW,
    operation: "consoleSignInPage",
    method: "GET",
    path: "/sign-in",
    summary: "Where operators show their token",
    errors: [],
    handler: (request) => signInPage(request),
  }),
  route({
    ...CONSOLE_ROW,
    operation: "consoleSignIn",
    method: "POST",
    path: "/sign-in",
    summary: "Opens a session for the operators' token",
    rate: "sign_in",
    errors: ["FORM_FOREIGN", "TEMPORARY"],
    request: form({ token: z.string().max(LIMITS.console_token_chars_max).default("") }),
    handler: (request) => {
      const { body } = request;
      return ports.presses.once(pressOf(consoleTokens, request, "sign-in", [body.token]), async () => {
        requireConsoleForm(request, body[FORM_TOKEN_FIELD]);
        if (!ports.isAdminToken(body.token.trim())) {
          ports.refused(request.address);
          return signInPage(request, "That is not the operators' token.");
        }
        const { token, id } = await ports.sessions.open();
        await ports.signedIn(id, { address: request.address, userAgent: request.header("user-agent") ?? null });
        return consoleLeadsTo(CONSOLE_PATH, consoleCookie(request, token));
      });
    },
  }),
  route({
    ...CONSOLE_ROW,
    operation: "consoleSignOut",
    method: "POST",
    path: "/sign-out",
    summary: "Ends a session",
    rate: "forms",
    errors: ["FORM_FOREIGN", "TEMPORARY"],
    request: form({}),
    handler: (request) =>
      ports.presses.once(pressOf(consoleTokens, request, "sign-out"), async () => {
        await ports.sessions.end(requireConsoleForm(request, request.body[FORM_TOKEN_FIELD]));
        return toSignIn(consoleCookie(request, consoleTokens.newToken()));
      }),
  }),
];

/** Read once; every page of the console loads them. */
const FILES = [
  ["pages.css", "../../web/pages.css", "text/css; charset=utf-8"],
  ["console.css", "../../web/console/console.css", "text/css; charset=utf-8"],
  ["console.js", "../../web/console/console.js", "text/javascript; charset=utf-8"],
  ["icon.svg", "../../web/icon.svg", "image/svg+xml"],
] as const;

const fileRow = ([name, file, contentType]: (typeof FILES)[number]): Route => {
  const raw = readFileSync(new URL(file, import.meta.url));
  return route({
    ...CONSOLE_ROW,
    operation: `console_file_${name.replace(".", "_")}`,
    method: "GET",
    path: `/assets/${name}`,
    summary: `File ${CONSOLE_PATH}/assets/${name}`,
    errors: [],
    responses: { 200: { description: "The file.", contentType } },
    handler: () => ({
      status: 200,
      body: { raw },
      contentType,
      headers: { "Cache-Control": `public, max-age=${LIMITS.reference_cache_s}` },
    }),
  });
};

export const consoleSignInRoutes = (ports: ConsoleSignInPorts): readonly Route[] => [
  ...sessionRows(ports),
  ...FILES.map(fileRow),
];
