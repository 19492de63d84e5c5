/**
 * The one cookie of the pages, and the token by which a form shows that it came from a page of ours.
 *
 * The cookie holds a random token: of a visit before anybody has signed in, of a session afterwards. It is replaced
 * whenever a code is asked for and whenever somebody signs in, so that a token that a stranger knows is worth nothing.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

import { LIMITS } from "../../../engine/base/limits.js";

/** What of a request tells who visits. */
interface Headers {
  header(name: string): string | undefined;
}

const TOKEN = /^[A-Za-z0-9_-]{43}$/;
const COOKIE_TOKEN_BYTES = 32;

/** The tokens that browsers hold in a cookie, and the forms that are made for them. */
export interface BrowserTokens {
  /** The token of the browser; undefined where it has none of ours. */
  tokenOf(request: Headers): string | undefined;
  /** A fresh token of a visit. */
  newToken(): string;
  /** What forms carry that are made for a token. */
  formTokenOf(token: string): string;
  /** Whether the browser does not say that another site has sent the request. */
  isOwnSite(request: Headers): boolean;
  /**
   * Whether a form came from a page that was made for this browser. A browser that says that another site has sent the
   * form is believed.
   */
  isOwnForm(request: Headers, token: string | undefined, given: string | undefined): token is string;
}

/** Cookies of one deployment. */
export interface Visitors extends BrowserTokens {
  /** The header that gives the browser a token. */
  cookie(token: string): string;
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const isOwnSite = (request: Headers): boolean => {
  const site = request.header("sec-fetch-site");
  return site === undefined || site === "same-origin" || site === "none";
};

const formTokenOf = (token: string): string => digest(`form:${token}`).toString("base64url");

/** @param nameOf  the cookie's name as a request has it */
export const browserTokens = (nameOf: (request: Headers) => string): BrowserTokens => ({
  tokenOf: (request) => {
    const name = nameOf(request);
    const values = (request.header("cookie") ?? "")
      .split(";")
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1));
    // Two of one name are a sign that somebody else has set one.
    const [value] = values;
    return values.length === 1 && value !== undefined && TOKEN.test(value) ? value : undefined;
  },
  newToken: () => randomBytes(COOKIE_TOKEN_BYTES).toString("base64url"),
  formTokenOf,
  isOwnSite,
  isOwnForm: (request, token, given): token is string => {
    if (token === undefined || given === undefined || !isOwnSite(request)) return false;
    return timingSafeEqual(digest(formTokenOf(token)), digest(given));
  },
});

/**
 * @param publicUrl over https the cookie has the prefix __Host-, which no other host and no plain connection can set
 */
export function createVisitors(publicUrl: string): Visitors {
  const isSecure = publicUrl.startsWith("https:");
  const name = isSecure ? "__Host-kurier" : "kurier";
  return {
    ...browserTokens(() => name),
    cookie: (token) =>
      [
        `${name}=${token}`,
        "Path=/",
        `Max-Age=${LIMITS.session_ms / 1_000}`,
        "HttpOnly",
        "SameSite=Lax",
        ...(isSecure ? ["Secure"] : []),
      ].join("; "),
  };
}

/** Pages of ours to which a sign-in may lead on; a link can name no other place, on our host or elsewhere. */
const NEXT = /^\/(?:account|firm\/[0-9a-f-]{36}|consent\/[A-Za-z0-9_-]{16,128}|oauth\/authorize\?[\x21-\x7e]{1,4000})$/;

/** Where a sign-in leads on; the account where a link names nothing of ours. */
export const nextOf = (given: string | undefined): string =>
  given !== undefined && NEXT.test(given) ? given : "/account";
