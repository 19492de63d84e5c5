/**
 * Where a request ends is judged so that nothing behind it is taken for another: by both forms of the server, on raw
 * sockets, as a proxy's shared connection would be abused. A form that cannot refuse what stands between chunks ends the
 * connection with the request, which comes to the same.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";

import { ambiguousHeads, BROKEN_OFF, LAX_CHUNKS, OVERSIZED_HEADS } from "../../../gateway/commands/probe/framing.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { serverForms, startGateway, testCaller, wire, WireClient } from "../../support/engines/gateway.js";
import type { TestGateway, WireAnswer } from "../../support/engines/gateway.js";

/** Every request that came to its handler, by its X-Request-Id. */
const handled: string[] = [];
const row = (family: "sapi" | "enterprise", mount: string, credential: "none" | "bearer"): Route =>
  route({
    ...{ mounts: [mount], family, credential, errors: [], operation: `take${family}${credential}` },
    ...{ method: "POST", path: `/${credential}`, summary: "Takes anything" },
    request: { body: z.unknown(), accepts: ["raw"], body_bytes_max: 1_000_000 },
    responses: { 200: { description: "it", schema: z.object({ length: z.number() }) } },
    handler: (request) => {
      handled.push(request.header("x-request-id") ?? "");
      return { status: 200, body: { length: (request.body as Buffer).length } };
    },
  });
const look = route({
  ...{ mounts: ["/api/v1"], family: "enterprise", credential: "bearer", errors: [], operation: "look" },
  ...{ method: "GET", path: "/look", summary: "Waits for a turn" },
  responses: { 200: { description: "it", schema: z.object({}) } },
  handler: async (request) => {
    handled.push(request.header("x-request-id") ?? "");
    await new Promise((resolve) => setImmediate(resolve));
    return { status: 200, body: {} };
  },
});
const got = (path: string, status: 200 | 204, body?: string): Route =>
  route({
    ...{ mounts: ["/api/v1"], family: "enterprise", credential: "none", errors: [], operation: `get${path}` },
    ...{ method: "GET", path: `/${path}`, summary: "Gives it" },
    responses: { [status]: { description: "it" } },
    handler: () => ({ status, ...(body === undefined ? {} : { body: { raw: body } }) }),
  });
const LARGE = "x".repeat(5_000_000);
const rows = [
  got("large", 200, LARGE),
  got("short", 200, "short"),
  got("nothing", 204),
  row("sapi", "/sapi/v1", "none"),
  row("enterprise", "/api/v1", "none"),
  row("enterprise", "/api/v1", "bearer"),
  look,
];

