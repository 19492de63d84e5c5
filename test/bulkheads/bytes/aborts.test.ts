/**
 * A client that goes away at any octet of its request leaves nothing behind: what its request held of the listener is
 * there for the next one. Method: requests are cut at every octet, ended or reset, and afterwards one body that needs
 * a share to itself must be taken: a single octet that was kept would refuse it.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { eventually } from "../../support/eventually.js";
import { serverForms, startGateway, WireClient } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";

const BODY_BYTES = 300;
/** Connections that are opened at once. */
const AT_ONCE = 32;

/** Its work takes a turn of the event loop, so that clients go away before, during and after it. */
const upload: Route = route({
  operation: "upload",
  method: "POST",
  path: "/upload",
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "none",
  errors: [],
  summary: "Takes a body",
  request: { body: z.instanceof(Uint8Array), accepts: ["raw"], body_bytes_max: 1_000_000 },
  responses: { 200: { description: "it" } },
  handler: async ({ body }) => {
    await new Promise((resolve) => setImmediate(resolve));
    return { status: 200, body: { raw: String(body.length) } };
  },
});

const HEAD = "POST /api/v1/upload HTTP/1.1\r\nHost: test\r\n";
const body = "x".repeat(BODY_BYTES);
const REQUESTS = {
  plain: `${HEAD}Content-Length: ${BODY_BYTES}\r\n\r\n${body}`,
  chunked: `${HEAD}Transfer-Encoding: chunked\r\n\r\n96\r\n${body.slice(0, 150)}\r\n96\r\n${body.slice(150)}\r\n0\r\n\r\n`,
} as const;

/** Sends so much of a request and goes. */
async function cut(port: number, text: string, isReset: boolean): Promise<void> {
  const client = new WireClient(port);
  await new Promise<void>((resolve) => client.socket.once("connect", resolve));
  await new Promise<void>((resolve) => client.socket.write(text, () => resolve()));
  if (isReset) client.socket.resetAndDestroy();
  else client.socket.destroy();
  await client.closed();
}

async function cutEverywhere(gateway: TestGateway, text: string): Promise<number> {
  const cuts = Array.from({ length: text.length }, (_, at) => at + 1).flatMap((at) => [
    { at, isReset: false },
    { at, isReset: true },
  ]);
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let one = cuts[next++]; one !== undefined; one = cuts[next++])
        await cut(gateway.port, text.slice(0, one.at), one.isReset);
    }),
  );
  return cuts.length;
}

describe.each(serverForms)("over %s", (form) => {
  test.each(Object.entries(REQUESTS))(
    "a %s upload that is cut at any octet gives back every octet and every place that it held",
    async (_, text) => {
      // Octets for the public: 60,000 of all, 30,000 of one address.
      const gateway = await startGateway(form, [upload], {
        limits: { request_bodies_bytes_max: 60_000 / LIMITS.share_public, requests_in_flight_max: 64 },
      });
      expect(await cutEverywhere(gateway, text)).toBe(2 * text.length);
      await eventually("nothing is under way", () => gateway.inFlight() === 0);
      // Larger than what one address may hold beside another body, so that it must be alone; in pieces, all of which
      // are asked for anew; and as many at once as an address has places.
      // The end of the last connections may be on its way to the listener yet, so that it is asked until it is taken.
      await eventually("a body that needs a share to itself is taken", async () => {
        const whole = new WireClient(gateway.port).send(`${HEAD}Content-Length: 100000\r\n\r\n`);
        for (let sent = 0; sent < 100_000; sent += 20_000) whole.send(Buffer.alloc(20_000));
        const answer = await whole.answer();
        whole.socket.destroy();
        return answer?.status === 200 && answer.body === "100000";
      });
      const clients = Array.from({ length: LIMITS.share_requests_min }, () =>
        new WireClient(gateway.port).send(`${HEAD}Content-Length: 2\r\n\r\nx`),
      );
      await eventually("all have their places", () => gateway.inFlight() === clients.length);
      for (const client of clients) client.send("y");
      for (const client of clients) expect((await client.answer())?.status).toBe(200);
      for (const client of clients) client.socket.destroy();
      await gateway.stop();
    },
  );
});
