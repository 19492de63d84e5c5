/**
 * What the requests of a listener share is divided: strangers who upload slowly, log in with made-up names or open
 * connections fill their own part of it, and every caller of the API is answered as if they were not there.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { BodyShares, RequestShares } from "../../gateway/http/shares.js";
import type { Sharer } from "../../gateway/http/shares.js";
import { route } from "../../gateway/contract/route.js";
import type { Route } from "../../gateway/contract/route.js";
import { serverForms, startGateway, WireClient } from "../support/gateway.js";

const BODY_MAX = 1_000_000;
const taken = { responses: { 200: { description: "Taken." } }, errors: [] } as const;

const rows: readonly Route[] = [
  route({
    ...taken,
    operation: "message",
    method: "POST",
    path: "/as4",
    mounts: [""],
    family: "as4",
    credential: "none",
    summary: "A message",
    request: { body: z.instanceof(Uint8Array), accepts: ["raw"], body_bytes_max: BODY_MAX },
    handler: () => ({ status: 200 }),
  }),
  route({
    ...taken,
    operation: "hello",
    method: "GET",
    path: "/hello",
    mounts: [""],
    family: "as4",
    credential: "none",
    summary: "Hello",
    handler: () => ({ status: 200 }),
  }),
  route({
    ...taken,
    operation: "send",
    method: "POST",
    path: "/send",
    mounts: ["/api/v1"],
    family: "enterprise",
    credential: "bearer",
    summary: "A document",
    request: { body: z.instanceof(Uint8Array), accepts: ["raw"], body_bytes_max: BODY_MAX },
    handler: ({ body }) => ({ status: 200, body: { raw: String(body.length) } }),
  }),
];

const GET = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
const head = (path: string, length: number, more = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n${more}\r\n`;
const AUTHORIZED = "Authorization: Bearer good\r\n";

describe.each(serverForms)("%s", (form) => {
  test("40 slow anonymous uploads leave every call of the API unharmed, and are answered 503 beyond their own part", async () => {
    const gateway = await startGateway(form, rows, { limits: { request_bodies_bytes_max: 1_600_000 } });
    const slow = Array.from({ length: 40 }, () =>
      new WireClient(gateway.port).send(head("/as4", 100_000)).send(Buffer.alloc(40_000)),
    );
    // Half of a quarter is one address's: five bodies of 40,000 octets fit, and the sixth is told to come again.
    const refused = await Promise.race(slow.map((client) => client.answer()));
    expect(refused?.status).toBe(503);
    const call = new WireClient(gateway.port)
      .send(head("/api/v1/send", 400_000, AUTHORIZED))
      .send(Buffer.alloc(400_000));
    expect(await call.answer()).toMatchObject({ status: 200, body: "400000" });
    for (const client of [...slow, call]) client.socket.destroy();
    await gateway.stop();
  });

  test("requests of strangers under way are counted apart: a listener full of them still takes calls", async () => {
    const gateway = await startGateway(form, rows, { limits: { requests_in_flight_max: 40 } });
    const slow = Array.from({ length: 40 }, () => new WireClient(gateway.port).send(head("/as4", 100_000)));
    const refused = await Promise.race(slow.map((client) => client.answer()));
    expect(refused?.status).toBe(503);
    const call = new WireClient(gateway.port).send(head("/api/v1/send", 1, AUTHORIZED)).send("x");
    expect((await call.answer())?.status).toBe(200);
    // Who only asks takes no place from anybody: probes and pages are answered beside the slow.
    const question = new WireClient(gateway.port).send(GET);
    expect((await question.answer())?.status).toBe(200);
    for (const client of [...slow, call, question]) client.socket.destroy();
    await gateway.stop();
  });

  test("uploads in chunks that are refused do not wait for their end: they leave, and calls are taken", async () => {
    const gateway = await startGateway(form, rows, { limits: { requests_in_flight_max: 40 } });
    const chunked = "POST /as4 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    const slow = Array.from({ length: 60 }, () => new WireClient(gateway.port).send(chunked));
    let refused = 0;
    await new Promise<void>((resolve) => {
      for (const client of slow)
        void client.answer().then((answer) => {
          if (answer?.status === 503 && (refused += 1) === 44) resolve();
        });
    });
    const call = new WireClient(gateway.port).send(head("/api/v1/send", 1, AUTHORIZED)).send("x");
    expect((await call.answer())?.status).toBe(200);
    for (const client of [...slow, call]) client.socket.destroy();
    await gateway.stop();
  });
});

const from = (addressGroup: string, share: Sharer["share"] = "network"): Sharer => ({ share, addressGroup });

test("octets are given back to whom they were taken from, and nothing is remembered of who holds nothing", () => {
  const bodies = new BodyShares();
  expect(bodies.take(from("a"), 100, 0, 1_600)).toBe(true);
  expect(bodies.take(from("a"), 101, 0, 1_600)).toBe(false);
  expect(bodies.take(from("a"), 100, 0, 1_600)).toBe(true);
  expect(bodies.take(from("b"), 200, 0, 1_600)).toBe(true);
  expect(bodies.take(from("c"), 1, 0, 1_600)).toBe(false);
  expect(bodies.take(from("a", "api"), 450, 0, 1_600)).toBe(true);
  bodies.giveBack(from("a"), 200);
  expect(bodies.take(from("c"), 200, 0, 1_600)).toBe(true);
  bodies.giveBack(from("b"), 200);
  bodies.giveBack(from("c"), 200);
  bodies.giveBack(from("a", "api"), 450);
  expect(bodies.octets).toBe(0);
});

test("a body that is alone in its share may fill all there is, and one more octet is refused", () => {
  const bodies = new BodyShares();
  for (let own = 0; own < 1_600; own += 400) expect(bodies.take(from("a"), 400, own, 1_600)).toBe(true);
  expect(bodies.take(from("a"), 1, 1_600, 1_600)).toBe(false);
});

test("requests of one address end at half of their share, and requests of all at the share", () => {
  const requests = new RequestShares();
  const enter = (count: number, sharer: Sharer): number =>
    Array.from({ length: count }, () => requests.enter(sharer, 1, 4_000)).filter((entry) => entry === "too_many")
      .length;
  expect(enter(600, from("a"))).toBe(100);
  expect(enter(400, from("b"))).toBe(0);
  expect(enter(10, from("c"))).toBe(10);
  for (let n = 0; n < 600; n++) requests.leave(from("a"), "counted");
  expect(enter(10, from("c"))).toBe(0);
});

test("calls are counted by address once a listener is busy: one address cannot fill it, and the others still get in", () => {
  const requests = new RequestShares();
  const enter = (sharer: Sharer, inFlight: number): string => requests.enter(sharer, inFlight, 4_000);
  expect(enter(from("a", "api"), 1_000)).toBe("uncounted");
  const entries = Array.from({ length: 2_001 }, (_, n) => enter(from("a", "api"), 1_001 + n));
  expect(entries.filter((entry) => entry === "counted")).toHaveLength(2_000);
  expect(entries.at(-1)).toBe("too_many");
  expect(enter(from("b", "api"), 3_002)).toBe("counted");
});
