/**
 * The API reference: a page over the published OpenAPI documents. Everything comes from this process; no other host is
 * asked.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { z } from "zod";

import { DOCUMENT_NAMES } from "../contract/openapi.js";
import type { DocumentName } from "../contract/openapi.js";
import { route } from "../contract/route.js";
import type { RawBody, Reply, Route } from "../contract/route.js";
import { LIMITS } from "../../engine/base/limits.js";

/**
 * What the page may load and do. Styles inline are the one concession: the reference component sets its own, in
 * templates. Scripts come from our files only, and nothing is evaluated.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'none'",
  "connect-src 'self'",
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
const FOR_EVER = { "Cache-Control": `public, max-age=${LIMITS.reference_cache_versioned_s}, immutable` } as const;

const TITLES: Readonly<Record<DocumentName, string>> = {
  enterprise: "Enterprise API",
  connector: "Connector",
  sapi: "SAPI profile",
};
const pathOf = (name: DocumentName): string => (name === "enterprise" ? "/docs" : `/docs/${name}`);

const web = (file: string): Buffer => readFileSync(new URL(`../web/${file}`, import.meta.url));

/** The reference component as its package brings it: plain and gzipped. */
function component(): { readonly version: string; readonly plain: Buffer; readonly gzipped: Buffer } {
  const manifest = createRequire(import.meta.url).resolve("rapidoc/package.json");
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(manifest, "utf8")));
  const file = (name: string): Buffer => readFileSync(join(dirname(manifest), "dist", name));
  return { version, plain: file("rapidoc-min.js"), gzipped: file("rapidoc-min.js.gz") };
}

function page(name: DocumentName, version: string): string {
  const tabs = DOCUMENT_NAMES.map(
    (other) => `<a href="${pathOf(other)}"${other === name ? ' aria-current="page"' : ""}>${TITLES[other]}</a>`,
  ).join("");
  const values: Readonly<Record<string, string>> = { title: TITLES[name], name, version, tabs };
  return web("docs.html")
    .toString("utf8")
    .replace(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? "");
}

const base = {
  method: "GET",
  mounts: [""],
  family: "public",
  credential: "none",
  errors: [],
  hidden: true,
  tag: "Reference",
} as const;

/** How each kind of file is sent. */
const FORMS = {
  page: { contentType: "text/html; charset=utf-8", headers: PAGE_HEADERS },
  json: { contentType: "application/json; charset=utf-8", headers: { "Cache-Control": "no-cache" } },
  style: { contentType: "text/css; charset=utf-8", headers: ONE_HOUR },
  script: { contentType: "text/javascript; charset=utf-8", headers: ONE_HOUR },
  icon: { contentType: "image/svg+xml", headers: ONE_HOUR },
} as const satisfies Record<string, Pick<Reply, "contentType" | "headers">>;

/** A row that answers the same bytes to everybody. */
const fixed = (
  operation: string,
  path: string,
  body: string | Buffer,
  { contentType, headers }: Required<Pick<Reply, "contentType" | "headers">>,
): Route =>
  route({
    ...base,
    operation,
    path,
    summary: `File ${path}`,
    responses: { 200: { description: "The file", contentType } },
    handler: () => ({ status: 200, body: { raw: body }, contentType, headers }),
  });

/** @param documents what the page shows, as gateway/contract/openapi.ts makes it of the published rows */
export function webRoutes(documents: Readonly<Record<DocumentName, unknown>>): readonly Route[] {
  const { version, plain, gzipped } = component();
  return [
    route({
      ...base,
      operation: "home",
      path: "/",
      summary: "Leads to the reference",
      responses: { 302: { description: "To the reference", headers: { Location: "/docs" } } },
      handler: () => ({ status: 302, headers: { Location: "/docs" } }),
    }),
    ...DOCUMENT_NAMES.map((name) => fixed(`docs_${name}`, pathOf(name), page(name, version), FORMS.page)),
    ...DOCUMENT_NAMES.map((name) =>
      fixed(`openapi_${name}`, `/docs/openapi/${name}.json`, JSON.stringify(documents[name]), FORMS.json),
    ),
    fixed("docsStyle", "/docs/assets/docs.css", web("docs.css"), FORMS.style),
    fixed("docsScript", "/docs/assets/docs.js", web("docs.js"), FORMS.script),
    fixed("docsIcon", "/docs/assets/icon.svg", web("icon.svg"), FORMS.icon),
    route({
      ...base,
      operation: "docsComponent",
      path: `/docs/assets/rapidoc-${version}.js`,
      summary: "The reference component",
      responses: { 200: { description: "The file", contentType: "text/javascript" } },
      handler: (request) => {
        const takesGzip = /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|,|$)/.test(
          request.header("accept-encoding") ?? "",
        );
        const body: RawBody = { raw: takesGzip ? gzipped : plain };
        return {
          status: 200,
          body,
          contentType: "text/javascript; charset=utf-8",
          headers: { ...FOR_EVER, Vary: "Accept-Encoding", ...(takesGzip ? { "Content-Encoding": "gzip" } : {}) },
        };
      },
    }),
  ];
}
