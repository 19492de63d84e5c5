/**
 * HEAD and compressed bodies, on both forms of the server.
 * @source spec/rulings.md, section 14: "HEAD works where GET does; request bodies may be gzip (limits count after inflation),
 * any other Content-Encoding is 415"
 */
import { createHash } from "node:crypto";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";

import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { serverForms, startGateway, WireClient } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";

const CAP = 64 * 1024;
const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

const open = { mounts: ["/api/v1"], family: "enterprise", credential: "none", errors: [] } as const;
const digest = z.object({ sha256: z.string() });
const rows: readonly Route[] = [
  route({
    ...open,
    operation: "hello",
    method: "GET",
    path: "/hello",
    summary: "Says hello",
    request: { query: z.object({ name: z.string().optional() }) },
    responses: { 200: { description: "it", schema: z.object({ hello: z.string() }) } },
    handler: ({ query }) => ({ status: 200, body: { hello: query.name ?? "world" }, headers: { ETag: '"1"' } }),
  }),
  route({
    ...open,
    operation: "large",
    method: "GET",
    path: "/large",
    summary: "A long answer",
    responses: { 200: { description: "it", contentType: "text/plain" } },
    handler: () => ({ status: 200, body: { raw: "x".repeat(300_000) }, contentType: "text/plain" }),
  }),
  route({
    ...open,
    operation: "secret",
    method: "GET",
    path: "/secret",
    credential: "bearer",
    summary: "Not for everybody",
    responses: { 200: { description: "it", schema: z.object({}) } },
    handler: () => ({ status: 200, body: {} }),
  }),
  route({
    ...open,
    operation: "echo",
    method: "POST",
    path: "/echo",
    summary: "The digest of a member",
    request: { body: z.object({ text: z.string() }), accepts: ["json", "form"], body_bytes_max: CAP },
    responses: { 200: { description: "it", schema: digest } },
    handler: ({ body }) => ({ status: 200, body: { sha256: sha256(body.text) } }),
  }),
  route({
    ...open,
    operation: "echoXml",
    method: "POST",
    path: "/xml",
    summary: "The digest of XML",
    request: { body: z.custom<Uint8Array>(), accepts: ["xml"], body_bytes_max: CAP },
    responses: { 200: { description: "it", schema: digest } },
    handler: ({ body }) => ({ status: 200, body: { sha256: sha256(body) } }),
  }),
  route({
    ...open,
    operation: "echoRaw",
    method: "POST",
    path: "/raw",
    summary: "The digest of the bytes as they came",
    request: { body: z.custom<Uint8Array>(), accepts: ["raw"], body_bytes_max: CAP },
    responses: { 200: { description: "it", schema: digest } },
    handler: ({ body }) => ({ status: 200, body: { sha256: sha256(body) } }),
  }),
];

/** Headers of the answer itself: not of its moment, its length or its connection, which the client closes after a HEAD. */
const lasting = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    [...headers].filter(
      ([name]) => !["date", "x-request-id", "content-length", "connection", "keep-alive"].includes(name),
    ),
  );

