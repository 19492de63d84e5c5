/**
 * The uWebSockets.js form. The rules that keep its C++ from ending the process are kept here and nowhere else:
 * everything is read from `req` before the handler returns, `onAborted` is set first, `res` is not touched once it has
 * ended or aborted, writing happens in `cork`, chunks are copied.
 *
 * Measured with autocannon, 64 connections, a 600-byte token, server and client on a core each (Node 20, 2 vCPU, shared
 * and loaded, so in CPU time per request): a bare uws handler 8.3 µs, a row through the whole pipeline 11.9 µs (70 %),
 * the same with a path parameter and a query 16.5 µs, the same row on the node form 20.4 µs.
 * @source design/reliability.md, 2.8
 */
import { STATUS_CODES } from "node:http";

import { addressOfBytes } from "../../engine/base/addresses.js";
import { Connections } from "./connections.js";
import { Conversation, framingOf, keepAlive } from "./conversation.js";
import type { Head, Outgoing, PipelineRequest } from "./conversation.js";
import type { Load } from "./load.js";
import { HeaderList } from "./headers.js";
import type { Listener, ServerOptions } from "./listener.js";
import { openSockets } from "./open-sockets.js";
import { loadUws } from "./uws-binding.js";
import type { HttpRequest, HttpResponse, ListenSocket } from "./uws-binding.js";
import { LIMITS } from "../../engine/base/limits.js";
import { ownTurn } from "../../engine/base/memory/turns.js";

/** Whether a uWebSockets.js binary loads on this platform. */
export const uwsAvailable = (): boolean => loadUws() !== undefined;

const statusLines = new Map(Object.entries(STATUS_CODES).map(([code, text]) => [Number(code), `${code} ${text}`]));
const statusLine = (status: number): string => statusLines.get(status) ?? String(status);

/**
 * Headers of every answer, written as the tail of another header's value: one crossing into C++ (0.3 µs) instead of
 * three.
 */
const FOR_ALL = "nosniff\r\nReferrer-Policy: no-referrer";
const UNCACHED = "\r\nCache-Control: no-store";
const KEPT = `\r\nConnection: keep-alive\r\nKeep-Alive: ${keepAlive}`;
const ENDED = "\r\nConnection: close";
const TAILS = {
  kept: { cached: `${FOR_ALL}${KEPT}`, uncached: `${FOR_ALL}${UNCACHED}${KEPT}` },
  ended: { cached: `${FOR_ALL}${ENDED}`, uncached: `${FOR_ALL}${UNCACHED}${ENDED}` },
  /** The answer says it itself. */
  unsaid: { cached: FOR_ALL, uncached: `${FOR_ALL}${UNCACHED}` },
} as const;
const NOTHING = new Uint8Array(0);

/** Whether uws ends the connection with the answer, which it does for a `Connection` of as many letters as `close`. */
const asksToEnd = (headers: HeaderList): boolean => headers.get("connection")?.length === "close".length;

/** What the conversations of a listener share. */
interface Turns {
  /** Whether one more answer to a HEAD may leave its connection open. */
  readonly headsOpen: () => boolean;
  /**
   * Whether one more request may be answered in this turn of the event loop. Beyond, its answer is pending, and uws
   * ends the connection at its next request: of each of a thousand connections it would read as many as fit into 512 KB
   * before anybody else has a turn.
   */
  readonly atOnce: () => boolean;
}

/** A request as uws has it, and the copy of its head. */
interface Arrived {
  readonly res: HttpResponse;
  readonly head: Head;
}

class UwsConversation extends Conversation {
  readonly #res: HttpResponse;
  /** The client asks that its connection ends with the answer. */
  readonly #isLast: boolean;
  /** Of a HEAD: whether its answer may leave the connection open. */
  readonly #mayStayOpen: (() => boolean) | undefined;
  /** Whether one more answer may be written in this turn of the event loop. */
  readonly #mayBeAtOnce: () => boolean;
  /** False once `res` has ended or aborted and must not be touched. */
  #live = true;
  /** True while uws is calling us: what we write then is collected into one packet without a cork of ours. */
  #isCorked = true;
  #isPaused = false;
  /** Octets of the body since it was read in a turn of its own. */
  #sinceTurn = 0;

  constructor(shared: Load, pipelined: PipelineRequest, { res, head }: Arrived, { headsOpen, atOnce }: Turns) {
    super(shared, pipelined);
    this.#res = res;
    this.#mayBeAtOnce = atOnce;
    this.#isLast = asksToEnd(head.headers);
    this.#mayStayOpen = head.method === "HEAD" ? headsOpen : undefined;
    res.onAborted(() => {
      this.#live = false;
      this.closed();
    });
  }

