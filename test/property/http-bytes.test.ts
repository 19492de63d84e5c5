/**
 * Whatever bytes come and whenever connections break, the process lives, every request under way ends, and the next honest
 * client is answered. In the uws form a broken rule would not fail an assertion but end the process from C++.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { route } from "../../gateway/contract/route.js";
import type { Route } from "../../gateway/contract/route.js";
import { WireClient, serverForms, startGateway, wire } from "../support/engines/gateway.js";

const seed = Number(process.env["SEED"] ?? 20261120);
const ROUNDS = 1_500;

/** Park–Miller: the same seed, the same bytes. */
const randomOf = (start: number) => {
  let state = start;
  return (below: number): number => {
    state = (state * 48_271) % (2 ** 31 - 1);
    return state % below;
  };
};

const open = {
  mounts: [""],
  family: "enterprise",
  credential: "none",
  errors: [],
  responses: { 200: { description: "it" } },
} as const;
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const rows: readonly Route[] = [
  route({
    ...open,
    operation: "now",
    method: "GET",
    path: "/now",
    summary: "At once",
    handler: () => ({ status: 200, body: { raw: "now" } }),
  }),
  route({
    ...open,
    operation: "later",
    method: "POST",
    path: "/later",
    summary: "After a turn",
    request: { body: z.object({ a: z.string() }) },
    handler: async () => {
      await soon();
      await soon();
      return { status: 200, body: { raw: "later" } };
    },
  }),
  route({
    ...open,
    operation: "large",
    method: "GET",
    path: "/large",
    summary: "2 MB",
    handler: async () => {
      await soon();
      return { status: 200, body: { raw: Buffer.alloc(2_000_000, 0x61) } };
    },
  }),
];

const REQUESTS = [
  "GET /now HTTP/1.1\r\nHost: x\r\n\r\n",
  "GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
  'POST /later HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a":"b"}',
  'POST /later HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n5\r\n:"b"}\r\n0\r\n\r\n',
  "HEAD /now HTTP/1.1\r\nHost: x\r\n\r\n",
  "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\nabc",
  "GET /now HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcGET /now HTTP/1.1\r\nHost: x\r\n\r\n",
];

describe.each(serverForms)("the %s form", (form) => {
  test(`the gateway outlives ${ROUNDS} connections with mutilated, cut and abandoned requests (seed ${seed})`, async () => {
    const random = randomOf(seed);
    const gateway = await startGateway(form, rows, { limits: { request_idle_ms: 300, request_timeout_ms: 2_000 } });
    const one = async (): Promise<void> => {
      const bytes = Buffer.from(
        Array.from({ length: 1 + random(3) }, () => REQUESTS[random(REQUESTS.length)] ?? "").join(""),
      );
      for (let i = random(4); i > 0; i--) bytes[random(bytes.length)] = random(256);
      const client = new WireClient(gateway.port);
      const cut = random(bytes.length);
      client.send(bytes.subarray(0, cut));
      for (let i = random(3); i > 0; i--) await soon();
      if (random(3) > 0) client.send(bytes.subarray(cut));
      for (let i = random(6); i > 0; i--) await soon();
      if (random(2) === 0) client.socket.destroy();
      else client.socket.end();
      await client.closed();
      client.socket.destroy();
    };
    for (let done = 0; done < ROUNDS; done += 25) await Promise.all(Array.from({ length: 25 }, one));
    while (gateway.inFlight() > 0) await soon();
    expect((await wire(gateway.port, "GET /now HTTP/1.1\r\nHost: x\r\n\r\n"))?.body).toBe("now");
    await gateway.stop();
  });
});
