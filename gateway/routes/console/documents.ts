/** One document at the console: its way, what it says in masked form, and what it says for whoever gives a reason. */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import { parseUuid } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Actor } from "../../../engine/identity/audit.js";
import { operatorActor } from "../../../engine/identity/operators/record.js";
import { PAGE_POLICY } from "../../../validators/view/style.js";
import { idBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { CONSOLE_ROW, consoleDesk, consoleLeadsTo, requireConsoleForm, toSignIn } from "../../web/console/desk.js";
import type { ConsolePorts } from "../../web/console/desk.js";
import { maskedFrame, sheetOfDocument } from "../../web/console/document.js";
import type { DocumentSheet } from "../../web/console/document.js";
import { drawSheet } from "../../web/console/draw.js";
import { maskInvoice } from "../../web/console/mask.js";
import { html } from "../../web/pages/html.js";
import { FORM_TOKEN_FIELD } from "../../web/pages/page.js";

/** A reason that somebody can read later. */
const reason = z.string().trim().min(1, "must say why").max(LIMITS.console_reason_chars_max);

/** What is done, to what and why. */
interface ConsoleAct {
  /** As the path names it, such as `retry`. */
  readonly name: string;
  readonly id: string;
  readonly reason: string;
}

interface ConsoleDocumentPorts extends ConsolePorts {
  /** @returns undefined where there is none */
  document(id: string): Promise<DocumentSheet | undefined>;
  /** The page of an invoice or credit note. @throws Refusal NOT_FOUND, DOCUMENT_INVALID, TEMPORARY */
  drawn(id: string): Promise<string>;
  /** Writes down that somebody sees what a document says. @throws Refusal TEMPORARY */
  unmasked(actor: Actor, id: string, reason: string): Promise<void>;
  /**
   * Writes an action down and does it.
   * @returns the page that shows what came of it
   * @throws Refusal NOT_FOUND where there is no such action or no such thing, and what the action refuses
   */
  act(actor: Actor, act: ConsoleAct): Promise<string>;
}

const form = {
  accepts: ["form"] as const,
  body_bytes_max: LIMITS.form_bytes_max,
  body: z.object({
    [FORM_TOKEN_FIELD]: z.string().max(LIMITS.console_token_chars_max).optional(),
    id: z.string().max(LIMITS.console_search_chars_max),
    reason,
  }),
};

interface ActingRequest {
  readonly address: string;
  header(name: string): string | undefined;
}

/** Who is signed in, for the record. @returns undefined where nobody is. @throws Refusal FORM_FOREIGN */
async function actorOfForm(
  ports: ConsolePorts,
  request: ActingRequest,
  given: string | undefined,
): Promise<Actor | undefined> {
  requireConsoleForm(request, given);
  const desk = await consoleDesk(ports, request);
  const userAgent = request.header("user-agent") ?? null;
  return desk === undefined ? undefined : operatorActor(desk.operator.id, { address: request.address, userAgent });
}

/** A page that can do nothing, in a frame of the console or alone: it is a document of strangers. */
const FRAME_HEADERS = {
  "Content-Security-Policy": `${PAGE_POLICY}; frame-ancestors 'self'; sandbox`,
  "X-Frame-Options": "SAMEORIGIN",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
} as const;

const framed = (status: 200 | 404, raw: string) => ({
  status,
  body: { raw },
  contentType: "text/html; charset=utf-8",
  headers: FRAME_HEADERS,
});

/** What stands where nothing is shown. */
const noticeOf = (words: string): string =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <title>Nothing to show</title>
      </head>
      <body>
        <p>${words}</p>
      </body>
    </html>`.text;

const UNDRAWN = "This is no invoice or credit note that could be drawn, or its text is gone.";
const TOO_LONG = "This document is too long to be masked here; say why and see what it says.";

const params = z.object({ id: idBy(parseUuid) });

const readRows = (ports: ConsoleDocumentPorts): readonly Route[] => [
  route({
    ...CONSOLE_ROW,
    operation: "consoleDocument",
    method: "GET",
    path: "/documents/{id}",
    summary: "A document's way",
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params, query: z.object({ done: z.string().max(LIMITS.console_search_chars_max).optional() }) },
    handler: async (request) => {
      const desk = await consoleDesk(ports, request);
      if (desk === undefined) return toSignIn();
      const document = await ports.document(request.params.id);
      if (document === undefined) throw new Refusal("NOT_FOUND");
      const sheet = sheetOfDocument(document);
      const done = request.query.done === undefined ? undefined : "It was done; the record has it.";
      return desk.show({
        title: sheet.title,
        body: html`${drawSheet(sheet, desk.formTokenField, done)}${maskedFrame(document.id)}`,
      });
    },
  }),
  route({
    ...CONSOLE_ROW,
    operation: "consoleMasked",
    method: "GET",
    path: "/documents/{id}/masked",
    summary: "What a document says, masked",
    showsDocument: true,
    errors: ["TEMPORARY"],
    request: { params },
    handler: async (request) => {
      if ((await consoleDesk(ports, request)) === undefined) return toSignIn();
      try {
        const page = await ports.drawn(request.params.id);
        if (page.length > LIMITS.console_masked_chars_max) return framed(404, noticeOf(TOO_LONG));
        return framed(200, maskInvoice(page));
      } catch (error) {
        if (error instanceof Refusal && error.reason !== "TEMPORARY") return framed(404, noticeOf(UNDRAWN));
        throw error;
      }
    },
  }),
];

const writeRows = (ports: ConsoleDocumentPorts): readonly Route[] => [
  route({
    ...CONSOLE_ROW,
    operation: "consoleUnmask",
    method: "POST",
    path: "/unmask",
    summary: "What a document says",
    rate: "forms",
    errors: ["FORM_FOREIGN", "NOT_FOUND", "DOCUMENT_INVALID", "TEMPORARY"],
    request: form,
    handler: async (request) => {
      const { body } = request;
      const actor = await actorOfForm(ports, request, body[FORM_TOKEN_FIELD]);
      if (actor === undefined) return toSignIn();
      const id = parseUuid(body.id);
      if (id === undefined) throw new Refusal("NOT_FOUND");
      // Nobody is told of what is shown to nobody: it is drawn first, and shown when the record has it.
      const page = await ports.drawn(id);
      await ports.unmasked(actor, id, body.reason);
      return framed(200, page);
    },
  }),
  route({
    ...CONSOLE_ROW,
    operation: "consoleAct",
    method: "POST",
    path: "/actions/{name}",
    summary: "Does something for a reason",
    rate: "forms",
    errors: ["FORM_FOREIGN", "NOT_FOUND", "REQUEST_INVALID", "TEMPORARY"],
    request: { ...form, params: z.object({ name: z.string().max(LIMITS.console_search_chars_max) }) },
    handler: async (request) => {
      const { body, params: path } = request;
      const actor = await actorOfForm(ports, request, body[FORM_TOKEN_FIELD]);
      if (actor === undefined) return toSignIn();
      return consoleLeadsTo(await ports.act(actor, { name: path.name, id: body.id, reason: body.reason }));
    },
  }),
];

export const consoleDocumentRoutes = (ports: ConsoleDocumentPorts): readonly Route[] => [
  ...readRows(ports),
  ...writeRows(ports),
];
