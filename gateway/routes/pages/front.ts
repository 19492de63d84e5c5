/** The front page, which says what runs here and where to go, and the two files that every page loads. */
import { readFileSync } from "node:fs";

import { LIMITS } from "../../../engine/base/limits.js";
import type { People } from "../../../engine/identity/people/people.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { deskFor, PAGE_ROW } from "../../web/pages/desk.js";
import type { PageSettings } from "../../web/pages/desk.js";
import { html } from "../../web/pages/html.js";

interface FrontPorts extends PageSettings {
  readonly people: Pick<People, "session">;
}

/** Interfaces in the order of the page: name of the text, the reference, the path that clients add to the host. */
const INTERFACES = [
  ["front_enterprise", "/docs", "/api/v1"],
  ["front_connector", "/docs/connector", "/api/v1/connector"],
  ["front_sapi", "/docs/sapi", "/sapi/v1"],
] as const;

const fileRow = (operation: string, file: string, contentType: string): Route => {
  const raw = readFileSync(new URL(`../../web/${file}`, import.meta.url));
  return route({
    ...PAGE_ROW,
    operation,
    method: "GET",
    path: `/assets/${file}`,
    summary: `File /assets/${file}`,
    responses: { 200: { description: "The file.", contentType } },
    handler: () => ({
      status: 200,
      body: { raw },
      contentType,
      headers: { "Cache-Control": `public, max-age=${LIMITS.reference_cache_s}` },
    }),
  });
};

export const frontRoutes = (ports: FrontPorts): readonly Route[] => [
  route({
    ...PAGE_ROW,
    operation: "frontPage",
    method: "GET",
    path: "/",
    summary: "What runs here and where to go",
    handler: async (request) => {
      const token = ports.visitors.tokenOf(request);
      const session = token === undefined ? undefined : await ports.people.session(token);
      const { words, show } = deskFor(ports, request, session);
      return show({
        title: words("front_title"),
        body: html`<p class="lead">${words("front_lead")}</p>
          <h2>${words("front_people")}</h2>
          <p>${words("front_people_text")}</p>
          <p>
            <a href="${session === undefined ? "/sign-in" : "/account"}"
              >${words(session === undefined ? "menu_sign_in" : "menu_account")}</a
            >
          </p>
          <p><a href="/validate">${words("front_validate")}</a></p>
          <h2>${words("front_developers")}</h2>
          <p>${words("front_developers_text")}</p>
          <ul>
            ${INTERFACES.map(([text, path]) => html`<li><a href="${path}">${words(text)}</a></li>`)}
            <li><a href="/docs/guide">${words("front_guide")}</a></li>
          </ul>
          <h2>${words("front_addresses")}</h2>
          <ul>
            ${INTERFACES.map(([, , base]) => html`<li><code>${ports.publicUrl}${base}</code></li>`)}
          </ul>`,
      });
    },
  }),
  fileRow("pagesStyle", "pages.css", "text/css; charset=utf-8"),
  fileRow("pagesIcon", "icon.svg", "image/svg+xml"),
];
