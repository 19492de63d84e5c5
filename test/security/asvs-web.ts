/** ASVS 5.0.0, chapters 3 and 4: pages, and HTTP itself. */
import { by, met, nothing, outside, partly } from "./row.js";
import type { SecurityRow } from "./row.js";

export const PAGES: readonly SecurityRow[] = [
  met(
    "3.2.1",
    "answers say what they are and are not guessed at",
    by("contract/http/http", "answers forbid sniffing and caching"),
  ),
  met(
    "3.2.2",
    "texts are shown as text",
    by(
      "browser/validate",
      "twenty broken files are invalid or warned of, each with its rule, and no text of theirs becomes markup",
    ),
  ),
  met(
    "3.3.1",
    "cookies are Secure and __Host- over https",
    by("unit/gateway/pages", "over https the cookie is Secure and has the prefix __Host-"),
  ),
  met(
    "3.3.2",
    "cookies have a SameSite that fits",
    by(
      "integration/identity/people-sign-in",
      "the cookie is HttpOnly and SameSite=Lax; without https it has no prefix",
    ),
    by(
      "contract/pages/console",
      "the cookie is kept from scripts, other sites and other paths, and from plain connections where TLS stands in front",
    ),
  ),
  partly(
    "3.3.3",
    "cookies have the prefix __Host-",
    "the console's is bound to its path, which that prefix forbids",
    by("unit/gateway/pages", "over https the cookie is Secure and has the prefix __Host-"),
  ),
  met(
    "3.3.4",
    "scripts do not see sessions",
    by(
      "contract/pages/console",
      "the cookie is kept from scripts, other sites and other paths, and from plain connections where TLS stands in front",
    ),
  ),
  outside(
    "3.4.1",
    "Strict-Transport-Security",
    "of the proxy that ends TLS: the engine speaks plain HTTP behind it and cannot promise for the name",
  ),
  met(
    "3.4.2",
    "no other origin may read answers",
    by("integration/identity/people-sign-in", "a form with %s changes nothing and is 403"),
  ),
  met(
    "3.4.3",
    "a policy for scripts and styles",
    by(
      "contract/pages/docs",
      "a page allows scripts and styles of this host only, no frame around it, and loads nothing of another host",
    ),
    by("contract/pages/console", "pages load files of the console alone, run nothing inline, and are kept by nobody"),
  ),
  met("3.4.4", "nosniff on every answer", by("contract/http/http", "answers forbid sniffing and caching")),
  met("3.4.5", "no referrer leaves", by("contract/http/http", "answers forbid sniffing and caching")),
  partly(
    "3.4.6",
    "no page is framed",
    "answers that are no pages have no such header",
    by("integration/identity/people-sign-in", "no page can be framed, loads a script or names another host"),
  ),
  met(
    "3.5.1",
    "forms are ours",
    by(
      "unit/gateway/pages",
      "a form is ours only with the token that was made for this browser, and never when another site sent it",
    ),
  ),
  met(
    "3.5.2",
    "what a token may do no browser does by itself: tokens are headers",
    by("contract/identity/authorization", "%s stops each caller where its row says"),
  ),
  met(
    "3.5.3",
    "nothing changes by GET",
    by("contract/http/codings", "HEAD %s has GET's status and headers, and no body"),
    by("contract/http/http", "%s on a path that has other methods: 405 with Allow"),
  ),
  partly(
    "3.5.4",
    "operators have a listener of their own",
    "API and pages share a host",
    by(
      "contract/pages/console",
      "the public listener has nothing of the operators', with their token or without: no figures, no health, no console, no heap",
    ),
  ),
  nothing("3.5.5", "no page listens to messages"),
  nothing("3.7.1", "no plug-ins"),
  met(
    "3.7.2",
    "other hosts are led to only where they were registered",
    by("integration/identity/people-sign-in", "a link that would lead on to %s leads to the account instead"),
    by("integration/identity/people-oauth", "a request with %s leads nowhere: the page says so"),
  ),
];

export const HTTP: readonly SecurityRow[] = [
  met(
    "4.1.1",
    "each answer says its type and its letters",
    by(
      "contract/http/envelopes",
      "SAPI: {category, code, message, retryable, correlation_id, requestId, details?} (%s)",
    ),
    by("contract/pages/docs", "the OpenAPI documents are served as published"),
  ),
  outside("4.1.2", "only pages lead from http to https", "of the proxy that ends TLS"),
  met(
    "4.1.3",
    "what a proxy sets no client can set",
    by(
      "unit/gateway/client-address",
      "what a client writes to the left of its own address is not believed",
      "from a peer that is no configured proxy X-Forwarded-For is not looked at",
    ),
  ),
  met(
    "4.2.1",
    "where a request ends is read in one way, or the request is refused",
    by(
      "bulkheads/shares/framing",
      "nothing behind a chunked body with %s is taken for a request",
      "a request with %s is answered 400 in the words of its family and with its id, and none behind it is served",
    ),
  ),
  nothing("4.3.1", "no GraphQL"),
  nothing("4.3.2", "no GraphQL"),
  nothing("4.4.1–4.4.4", "no WebSocket"),
];
