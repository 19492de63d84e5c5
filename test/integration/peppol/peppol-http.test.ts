/** Goal: a call to a host that somebody else named ends, whatever that host does. S-02 to S-04 of the fault catalogue. */
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { afterEach, expect, test } from "vitest";

import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { Http, HttpResult } from "../../../engine/peppol/network/http.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

const listen = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    servers.push(server);
    server.listen(0, "127.0.0.1", () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
const serve = (listener: RequestListener): Promise<string> => listen(createServer(listener));

const http: Http = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] } }).request;
const get = (url: string, timeout_ms = 2_000, bytes_max = 1_000): Promise<HttpResult> =>
  http({ method: "GET", url, use: "smp", bytes_max, timeout_ms });

test("an answer comes with status, type and body", async () => {
  const url = await serve((request, response) => {
    response.writeHead(201, { "content-type": "text/xml" }).end(`${request.method} ${request.url}`);
  });
  expect(await get(`${url}/a%3Ab`)).toMatchObject({
    kind: "response",
    status: 201,
    contentType: "text/xml",
    body: Buffer.from("GET /a%3Ab"),
  });
});

test("a redirect is an answer, not a journey", async () => {
  const url = await serve((_, response) => {
    response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
  });
  expect(await get(url)).toMatchObject({ kind: "response", status: 302 });
});

test("a body larger than asked for ends the call, announced or not", async () => {
  const announced = await serve((_, response) => {
    response.writeHead(200, { "content-length": "100000000" }).write("x");
  });
  expect(await get(announced)).toMatchObject({ fault: "too_large" });
  const endless = await serve((_, response) => {
    const more = (): void => {
      while (response.write(Buffer.alloc(10_000))) {
        /* until it is full */
      }
    };
    response.on("drain", more);
    more();
  });
  expect(await get(endless)).toMatchObject({ fault: "too_large" });
});

test("silence, drops of one byte and endless headers run into the limits", async () => {
  const silent = await listen(createTcpServer(() => undefined));
  expect(await get(silent, 100)).toMatchObject({ fault: "timeout" });
  const dripping = await serve((_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x"), 20);
    response.on("close", () => {
      clearInterval(timer);
    });
  });
  expect(await get(dripping, 150)).toMatchObject({ fault: "timeout" });
  const headers = await listen(
    createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(`HTTP/1.1 200 OK\r\n${"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(2_000)}`);
    }),
  );
  expect(await get(headers)).toMatchObject({ kind: "failed", fault: "protocol" });
});

test("a closed port, a broken answer, a lost connection and an abort are outcomes", async () => {
  expect(await get("http://127.0.0.1:1/")).toMatchObject({ fault: "connect_refused", code: "ECONNREFUSED" });
  const garbage = await listen(
    createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.end("garbage\r\n\r\n");
    }),
  );
  expect(await get(garbage)).toMatchObject({ fault: "protocol" });
  const lost = await serve((_, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("x");
    response.socket?.destroy();
  });
  expect(await get(lost)).toMatchObject({ fault: "reset" });
  const silent = await listen(createTcpServer(() => undefined));
  const controller = new AbortController();
  const call = http({ method: "GET", url: silent, use: "smp", bytes_max: 1, signal: controller.signal });
  controller.abort();
  expect(await call).toMatchObject({ fault: "aborted" });
});

test("without the sandbox's permission nothing connects to this machine", async () => {
  let asked = 0;
  const url = await serve((_, response) => {
    asked += 1;
    response.end();
  });
  const { request: strict } = createHttpClient({
    policy: { allowLoopback: false, ownOrigins: [] },
    resolve: () => Promise.resolve(["127.0.0.1"]),
  });
  expect(await strict({ method: "GET", url, use: "smp", bytes_max: 1 })).toMatchObject({ fault: "bad_url" });
  expect(
    await strict({ method: "GET", url: "http://rebinding.example.com/", use: "revocation", bytes_max: 1 }),
  ).toMatchObject({ fault: "address_refused", code: "EADDRESSREFUSED" });
  expect(asked).toBe(0);
});
