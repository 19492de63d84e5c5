/**
 * The API reference: pages over the published OpenAPI documents. Everything comes from this process; no other host is
 * asked.
 */
import { readFileSync } from "node:fs";

import { DOCUMENT_NAMES } from "../contract/openapi.js";
import type { DocumentName } from "../contract/openapi.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";
import type { OpenApi } from "../web/docs/openapi-types.js";
import { referencePage } from "../web/docs/reference.js";
import { LIMITS } from "../../engine/base/limits.js";

/** What the pages may load and do: our own script and style, and calls of this server. Nothing is evaluated. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
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
const NO_CACHE = { "Cache-Control": "no-cache" } as const;
const ONE_HOUR = { "Cache-Control": `public, max-age=${LIMITS.reference_cache_s}` } as const;

interface Interface {
  readonly title: string;
  readonly path: string;
  readonly tokenPath: string;
  readonly codes: "sapi" | "enterprise";
}

const INTERFACES: Readonly<Record<DocumentName, Interface>> = {
  enterprise: { title: "Enterprise API", path: "/docs", tokenPath: "/api/v1/auth/token", codes: "enterprise" },
  connector: { title: "Connector", path: "/docs/connector", tokenPath: "/api/v1/auth/token", codes: "enterprise" },
  sapi: { title: "SAPI profile", path: "/docs/sapi", tokenPath: "/sapi/v1/auth/token", codes: "sapi" },
};
const TABS = DOCUMENT_NAMES.map((name) => [INTERFACES[name].title, INTERFACES[name].path] as const);
const documentPath = (name: DocumentName): string => `/docs/openapi/${name}.json`;

const web = (file: string): Buffer => readFileSync(new URL(`../web/${file}`, import.meta.url));

const base = {
  method: "GET",
  mounts: [""],
  family: "public",
  credential: "none",
  errors: [],
  hidden: true,
  tag: "Reference",
} as const;

interface FixedFile {
  readonly operation: string;
  readonly path: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is made when it is first asked for, and kept. */
function kept<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** A row that answers the same bytes to everybody. */
const fixed = ({ operation, path, contentType, headers }: FixedFile, raw: () => string | Buffer): Route =>
  route({
    ...base,
    operation,
    path,
    summary: `File ${path}`,
    responses: { 200: { description: "The file", contentType } },
    handler: () => ({ status: 200, body: { raw: raw() }, contentType, headers }),
  });

const pageRow = (name: DocumentName, text: () => string): Route =>
  fixed(
    {
      operation: `docs_${name}`,
      path: INTERFACES[name].path,
      contentType: "text/html; charset=utf-8",
      headers: PAGE_HEADERS,
    },
    text,
  );

const documentRow = (name: DocumentName, text: () => string): Route =>
  fixed(
    {
      operation: `openapi_${name}`,
      path: documentPath(name),
      contentType: "application/json; charset=utf-8",
      headers: NO_CACHE,
    },
    text,
  );

const assetRow = (operation: string, file: string, contentType: string): Route => {
  const bytes = web(file);
  return fixed(
    { operation, path: `/docs/assets/${file.replace(/^.*\//, "")}`, contentType, headers: ONE_HOUR },
    () => bytes,
  );
};

interface ReferencePorts {
  /** What a page shows, as gateway/contract/openapi.ts makes it of the published rows. */
  readonly document: (name: DocumentName) => unknown;
  /** A valid invoice between made-up firms, fresh each time. */
  readonly sampleInvoice: () => string;
  /**
   * Whether documents and pages are made now. They take a second of the event loop: before a node takes requests it is
   * nobody's, afterwards it is everybody's. A sandbox that is started to be tried out makes each when it is first read.
   */
  readonly isMadeAtStart: boolean;
}

/** The pages of the reference, the documents that they show, and what pages load. */
export function webRoutes({ document, sampleInvoice, isMadeAtStart }: ReferencePorts): readonly Route[] {
  const shown = DOCUMENT_NAMES.map((name) => {
    const made = kept(() => document(name));
    const { path, ...words } = INTERFACES[name];
    const page = kept(() =>
      referencePage({
        ...words,
        path,
        documentPath: documentPath(name),
        document: made() as OpenApi,
        tabs: TABS,
      }),
    );
    return { name, page, json: kept(() => JSON.stringify(made())) };
  });
  if (isMadeAtStart)
    for (const { page, json } of shown) {
      page();
      json();
    }
  return [
    ...shown.map(({ name, page }) => pageRow(name, page)),
    ...shown.map(({ name, json }) => documentRow(name, json)),
    assetRow("docsStyle", "docs/docs.css", "text/css; charset=utf-8"),
    assetRow("docsScript", "docs/docs.js", "text/javascript; charset=utf-8"),
    assetRow("docsIcon", "icon.svg", "image/svg+xml"),
    route({
      ...base,
      operation: "docsInvoice",
      path: "/docs/example/invoice.xml",
      summary: "An invoice for trying operations out",
      responses: { 200: { description: "UBL.", contentType: "application/xml" } },
      handler: () => ({
        status: 200,
        body: { raw: sampleInvoice() },
        contentType: "application/xml; charset=utf-8",
        headers: NO_CACHE,
      }),
    }),
  ];
}
