/** A document as a person reads it. @source spec/shapes.md, sections 6 and 9 */
import { z } from "zod";

import type { Giving } from "../../../engine/documents/inbound/inbox.js";
import { viewPayload } from "../../../engine/documents/reads/view.js";
import type { DocumentWorkers, Shown } from "../../../engine/documents/accept/validators.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { firstChars } from "../../../engine/base/text.js";
import { LANGUAGES } from "../../../validators/report.js";
import type { Language } from "../../../validators/report.js";
import { PAGE_POLICY } from "../../../validators/view/style.js";
import { uuid } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { languageOf } from "../../web/pages/languages.js";

interface DocumentViewPorts extends Pick<DocumentWorkers, "view"> {
  /** @throws Refusal NOT_FOUND for a document that is missing or of another firm; DOCUMENT_INVALID, TEMPORARY */
  document(
    firmId: FirmId,
    id: string,
    options: { readonly language: Language; readonly format: "html" | "pdf" } & Giving,
  ): Promise<Shown>;
}

const documentId = z.object({ id: uuid });
const languageQuery = z.object({
  lang: z.enum(LANGUAGES).optional().describe("Language of the words around the values. Default: Accept-Language."),
});

/** A page that can do nothing, wherever it is opened: it is a document of strangers. */
const pageHeaders = (language: Language): Readonly<Record<string, string>> => ({
  "Content-Security-Policy": `${PAGE_POLICY}; frame-ancestors 'self'; sandbox`,
  "Content-Language": language,
  Vary: "Accept-Language",
});

/** Named after the document's number, of which only what every file system takes is left. */
const fileHeaders = (language: Language, number: string): Readonly<Record<string, string>> => ({
  "Content-Disposition": `inline; filename="${firstChars(number.replace(/[^A-Za-z0-9._-]+/gu, "-"), LIMITS.file_name_chars_max) || "document"}.pdf"`,
  "Content-Language": language,
  Vary: "Accept-Language",
});

const COMMON = {
  method: "GET",
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  context: "firm",
  scopes: ["documents:read"],
  rate: "enterprise",
  tag: "Documents",
  errors: ["NOT_FOUND", "REQUEST_INVALID", "DOCUMENT_INVALID", "TEMPORARY"],
} as const;

export const documentViewRoutes = (ports: DocumentViewPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "getDocumentPdf",
    path: "/documents/{id}/pdf",
    summary: "The document to be read, as PDF",
    description:
      "The same as the page, on A4, with its fonts in the file. The same document gives the same bytes. The document itself is its XML.",
    showsDocument: true,
    request: { params: documentId, query: languageQuery },
    responses: { 200: { description: "The file.", contentType: "application/pdf" } },
    handler: async (request) => {
      const { params, query, firm, givesBody: isShown } = request;
      const language = query.lang ?? languageOf(request.header("accept-language"));
      const { bytes, number } = await ports.document(firm.firmId, params.id, { language, format: "pdf", isShown });
      return {
        status: 200,
        body: { raw: bytes },
        contentType: "application/pdf",
        headers: fileHeaders(language, number),
      };
    },
  }),
  route({
    ...COMMON,
    operation: "getDocumentHtml",
    path: "/documents/{id}/html",
    summary: "The document to be read, as a page",
    description:
      "An invoice or credit note as an accountant reads it, in Slovak or English: one page of HTML without scripts that loads nothing. For a sent document its id is the providerDocumentId; for a received one the documentId of the inbox. The document itself is its XML.",
    showsDocument: true,
    request: { params: documentId, query: languageQuery },
    responses: { 200: { description: "The page.", contentType: "text/html" } },
    handler: async (request) => {
      const { params, query, firm, givesBody: isShown } = request;
      const language = query.lang ?? languageOf(request.header("accept-language"));
      const { bytes } = await ports.document(firm.firmId, params.id, { language, format: "html", isShown });
      return {
        status: 200,
        body: { raw: bytes },
        contentType: "text/html; charset=utf-8",
        headers: pageHeaders(language),
      };
    },
  }),
  route({
    operation: "viewPublic",
    method: "POST",
    path: "/validate/view",
    mounts: [""],
    family: "public",
    credential: "none",
    rate: "public_view",
    tag: "Validation",
    hidden: true,
    summary: "The page of a document that is not stored",
    request: {
      query: languageQuery,
      body: z.custom<Uint8Array>(),
      accepts: ["xml"],
      body_bytes_max: LIMITS.payload_bytes_max,
    },
    responses: { 200: { description: "The page.", contentType: "text/html" } },
    errors: ["DOCUMENT_INVALID", "TEMPORARY"],
    handler: async (request) => {
      const { body, address, query } = request;
      const language = query.lang ?? languageOf(request.header("accept-language"));
      const asked = { fairnessKey: `public/${address}`, language, format: "html" } as const;
      const { bytes } = await viewPayload(ports, body, asked);
      return {
        status: 200,
        body: { raw: bytes },
        contentType: "text/html; charset=utf-8",
        headers: pageHeaders(language),
      };
    },
  }),
];
