/**
 * What the requests of a listener share is divided: strangers who upload slowly, log in with made-up names or open
 * connections fill their own part of it, and every caller of the API is answered as if they were not there. So is a
 * caller whose address many others have, behind a proxy or in one office.
 */
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import type { KeyId } from "../../../engine/base/ids.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { BodyShares, RequestShares } from "../../../gateway/http/shares.js";
import type { Sharer } from "../../../gateway/http/shares.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { eventually } from "../../support/eventually.js";
import { serverForms, startGateway, testCaller, WireClient } from "../../support/engines/gateway.js";

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
/** The caller whose key is named like the token. */
const callerOf = (token: string): Caller => testCaller({ keyId: token as KeyId });
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

  test("callers behind one address have each a share of their own: one who fills his leaves the next all of theirs", async () => {
    const gateway = await startGateway(form, rows, {
      limits: { request_bodies_bytes_max: 1_600_000 },
      // Late, as it is where the key must be asked for: pieces of the body are there before.
      ports: { authenticate: async (token) => setImmediate(callerOf(token)) },
    });
    const begin = (token: string, octets: number): WireClient =>
      new WireClient(gateway.port)
        .send(head("/api/v1/send", octets + 1, `Authorization: Bearer ${token}\r\n`))
        .send(Buffer.alloc(octets));
    // Half of nine sixteenths is one key's.
    const filled = begin("one", 400_000);
    await eventually("the first body is held", async () => {
      const probe = begin("one", 60_000).send("x");
      const answer = await probe.answer();
      probe.socket.destroy();
      return answer?.status === 503;
    });
    const other = begin("two", 400_000).send("x");
    expect(await other.answer()).toMatchObject({ status: 200, body: "400001" });
    expect(await filled.send("x").answer()).toMatchObject({ status: 200, body: "400001" });
    for (const client of [filled, other]) client.socket.destroy();
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

const from = (addressGroup: string, share: Sharer["share"] = "network", holder = addressGroup): Sharer => ({
  ...{ share, addressGroup, holder },
});

test("octets are given back to whom they were taken from, and nothing is remembered of who holds nothing", () => {
  const bodies = new BodyShares();
  const [a, b, c, call] = [from("a"), from("b"), from("c"), from("a", "api")].map((sharer) => bodies.open(sharer));
  const second = bodies.open(from("a"));
  expect(a?.take(100, 1_600)).toBe(true);
  expect(second.take(101, 1_600)).toBe(false);
  expect(second.take(100, 1_600)).toBe(true);
  expect(b?.take(200, 1_600)).toBe(true);
  expect(c?.take(1, 1_600)).toBe(false);
  expect(call?.take(450, 1_600)).toBe(true);
  a?.giveBack();
  second.giveBack();
  expect(c?.take(200, 1_600)).toBe(true);
  for (const body of [a, b, c, call]) body?.giveBack();
  expect(bodies.octets).toBe(0);
});

test("a body that is alone in its share may fill all there is, and one more octet is refused", () => {
  const body = new BodyShares().open(from("a"));
  for (let taken = 0; taken < 1_600; taken += 400) expect(body.take(400, 1_600)).toBe(true);
  expect(body.take(1, 1_600)).toBe(false);
});

test("what came before its key was believed is the address's until then, and the key's from then on", () => {
  const bodies = new BodyShares();
  const one = { share: "api" as const, addressGroup: "nat", holder: "nat" };
  const early = bodies.open(one);
  const late = bodies.open(from("nat", "api"));
  expect(early.take(400, 1_600)).toBe(true);
  expect(late.take(60, 1_600)).toBe(false);
  one.holder = "key";
  expect(early.follow(1_600)).toBe(true);
  // The address has its half again; the key has none left for another body, and still its own.
  expect(late.take(60, 1_600)).toBe(true);
  expect(bodies.open(from("nat", "api", "key")).take(60, 1_600)).toBe(false);
  expect(bodies.open(from("nat", "api", "other")).take(60, 1_600)).toBe(true);
  // Another body of the key that came whole before the key was believed is one too many.
  const two = { share: "api" as const, addressGroup: "elsewhere", holder: "elsewhere" };
  const whole = bodies.open(two);
  expect(whole.take(100, 1_600)).toBe(true);
  two.holder = "key";
  expect(whole.follow(1_600)).toBe(false);
  whole.giveBack();
  early.giveBack();
  expect(bodies.open(from("nat", "api", "key")).take(450, 1_600)).toBe(true);
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
