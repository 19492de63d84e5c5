/** The client towards access points: what a bad peer can do to it is in a closed list, and nothing else happens. */
import { spawn } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { connect, createServer as createTcpServer } from "node:net";
import type { AddressInfo, Server as TcpServer, Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { HttpClient, HttpResult, HttpCall } from "../../../engine/peppol/network/http.js";
import { eventually } from "../../support/eventually.js";

let client: HttpClient;
const ends: (() => void)[] = [];

beforeEach(() => {
  client = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] }, connectTimeout_ms: 2_000 });
});
afterEach(() => {
  client.close();
  for (const end of ends.splice(0)) end();
});

const listen = (server: Server | TcpServer): Promise<string> =>
  new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/as4`);
    });
    ends.push(() => {
      server.close();
    });
  });

const serve = (handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> =>
  listen(createHttpServer(handler));
/** A peer without HTTP: gets the socket, says what it likes. */
const serveRaw = (handler: (socket: Socket) => void): Promise<string> =>
  listen(
    createTcpServer((socket) => {
      ends.push(() => {
        socket.destroy();
      });
      socket.on("error", () => undefined);
      handler(socket);
    }),
  );

const post = (url: string, changes: Partial<HttpCall> = {}): Promise<HttpResult> =>
  client.request({
    method: "POST",
    use: "as4",
    url,
    headers: { "content-type": "text/plain" },
    body: Buffer.from("the message"),
    bytes_max: 1_000,
    timeout_ms: 2_000,
    ...changes,
  });

describe("an answer", () => {
  test("an answer comes back whole, with the length announced and the content type sent", async () => {
    const seen: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on("data", (chunk: Buffer) => chunks.push(chunk))
        .on("end", () => {
          seen.push(
            request.headers["content-type"],
            request.headers["content-length"],
            Buffer.concat(chunks).toString(),
          );
          response.writeHead(202, { "content-type": "application/soap+xml" }).end("the answer");
        });
    });
    expect(await post(url)).toMatchObject({
      kind: "response",
      status: 202,
      contentType: "application/soap+xml",
      body: Buffer.from("the answer"),
    });
    expect(seen).toEqual(["text/plain", "11", "the message"]);
  });

  test("two messages share one connection", async () => {
    const ports = new Set<number | undefined>();
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on("end", () => {
        response.end("ok");
      });
    });
    await post(url);
    await post(url);
    expect(ports.size).toBe(1);
  });

  test("a kept connection that the peer has closed is replaced without a failure", async () => {
    let connections = 0;
    const url = await serveRaw((socket) => {
      connections += 1;
      let first = true;
      socket.on("data", () => {
        if (first) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        else socket.resetAndDestroy();
        first = false;
      });
    });
    expect(await post(url)).toMatchObject({ kind: "response" });
    expect(await post(url)).toMatchObject({ kind: "response" });
    expect(connections).toBe(2);
  });

  test("a message that was handed over whole on a kept connection may be there, also where nobody takes its repeat", async () => {
    let heard = "";
    let answers = 1;
    const server = createTcpServer((socket) => {
      socket
        .on("error", () => undefined)
        .on("data", (data: Buffer) => {
          answers -= 1;
          if (answers >= 0) {
            socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
            return;
          }
          heard = data.toString();
          server.close();
          socket.resetAndDestroy();
        });
    });
    const url = await listen(server);
    expect(await post(url)).toMatchObject({ kind: "response" });
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "connect_refused", uploaded: true });
    expect(heard.endsWith("the message")).toBe(true);
  });

  test.each([
    ["an answer", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"],
    ["a word that it goes on", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["half of a head", "HTTP/1.1 200 OK\r\ncontent-"],
    ["one octet", "H"],
  ])("a message is not made anew on another connection where the peer has begun with %s", async (_, begun) => {
    let messages = 0;
    const url = await serveRaw((socket) => {
      let first = true;
      socket.on("data", () => {
        messages += 1;
        if (first) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        else socket.write(begun);
        first = false;
      });
      // The reset overtakes what was written, unless somebody has seen it come.
      began.push(() => {
        socket.resetAndDestroy();
      });
    });
    const began: (() => void)[] = [];
    expect(await post(url)).toMatchObject({ kind: "response" });
    const second = post(url);
    await eventually("the message has come again", () => messages === 2);
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    for (const reset of began) reset();
    expect(await second).toMatchObject({ kind: "failed", fault: "reset", uploaded: true });
    expect(messages).toBe(2);
  });

  test("the repeat of a message on a new connection has the time that is left, not the whole of it again", async () => {
    let connections = 0;
    const holding: Socket[] = [];
    const url = await serveRaw((socket) => {
      connections += 1;
      let first = connections === 1;
      socket.on("data", () => {
        if (first) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        else holding.push(socket);
        first = false;
      });
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    ends.push(() => {
      vi.useRealTimers();
    });
    expect(await post(url)).toMatchObject({ kind: "response" });
    const second = post(url, { timeout_ms: 2_000 });
    await vi.waitUntil(() => holding.length === 1);
    vi.advanceTimersByTime(1_500);
    holding[0]?.resetAndDestroy();
    await vi.waitUntil(() => holding.length === 2);
    vi.advanceTimersByTime(600);
    expect(await second).toMatchObject({ kind: "failed", fault: "timeout", uploaded: true });
  });

  test("an answer to the repeat of a message that had gone out whole says that it is one", async () => {
    const url = await serveRaw((socket) => {
      let first = true;
      socket.on("data", () => {
        if (first) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
        else socket.resetAndDestroy();
        first = false;
      });
    });
    const answers = [await post(url), await post(url)];
    expect(answers.map((answer) => answer.kind === "response" && answer.isRepeated)).toEqual([undefined, true]);
  });

  test("a redirect is an answer like any other: it is not followed", async () => {
    let hits = 0;
    const url = await serve((request, response) => {
      hits += 1;
      request.resume().on("end", () => {
        response.writeHead(307, { location: "/elsewhere" }).end();
      });
    });
    expect(await post(url)).toMatchObject({ kind: "response", status: 307 });
    expect(hits).toBe(1);
  });
});

describe("a peer that misbehaves", () => {
  test("a peer that misbehaves refuses the connection: nothing was transmitted", async () => {
    const url = await serve(() => undefined);
    for (const end of ends.splice(0)) end();
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "connect_refused", uploaded: false });
  });

  test("a peer that misbehaves hangs after it has the message: the message may be there", async () => {
    const url = await serve((request) => {
      request.resume();
    });
    expect(await post(url, { timeout_ms: 200 })).toMatchObject({ kind: "failed", fault: "timeout", uploaded: true });
  });

  test.each(["", "connection: upgrade\r\nupgrade: websocket\r\n"])(
    "a peer that misbehaves answers with 101: the exchange ends at once, and the message may be there",
    async (headers) => {
      const url = await serveRaw((socket) => {
        socket.once("data", () => socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\n`));
      });
      expect(await post(url)).toMatchObject({ kind: "failed", fault: "protocol", uploaded: true });
    },
  );

  test("an answer that others of 1xx come before is the answer", async () => {
    const url = await serveRaw((socket) => {
      socket.once("data", () =>
        socket.write(
          "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
        ),
      );
    });
    expect(await post(url)).toMatchObject({ kind: "response", status: 200, body: Buffer.from("ok") });
  });

  test("a peer that misbehaves hangs in the middle of its answer", async () => {
    const url = await serveRaw((socket) => {
      socket.on("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
      });
    });
    expect(await post(url, { timeout_ms: 200 })).toMatchObject({ kind: "failed", fault: "timeout", uploaded: true });
  });

  test("a peer that misbehaves resets after the upload: the message may be there", async () => {
    const url = await serveRaw((socket) => {
      socket.on("data", () => {
        socket.resetAndDestroy();
      });
    });
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "reset", uploaded: true });
  });

  test("a peer that misbehaves resets in the middle of a large upload: it has not got all of it", async () => {
    const url = await serveRaw((socket) => {
      socket.once("data", () => {
        socket.resetAndDestroy();
      });
    });
    expect(await post(url, { body: Buffer.alloc(64 * 1024 * 1024) })).toMatchObject({
      kind: "failed",
      uploaded: false,
    });
  });

  test("a peer that misbehaves breaks its answer off", async () => {
    const url = await serveRaw((socket) => {
      socket.on("data", () => {
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
      });
    });
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "reset", uploaded: true });
  });

  test("a peer that misbehaves answers more than may be read", async () => {
    const url = await serve((request, response) => {
      request.resume().on("end", () => {
        response.end(Buffer.alloc(2_000));
      });
    });
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "too_large", uploaded: true });
  });

  const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

  test("an answer may come in chunks of one octet each, and one in more pieces than may be is given up", async () => {
    let count = 0;
    const url = await serveRaw((socket) => {
      socket.on("data", () => {
        socket.write(`${CHUNKED}${"1\r\nx\r\n".repeat(count)}0\r\n\r\n`);
      });
    });
    const bytes_max = 2 * LIMITS.outbound_pieces_max;
    count = LIMITS.outbound_pieces_max;
    const whole = await post(url, { bytes_max, timeout_ms: 20_000 });
    expect(whole.kind === "response" && whole.body.equals(Buffer.alloc(count, "x"))).toBe(true);
    count += 1;
    expect(await post(url, { bytes_max, timeout_ms: 20_000 })).toMatchObject({ kind: "failed", fault: "too_large" });
  });

  test("an answer in chunks of one octet each holds little more memory than it has octets", async () => {
    const pieces = 60_000;
    let sent = false;
    const peers: Socket[] = [];
    const url = await serveRaw((socket) => {
      peers.push(socket);
      socket.once("data", () => {
        socket.write(CHUNKED + "1\r\nx\r\n".repeat(pieces), () => {
          sent = true;
        });
      });
    });
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const used = (): number => {
      collect();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = used();
    const answered = post(url, { bytes_max: pieces, timeout_ms: 90_000 });
    await eventually("everything but the end has come", () => sent);
    const held: number[] = [];
    await eventually("what is held does not change", () => held.push(used()) > 5);
    peers[0]?.write("0\r\n\r\n");
    const whole = await answered;
    expect(whole.kind === "response" && whole.body.length).toBe(pieces);
    expect(Math.min(...held.slice(-2)) - before).toBeLessThan(4_000_000);
  });

  test("a peer that misbehaves never ends its headers", async () => {
    const url = await serveRaw((socket) => {
      socket.on("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(10_000)}`);
      });
    });
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "protocol" });
  });

  test("a peer that misbehaves speaks no HTTP", async () => {
    const url = await serveRaw((socket) => {
      socket.on("data", () => {
        socket.end("220 mail.example ESMTP\r\n");
      });
    });
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "protocol" });
  });

  test("an answer that comes before the whole message has gone out says so, and no other does", async () => {
    const url = await serveRaw((socket) => {
      let octets = 0;
      socket.on("data", (data: Buffer) => {
        octets += data.length;
        if (octets > 1_000) socket.pause();
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      });
    });
    const early = [await post(url), await post(url, { body: Buffer.alloc(8 * 1024 * 1024) }), await post(url)];
    expect(early.map((answer) => answer.kind === "response" && answer.isEarly)).toEqual([undefined, true, undefined]);
  });

  test("a peer that answers before it has read the message, and never reads the rest, holds neither octets nor connections", async () => {
    let connections = 0;
    let reads = false;
    const url = await serveRaw((socket) => {
      connections += 1;
      if (reads) socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"));
      else
        socket.once("data", () => {
          socket.write("HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\nno");
          socket.pause();
        });
    });
    const body = Buffer.alloc(8 * 1024 * 1024);
    for (let i = 0; i < LIMITS.peer_connections_max; i += 1)
      expect(await post(url, { body })).toMatchObject({ kind: "response", status: 503 });
    reads = true;
    expect(await post(url)).toMatchObject({ kind: "response", status: 200 });
    expect(connections).toBe(LIMITS.peer_connections_max + 1);
  });
});

