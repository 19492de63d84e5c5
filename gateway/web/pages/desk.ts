/** What the handlers of pages share: who desk, in which language, and how they are led on. */
import { Refusal } from "../../../engine/base/errors.js";
import type { FormFault } from "./faults.js";
import { FAULTS } from "./faults.js";
import { html } from "./html.js";
import type { Fragment } from "./html.js";
import { languageOf } from "./languages.js";
import type { Language } from "./languages.js";
import { formToken, page, pageHeaders } from "./page.js";
import type { PageContent, PageReply } from "./page.js";
import type { Presses } from "./presses.js";
import { wordsOf } from "./texts.js";
import type { Words } from "./texts.js";
import type { Visitors } from "./visitor.js";

/** What every page knows of its deployment. */
export interface PageSettings {
  readonly visitors: Visitors;
  readonly isSandbox: boolean;
  /** Base of links that leave this process, such as those in letters. */
  readonly publicUrl: string;
  readonly presses: Presses<PageReply | ReturnType<typeof seeOther>>;
}

/** What a page reads of a request. */
interface PageRequest {
  readonly requestId: string;
  header(name: string): string | undefined;
}

/** One look at a page: the reader's language and token, and the frame with what changes from page to page left open. */
export interface Desk {
  readonly language: Language;
  readonly words: Words;
  readonly token: string | undefined;
  /** The field that forms of this reader carry. */
  readonly formTokenField: Fragment;
  /** The page, for a reader who is signed in or not. */
  show(content: Pick<PageContent, "title" | "body" | "status" | "setCookie" | "formTarget">): PageReply;
  /** A page that says what did not work. */
  fault(fault: FormFault): PageReply;
}

/** @param session whoever is signed in; undefined where nobody is */
export function deskFor(settings: PageSettings, request: PageRequest, session: object | undefined): Desk {
  const { visitors, isSandbox } = settings;
  const language = languageOf(request.header("accept-language"));
  const words = wordsOf(language);
  const token = visitors.tokenOf(request);
  const signedIn =
    session === undefined || token === undefined ? undefined : { formToken: visitors.formTokenOf(token) };
  const show: Desk["show"] = (content) => page({ language, isSandbox, signedIn, ...content });
  return {
    language,
    words,
    token,
    formTokenField: token === undefined ? undefined : formToken(visitors.formTokenOf(token)),
    show,
    fault: (fault) => {
      const { status, text } = FAULTS[fault];
      const body = html`<p role="alert">${words(text)}</p>
        <p><a href="/">${words("fault_back")}</a></p>`;
      return show({ title: words("fault_title"), body, status });
    },
  };
}

/** Leads the browser on with a GET. @param path of ours, or an address that was registered with us */
export const seeOther = (
  path: string,
  setCookie?: string,
): { readonly status: 303; readonly headers: Readonly<Record<string, string>> } => ({
  status: 303,
  headers: { ...pageHeaders({ setCookie }), Location: path },
});

/** The answers of every page. */
const PAGE_RESPONSES = {
  200: { description: "The page.", contentType: "text/html" },
  303: { description: "Leads on." },
  400: { description: "What of the form is wrong.", contentType: "text/html" },
  403: { description: "The form did not come from a page of ours.", contentType: "text/html" },
  404: { description: "Nothing for this reader.", contentType: "text/html" },
} as const;

/** The columns that every row of a page has. */
export const PAGE_ROW = {
  mounts: [""],
  family: "page",
  credential: "none",
  errors: ["TEMPORARY"],
  hidden: true,
  tag: "Pages",
  responses: PAGE_RESPONSES,
} as const;

/** Ends a form that did not come from our page of this browser. @throws Refusal FORM_FOREIGN */
export function requireOwnForm(settings: PageSettings, request: PageRequest, given: string | undefined): string {
  const token = settings.visitors.tokenOf(request);
  if (!settings.visitors.isOwnForm(request, token, given)) throw new Refusal("FORM_FOREIGN");
  return token;
}

/** The person behind a change, as the record of changes keeps it. */
export const personActor = (
  session: { readonly personId: string },
  request: PageRequest & { readonly address: string },
): { readonly type: "user"; readonly id: string; readonly address: string; readonly userAgent: string | null } => ({
  type: "user",
  id: session.personId,
  address: request.address,
  userAgent: request.header("user-agent") ?? null,
});
