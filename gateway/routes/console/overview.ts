/** The first page of the console: the heartbeat of the whole engine; and the same for `kurier top`. */
import { z } from "zod";

import { route } from "../../contract/route.js";
import type { Route } from "../../contract/route.js";
import { CONSOLE_ROW, consoleDesk, toSignIn } from "../../web/console/desk.js";
import type { ConsolePorts } from "../../web/console/desk.js";
import type { Heartbeat } from "../../web/console/heartbeat.js";
import { overviewBody } from "../../web/console/overview.js";
import { html } from "../../web/pages/html.js";

interface OverviewPorts extends ConsolePorts {
  /** @throws Refusal TEMPORARY */
  heartbeat(): Promise<Heartbeat>;
}

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
      return desk.show({ title: "Overview", at: "/console", body: html`<div id="live">${overviewBody(beat)}</div>` });
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