/** Listens with a queue for two, and takes nobody in until it is let go on. */
const BUSY_HOST = `
  const server = require("node:net").createServer((socket) => {
    socket.on("error", () => undefined).on("data", () => socket.end("HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok"));
  });
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => console.log(server.address().port));
`;

// Linux drops the SYN to a full queue and sends it again after a second: the longest way that a working one takes.
test.skipIf(process.platform !== "linux")(
  "a host whose first address answers after a second, and whose others are dead, is reached",
  async () => {
    const host = spawn(process.execPath, ["-e", BUSY_HOST], { stdio: ["ignore", "pipe", "inherit"] });
    ends.push(() => void host.kill("SIGKILL"));
    const port = await new Promise<number>((resolve) =>
      host.stdout.once("data", (data: Buffer) => {
        resolve(Number(data.toString()));
      }),
    );
    host.kill("SIGSTOP");
    for (let i = 0; i < 2; i += 1)
      await new Promise<void>((resolve) => {
        const waiting = connect(port, "127.0.0.1", resolve);
        waiting.on("error", () => undefined);
        ends.push(() => waiting.destroy());
      });
    const far = createHttpClient({
      policy: { allowLoopback: true, ownOrigins: [] },
      resolve: () => {
        setTimeout(() => host.kill("SIGCONT"), 100);
        return Promise.resolve(["127.0.0.1", "127.0.0.9"]);
      },
    });
    ends.push(() => {
      far.close();
    });
    expect(
      await far.request({ method: "GET", use: "smp", url: `http://localhost:${port}/`, bytes_max: 10 }),
    ).toMatchObject({ kind: "response", status: 200 });
  },
);

