/** What can be wrong with a form or a page, with its status and its words. */
import { ERRORS } from "../../../engine/base/errors.js";
import type { ErrorName, Refusal } from "../../../engine/base/errors.js";
import { html } from "./html.js";
import { languageOf } from "./languages.js";
import { page } from "./page.js";
import { wordsOf } from "./texts.js";
import type { TextName } from "./texts.js";

interface Fault {
  readonly status: 400 | 404;
  readonly text: TextName;
}

export const FAULTS = {
  request: { status: 400, text: "fault_request" },
  program: { status: 400, text: "fault_program" },
  unknown: { status: 404, text: "fault_unknown" },
} as const satisfies Record<string, Fault>;
export type FormFault = keyof typeof FAULTS;

/** Refusals of the pipeline in words for people; those that are not named here are faults of the request. */
const WORDS: Partial<Record<ErrorName, TextName>> = {
  FORM_FOREIGN: "fault_expired",
  NOT_FOUND: "fault_unknown",
  ROUTE_UNKNOWN: "fault_unknown",
  RATE_LIMITED: "fault_rate",
  TEMPORARY: "fault_temporary",
  INTERNAL: "fault_internal",
};

/** A refusal of the pipeline as a page. */
export function refusalPage(refusal: Refusal, requestId: string, acceptLanguage: string | undefined) {
  const language = languageOf(acceptLanguage);
  const words = wordsOf(language);
  return page({
    language,
    isSandbox: false,
    title: words("fault_title"),
    body: html`<p role="alert">${words(WORDS[refusal.reason] ?? "fault_request")}</p>
      <p>${words("fault_request_id", { id: requestId })}</p>
      <p><a href="/">${words("fault_back")}</a></p>`,
    status: ERRORS[refusal.reason].status,
  });
}
