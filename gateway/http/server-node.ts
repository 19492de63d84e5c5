/** The node:http form, for platforms without a uWebSockets.js binary. Same limits, same answers. */
import { createServer, STATUS_CODES } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

import { addressOfSocket } from "../../engine/base/addresses.js";
import type { Address } from "../../engine/base/addresses.js";
import { LIMITS } from "../../engine/base/limits.js";
import { Connections } from "./connections.js";
import { Conversation, framingOf, keepAlive } from "./conversation.js";
import type { Head, Outgoing, PipelineRequest, ServerFault } from "./conversation.js";
import type { Load } from "./load.js";
import { HeaderList } from "./headers.js";
import type { Listener, ServerOptions } from "./listener.js";

/**
 * What each connection has under way. A pipelined request behind one whose answer closes the connection never gets a
 * socket of its own, and its response never tells that it closed: only the connection does.
 */
const underWay = new WeakMap<Socket, Set<NodeConversation>>();
/** Connections on which no further request is read: the last one is under way. */
const ended = new WeakSet<Socket>();
/** Connections whose request was answered before its body had come. */
const unread = new WeakSet<Socket>();

type Exchange = readonly [request: IncomingMessage, response: ServerResponse];

class NodeConversation extends Conversation {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #siblings: Set<NodeConversation> | undefined;
  /** Its answer ends the connection; those of requests before it, which may come later, do not. */
  readonly #isLast: boolean;
  /** It came before the answer to another of its connection. */
  readonly #isBehind: boolean;
  /** Octets of an answer in pieces that were handed to the socket. */
  #pushed = 0;

  constructor(shared: Load, pipelined: PipelineRequest, [request, response]: Exchange, isLast: boolean) {
    super(shared, pipelined);
    this.#isLast = isLast;
    this.#request = request;
    this.#response = response;
    this.#siblings = underWay.get(request.socket);
    this.#isBehind = this.#siblings !== undefined && this.#siblings.size > 0;
    this.#siblings?.add(this);
    // A connection that the client resets emits an error; without a listener that would end the process.
    request.on("error", () => undefined);
    response.on("error", () => undefined);
  }

  /** Whether the body is still being read. */
  get hasBody(): boolean {
    return !this.#request.complete;
  }