  readBody(): void {
    this.#res.onData((chunk, last) => {
      this.#isCorked = true;
      this.receive(new Uint8Array(chunk), last);
      this.#isCorked = false;
      this.#sinceTurn += chunk.byteLength;
      // Small pieces are no work worth a turn: who drips would fill the line with nothing.
      if (this.isLarge && !last && this.#sinceTurn >= LIMITS.request_body_turn_bytes) this.#pause();
    });
    if (this.isLarge) this.#pause();
  }

  /**
   * Reads no more of a large body until it has a turn of the event loop for itself: of each connection that sends fast
   * enough, uws reads some megabytes in one turn.
   */
  #pause(): void {
    if (!this.#live || this.#isPaused) return;
    this.#isPaused = true;
    this.#sinceTurn = 0;
    this.pauses();
    this.#res.pause();
    void ownTurn("reading").then(() => {
      this.#resume();
    });
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.readsOn();
    if (this.#live) this.#res.resume();
  }

  /** Whoever is silent for ten seconds after a `resume` is cut off by uws, also where we are the ones to speak. */
  protected override isAwaited(): void {
    if (this.#live && this.isLarge) this.#res.resume();
  }

  /** Called when the request handler returns. From then on everything must be written inside `cork`. */
  handlerReturns(): void {
    this.#isCorked = false;
  }

  protected write(answer: Outgoing, close: boolean): void {
    if (!this.#live) return;
    // An answered request is out of reach, and what is left of its body must be read all the same.
    this.#resume();
    if (close || this.#mayStayOpen?.() === false)
      // In a turn of its own: what is written while uws calls us leaves when we return to it, and would be lost.
      setImmediate(() => {
        if (this.#live) this.#writeLast(answer);
      });
    else if (!this.#mayBeAtOnce())
      setImmediate(() => {
        if (this.#live) this.#writeOutside(answer);
      });
    else if (this.#isCorked) this.#writeCorked(answer);
    else this.#writeOutside(answer);
  }

  #writeOutside(answer: Outgoing): void {
    this.#res.cork(() => {
      this.#writeCorked(answer);
    });
  }

  #writeCorked(answer: Outgoing): void {
    const res = this.#res;
    this.#writeHead(answer, this.#isLast ? "ended" : "kept");
    if (this.#mayStayOpen !== undefined || answer.status === 204) {
      this.#live = false;
      // Without arguments: with a length the binding never ends the response (20.51), and undefined becomes 2^63.
      res.endWithoutBody();
      this.left();
    } else this.#stream(answer.body);
  }

  #writeHead(answer: Outgoing, connection: keyof typeof TAILS): void {
    const res = this.#res;
    res.writeStatus(statusLine(answer.status));
    res.writeHeader("X-Request-Id", answer.requestId);
    const tails = TAILS[connection];
    res.writeHeader(
      "X-Content-Type-Options",
      tails[answer.headers?.["Cache-Control"] === undefined ? "uncached" : "cached"],
    );
    if (answer.contentType !== undefined) res.writeHeader("Content-Type", answer.contentType);
    for (const name in answer.headers) res.writeHeader(name, answer.headers[name] ?? "");
  }

  /**
   * Hands over what the client takes. `end` would keep the rest in C++ and read the next request: who sends and never
   * reads would fill the memory. While an answer is pending uws ends the connection instead.
   */
  #stream(body: string | Uint8Array): void {
    const res = this.#res;
    const [, isTaken] = res.tryEnd(body, Buffer.byteLength(body));
    if (isTaken) {
      this.#live = false;
      this.left();
      return;
    }
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    this.leavesInPieces();
    res.onWritable((from) => {
      const [ok, done] = res.tryEnd(bytes.subarray(from), bytes.length);
      if (done) {
        this.#live = false;
        this.left();
      }
      return ok;
    });
  }

  /** Ends the connection behind the answer. */
  #writeLast(answer: Outgoing): void {
    const res = this.#res;
    const bytes = typeof answer.body === "string" ? Buffer.from(answer.body) : answer.body;
    res.cork(() => {
      this.#writeHead(answer, "unsaid");
      if (bytes.length > 0) {
        res.writeHeader("Connection", "close");
        res.tryEnd("", bytes.length);
      } else res.writeHeader("Connection", answer.status === 204 ? "close\r\n" : "close\r\nContent-Length: 0\r\n");
    });
    this.#pushLast(this.#mayStayOpen === undefined ? bytes : NOTHING);
  }

  /** One octet more is promised than there is, so that uws holds the answer to be pending until we close. */
  #pushLast(bytes: Uint8Array): void {
    const res = this.#res;
    const push = (): void => {
      if (bytes.length > 0) res.tryEnd(bytes.subarray(res.getWriteOffset()), bytes.length + 1);
    };
    const end = (): void => {
      this.destroy();
      this.left();
    };
    res.cork(push);
    if (res.getWriteOffset() === bytes.length) {
      end();
      return;
    }
    this.leavesInPieces();
    res.onWritable(() => {
      // Without a cork, which would take what the system does not, and lose it as the connection is closed.
      push();
      if (res.getWriteOffset() === bytes.length) setImmediate(end);
      return true;
    });
  }

  protected written(): number {
    return this.#live ? this.#res.getWriteOffset() : 0;
  }

  protected destroy(): void {
    if (!this.#live) return;
    this.#live = false;
    this.#res.close();
  }
}

