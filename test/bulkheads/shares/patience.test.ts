/**
 * What is awaited from us is no silence of the client's: large bodies are answered although the work on them takes longer
 * than the ten seconds after which uWebSockets.js ends a connection that says nothing. The wait is real, for C++ counts it.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";

import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { eventually } from "../../support/eventually.js";
import { serverForms, startGateway, WireClient } from "../../support/engines/gateway.js";

/** Longer than those ten seconds and the four by which they may be late. */
const WORK_MS = 15_000;
/** So many and so large that the last piece of one of them comes while we do not read. */
const CLIENTS = 6;
const BODY_BYTES = 8_000_000;

/** A route whose work on a body is this. */
const working = (work: (signal: AbortSignal) => Promise<unknown>): Route =>
  route({
    operation: "upload",
    method: "POST",
    path: "/upload",
    mounts: ["/api/v1"],
    family: "enterprise",
    credential: "none",
    errors: [],
    summary: "Takes a body, and its time",
    request: { body: z.instanceof(Uint8Array), accepts: ["raw"], body_bytes_max: BODY_BYTES },
    responses: { 200: { description: "it" } },
    handler: async ({ body, signal }) => {
      await work(signal);
      return { status: 200, body: { raw: String(body.length) } };
    },
  });

const limits = { request_bodies_bytes_max: 100 * CLIENTS * BODY_BYTES };

test.concurrent.each(serverForms)(
  "the %s form answers large bodies, however long the work on them takes",
  async (form) => {
    const gateway = await startGateway(form, [working(() => pause(WORK_MS))], { limits });
    const body = randomBytes(BODY_BYTES);
    const post = async (): Promise<string> => {
      try {
        return await (await fetch(`${gateway.origin}/api/v1/upload`, { method: "POST", body })).text();
      } catch {
        return "cut off";
      }
    };
    const answers = await Promise.all(Array.from({ length: CLIENTS }, post));
    expect(answers).toEqual(answers.map(() => String(BODY_BYTES)));
    await gateway.stop();
  },
);

test.concurrent.each(serverForms)("the %s form notices who goes away after a large body", async (form) => {
  let begun = 0;
  let left = 0;
  const untilLeft = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      begun += 1;
      signal.addEventListener("abort", () => {
        left += 1;
        resolve();
      });
    });
  const day_ms = 86_400_000;
  const gateway = await startGateway(form, [working(untilLeft)], { limits: { ...limits, request_timeout_ms: day_ms } });
  const head = `POST /api/v1/upload HTTP/1.1\r\nHost: test\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`;
  const clients = Array.from({ length: CLIENTS }, () =>
    new WireClient(gateway.port).send(head).send(randomBytes(BODY_BYTES)),
  );
  await eventually("all are worked on", () => begun === CLIENTS);
  for (const [index, { socket }] of clients.entries()) {
    if (index % 2 === 0) socket.destroy();
    else socket.resetAndDestroy();
  }
  await eventually("all are known to have left", () => left === CLIENTS);
  await gateway.stop();
});
