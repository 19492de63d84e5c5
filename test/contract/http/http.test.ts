/**
 * What HTTP itself promises, on both forms of the server: routing, methods, framing, limits, deadlines, connections.
 * Method: raw sockets where a client library would repair what the test is about.
 * @source design/reliability.md, 2.8 and 3.4 (H-01 to H-14)
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";

import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { WireClient, serverForms, startGateway, testCaller, wire } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";

const MB = 1024 * 1024;
const bodyCap = 25 * MB;

/** Requests that wait until the test lets them go. */
const held: { release: (() => void)[]; arrived: number; aborted: number } = { release: [], arrived: 0, aborted: 0 };
const until = async (claim: () => boolean): Promise<void> => {
  while (!claim()) await new Promise((resolve) => setImmediate(resolve));
};

const open = { mounts: ["/api/v1"], family: "enterprise", credential: "none", errors: [] } as const;
const rows: readonly Route[] = [
  route({
    ...open,
    operation: "hello",
    method: "GET",
    path: "/hello",
    summary: "Says hello",
    responses: { 200: { description: "it", schema: z.object({ hello: z.string() }) } },
    handler: () => ({ status: 200, body: { hello: "world" } }),
  }),
  route({
    ...open,
    operation: "thing",
    method: "GET",
    path: "/things/{thingId}",
    summary: "A thing",
    request: { params: z.object({ thingId: z.uuid().toLowerCase() }) },
    responses: { 200: { description: "it", schema: z.object({ id: z.string() }) } },
    handler: ({ params }) => ({ status: 200, body: { id: params.thingId } }),
  }),
  route({
    ...open,
    operation: "removeThing",
    method: "DELETE",
    path: "/things/{thingId}",
    summary: "Away",
    responses: { 204: { description: "gone" } },
    handler: () => ({ status: 204 }),
  }),
  route({
    ...open,
    operation: "echo",
    method: "POST",
    path: "/echo",
    summary: "The hash of the body's text",
    request: { body: z.object({ text: z.string() }), body_bytes_max: bodyCap },
    responses: { 200: { description: "it", schema: z.object({ sha256: z.string(), chars: z.number() }) } },
    handler: ({ body }) => ({
      status: 200,
      body: { sha256: createHash("sha256").update(body.text).digest("hex"), chars: body.text.length },
    }),
  }),
  route({
    ...open,
    operation: "bytes",
    method: "POST",
    path: "/bytes",
    summary: "The hash of the bytes",
    request: { body: z.unknown(), accepts: ["raw"], body_bytes_max: 100 * MB },
    responses: { 200: { description: "it", schema: z.object({ sha256: z.string(), type: z.string() }) } },
    handler: (request) => ({
      status: 200,
      body: {
        sha256: createHash("sha256")
          .update(request.body as Buffer)
          .digest("hex"),
        type: request.header("content-type") ?? "",
      },
    }),
  }),
  route({
    ...open,
    operation: "hold",
    method: "POST",
    path: "/hold",
    summary: "Waits",
    responses: { 202: { description: "done", schema: z.object({ done: z.boolean() }) } },
    handler: async (request) => {
      held.arrived++;
      request.signal.addEventListener("abort", () => {
        held.aborted++;
      });
      await new Promise<void>((resolve) => held.release.push(resolve));
      return { status: 202, body: { done: true } };
    },
  }),
  route({
    ...open,
    operation: "large",
    method: "GET",
    path: "/large",
    summary: "10 MB",
    responses: { 200: { description: "it" } },
    handler: () => ({ status: 200, body: { raw: Buffer.alloc(10 * MB, 0x61) } }),
  }),
  route({
    ...open,
    operation: "bug",
    method: "GET",
    path: "/bug",
    summary: "Throws",
    responses: { 200: { description: "never" } },
    handler: () => {
      throw new Error("secret-canary");
    },
  }),
  route({
    ...open,
    operation: "lateBug",
    method: "GET",
    path: "/late-bug",
    summary: "Rejects",
    responses: { 200: { description: "never" } },
    handler: async () => {
      await Promise.resolve();
      throw new TypeError("secret-canary");
    },
  }),
  route({
    ...open,
    operation: "split",
    method: "GET",
    path: "/split",
    summary: "A header with a line break",
    responses: { 200: { description: "never" } },
    handler: () => ({ status: 200, headers: { Location: "/x\r\nSet-Cookie: a=b" } }),
  }),
];

