/** The frame of every page of the console: one bar, and headers that let a page load our own files only. */
import { ERRORS } from "../../../engine/base/errors.js";
import type { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { html } from "../pages/html.js";
import type { Fragment, Html } from "../pages/html.js";
import { formToken } from "../pages/page.js";
import type { PageReply } from "../pages/page.js";

/** Style, script, icon, frames and the stream of what is new come from here; nothing inline, no other host. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers of every page of the console and of every redirection between them. */
export const consoleHeaders = (setCookie?: string): Readonly<Record<string, string>> => ({
  "Content-Security-Policy": POLICY,
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  // To ourselves only; with none at all a browser hides from us which site has sent a form.
  "Referrer-Policy": "same-origin",
  "Cache-Control": "no-store",
  ...(setCookie === undefined ? {} : { "Set-Cookie": setCookie }),
});

/** Places of the console, in the order of its bar. */
const PLACES = [
  ["/console", "Overview"],
  ["/console/reviews", "Reviews"],
  ["/console/webhooks", "Webhooks"],
  ["/console/firms", "Firms"],
  ["/console/integrators", "Integrators"],
  ["/console/record", "Record"],
] as const;

/** A page of the console, or the way to one, as a reply. */
export type ConsoleReply = PageReply<200 | 303 | 400 | 404>;

export interface ConsoleContent {
  readonly title: string;
  readonly body: Fragment;
  /** @default 200 */
  readonly status?: 200 | 400 | 404;
  /** What forms of the bar carry; undefined where nobody is signed in. */
  readonly formToken?: string | undefined;
  /** The place of the bar that the page belongs to. */
  readonly at?: string;
  readonly setCookie?: string | undefined;
  /** Whether the page follows what is new. @default false */
  readonly isLive?: boolean;
}

const bar = (token: string, at: string | undefined): Html =>
  html`<form class="find" method="get" action="/console/find" role="search">
      <label for="find">Find</label>
      <input id="find" name="q" type="search" required maxlength="${LIMITS.console_search_chars_max}" />
      <button class="second">Go</button>
    </form>
    <nav aria-label="Console">
      ${PLACES.map(([path, name]) => html`<a href="${path}" ${path === at && html`aria-current="page"`}>${name}</a>`)}
      <form method="post" action="/console/sign-out">${formToken(token)}<button class="link">Sign out</button></form>
    </nav>`;

/** A page of the console. */
export function consolePage(content: ConsoleContent): ConsoleReply {
  const whole = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${content.title} – Kurier console</title>
        <link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/console/assets/pages.css" />
        <link rel="stylesheet" href="/console/assets/console.css" />
        ${content.isLive === true && html`<script src="/console/assets/console.js" defer></script>`}
      </head>
      <body class="console">
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <a class="brand" href="/console"
            ><img src="/console/assets/icon.svg" alt="" width="28" height="28" /><span>Kurier console</span></a
          >
          ${content.formToken !== undefined && bar(content.formToken, content.at)}
        </header>
        <main id="content">
          <h1>${content.title}</h1>
          ${content.body}
        </main>
      </body>
    </html>`;
  return {
    status: content.status ?? 200,
    body: { raw: whole.text.replace(/\n\s+/g, "\n") },
    contentType: "text/html; charset=utf-8",
    headers: consoleHeaders(content.setCookie),
  };
}

/** A refusal of the pipeline as a page; details name what of the request is wrong. */
export const consoleRefusal = (refusal: Refusal, requestId: string): PageReply<number> => ({
  ...consolePage({
    title: "That did not work",
    body: html`<p role="alert">${refusal.reason === "ROUTE_UNKNOWN" ? "There is no such page." : refusal.message}</p>
      ${
        refusal.details.length > 0 &&
        html`<ul>
          ${refusal.details.map(({ field, message }) => html`<li>${message.startsWith(`${field} `) ? message : `${field}: ${message}`}</li>`)}
        </ul>`
      }
      <p class="quiet">Request ${requestId}</p>
      <p><a href="/console">To the overview</a></p>`,
  }),
  status: ERRORS[refusal.reason].status,
});
