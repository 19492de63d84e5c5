/**
 * The cookie of the console, of its own name and path: of a visit before an operator has signed in, of a session
 * afterwards. It stays on the operators' listener and is never sent from another site.
 */
import { LIMITS } from "../../../engine/base/limits.js";
import { browserTokens } from "../pages/visitor.js";
import type { BrowserTokens } from "../pages/visitor.js";

/** What of a request tells how it came. */
interface Headers {
  header(name: string): string | undefined;
}

/** Where the console is, and how far its cookie goes. */
export const CONSOLE_PATH = "/console";
const NAME = "kurier-console";

/** Whoever makes this up only gives himself a cookie that his own browser does not send over a plain connection. */
const isBehindTls = (request: Headers): boolean =>
  request.header("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase() === "https";

const nameOf = (request: Headers): string => (isBehindTls(request) ? `__Secure-${NAME}` : NAME);

/** Tokens of operators' browsers. */
export const consoleTokens: BrowserTokens = browserTokens(nameOf);

/** The header that gives the browser of a request a token. */
export const consoleCookie = (request: Headers, token: string): string =>
  [
    `${nameOf(request)}=${token}`,
    `Path=${CONSOLE_PATH}`,
    `Max-Age=${LIMITS.console_session_ms / 1_000}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(isBehindTls(request) ? ["Secure"] : []),
  ].join("; ");