/**
 * Says yes so many times a second. Whether a client takes an answer without a body is not told, and one that takes none
 * could fill the memory with them; for a connection that ends nothing is kept.
 */
function perSecond(most: number, monotonic: () => number): () => boolean {
  let [since, count] = [monotonic(), 0];
  return () => {
    if (monotonic() - since >= 1_000) [since, count] = [monotonic(), 0];
    return ++count <= most;
  };
}

function headOf(res: HttpResponse, req: HttpRequest): Head {
  const headers = new HeaderList();
  req.forEach((name, value) => {
    headers.add(name, value);
  });
  return {
    method: req.getCaseSensitiveMethod(),
    path: req.getUrl(),
    query: req.getQuery() ?? "",
    headers,
    peer: addressOfBytes(new Uint8Array(res.getRemoteAddress())),
  };
}

/** Says yes so many times in a turn of the event loop; up to a sixteenth of them may have been said in earlier ones. */
function perTurn(most: number): () => boolean {
  let count = 0;
  const many = Math.ceil(most / 16);
  return () => {
    // Most turns answer a few, which is not worth a callback at their end.
    if (++count === many)
      setImmediate(() => {
        count = 0;
      });
    return count <= most;
  };
}

/** @throws Error when the binary does not load or the port is taken */
export async function listenUws(options: ServerOptions, shared: Load): Promise<Listener> {
  const uws = loadUws();
  if (uws === undefined) throw new Error("No uWebSockets.js binary fits this platform; use the node form.");
  const app = uws.App();
  let port = 0;
  const connections = new Connections({
    max: shared.limits.connections_per_address_max,
    proxies: options.proxies ?? [],
    monotonic: options.monotonic,
    recount: () => openSockets(port),
  });
  app.filter((res, change) => {
    if (change < 0) {
      connections.closed();
      return;
    }
    const mayStay = connections.opened(addressOfBytes(new Uint8Array(res.getRemoteAddress())));
    if (!mayStay || connections.open > shared.limits.connections_max) res.close();
  });
  const turns: Turns = {
    headsOpen: perSecond(LIMITS.head_answers_open_per_s, options.monotonic),
    atOnce: perTurn(LIMITS.answers_per_turn_max),
  };
  app.any("/*", (res, req) => {
    const head = headOf(res, req);
    const conversation = new UwsConversation(shared, options.onRequest(head), { res, head }, turns);
    if (conversation.open(framingOf(head, shared.limits))) conversation.readBody();
    conversation.handlerReturns();
  });
  const socket = await new Promise<ListenSocket>((resolve, reject) => {
    const listening = (token: ListenSocket | false): void => {
      if (token !== false) resolve(token);
      else
        reject(
          Object.assign(new Error(`Cannot listen on ${options.host} port ${options.port}: it is in use or not ours.`), {
            code: "EADDRINUSE",
          }),
        );
    };
    app.listen(
      options.host,
      options.port,
      options.sharesPort === true ? 0 : uws.LIBUS_LISTEN_EXCLUSIVE_PORT,
      listening,
    );
  });
  port = uws.us_socket_local_port(socket);
  let accepting = true;
  return {
    port,
    stopAccepting: () => {
      if (accepting) uws.us_listen_socket_close(socket);
      accepting = false;
    },
    closeAll: async () => {
      app.close();
    },
  };
}
