/** What the handlers of the console share: who is signed in, whose form it is, and how a browser is led on. */
import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { firstChars } from "../../../engine/base/text.js";
import { formToken } from "../pages/page.js";
import type { Fragment } from "../pages/html.js";
import { CONSOLE_PATH, consoleTokens } from "./cookie.js";
import { consoleHeaders, consolePage } from "./frame.js";
import type { ConsoleContent, ConsoleReply } from "./frame.js";
import { foreignOrigin } from "./origin.js";

/** What the console reads of a request. */
interface ConsoleRequest {
  header(name: string): string | undefined;
}

/** Who is signed in, as a handler sees it. */
interface Operator {
  /** Names the session in the audit. */
  readonly id: string;
}

/** What every handler of the console asks. */
export interface ConsolePorts {
  /** Who is signed in under a token. */
  session(token: string): Promise<Operator | undefined>;
}

/** One look of an operator who is signed in. */
interface ConsoleDesk {
  readonly token: string;
  readonly operator: Operator;
  /** The field that forms carry. */
  readonly formTokenField: Fragment;
  show(content: Omit<ConsoleContent, "formToken">): ConsoleReply;
}

/** @returns undefined where nobody is signed in */
export async function consoleDesk(ports: ConsolePorts, request: ConsoleRequest): Promise<ConsoleDesk | undefined> {
  const token = consoleTokens.tokenOf(request);
  const operator = token === undefined ? undefined : await ports.session(token);
  if (token === undefined || operator === undefined) return undefined;
  const own = consoleTokens.formTokenOf(token);
  return {
    token,
    operator,
    formTokenField: formToken(own),
    show: (content) => consolePage({ ...content, formToken: own }),
  };
}

/** Leads the browser on with a GET. @param path  of the console */
export const consoleLeadsTo = (path: string, setCookie?: string): ConsoleReply => ({
  status: 303,
  body: { raw: "" },
  contentType: "text/html; charset=utf-8",
  headers: { ...consoleHeaders(setCookie), Location: path },
});

/** Where somebody is led who is not signed in, or not any more. */
export const toSignIn = (setCookie?: string): ConsoleReply => consoleLeadsTo(`${CONSOLE_PATH}/sign-in`, setCookie);

/**
 * Ends a form that did not come from a page that was made for this browser, or that another site has sent.
 * @throws Refusal FORM_FOREIGN
 */
export function requireConsoleForm(request: ConsoleRequest, given: string | undefined): string {
  const origin = foreignOrigin(request);
  if (origin !== undefined)
    throw new Refusal("FORM_FOREIGN", [
      {
        field: "Origin",
        message: `${firstChars(origin, LIMITS.console_search_chars_max)} is not the address of this console, which was asked as ${request.header("host") ?? "nothing"}. A proxy in front of it hands the header Host on, or names the host in X-Forwarded-Host.`,
      },
    ]);
  const token = consoleTokens.tokenOf(request);
  if (!consoleTokens.isOwnForm(request, token, given)) throw new Refusal("FORM_FOREIGN");
  return token;
}

const PAGE = { description: "The page.", contentType: "text/html" } as const;
/** The columns that every row of the console has. No row is published. */
export const CONSOLE_ROW = {
  mounts: [CONSOLE_PATH],
  family: "console",
  credential: "none",
  hidden: true,
  tag: "Console",
  responses: { 200: PAGE, 303: { description: "Leads on." }, 400: PAGE, 404: PAGE },
} as const;
