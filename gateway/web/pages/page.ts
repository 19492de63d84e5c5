/** The frame of every page: one head, one bar, and headers that let a page load nothing but our own style. */
import { html } from "./html.js";
import type { Fragment } from "./html.js";
import type { Language } from "./languages.js";
import { wordsOf } from "./texts.js";

/** A page as a reply. */
export interface PageReply<Status extends number = 200 | 400 | 403 | 404> {
  readonly status: Status;
  readonly body: { readonly raw: string };
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface PageContent {
  readonly language: Language;
  readonly title: string;
  readonly body: Fragment;
  /** @default 200 */
  readonly status?: 200 | 400 | 403 | 404;
  readonly isSandbox: boolean;
  /** What the form of signing out needs; undefined where nobody is signed in. */
  readonly signedIn?: { readonly formToken: string } | undefined;
  /** The cookie to set. */
  readonly setCookie?: string | undefined;
  /** Another origin to which a form's answer may lead. @default our own only */
  readonly formTarget?: string | undefined;
}

/** What a page may do: load our style and icon, send forms to us. No script, no frame, no other host. */
const policy = (formTarget: string | undefined): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    `form-action 'self'${formTarget === undefined ? "" : ` ${formTarget}`}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

/** Headers of every page and of every redirection between pages. Nothing of them is kept by a cache. */
export const pageHeaders = (more: {
  readonly setCookie?: string | undefined;
  readonly formTarget?: string | undefined;
}): Readonly<Record<string, string>> => ({
  "Content-Security-Policy": policy(more.formTarget),
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-store",
  Vary: "Accept-Language, Cookie",
  ...(more.setCookie === undefined ? {} : { "Set-Cookie": more.setCookie }),
});

/** The field that proves that a form came from our page. */
export const FORM_TOKEN_FIELD = "form_token";
export const formToken = (token: string): Fragment =>
  html`<input type="hidden" name="${FORM_TOKEN_FIELD}" value="${token}" />`;

/** A whole page. */
export function page(content: PageContent): PageReply;
export function page(content: Omit<PageContent, "status"> & { readonly status: number }): PageReply<number>;
export function page(content: Omit<PageContent, "status"> & { readonly status?: number }): PageReply<number> {
  const { language, title, body, signedIn } = content;
  const words = wordsOf(language);
  const account =
    signedIn === undefined
      ? html`<a href="/sign-in">${words("menu_sign_in")}</a>`
      : html`<a href="/account">${words("menu_account")}</a>
          <form method="post" action="/sign-out">
            ${formToken(signedIn.formToken)}<button class="link">${words("menu_sign_out")}</button>
          </form>`;
  const whole = html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} – Kurier</title>
        <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/assets/pages.css" />
      </head>
      <body>
        <a class="skip" href="#content">${words("skip")}</a>
        <header>
          <a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="28" height="28" /><span>Kurier</span></a>
          <nav aria-label="Kurier"><a href="/docs">${words("menu_reference")}</a>${account}</nav>
        </header>
        ${content.isSandbox && html`<aside class="sandbox" aria-label="${words("sandbox_name")}">${words("sandbox")}</aside>`}
        <main id="content">
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html>`;
  return {
    status: content.status ?? 200,
    body: { raw: whole.text.replace(/\n\s+/g, "\n") },
    contentType: "text/html; charset=utf-8",
    headers: { ...pageHeaders(content), "Content-Language": language },
  };
}