const SMUGGLED = "POST /api/v1/none HTTP/1.1\r\nHost: x\r\nX-Request-Id: smuggled\r\nContent-Length: 1\r\n\r\nx";
const chunked = (body: string, path = "/api/v1/none", more = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: first\r\n${more}Transfer-Encoding: chunked\r\n\r\n${body}`;

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(form, rows, {
      ports: {
        authenticate: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return testCaller();
        },
      },
    });
  });
  afterAll(() => gateway.stop());
  beforeEach(() => {
    handled.length = 0;
  });

  /** Everything that a connection answers to some octets, until it ends. */
  async function answersTo(text: string | Buffer): Promise<readonly WireAnswer[]> {
    const client = new WireClient(gateway.port).send(text);
    const answers: WireAnswer[] = [];
    for (let answer = await client.answer(); answer !== undefined; answer = await client.answer()) answers.push(answer);
    client.socket.destroy();
    return answers;
  }

  test.each(LAX_CHUNKS)("nothing behind a chunked body with %s is taken for a request", async (_name, body) => {
    for (const path of ["/api/v1/none", "/api/v1/bearer", "/api/v1/nowhere"]) {
      // What is never complete ends with the client, who has sent all that it will.
      const client = new WireClient(gateway.port).send(
        chunked(body + SMUGGLED, path, "Authorization: Bearer good\r\n"),
      );
      client.socket.end();
      await client.closed();
      expect(handled.filter((id) => id !== "first")).toEqual([]);
    }
  });

  test("the answer to a chunked body ends its connection, so that what comes later is no request either", async () => {
    for (const path of ["/api/v1/none", "/api/v1/bearer", "/api/v1/nowhere"]) {
      const client = new WireClient(gateway.port).send(
        chunked("5\r\nhello\r\n0\r\n\r\n", path, "Authorization: Bearer good\r\n"),
      );
      const answer = await client.answer();
      expect([answer?.status, answer?.headers["connection"]]).toEqual([path.endsWith("nowhere") ? 404 : 200, "close"]);
      client.send(SMUGGLED);
      await client.closed();
      expect(handled.filter((id) => id !== "first")).toEqual([]);
    }
  });

  test.each(["GET /api/v1/large", "GET /api/v1/nothing", "HEAD /api/v1/large", "HEAD /api/v1/short"])(
    "the answer to a chunked %s ends its connection, too, and is whole",
    async (line) => {
      const toHead = line.startsWith("HEAD");
      const client = new WireClient(gateway.port).send(
        `${line} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      );
      const answer = await client.answer(toHead);
      expect(answer?.headers["connection"]).toBe("close");
      expect(answer?.body).toHaveLength(line === "GET /api/v1/large" ? LARGE.length : 0);
      client.send(SMUGGLED);
      await client.closed();
      expect(handled).toEqual([]);
    },
  );

  /** uWebSockets.js refuses these itself, in a line of its own; what it leaves to us is answered as by the other form. */
  const BARE_IN_UWS = new Set(["two Hosts", "one Host twice", "a length and chunks"]);
  const AMBIGUOUS: readonly (readonly [name: string, headers: string])[] = [
    ...ambiguousHeads("x"),
    // Where uWebSockets.js meets a header without a name it reads no further one, and no one can tell.
    // Octets beyond ASCII at either end of a value are blanks to it, and are gone before we see the value.
    ...(form === "node"
      ? ([
          ["a header without a name", "Host: x\r\n: y\r\nContent-Length: 0\r\n"],
          ["a length behind another octet", "Host: x\r\nContent-Length: \u00a00\r\n"],
          ["a coding before another octet", "Host: x\r\nTransfer-Encoding: chunked\u00a0\r\n"],
        ] as const)
      : []),
  ];

  test.each(AMBIGUOUS)(
    "a request with %s is answered 400 in the words of its family and with its id, and none behind it is served",
    async (name, headers) => {
      const text = `POST /sapi/v1/none HTTP/1.1\r\n${headers}\r\n`;
      const behind = await answersTo(text + SMUGGLED);
      // uWebSockets.js ends the connection without the answer where it has the next request already.
      expect(behind.map(({ status }) => status)).toEqual(behind.length === 0 ? [] : [400]);
      expect(handled).toEqual([]);
      const [answer, more] = await answersTo(text);
      expect([answer?.status, more]).toEqual([400, undefined]);
      if (form === "uws" && BARE_IN_UWS.has(name)) return;
      expect(answer?.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({
        error: { category: "VALIDATION", code: "VALIDATION", requestId: answer?.headers["x-request-id"] },
      });
    },
  );

  test.each(OVERSIZED_HEADS)(
    "a head of too %s is answered 431 in the words of its family and with its id",
    async (_name, headers) => {
      const [answer] = await answersTo(`GET /sapi/v1/none HTTP/1.1\r\nHost: x\r\n${headers}\r\n`);
      expect(answer?.status).toBe(431);
      expect(answer?.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
      expect(JSON.parse(answer?.body ?? "")).toMatchObject({ error: { category: "VALIDATION", code: "VALIDATION" } });
    },
  );

  test("a request whose body breaks off is answered once, or not at all", async () => {
    for (const path of ["/api/v1/none", "/api/v1/nowhere"])
      for (const [, body] of BROKEN_OFF) {
        const client = new WireClient(gateway.port).send(`POST ${path} HTTP/1.1\r\nHost: x\r\n${body}`);
        client.socket.end();
        await client.closed();
        const statuses = [(await client.answer())?.status, (await client.answer())?.status];
        expect([400, 404, undefined]).toContain(statuses[0]);
        expect(statuses[1]).toBeUndefined();
      }
    expect(handled).toEqual([]);
  });

  test("1,000 pipelined requests that take time are answered in order, or the connection ends before the next is served", async () => {
    const ids = Array.from({ length: 1_000 }, (_, i) => `p-${i}`);
    const one = (id: string): string =>
      `GET /api/v1/look HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nX-Request-Id: ${id}\r\n`;
    const answers = await answersTo(`${ids.map(one).join("\r\n")}Connection: close\r\n\r\n`);
    expect(answers.map(({ headers }) => headers["x-request-id"])).toEqual(ids.slice(0, answers.length));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    if (form === "node") expect(answers).toHaveLength(1_000);
    // Whoever got no answer was not served either, but for the one that was under way.
    expect(handled.length).toBeLessThanOrEqual(answers.length + 1);
    expect((await wire(gateway.port, SMUGGLED))?.status).toBe(200);
  });

  test("a request that asks for another protocol takes the answer of none behind it", async () => {
    const one = (id: string, more = ""): string =>
      `GET /api/v1/look HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nX-Request-Id: ${id}\r\n${more}\r\n`;
    const client = new WireClient(gateway.port).send(
      one("first", "Connection: Upgrade\r\nUpgrade: h2c\r\n") + one("second"),
    );
    const first = await client.answer();
    client.send(one("third"));
    const next = await client.answer();
    client.socket.destroy();
    // uWebSockets.js ends the connection where it has the next request before the answer to the first.
    expect(["first", undefined]).toContain(first?.headers["x-request-id"]);
    expect(["second", undefined]).toContain(next?.headers["x-request-id"]);
  });

  test("who asks for another protocol behind requests that are under way is answered behind them", async () => {
    const one = (id: string, more = ""): string =>
      `GET /api/v1/look HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\nX-Request-Id: ${id}\r\n${more}\r\n`;
    const ids = ["first", "second", "last"];
    const answers = await answersTo(
      one("first") + one("second") + one("last", "Connection: Upgrade\r\nUpgrade: h2c\r\n"),
    );
    const told = answers.map(({ headers }) => headers["x-request-id"]);
    expect(told).toEqual(ids.slice(0, told.length));
    if (form === "node") expect(told).toEqual(ids);
  });

  test("a chunked body is answered 411 in the words of its family where chunks are refused", async () => {
    const strict = await startGateway(form, rows, { takesChunks: false });
    const client = new WireClient(strict.port).send(chunked("5\r\nhello\r\n0\r\n\r\n", "/sapi/v1/none"));
    const answer = await client.answer();
    expect(answer?.status).toBe(411);
    expect(JSON.parse(answer?.body ?? "")).toMatchObject({ error: { code: "VALIDATION", retryable: false } });
    await client.closed();
    expect(handled).toEqual([]);
    await strict.stop();
  });
});
