/** Which site a form of the console was sent from, by what its browser says. */

/** What of a request tells how it came. */
interface Headers {
  header(name: string): string | undefined;
}

/** Host and port as a browser writes them, which leaves out the port that everybody knows. */
const plain = (host: string): string =>
  (host.split(",")[0] ?? "")
    .trim()
    .toLowerCase()
    .replace(/:(?:80|443)$/, "");

/**
 * The hosts that the browser may have asked: the one that we were asked as, and the one that a proxy in front says it
 * was. Pages of other sites can set neither header in somebody else's browser.
 */
const askedHosts = (request: Headers): readonly string[] =>
  ["host", "x-forwarded-host"].flatMap((name) => {
    const host = request.header(name);
    return host === undefined ? [] : [plain(host)];
  });

/**
 * Where another site has sent the request from. A browser that says by Sec-Fetch-Site that it is this site is believed,
 * also behind a proxy that hides which host was asked; over plain connections browsers say nothing there.
 * @returns undefined for this site, and where nothing is said; `null` stands for a page that hides where it is
 */
export function foreignOrigin(request: Headers): string | undefined {
  const origin = request.header("origin");
  if (origin === undefined || request.header("sec-fetch-site") === "same-origin") return undefined;
  const host = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1];
  return host !== undefined && askedHosts(request).includes(plain(host)) ? undefined : origin;
}
