/** The first page of the console: the heartbeat of the whole engine; and the same for `kurier top`. */
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { CONSOLE_ROW, consoleDesk, toSignIn } from "../../web/console/desk.js";
import type { ConsolePorts } from "../../web/console/desk.js";
import type { Heartbeat } from "../../web/console/heartbeat.js";
import { overviewBody } from "../../web/console/overview.js";
import type { Html } from "../../web/pages/html.js";
import { html } from "../../web/pages/html.js";

interface OverviewPorts extends ConsolePorts {
  /** Who is signed in, where nobody has clicked. */
  readonly peek: ConsolePorts["session"];
  /** @throws Refusal TEMPORARY */
  heartbeat(): Promise<Heartbeat>;
}

/** One event, and when the browser is to ask for the next one. */
const eventOf = (body: Html): string =>
  `retry: ${LIMITS.live_interval_ms}\nevent: heartbeat\n${body.text
    .split("\n")
    .map((line) => `data: ${line.trim()}\n`)
    .join("")}\n`;

export const consoleOverviewRoutes = (ports: OverviewPorts): readonly Route[] => [
  route({
    ...CONSOLE_ROW,
    operation: "consoleOverview",
    method: "GET",
    path: "",
    summary: "The heartbeat of the engine",
    errors: ["TEMPORARY"],
    handler: async (request) => {
      const desk = await consoleDesk(ports, request);
      if (desk === undefined) return toSignIn();
      const beat = await ports.heartbeat();
      return desk.show({
        title: "Overview",
        at: "/console",
        // What moves by itself can be stopped (WCAG 2.2, 2.2.2); without scripts nothing moves.
        body: html`<button id="hold" type="button" class="second" hidden>Hold still</button>
          <p id="old" role="alert" hidden>No heartbeat comes any more: what is shown is old. Load the page again.</p>
          <div id="live">${overviewBody(beat)}</div>`,
        isLive: true,
      });
    },
  }),
  route({
    ...CONSOLE_ROW,
    operation: "consoleLive",
    method: "GET",
    path: "/live",
    summary: "The next heartbeat, as an event",
    errors: ["TEMPORARY"],
    responses: {
      200: { description: "One event; the browser asks again by itself.", contentType: "text/event-stream" },
      204: { description: "Nobody is signed in: the browser asks no more." },
    },
    handler: async (request) => {
      const desk = await consoleDesk({ session: ports.peek }, request);
      if (desk === undefined) return { status: 204 };
      return {
        status: 200,
        body: { raw: eventOf(overviewBody(await ports.heartbeat())) },
        contentType: "text/event-stream; charset=utf-8",
        headers: { "Cache-Control": "no-store" },
      };
    },
  }),
  route({
    mounts: ["/admin"],
    family: "admin",
    credential: "admin",
    operation: "adminHeartbeat",
    method: "GET",
    path: "/heartbeat",
    summary: "What operators see at a glance",
    tag: "Operations",
    errors: ["TEMPORARY"],
    responses: { 200: { description: "The heartbeat of all nodes.", schema: z.record(z.string(), z.unknown()) } },
    handler: async () => ({ status: 200, body: { ...(await ports.heartbeat()) } }),
  }),
];
