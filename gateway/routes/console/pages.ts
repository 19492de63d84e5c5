/**
 * Pages of the console: what waits for a person, webhooks, firms, integrators and keys, the record, and what a search
 * finds.
 */
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import { parseUuid } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { idBy } from "../../contract/query.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { CONSOLE_ROW, consoleDesk, consoleLeadsTo, toSignIn } from "../../web/console/desk.js";
import type { ConsolePorts } from "../../web/console/desk.js";
import { drawSheet } from "../../web/console/draw.js";
import type { ConsoleReply } from "../../web/console/frame.js";
import type { Sheet } from "../../web/console/sections.js";
import { html } from "../../web/pages/html.js";

/** Pages that are asked for by the id of what they show. */
const ID_PAGES = ["onboarding", "white-label", "webhooks", "firms", "integrators", "keys"] as const;
type IdPage = (typeof ID_PAGES)[number];
/** Pages that there is one of. */
const LIST_PAGES = ["reviews", "webhooks", "firms", "integrators", "record"] as const;
type ListPage = (typeof LIST_PAGES)[number];

/** What is asked of a list: what it is narrowed down to, and behind which row it goes on. */
interface ListAsked {
  readonly text: string;
  readonly after: string | undefined;
}

interface PagesPorts extends ConsolePorts {
  /** Each answers undefined where nothing has the id that it should go on behind. @throws Refusal TEMPORARY */
  readonly lists: Readonly<Record<ListPage, (asked: ListAsked) => Promise<Sheet | undefined>>>;
  /** Each answers undefined where there is none. @param after  the last row of the page before, where it has several */
  readonly sheets: Readonly<Record<IdPage, (id: string, after: string | undefined) => Promise<Sheet | undefined>>>;
  /**
   * What an id, a participant or a firm's own number means.
   * @returns where the one thing is that was found, or a page of all
   */
  find(asked: { readonly text: string; readonly firm: string | undefined }): Promise<string | Sheet>;
}

const word = z.string().max(LIMITS.console_search_chars_max).optional();
const query = z.object({ done: word, q: word, after: word });
/** What was done stands in the address as the name of an action: nobody's words are shown from there. */
const doneWords = (name: string | undefined): string | undefined =>
  name !== undefined && /^[a-z-]{1,40}$/.test(name) ? `Done: ${name.replace(/-/g, " ")}.` : undefined;

async function shown(
  ports: ConsolePorts,
  request: { header(name: string): string | undefined },
  read: () => Promise<Sheet | undefined>,
  done?: string,
): Promise<ConsoleReply> {
  const desk = await consoleDesk(ports, request);
  if (desk === undefined) return toSignIn();
  const sheet = await read();
  if (sheet === undefined) throw new Refusal("NOT_FOUND");
  const body = drawSheet(sheet, desk.formTokenField, doneWords(done));
  return desk.show({ title: sheet.title, at: sheet.at, body });
}

const listRow = (ports: PagesPorts, name: ListPage): Route =>
  route({
    ...CONSOLE_ROW,
    operation: `console_list_${name}`,
    method: "GET",
    path: `/${name}`,
    summary: `The page ${name}`,
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { query },
    handler: (request) => {
      const { q: text = "", after, done } = request.query;
      return shown(ports, request, () => ports.lists[name]({ text, after }), done);
    },
  });

const idRow = (ports: PagesPorts, name: IdPage): Route =>
  route({
    ...CONSOLE_ROW,
    operation: `console_sheet_${name.replace("-", "_")}`,
    method: "GET",
    path: `/${name}/{id}`,
    summary: `One of the page ${name}`,
    errors: ["NOT_FOUND", "TEMPORARY"],
    request: { params: z.object({ id: idBy(parseUuid) }), query },
    handler: (request) => {
      const { after, done } = request.query;
      return shown(ports, request, () => ports.sheets[name](request.params.id, after), done);
    },
  });

export const consolePagesRoutes = (ports: PagesPorts): readonly Route[] => [
  ...LIST_PAGES.map((name) => listRow(ports, name)),
  ...ID_PAGES.map((name) => idRow(ports, name)),
  route({
    ...CONSOLE_ROW,
    operation: "consoleFind",
    method: "GET",
    path: "/find",
    summary: "What an id means",
    rate: "forms",
    errors: ["TEMPORARY"],
    request: {
      query: z.object({
        q: z.string().max(LIMITS.console_search_chars_max).default(""),
        firm: z.string().max(LIMITS.console_search_chars_max).optional(),
      }),
    },
    handler: async (request) => {
      const desk = await consoleDesk(ports, request);
      if (desk === undefined) return toSignIn();
      const found = await ports.find({ text: request.query.q.trim(), firm: request.query.firm });
      if (typeof found === "string") return consoleLeadsTo(found);
      return desk.show({ title: found.title, at: found.at, body: drawSheet(found, desk.formTokenField, undefined) });
    },
  }),
  route({
    ...CONSOLE_ROW,
    operation: "consoleElsewhere",
    method: "GET",
    path: "/{page}",
    elsewhere: true,
    summary: "What is at no address of the console",
    errors: ["TEMPORARY"],
    handler: async (request) => {
      const desk = await consoleDesk(ports, request);
      if (desk === undefined) return toSignIn();
      const body = html`<p>The console has nothing at this address.</p>
        <p><a href="/console">To the overview</a></p>`;
      return desk.show({ title: "There is no such page", status: 404, body });
    },
  }),
];