const guarded = route({
  ...open,
  credential: "bearer",
  operation: "guarded",
  method: "POST",
  path: "/guarded",
  summary: "For callers",
  request: { body: z.object({ text: z.string() }), body_bytes_max: bodyCap },
  responses: { 200: { description: "it", schema: z.object({ chars: z.number() }) } },
  handler: ({ body }) => ({ status: 200, body: { chars: body.text.length } }),
});

const H = "Host: x\r\n";
const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\n${H}${more}\r\n`;
const post = (path: string, body: string, more = "Content-Type: application/json\r\n"): string =>
  `POST ${path} HTTP/1.1\r\n${H}${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const codeOf = (body: string | undefined): unknown =>
  (JSON.parse(body ?? "null") as { error?: { code?: unknown } } | null)?.error?.code;

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(form, [...rows, guarded], {
      ports: {
        authenticate: async (token) => {
          await Promise.resolve();
          if (token !== "good") throw new Refusal("TOKEN_INVALID");
          return testCaller();
        },
      },
    });
  });
  afterAll(async () => {
    await gateway.stop();
  });

  describe("paths and methods", () => {
    test.each([
      "/api/v1/nothing",
      "/api/v1/hello/",
      "/api/v1//hello",
      "//api/v1/hello",
      "/api/v1/hello;a=b",
      "/api/v1/HELLO",
      "/api/v1/%68ello",
      "/api/v1/x/%2e%2e/hello",
      "/api/v1/x/../hello",
      "/api/v1/things/",
      "/api/v1/things/a/b",
      "/api/v1/things/%2e%2e%2fhello",
      "/",
      `/${"a".repeat(8_000)}`,
    ])("%s names nothing: 404, never another route", async (path) => {
      const answer = await wire(gateway.port, get(path));
      expect(answer?.status).toBe(404);
      expect(codeOf(answer?.body)).toBe("NOT_FOUND");
      expect(answer?.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    });

    test.each(["%", "%zz", "%00", "%c0%ae", "%ff", "not-a-uuid", "018f6a3e-0000-7000-8000-00000000000%2f", "a%0d%0ab"])(
      "an id %s is like an unknown one: 404",
      async (id) => {
        const answer = await wire(gateway.port, get(`/api/v1/things/${id}`));
        expect(answer?.status).toBe(404);
      },
    );

    test("an id in capitals or percent-encoded is the same id", async () => {
      expect((await wire(gateway.port, get("/api/v1/things/018F6A3E-0000-7000-8000-000000000001")))?.body).toBe(
        '{"id":"018f6a3e-0000-7000-8000-000000000001"}',
      );
      expect((await wire(gateway.port, get("/api/v1/things/%30%318f6a3e-0000-7000-8000-000000000001")))?.body).toBe(
        '{"id":"018f6a3e-0000-7000-8000-000000000001"}',
      );
    });

    test.each(["OPTIONS", "TRACE", "PUT", "PATCH"])(
      "%s on a path that has other methods: 405 with Allow",
      async (method) => {
        const client = new WireClient(gateway.port).send(
          `${method} /api/v1/things/018f6a3e-0000-7000-8000-000000000001 HTTP/1.1\r\n${H}\r\n`,
        );
        const answer = await client.answer();
        expect(answer?.status).toBe(405);
        expect(answer?.headers["allow"]).toBe("DELETE, GET, HEAD");
        expect((await client.send(get("/api/v1/hello")).answer())?.status).toBe(200);
        client.socket.destroy();
      },
    );

    test("a method that does not exist is refused, and method overrides are not looked at", async () => {
      expect([400, 405]).toContain((await wire(gateway.port, `BREW /api/v1/hello HTTP/1.1\r\n${H}\r\n`))?.status);
      expect([400, 405]).toContain((await wire(gateway.port, `get /api/v1/hello HTTP/1.1\r\n${H}\r\n`))?.status);
      const overridden = await wire(
        gateway.port,
        get("/api/v1/hello?_method=DELETE", "X-HTTP-Method-Override: DELETE\r\nX-Method-Override: DELETE\r\n"),
      );
      expect(overridden?.status).toBe(200);
    });

    test("204 has no body and the connection goes on", async () => {
      const client = new WireClient(gateway.port).send(`DELETE /api/v1/things/x HTTP/1.1\r\n${H}\r\n`);
      expect(await client.answer()).toMatchObject({ status: 204, body: "" });
      expect((await client.send(get("/api/v1/hello")).answer())?.status).toBe(200);
      client.socket.destroy();
    });
  });

  describe("headers", () => {
    test("a client's X-Request-Id of 1 to 128 harmless characters comes back; any other is replaced", async () => {
      expect(
        (await wire(gateway.port, get("/api/v1/hello", "X-Request-Id: abc.DEF_1:2-3\r\n")))?.headers["x-request-id"],
      ).toBe("abc.DEF_1:2-3");
      for (const bad of ["a b", "a".repeat(129), "<script>", "", "a\tb"]) {
        const id = (await wire(gateway.port, get("/api/v1/hello", `X-Request-Id: ${bad}\r\n`)))?.headers[
          "x-request-id"
        ];
        expect(id).toMatch(/^[0-9a-f-]{36}$/);
      }
    });

    test("answers forbid sniffing and caching", async () => {
      const answer = await wire(gateway.port, get("/api/v1/hello"));
      expect(answer?.headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-type": "application/json; charset=utf-8",
      });
    });

    test("a header block of 15 KB is read, one of 17 KB is 431", async () => {
      expect((await wire(gateway.port, get("/api/v1/hello", `X-A: ${"a".repeat(15_000)}\r\n`)))?.status).toBe(200);
      expect((await wire(gateway.port, get("/api/v1/hello", `X-A: ${"a".repeat(17_000)}\r\n`)))?.status).toBe(431);
    });

    test("a header value with a line break never reaches the wire", async () => {
      const answer = await wire(gateway.port, get("/api/v1/split"));
      expect(answer?.status).toBe(500);
      expect(answer?.headers["set-cookie"]).toBeUndefined();
    });
  });

  describe("framing", () => {
    test.each([
      [
        "both Content-Length and Transfer-Encoding",
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "3\r\nabc\r\n0\r\n\r\n",
      ],
      ["two different Content-Lengths", "Content-Length: 3\r\nContent-Length: 5\r\n", "abcde"],
      ["one Content-Length twice", "Content-Length: 3\r\nContent-Length: 3\r\n", "abc"],
      ["a list of lengths", "Content-Length: 3, 3\r\n", "abc"],
      ["a signed length", "Content-Length: +3\r\n", "abc"],
      ["a negative length", "Content-Length: -3\r\n", "abc"],
      ["an empty length", "Content-Length: \r\n", "abc"],
      ["a hexadecimal length", "Content-Length: 0x3\r\n", "abc"],
      ["an absurd length", "Content-Length: 99999999999999999999\r\n", "abc"],
      ["an encoding that only looks like chunked", "Transfer-Encoding: xchunked\r\n", "3\r\nabc\r\n0\r\n\r\n"],
      ["an encoding before chunked", "Transfer-Encoding: gzip, chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"],
      [
        "two Transfer-Encodings",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "3\r\nabc\r\n0\r\n\r\n",
      ],
      ["a folded header", "X-A: 1\r\n  folded\r\nContent-Length: 3\r\n", "abc"],
      ["a space before the colon", "Content-Length : 3\r\n", "abc"],
      ["a chunk size that is none", "Transfer-Encoding: chunked\r\n", "zz\r\nabc\r\n0\r\n\r\n"],
    ])("%s is refused and the connection ends", async (_name, headers, body) => {
      const client = new WireClient(gateway.port).send(
        `POST /api/v1/bytes HTTP/1.1\r\n${H}${headers}\r\n${body}${get("/api/v1/hello")}`,
      );
      const answer = await client.answer();
      // A chunk that turns out wrong in mid-body may end the connection without an answer; nothing is ever answered with success.
      if (answer !== undefined) expect(answer.status).toBe(400);
      await client.closed();
      expect(await client.answer()).toBeUndefined();
    });

    test.each([
      ["no Host", "GET /api/v1/hello HTTP/1.1\r\n\r\n"],
      ["a preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
      ["TLS", Buffer.from("160301020001000001fc0303", "hex")],
      ["the PROXY protocol", `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${get("/api/v1/hello")}`],
      ["NUL in the path", get("/api/v1/he\0llo")],
      ["CONNECT", `CONNECT x:443 HTTP/1.1\r\n${H}\r\n`],
    ])("%s is refused", async (_name, text) => {
      const client = new WireClient(gateway.port).send(text);
      client.socket.end();
      const answer = await client.answer();
      if (answer !== undefined) expect(answer.status).toBeGreaterThanOrEqual(400);
      await client.closed();
    });

    // uWebSockets.js refuses a request without a Host itself, in a bare line.
    test.runIf(form === "node")("no Host is refused with the envelope and a request id, but for HTTP/1.0", async () => {
      const answer = await wire(gateway.port, "GET /api/v1/hello HTTP/1.1\r\n\r\n");
      expect([answer?.status, answer?.headers["x-request-id"]]).toEqual([
        400,
        expect.stringMatching(/^[0-9a-f-]{36}$/),
      ]);
      expect(JSON.parse(answer?.body ?? "")).toBeTypeOf("object");
      expect((await wire(gateway.port, "GET /api/v1/hello HTTP/1.0\r\n\r\n"))?.status).toBe(200);
    });

    // uWebSockets.js takes such octets for the UTF-8 that they are.
    test.runIf(form === "node")("an address that is not percent-encoded is among what the refusal names", async () => {
      const answer = await wire(gateway.port, get("/api/v1/hello?q=Škoda"));
      expect([answer?.status, answer?.body]).toEqual([400, expect.stringContaining("its address (percent-encoded)")]);
    });

    test("an Expect that nobody knows is gone by, as the other form does", async () => {
      const answer = await wire(gateway.port, get("/api/v1/hello", "Expect: 200-maybe\r\n"));
      expect([answer?.status, answer?.headers["x-request-id"]]).toEqual([
        200,
        expect.stringMatching(/^[0-9a-f-]{36}$/),
      ]);
    });

    test("a body in chunks, cut anywhere, arrives byte for byte", async () => {
      const body = Buffer.from(JSON.stringify({ text: "Žltý kôň 🐎 ".repeat(2_000) }));
      const client = new WireClient(gateway.port).send(
        `POST /api/v1/bytes HTTP/1.1\r\n${H}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      for (let at = 0; at < body.length; at += 1_777) {
        const piece = body.subarray(at, at + 1_777);
        client.send(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const answer = await client.send("0\r\n\r\n").answer();
      expect(JSON.parse(answer?.body ?? "")).toEqual({
        sha256: createHash("sha256").update(body).digest("hex"),
        type: "application/json",
      });
      client.socket.destroy();
    });

    test("Expect: 100-continue gets its interim answer, then the real one", async () => {
      const body = '{"text":"x"}';
      const client = new WireClient(gateway.port).send(
        `POST /api/v1/echo HTTP/1.1\r\n${H}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      const answer = client.answer();
      client.send(body);
      expect((await answer)?.status).toBe(200);
      client.socket.destroy();
    });

    test("bytes behind the body are the next request, not part of this one", async () => {
      const client = new WireClient(gateway.port).send(post("/api/v1/bytes", "abc") + get("/api/v1/hello"));
      expect((await client.answer())?.body).toContain(createHash("sha256").update("abc").digest("hex"));
      expect((await client.answer())?.body).toBe('{"hello":"world"}');
      client.socket.destroy();
    });
  });

  describe("bodies", () => {
    const bigJson = (bytes: number): Buffer =>
      Buffer.concat([Buffer.from('{"text":"'), Buffer.alloc(bytes - 11, 0x61), Buffer.from('"}')]);

    test("a body of exactly the limit is read, one byte more is 413", async () => {
      const send = (bytes: number): Promise<Response> =>
        fetch(`${gateway.origin}/api/v1/echo`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: bigJson(bytes),
        });
      const exact = await send(bodyCap);
      expect(await exact.json()).toMatchObject({ chars: bodyCap - 11 });
      expect((await send(bodyCap + 1)).status).toBe(413);
    });

    test("26 MB announced is 413 at once, and the connection can go on once they have been sent", async () => {
      const total = 26 * MB;
      const client = new WireClient(gateway.port).send(
        `POST /api/v1/echo HTTP/1.1\r\n${H}Content-Type: application/json\r\nContent-Length: ${total}\r\n\r\n`,
      );
      const answer = await client.answer();
      expect(answer?.status).toBe(413);
      expect(codeOf(answer?.body)).toBe("PAYLOAD_TOO_LARGE");
      for (let sent = 0; sent < total; sent += MB) client.send(Buffer.alloc(MB, 0x61));
      expect((await client.send(get("/api/v1/hello")).answer())?.status).toBe(200);
      client.socket.destroy();
    });

    test("26 MB in chunks without a length are 413 as soon as the limit is passed, and the connection ends", async () => {
      const client = new WireClient(gateway.port).send(
        `POST /api/v1/echo HTTP/1.1\r\n${H}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      const chunk = Buffer.concat([Buffer.from(`${MB.toString(16)}\r\n`), Buffer.alloc(MB, 0x61), Buffer.from("\r\n")]);
      for (let i = 0; i < 26; i++) client.send(chunk);
      expect((await client.answer())?.status).toBe(413);
      await client.closed();
      expect(await client.answer()).toBeUndefined();
    });

    test("a body that a path does not exist for is not collected: 404 at once", async () => {
      const client = new WireClient(gateway.port).send(
        `POST /api/v1/nothing HTTP/1.1\r\n${H}Content-Length: ${90 * MB}\r\n\r\n`,
      );
      expect((await client.answer())?.status).toBe(404);
      client.socket.destroy();
    });

    test("a stranger is refused before his 20 MB have arrived, and the connection can go on once they have", async () => {
      const total = 20 * MB;
      const client = new WireClient(gateway.port).send(
        `POST /api/v1/guarded HTTP/1.1\r\n${H}Authorization: Bearer bad\r\nContent-Type: application/json\r\nContent-Length: ${total}\r\n\r\n{`,
      );
      expect((await client.answer())?.status).toBe(401);
      for (let sent = 1; sent < total; sent += MB) client.send(Buffer.alloc(Math.min(MB, total - sent), 0x61));
      expect((await client.send(get("/api/v1/hello")).answer())?.status).toBe(200);
      client.socket.destroy();
    });

    test("a caller's body arrives whole while his token is still looked at", async () => {
      const response = await fetch(`${gateway.origin}/api/v1/guarded`, {
        method: "POST",
        headers: { Authorization: "Bearer good", "Content-Type": "application/json" },
        body: bigJson(5 * MB),
      });
      expect(await response.json()).toEqual({ chars: 5 * MB - 11 });
    });

    test("10 MB of answer reach a client that reads slowly, byte for byte", async () => {
      const response = await fetch(`${gateway.origin}/api/v1/large`);
      let bytes = 0;
      for await (const piece of response.body ?? []) {
        bytes += (piece as Uint8Array).length;
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(bytes).toBe(10 * MB);
    });
  });

  describe("bugs and connections", () => {
    test.each(["/api/v1/bug", "/api/v1/late-bug"])(
      "a handler that throws answers 500 with the request id and nothing of the error (%s)",
      async (path) => {
        const answer = await wire(gateway.port, get(path));
        expect(answer?.status).toBe(500);
        expect(answer?.body).not.toContain("canary");
        expect(codeOf(answer?.body)).toBe("INTERNAL_ERROR");
        expect(answer?.body).toContain(answer?.headers["x-request-id"] ?? "absent");
      },
    );

    test("1,000 pipelined requests are answered in order", async () => {
      const client = new WireClient(gateway.port);
      const ids = Array.from({ length: 1_000 }, (_, i) => `p-${i}`);
      client.send(ids.map((id) => get("/api/v1/hello", `X-Request-Id: ${id}\r\n`)).join(""));
      for (const id of ids) expect((await client.answer())?.headers["x-request-id"]).toBe(id);
      client.socket.destroy();
    });

    test("pipelined requests that take time are answered in order or not at all, never mixed up", async () => {
      held.arrived = 0;
      const client = new WireClient(gateway.port);
      client.send(["q-1", "q-2", "q-3"].map((id) => post("/api/v1/hold", "", `X-Request-Id: ${id}\r\n`)).join(""));
      await until(() => held.arrived > 0);
      const releaser = setInterval(() => {
        for (const release of held.release.splice(0)) release();
      }, 5);
      const ids: unknown[] = [];
      for (
        let answer = await client.answer();
        answer !== undefined && ids.length < 3;
        answer = ids.length < 3 ? await client.answer() : undefined
      )
        ids.push(answer.headers["x-request-id"]);
      clearInterval(releaser);
      expect(ids).toEqual(["q-1", "q-2", "q-3"].slice(0, ids.length));
      client.socket.destroy();
      await until(() => {
        for (const release of held.release.splice(0)) release();
        return gateway.inFlight() === 0;
      });
    });

    test("a connection is kept for the next request, and closed when the client asks for it", async () => {
      const client = new WireClient(gateway.port);
      for (let i = 0; i < 5; i++) expect((await client.send(get("/api/v1/hello")).answer())?.status).toBe(200);
      expect((await client.send(get("/api/v1/hello", "Connection: close\r\n")).answer())?.status).toBe(200);
      await client.closed();
    });

    test("an answer says how long its connection may be used again, or that it ends the connection", async () => {
      const kept = { connection: "keep-alive", "keep-alive": `timeout=${LIMITS.connection_reusable_ms / 1000}` };
      for (const request of [get("/api/v1/hello"), get("/api/v1/large"), post("/api/v1/echo", "no JSON")])
        expect((await wire(gateway.port, request))?.headers).toMatchObject(kept);
      const client = new WireClient(gateway.port);
      const ended = await client.send(get("/api/v1/hello", "Connection: close\r\n")).answer();
      expect(ended?.headers).not.toHaveProperty("keep-alive");
      expect(ended?.headers["connection"]).toBe("close");
      await client.closed();
    });

    test("clients that go away in mid-body or before the answer leave nothing behind", async () => {
      held.arrived = held.aborted = 0;
      const cut = Array.from({ length: 50 }, () =>
        new WireClient(gateway.port).send(
          `POST /api/v1/echo HTTP/1.1\r\n${H}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"text":"`,
        ),
      );
      const gone = Array.from({ length: 50 }, () => new WireClient(gateway.port).send(post("/api/v1/hold", "")));
      await until(() => held.arrived === 50 && gateway.inFlight() === 100);
      for (const client of [...cut, ...gone]) client.socket.destroy();
      // Those that are worked on have their place until the work ends, though nobody waits for it.
      await until(() => held.aborted === 50 && gateway.inFlight() === 50);
      for (const release of held.release.splice(0)) release();
      await until(() => gateway.inFlight() === 0);
      expect((await wire(gateway.port, get("/api/v1/hello")))?.status).toBe(200);
    });
  });
});

