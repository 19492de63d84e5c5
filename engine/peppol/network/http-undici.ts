/**
 * Calls over connections of undici, which spends a third of the processor time that node:http does on a small one: for
 * receivers of events, who are called for each document. It is loaded with the first call, for it takes 17 MB.
 *
 * What is bounded is bounded here as it is there; each connection goes to addresses that were checked when it was made.
 */
import { connect as connectPlain, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Client, Dispatcher } from "undici";

import { BoundedMap } from "../../base/bounded.js";
import { LIMITS } from "../../base/limits.js";
import { codeOf, connectionOf, networkFaultOf } from "./http-call.js";
import type { Connection, Exchanged, HttpCall, HttpFault, HttpAnswered, HttpResult } from "./http-call.js";
import { guardedLookup } from "./outbound-address.js";
import type { OutboundUrl, Resolve } from "./outbound-address.js";

interface LineOptions {
  readonly resolve: Resolve;
  /** PEM of the authorities, instead of the system's. */
  readonly ca: readonly string[] | undefined;
  readonly connectTimeout_ms: number;
}

/** The connections of one client. */
interface Lines {
  /** @param anew  whether no kept connection will do */
  exchange(target: OutboundUrl, call: HttpCall, anew?: boolean): Promise<Exchanged>;
  /** Ends all connections. */
  close(): void;
}

/** One connection, with at most one call at a time; undici makes it anew when it has ended before a call is written. */
class Line {
  readonly client: Client;
  /** Whether the call under way is not the first one on its connection. */
  isReused = false;
  /** What its answers tell of it. */
  facts: Connection = { address: undefined, tlsVersion: undefined, tlsCertificateSha256: undefined };
  #socket: Socket | undefined;

  constructor(Undici: typeof Client, origin: string, dial: () => Socket, connectTimeout_ms: number) {
    this.client = new Undici(origin, {
      pipelining: 1,
      // A call has its time as a whole; an idle connection ends before its server ends it.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: LIMITS.peer_idle_ms,
      keepAliveMaxTimeout: LIMITS.peer_idle_ms,
      maxHeaderSize: LIMITS.outbound_header_bytes_max,
      connect: ({ protocol }, callback) => {
        const socket = dial();
        this.#socket = socket;
        this.isReused = false;
        const timer = setTimeout(() => {
          socket.destroy(Object.assign(new Error("The connection takes too long."), { code: CONNECT_TIMEOUT }));
        }, connectTimeout_ms);
        const broken = (error: Error): void => {
          clearTimeout(timer);
          callback(error, null);
        };
        socket.once("close", () => {
          clearTimeout(timer);
        });
        socket.once("error", broken).once(protocol === "https:" ? "secureConnect" : "connect", () => {
          clearTimeout(timer);
          socket.off("error", broken);
          this.facts = connectionOf(socket);
          callback(null, socket);
        });
      },
    });
  }

  /** Ends it, also while it is being made. Safe to repeat. */
  end(): void {
    if (!this.client.destroyed) void this.client.destroy();
    this.#socket?.on("error", () => undefined).destroy();
  }
}

/** Makes a client without connections. */
export function createLines(options: LineOptions): Lines {
  let loading: Promise<typeof Client> | undefined;
  // Bounded by the calls that were under way at once within LIMITS.peer_idle_ms: an idle line is kept for no longer.
  const idle = new Map<string, Line[]>();
  // Bounded by the calls under way.
  const busy = new Set<Line>();
  const sessions = new BoundedMap<string, Buffer>(LIMITS.outbound_urls_known_max);

  async function opened(target: OutboundUrl): Promise<Line> {
    const Undici = await (loading ??= import("undici/lib/dispatcher/client.js").then((module) => module.default));
    const { origin } = target.url;
    const line = new Line(Undici, origin, () => dialled(target, options, sessions), options.connectTimeout_ms);
    line.client.on("disconnect", () => {
      if (busy.has(line)) return;
      const others = (idle.get(origin) ?? []).filter((other) => other !== line);
      if (others.length > 0) idle.set(origin, others);
      else idle.delete(origin);
      line.end();
    });
    return line;
  }

  function taken(origin: string): Line | undefined {
    const kept = idle.get(origin);
    const line = kept?.pop();
    if (kept?.length === 0) idle.delete(origin);
    return line;
  }

  function keep(origin: string, line: Line): void {
    const kept = idle.get(origin);
    if (line.client.destroyed || (kept?.length ?? 0) >= LIMITS.peer_connections_max) line.end();
    else if (kept === undefined) idle.set(origin, [line]);
    else kept.push(line);
  }

  return {
    exchange: async (target, call, anew = false) => {
      const { origin } = target.url;
      const kept = anew ? undefined : taken(origin);
      const line = kept ?? (await opened(target));
      line.isReused = kept !== undefined;
      busy.add(line);
      const exchanged = await exchangeOn(line, target.url, call);
      busy.delete(line);
      if (exchanged.result.kind === "response") keep(origin, line);
      else line.end();
      return exchanged;
    },
    close: () => {
      for (const line of [...busy, ...[...idle.values()].flat()]) line.end();
      idle.clear();
    },
  };
}