describe.each(serverForms)("the %s form: HEAD works where GET does", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(form, rows);
  });
  afterAll(() => gateway.stop());
  const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
    fetch(gateway.origin + path, { method, headers });

  test.each(["/api/v1/hello", "/api/v1/hello?name=a", "/api/v1/large", "/api/v1/secret", "/api/v1/nothing"])(
    "HEAD %s has GET's status and headers, and no body",
    async (path) => {
      const [got, head] = await Promise.all([ask("GET", path), ask("HEAD", path)]);
      expect(head.status).toBe(got.status);
      expect(lasting(head.headers)).toEqual(lasting(got.headers));
      expect([(await head.text()).length, (await got.text()).length > 0]).toEqual([0, true]);
    },
  );

  test("HEAD is refused with 405 where only POST is offered, and Allow names HEAD beside GET", async () => {
    expect((await ask("HEAD", "/api/v1/echo")).headers.get("allow")).toBe("POST");
    expect([(await ask("HEAD", "/api/v1/echo")).status, (await ask("DELETE", "/api/v1/hello")).status]).toEqual([
      405, 405,
    ]);
    expect((await ask("DELETE", "/api/v1/hello")).headers.get("allow")).toBe("GET, HEAD");
  });

  test("the answer to HEAD ends with its headers: the next answer on the connection begins right behind it", async () => {
    const client = new WireClient(gateway.port);
    for (const path of ["/api/v1/hello", "/api/v1/large", "/api/v1/nothing"]) {
      client.send(`HEAD ${path} HTTP/1.1\r\nHost: x\r\n\r\nGET /api/v1/hello HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect((await client.answer(true))?.status).toBe(path.endsWith("nothing") ? 404 : 200);
      expect((await client.answer())?.body).toBe('{"hello":"world"}');
    }
    client.socket.destroy();
  });
});

describe.each(serverForms)("the %s form: request bodies may be gzip", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(form, rows);
  });
  afterAll(() => gateway.stop());
  const post = async (path: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string>) => {
    const answer = await fetch(`${gateway.origin}/api/v1${path}`, { method: "POST", body, headers });
    return { status: answer.status, body: (await answer.json()) as { sha256?: string; error?: { code: string } } };
  };
  const JSON_GZIP = { "content-type": "application/json", "content-encoding": "gzip" };
  const text = (times: number): string => "á€😀x".repeat(times);
  const json = (member: string): Buffer => Buffer.from(JSON.stringify({ text: member }));

  test.each(["gzip", "GZIP", "x-gzip"])(
    "JSON, a form and XML in %s are read as if they had come plain",
    async (coding) => {
      const member = text(1_000);
      const coded = (type: string) => ({ "content-type": type, "content-encoding": coding });
      const form = Buffer.from(`text=${encodeURIComponent(member)}`);
      expect((await post("/echo", gzipSync(json(member)), coded("application/json"))).body.sha256).toBe(sha256(member));
      const asForm = await post("/echo", gzipSync(form), coded("application/x-www-form-urlencoded"));
      expect(asForm.body.sha256).toBe(sha256(member));
      expect((await post("/xml", gzipSync("<a/>"), coded("application/xml"))).body.sha256).toBe(sha256("<a/>"));
    },
  );

  test("limits count after inflation: a body of exactly the limit is read, one byte more is 413", async () => {
    const overhead = json("").length;
    const exact = "x".repeat(CAP - overhead);
    expect(await post("/echo", gzipSync(json(exact)), JSON_GZIP)).toEqual({
      status: 200,
      body: { sha256: sha256(exact) },
    });
    expect((await post("/echo", gzipSync(json(`${exact}x`)), JSON_GZIP)).status).toBe(413);
  });

  test("a bomb is 413, and is not inflated beyond the limit: what comes behind is never looked at", async () => {
    const bomb = gzipSync(Buffer.alloc(CAP * 1_000));
    expect(bomb.length).toBeLessThan(CAP);
    expect((await post("/echo", bomb, JSON_GZIP)).status).toBe(413);
    // The same with its second half destroyed: whoever inflated it all would find that it is no gzip.
    bomb.fill(0xff, bomb.length / 2);
    expect((await post("/echo", bomb, JSON_GZIP)).status).toBe(413);
  });

  test("a body that is no gzip, or half of one, is 400; an empty one is an empty body", async () => {
    for (const wrong of [json("plain"), gzipSync(json("half")).subarray(0, 12), Buffer.from([0x1f, 0x8b])])
      expect((await post("/echo", wrong as Buffer<ArrayBuffer>, JSON_GZIP)).status).toBe(400);
    expect((await post("/echo", Buffer.alloc(0), JSON_GZIP)).status).toBe(400);
  });

  test.each([
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
    ["identity", (bytes: Buffer<ArrayBuffer>) => bytes],
    ["gzip, gzip", (bytes: Buffer) => gzipSync(gzipSync(bytes))],
    ["zstd", (bytes: Buffer<ArrayBuffer>) => bytes],
  ])("any other Content-Encoding is 415: %s", async (coding, encode) => {
    const headers = { "content-type": "application/json", "content-encoding": coding };
    expect((await post("/echo", encode(json("a") as Buffer<ArrayBuffer>), headers)).status).toBe(415);
    expect(
      (await post("/xml", encode(json("a") as Buffer<ArrayBuffer>), { ...headers, "content-type": "text/xml" })).status,
    ).toBe(415);
  });

  test("an operation that takes the bytes as they are takes no coding: they were signed, or will be kept", async () => {
    expect((await post("/raw", gzipSync("a"), { "content-encoding": "gzip" })).status).toBe(415);
    const plain = gzipSync("a");
    expect((await post("/raw", plain, {})).body.sha256).toBe(sha256(plain));
  });

  test("many compressed bodies at once are all read", async () => {
    const members = Array.from({ length: 40 }, (_, i) => text(400 + i));
    const answers = await Promise.all(members.map((member) => post("/echo", gzipSync(json(member)), JSON_GZIP)));
    expect(answers.map(({ body }) => body.sha256)).toEqual(members.map(sha256));
  });
});