  readBody(): void {
    this.#request.on("data", (chunk: Buffer) => {
      this.receive(chunk, false);
    });
    this.#request.on("end", () => {
      this.receive(Buffer.alloc(0), true);
    });
  }

  /** One connection brings any number of such requests at once. */
  protected override get isCounted(): boolean {
    return this.#isBehind;
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
    if (close || this.#isLast) response.setHeader("Connection", "close");
    else if (response.shouldKeepAlive) response.setHeader("Keep-Alive", keepAlive);
    const { body } = answer;
    if (body.length <= LIMITS.response_streamed_bytes) this.#end(body);
    else this.#stream(typeof body === "string" ? Buffer.from(body) : body);
    if (this.#request.complete) return;
    unread.add(this.#request.socket);
    this.#discardRest();
  }

  #end(body: string | Uint8Array): void {
    this.#response.end(body, () => {
      this.left();
    });
    // What the system has not taken at once waits for the client, and he has to take it.
    if (this.#response.writableLength === 0) return;
    this.#pushed = Buffer.byteLength(body);
    this.leavesInPieces();
  }

  /** Hands over a piece when the one before has gone, so that it is seen what the client takes. */
  #stream(body: Uint8Array): void {
    const response = this.#response;
    this.leavesInPieces();
    const push = (): void => {
      while (this.#pushed < body.length) {
        const piece = body.subarray(this.#pushed, this.#pushed + LIMITS.response_streamed_bytes);
        this.#pushed += piece.length;
        if (!response.write(piece)) {
          response.once("drain", push);
          return;
        }
      }
      response.end(() => {
        this.left();
      });
    };
    push();
  }

  protected written(): number | undefined {
    // Behind another request of its connection an answer has no socket: its client cannot take it yet.
    if (this.#response.socket === null) return undefined;
    return Math.max(0, this.#pushed - this.#response.writableLength);
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
    request.on("end", () => {
      unread.delete(request.socket);
    });
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
    peer: peerOf(request.socket),
  };
}

const peerOf = (socket: Socket): Address => addressOfSocket(socket.remoteAddress ?? "") ?? new Uint8Array(4);

/** An error of node's parser: its code, and what it had read. */
type ClientError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer };

/** What node:http finds wrong before there is a request; everything else is malformed. */
const PROTOCOL_FAULTS: Readonly<Record<string, ServerFault>> = { HPE_HEADER_OVERFLOW: "headers_too_large" };

/** Method, path and query of a request line, as far as it can be read. */
const REQUEST_LINE = /^([A-Z]{1,16}) (\/[^ ?\r\n]{0,8192})(?:\?([^ \r\n]{0,8192}))? HTTP\/1/;

/** What can be said of a request that node:http could not read: the family of its errors follows from its path. */
function brokenHead(packet: Buffer | undefined, socket: Socket): Head {
  const [, method = "GET", path = "/", query = ""] = REQUEST_LINE.exec(packet?.toString("latin1") ?? "") ?? [];
  return { method, path, query, headers: new HeaderList(), peer: peerOf(socket) };
}

/** An answer as it goes on the wire where node:http has no response for it; the connection ends with it. */
function raw(answer: Outgoing): Buffer {
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ""}`,
    `X-Request-Id: ${answer.requestId}`,
    "X-Content-Type-Options: nosniff",
    "Referrer-Policy: no-referrer",
    "Cache-Control: no-store",
    ...(answer.contentType === undefined ? [] : [`Content-Type: ${answer.contentType}`]),
    `Content-Length: ${Buffer.byteLength(answer.body)}`,
    "Connection: close",
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), Buffer.from(answer.body)]);
}

/**
 * Answers what cannot be read, once: the request whose body broke off, or the one that never came to be. Behind a
 * request that has its answer already, or will have it as the last of its connection, nothing more is said.
 */
function refuseBroken(options: ServerOptions, error: ClientError, socket: Socket): void {
  if (!socket.writable) return;
  const [conversation] = underWay.get(socket) ?? [];
  if (conversation?.hasBody === true) conversation.broken();
  else if (conversation !== undefined || unread.has(socket)) socket.end();
  else {
    const fault = PROTOCOL_FAULTS[error.code ?? ""] ?? "malformed";
    socket.end(raw(options.onRequest(brokenHead(error.rawPacket, socket)).refuse(fault)));
  }
}

/** @throws Error with the code of the system when the port is taken */
export async function listenNode(options: ServerOptions, shared: Load): Promise<Listener> {
  const { request_idle_ms } = shared.limits;
  const server = createServer({
    maxHeaderSize: LIMITS.request_header_bytes_read_max,
    headersTimeout: request_idle_ms,
    // Off, because bodies have a deadline by their rate: a large one may take an honest client longer than any other.
    requestTimeout: 0,
    keepAliveTimeout: request_idle_ms,
    connectionsCheckingInterval: Math.max(50, request_idle_ms / 4),
    noDelay: true,
    // Judged by the conversation, as in the other form: node's own 400 has no request id and no envelope.
    requireHostHeader: false,
  });
  server.maxConnections = shared.limits.connections_max;
  // Node drops headers above this count silently. One more than our limit lets us see, and refuse, too many.
  server.maxHeadersCount = LIMITS.request_headers_max + 1;
  const connections = new Connections({
    max: shared.limits.connections_per_address_max,
    proxies: options.proxies ?? [],
    monotonic: options.monotonic,
  });
  server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    if (!connections.opened(peer)) {
      connections.closed();
      socket.destroy();
      return;
    }
    const conversations = new Set<NodeConversation>();
    underWay.set(socket, conversations);
    socket.on("close", () => {
      connections.closed(peer);
      for (const conversation of conversations) conversation.closed();
    });
  });
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    if (ended.has(request.socket)) return;
    const head = headOf(request);
    const isHostless = request.httpVersion !== "1.0" && head.headers.count("host") === 0;
    const framing = isHostless ? "malformed" : framingOf(head, shared.limits);
    // Of what one packet brings behind a request that asks for another protocol, node reads nothing and says nothing:
    // the answer to a later request would be taken for that of the lost one.
    const isLast = framing === undefined || typeof framing === "string" || head.headers.count("upgrade") > 0;
    if (isLast) ended.add(request.socket);
    const conversation = new NodeConversation(shared, options.onRequest(head), [request, response], isLast);
    if (conversation.open(framing)) conversation.readBody();
  };
  server.on("request", take);
  // An Expect that nobody knows would get node's own 417; the other form goes by it.
  server.on("checkExpectation", take);
  server.on("clientError", (error: ClientError, socket) => {
    refuseBroken(options, error, socket as Socket);
  });
  // CONNECT is not offered. Without this handler node would close the connection without an answer.
  server.on("connect", (request, socket) => {
    socket.end(raw(options.onRequest(headOf(request)).refuse("malformed")));
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