/** Begins a connection to where a URL leads. */
function dialled(target: OutboundUrl, { resolve, ca }: LineOptions, sessions: BoundedMap<string, Buffer>): Socket {
  const { origin, hostname, port, protocol } = target.url;
  const host = hostname.replace(/^\[|\]$/g, "");
  const lookup = guardedLookup(target, resolve);
  if (protocol !== "https:") return connectPlain({ host, port: Number(port || 80), lookup, noDelay: true });
  const session = sessions.use(origin);
  const socket = connectTls({
    host,
    port: Number(port || 443),
    lookup,
    // An address has no name to ask for.
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(session === undefined ? {} : { session }),
    ...(ca === undefined ? {} : { ca: [...ca] }),
    ALPNProtocols: ["http/1.1"],
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
  });
  socket.setNoDelay(true);
  return socket.on("session", (fresh: Buffer) => sessions.set(origin, fresh));
}

const CONNECT_TIMEOUT = "CONNECT_TIMEOUT";

/** Codes of undici in the words of node:http. */
const CODE_OF_UNDICI: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "ECONNRESET",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "ECONNRESET",
  UND_ERR_HEADERS_OVERFLOW: "HPE_HEADER_OVERFLOW",
};

function codeOfUndici(error: Error): string {
  const code = codeOf(error);
  // Its parser has no code for some of what is no HTTP.
  return error.name === "HTTPParserError" && code === "ERROR" ? "HPE_INVALID" : (CODE_OF_UNDICI[code] ?? code);
}

const textOf = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A response that is being read. */
class Answer {
  readonly #call: HttpCall;
  readonly #head: Omit<HttpAnswered, "body">;
  readonly #announced: number;
  // Bounded by HttpCall.bytes_max.
  readonly #chunks: Buffer[] = [];
  #received = 0;

  constructor(call: HttpCall, status: number, headers: AnswerHeaders, connection: Connection) {
    const retryAfter = textOf(headers["retry-after"]);
    this.#call = call;
    this.#announced = Number(headers["content-length"] ?? 0);
    this.#head = {
      kind: "response",
      status,
      contentType: textOf(headers["content-type"]) ?? "",
      ...(retryAfter === undefined ? {} : { retryAfter }),
      connection,
    };
  }

  /** Whether it is said to be longer than may be read. */
  isTooLarge(): boolean {
    return this.#call.cut !== true && this.#announced > this.#call.bytes_max;
  }

  /** Reads on. @returns what the call ends with when that was more than may be read */
  add(chunk: Buffer): "too_large" | HttpAnswered | undefined {
    // undici reads the next octets into the same place.
    this.#chunks.push(Buffer.from(chunk));
    this.#received += chunk.length;
    if (this.#received <= this.#call.bytes_max) return undefined;
    return this.#call.cut === true ? this.whole() : "too_large";
  }

  /** All of it that may be read. */
  whole(): HttpAnswered {
    return { ...this.#head, body: Buffer.concat(this.#chunks).subarray(0, this.#call.bytes_max) };
  }
}

/** Makes one call on a line within the bounds. */
function exchangeOn(line: Line, url: URL, call: HttpCall): Promise<Exchanged> {
  return new Promise((settle) => {
    let sending = false;
    let answer: Answer | undefined;
    const finish = (result: HttpResult, again?: Exchanged["again"]): void => {
      clearTimeout(total);
      call.signal?.removeEventListener("abort", aborted);
      settle(again === undefined ? { result } : { result, again });
    };
    // What was begun counts as uploaded: the safe error is to believe that the peer may have it.
    const fail = (fault: HttpFault, code = fault.toUpperCase(), again?: Exchanged["again"]): void => {
      finish({ kind: "failed", fault, code, uploaded: sending }, again);
      line.end();
    };
    const aborted = (): void => {
      fail("aborted");
    };
    const total = setTimeout(() => {
      fail("timeout");
    }, call.timeout_ms ?? LIMITS.outbound_total_ms);
    call.signal?.addEventListener("abort", aborted);
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => {
        sending = true;
        call.onSending?.();
      },
      onResponseStart: (_, status, headers) => {
        // What comes before an answer is none.
        if (status < 200) return;
        answer = new Answer(call, status, headers, line.facts);
        if (answer.isTooLarge()) fail("too_large");
      },
      onResponseData: (_, chunk) => {
        const end = answer?.add(chunk);
        if (end === "too_large") fail("too_large");
        else if (end !== undefined) {
          finish(end);
          line.end();
        }
      },
      onResponseEnd: () => {
        if (answer !== undefined) finish(answer.whole());
      },
      onResponseError: (_, error) => {
        const code = codeOfUndici(error);
        const fault = code === CONNECT_TIMEOUT ? "connect_timeout" : networkFaultOf(code);
        const anew = fault === "reset" && line.isReused ? "anew" : undefined;
        // undici ends the connection at a 100 that it has not asked for; some servers send one before each answer.
        const again = error.message === "bad response" ? "by_node" : anew;
        fail(fault, code, answer === undefined ? again : undefined);
      },
    };
    line.client.dispatch(
      {
        path: `${url.pathname}${url.search}`,
        method: call.method,
        headers: { "user-agent": "Kurier", "accept-encoding": "identity", ...call.headers },
        ...(call.body === undefined ? {} : { body: call.body }),
      },
      handler,
    );
  });
}