describe("what we end ourselves", () => {
  test("an abort ends the exchange at once", async () => {
    const abort = new AbortController();
    const url = await serve((request) => {
      request.resume().on("end", () => {
        abort.abort();
      });
    });
    expect(await post(url, { signal: abort.signal })).toMatchObject({
      kind: "failed",
      fault: "aborted",
      uploaded: true,
    });
    expect(await post(url, { signal: abort.signal })).toMatchObject({
      kind: "failed",
      fault: "aborted",
      uploaded: false,
    });
  });

  test.each([
    "not a url",
    "ftp://example.com/",
    "https://user:pass@example.com/",
    "http://example.com/as4",
    "https://example.com:8443/",
  ])("%s is not called", async (url) => {
    expect(await post(url)).toMatchObject({ kind: "failed", fault: "bad_url", uploaded: false });
  });

  test.each(["https://10.0.0.1/", "https://169.254.169.254/", "https://[fd00::1]/"])(
    "a private address is not called: %s",
    async (url) => {
      expect(await post(url)).toMatchObject({ kind: "failed", fault: "address_refused", uploaded: false });
    },
  );

  test("a name of which one address is private is not called", async () => {
    const guarded = createHttpClient({
      policy: { allowLoopback: false, ownOrigins: [] },
      resolve: async () => ["93.184.216.34", "127.0.0.1"],
    });
    expect(
      await guarded.request({
        method: "POST",
        use: "as4",
        url: "https://peer.example/",
        headers: { "content-type": "a/b" },
        body: Buffer.from("x"),
        bytes_max: 10,
        timeout_ms: 1_000,
      }),
    ).toMatchObject({ kind: "failed", fault: "address_refused", uploaded: false });
  });
});