describe.each(serverForms)("deadlines and load of the %s form", (form) => {
  test("a body that comes too slowly ends the connection; others are not disturbed", async () => {
    const gateway = await startGateway(form, rows, { limits: { request_idle_ms: 150 } });
    const slow = new WireClient(gateway.port).send(
      `POST /api/v1/echo HTTP/1.1\r\n${H}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`,
    );
    const drip = setInterval(() => {
      if (!slow.socket.destroyed) slow.send(" ");
    }, 20);
    expect((await wire(gateway.port, get("/api/v1/hello")))?.status).toBe(200);
    await slow.closed();
    clearInterval(drip);
    await until(() => gateway.inFlight() === 0);
    await gateway.stop();
  });

  test("a body that never starts ends the connection", async () => {
    const gateway = await startGateway(form, rows, { limits: { request_idle_ms: 100 } });
    const silent = new WireClient(gateway.port).send(
      `POST /api/v1/echo HTTP/1.1\r\n${H}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n`,
    );
    await silent.closed();
    expect(await silent.answer()).toBeUndefined();
    await gateway.stop();
  });

  test("a handler that does not answer in time: 503 with Retry-After, and its signal aborts", async () => {
    held.arrived = held.aborted = 0;
    const gateway = await startGateway(form, rows, { limits: { request_timeout_ms: 100 } });
    const answer = await wire(gateway.port, post("/api/v1/hold", ""));
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(codeOf(answer?.body)).toBe("TEMPORARY");
    expect(held.aborted).toBe(1);
    for (const release of held.release.splice(0)) release();
    await gateway.stop();
  });

  test("more requests at once than the limit: 503 with Retry-After, unread; those under way are answered", async () => {
    held.arrived = 0;
    const gateway = await startGateway(form, rows, { limits: { requests_in_flight_max: 2 } });
    const first = [wire(gateway.port, post("/api/v1/hold", "")), wire(gateway.port, post("/api/v1/hold", ""))];
    await until(() => held.arrived === 2);
    expect(await wire(gateway.port, get("/api/v1/hello"))).toMatchObject({
      status: 503,
      headers: { "retry-after": "1" },
    });
    for (const release of held.release.splice(0)) release();
    for (const answer of await Promise.all(first)) expect(answer?.status).toBe(202);
    expect((await wire(gateway.port, get("/api/v1/hello")))?.status).toBe(200);
    await gateway.stop();
  });

  test("more bytes of bodies at once than the node may hold: 503, and the bytes are given back", async () => {
    const gateway = await startGateway(form, rows, { limits: { request_bodies_bytes_max: 100_000 } });
    const send = (chars: number): Promise<Response> =>
      fetch(`${gateway.origin}/api/v1/echo`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ text: "a".repeat(chars) }),
      });
    expect((await send(200_000)).status).toBe(503);
    for (let i = 0; i < 5; i++) expect((await send(50_000)).status).toBe(200);
    await gateway.stop();
  });

  test("a drain lets 100 requests under way finish, closes their connections, and takes no new ones", async () => {
    held.arrived = 0;
    const gateway = await startGateway(form, rows);
    const clients = Array.from({ length: 100 }, () => new WireClient(gateway.port).send(post("/api/v1/hold", "")));
    const idle = new WireClient(gateway.port).send(get("/api/v1/hello"));
    expect((await idle.answer())?.status).toBe(200);
    await until(() => held.arrived === 100);
    const drained = gateway.drain();
    const late = new WireClient(gateway.port).send(get("/api/v1/hello"));
    await late.closed();
    expect(await late.answer()).toBeUndefined();
    for (const release of held.release.splice(0)) release();
    for (const client of clients) {
      const answer = await client.answer();
      expect(answer).toMatchObject({ status: 202, headers: { connection: "close" } });
      await client.closed();
    }
    expect(await drained).toBe(true);
    await idle.closed();
    expect(gateway.inFlight()).toBe(0);
    await gateway.stop();
  });

  test("a drain that meets a handler without end stops all the same, and says so", async () => {
    held.arrived = 0;
    const gateway = await startGateway(form, rows, { limits: { drain_timeout_ms: 100 } });
    const client = new WireClient(gateway.port).send(post("/api/v1/hold", ""));
    await until(() => held.arrived === 1);
    expect(await gateway.drain()).toBe(false);
    await client.closed();
    for (const release of held.release.splice(0)) release();
  });

  test("a taken port is an error, not a shared one", async () => {
    const gateway = await startGateway(form, rows);
    const { startServer } = await import("../../../gateway/http/server.js");
    const second = startServer({
      host: "127.0.0.1",
      port: gateway.port,
      form,
      monotonic: () => 0,
      onRequest: () => {
        throw new Error("not reached");
      },
    });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE" });
    await gateway.stop();
  });
});
