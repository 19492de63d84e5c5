/** The guide: pages that a build has made of docs/, the same for everybody, without scripts and without other hosts. */
import { existsSync, readFileSync } from "node:fs";

import { LIMITS } from "../../engine/base/limits.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

/** The pages load our style and pictures, and do nothing. */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_HEADERS = {
  "Content-Security-Policy": PAGE_POLICY,
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-cache",
} as const;
const ONE_HOUR = { "Cache-Control": `public, max-age=${LIMITS.reference_cache_s}` } as const;

/** What is served where, as deploy/guide.mjs has written it down. */
interface GuideFile {
  readonly path: string;
  readonly file: string;
  readonly type: string;
}

const STYLE: GuideFile = { path: "/docs/assets/guide.css", file: "../guide.css", type: "text/css; charset=utf-8" };

/** The folder of the pages: from dist/ a neighbour, from the TypeScript sources that of the last build. */
function pagesFolder(): URL {
  const built = new URL("../web/guide/pages/", import.meta.url);
  return existsSync(built) ? built : new URL("../../dist/gateway/web/guide/pages/", import.meta.url);
}

const fileRow = (folder: URL, { path, file, type }: GuideFile): Route => {
  const raw = readFileSync(new URL(file, folder));
  return route({
    ...{ method: "GET", mounts: [""], family: "public", credential: "none", errors: [], hidden: true },
    operation: `guide_${file.replace(/\.\w+$/, "").replaceAll(/\W+/g, "_")}`,
    path,
    tag: "Guide",
    summary: `File ${path}`,
    responses: { 200: { description: "The file", contentType: type } },
    handler: () => ({
      status: 200,
      body: { raw },
      contentType: type,
      headers: type.startsWith("text/html") ? PAGE_HEADERS : ONE_HOUR,
    }),
  });
};

/** A row for each page and picture of the guide, and for its style; none where no guide was built. */
export function guideRoutes(): readonly Route[] {
  const folder = pagesFolder();
  const list = new URL("pages.json", folder);
  if (!existsSync(list)) return [];
  const files = JSON.parse(readFileSync(list, "utf8")) as readonly GuideFile[];
  return [...files, STYLE].map((file) => fileRow(folder, file));
}
