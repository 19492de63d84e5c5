/** The node:http form, for platforms without a uWebSockets.js binary. Same limits, same answers. */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

import { parseAddress } from "../../engine/base/addresses.js";
import { LIMITS } from "../../engine/base/limits.js";
import { Conversation, bodyFraming } from "./conversation.js";
import type { Head, Load, Outgoing, PipelineRequest } from "./conversation.js";
import { HeaderList } from "./headers.js";
import type { Listener, ServerOptions } from "./listener.js";

/**
 * What each connection has under way. A pipelined request behind one whose answer closes the connection never gets a
 * socket of its own, and its response never tells that it closed: only the connection does.
 */
const underWay = new WeakMap<Socket, Set<NodeConversation>>();

class NodeConversation extends Conversation {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #siblings: Set<NodeConversation> | undefined;

  constructor(shared: Load, pipelined: PipelineRequest, request: IncomingMessage, response: ServerResponse) {
    super(shared, pipelined);
    this.#request = request;
    this.#response = response;
    this.#siblings = underWay.get(request.socket);
    this.#siblings?.add(this);
    // A connection that the client resets emits an error; without a listener that would end the process.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
  }

  readBody(): void {
    this.#request.on("data", (chunk: Buffer) => {
      this.receive(chunk, false);
    });
    this.#request.on("end", () => {
      this.receive(Buffer.alloc(0), true);
    });
  }

  protected override left(): void {
    this.#siblings?.delete(this);
    super.left();
  }

  protected write(answer: Outgoing, close: boolean): void {
    const response = this.#response;
    if (response.destroyed) return;
    response.statusCode = answer.status;
    response.setHeader("X-Request-Id", answer.requestId);
    response.setHeader("X-Content-Type-Options", "nosniff");
    response.setHeader("Referrer-Policy", "no-referrer");
    response.setHeader("Cache-Control", "no-store");
    if (answer.contentType !== undefined) response.setHeader("Content-Type", answer.contentType);
    for (const name in answer.headers) response.setHeader(name, answer.headers[name] ?? "");
    if (answer.status !== 204) response.setHeader("Content-Length", Buffer.byteLength(answer.body));
    if (close) response.setHeader("Connection", "close");
    response.end(answer.body, () => {
      this.left();
    });
    if (!this.#request.complete) this.#discardRest();
  }

  /**
   * Reads and drops what is left of a body that nobody wants, so that the connection can carry the next request; for a
   * while.
   */
  #discardRest(): void {
    const request = this.#request;
    const timer = setTimeout(() => {
      if (!request.complete) request.socket.destroy();
    }, this.load.limits.request_idle_ms);
    timer.unref();
    request.on("close", () => {
      clearTimeout(timer);
    });
    request.resume();
  }

  protected destroy(): void {
    this.#request.socket.destroy();
  }
}

function headOf(request: IncomingMessage): Head {
  const headers = new HeaderList();
  const raw = request.rawHeaders;
  for (let i = 0; i < raw.length; i += 2) headers.add((raw[i] ?? "").toLowerCase(), raw[i + 1] ?? "");
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  return {
    method: request.method ?? "",
    path: mark === -1 ? url : url.slice(0, mark),
    query: mark === -1 ? "" : url.slice(mark + 1),
    headers,
    peer: parseAddress(request.socket.remoteAddress ?? "") ?? new Uint8Array(4),
  };
}

/** What node:http refuses before there is a request: its answer in two lines, then the end. */
const PROTOCOL_ERRORS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** @throws Error with the code of the system when the port is taken */
export async function listenNode(options: ServerOptions, shared: Load): Promise<Listener> {
  const { request_idle_ms } = shared.limits;
  const server = createServer({
    maxHeaderSize: LIMITS.request_header_bytes_max,
    headersTimeout: request_idle_ms,
    // Off, because bodies have a deadline by their rate: a large one may take an honest client longer than any other.
    requestTimeout: 0,
    keepAliveTimeout: request_idle_ms,
    connectionsCheckingInterval: Math.max(50, request_idle_ms / 4),
    noDelay: true,
  });
  // Node drops headers above this count silently. One more than our limit lets us see, and refuse, too many.
  server.maxHeadersCount = LIMITS.request_headers_max + 1;
  server.on("connection", (socket: Socket) => {
    const conversations = new Set<NodeConversation>();
    underWay.set(socket, conversations);
    socket.on("close", () => {
      for (const conversation of conversations) conversation.closed();
    });
  });
  server.on("request", (request, response) => {
    const head = headOf(request);
    const conversation = new NodeConversation(shared, options.onRequest(head), request, response);
    const framing =
      head.headers.pairs.length / 2 > LIMITS.request_headers_max ? "malformed" : bodyFraming(head.headers);
    if (conversation.open(framing)) conversation.readBody();
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable) return;
    socket.end(
      `HTTP/1.1 ${PROTOCOL_ERRORS[error.code ?? ""] ?? "400 Bad Request"}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    );
  });
  // CONNECT is not offered. Without this handler node would close the connection without an answer.
  server.on("connect", (_request, socket) => {
    socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stopAccepting: () => {
      server.close();
      server.closeIdleConnections();
    },
    closeAll: async () => {
      const closed = new Promise<void>((resolve) => {
        if (server.listening) server.once("close", resolve);
        else resolve();
      });
      server.closeAllConnections();
      await closed;
    },
  };
}
