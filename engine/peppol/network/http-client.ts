/**
 * The HTTP client towards other access points: keeps connections, says whether a request was transmitted whole, bounds
 * everything, follows no redirect, and connects only to checked addresses. Outcomes of the network are values.
 */
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import { LIMITS } from "../../base/limits.js";
import { guardedLookup, parseOutboundUrl, systemResolve } from "./outbound-address.js";
import type { OutboundPolicy, OutboundUrl, Resolve } from "./outbound-address.js";

/** Why there is no response. */
export const HTTP_FAULTS = [
  "bad_url",
  "address_refused",
  "name_unknown",
  "connect_refused",
  "connect_timeout",
  "tls",
  "reset",
  "timeout",
  "too_large",
  "aborted",
  "protocol",
] as const;
export type HttpFault = (typeof HTTP_FAULTS)[number];

/** What protected the connection; undefined members for plain HTTP. */
export interface Connection {
  /** The address that was connected to. */
  readonly address: string | undefined;
  /** `TLSv1.3`. */
  readonly tlsVersion: string | undefined;
  /** SHA-256 of the server's certificate, hex. */
  readonly tlsCertificateSha256: string | undefined;
}

export type HttpResult =
  | {
      readonly kind: "response";
      readonly status: number;
      readonly contentType: string;
      readonly body: Buffer;
      readonly connection: Connection;
    }
  /** `uploaded`: the whole request was handed to the system, so the peer may have it. */
  | { readonly kind: "failed"; readonly fault: HttpFault; readonly uploaded: boolean };

/** One message to another access point. */
export interface PostRequest {
  readonly url: string;
  /** The same URL, when it has been checked already. */
  readonly target?: OutboundUrl;
  readonly contentType: string;
  readonly body: Uint8Array;
  readonly signal?: AbortSignal;
  /** Octets of the response body; a longer one fails. */
  readonly responseBytesMax: number;
  /** From the start to the last octet. */
  readonly timeout_ms: number;
}

export interface HttpClientOptions {
  readonly policy: OutboundPolicy;
  /** @default the system's */
  readonly resolve?: Resolve;
  /** PEM of authorities for server certificates, instead of the system's; for tests and private networks. */
  readonly ca?: readonly string[];
  /** @default LIMITS.outbound_connect_ms */
  readonly connectTimeout_ms?: number;
}

export interface HttpClient {
  /** Never throws. */
  post(request: PostRequest): Promise<HttpResult>;
  /** Ends idle connections. */
  close(): void;
}

const FAULT_OF_CODE: Readonly<Record<string, HttpFault>> = {
  EADDRESSREFUSED: "address_refused",
  ENOTFOUND: "name_unknown",
  EAI_AGAIN: "name_unknown",
  EAI_NODATA: "name_unknown",
  ECONNREFUSED: "connect_refused",
  EHOSTUNREACH: "connect_refused",
  ENETUNREACH: "connect_refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ECONNABORTED: "reset",
  ETIMEDOUT: "connect_timeout",
};

function faultOf(error: unknown): HttpFault {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const known = FAULT_OF_CODE[code];
  if (known !== undefined) return known;
  if (code.startsWith("HPE_")) return "protocol";
  return /CERT|TLS|SSL|SIGNATURE|ALTNAME|SELF_SIGNED|EPROTO/.test(code) ? "tls" : "reset";
}

function connectionOf(socket: Socket): Connection {
  const tls = socket instanceof TLSSocket ? socket : undefined;
  return {
    address: socket.remoteAddress,
    tlsVersion: tls?.getProtocol() ?? undefined,
    tlsCertificateSha256: tls?.getPeerCertificate().fingerprint256?.replaceAll(":", "").toLowerCase(),
  };
}

/** Makes a client. Its connections are its own. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { resolve = systemResolve, connectTimeout_ms = LIMITS.outbound_connect_ms } = options;
  const pool = {
    keepAlive: true,
    maxSockets: LIMITS.peer_connections_max,
    maxFreeSockets: LIMITS.peer_connections_max,
    timeout: LIMITS.peer_idle_ms,
    scheduling: "lifo",
  } as const;
  const plain = new PlainAgent(pool);
  const tls = new TlsAgent({
    ...pool,
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
  });

  function begin(target: OutboundUrl, { contentType, body }: PostRequest): ClientRequest {
    const { url } = target;
    const common = {
      method: "POST",
      lookup: guardedLookup(target, resolve),
      maxHeaderSize: LIMITS.outbound_header_bytes_max,
      headers: {
        "user-agent": "Kurier",
        "accept-encoding": "identity",
        "content-type": contentType,
        "content-length": String(body.length),
      },
    };
    return url.protocol === "https:"
      ? tlsRequest(url, { ...common, agent: tls })
      : plainRequest(url, { ...common, agent: plain });
  }

  async function post(request: PostRequest): Promise<HttpResult> {
    const target = request.target ?? parseOutboundUrl(request.url, "as4", options.policy);
    if (target.kind === "refused")
      return { kind: "failed", fault: target.fault === "address" ? "address_refused" : "bad_url", uploaded: false };
    if (request.signal?.aborted === true) return { kind: "failed", fault: "aborted", uploaded: false };
    const first = await exchange(begin(target, request), request, connectTimeout_ms);
    // The peer had closed a kept connection before it answered anything: a message of the same id is safe to repeat at once.
    return first.stale ? (await exchange(begin(target, request), request, connectTimeout_ms)).result : first.result;
  }

  return {
    post,
    close: () => {
      plain.destroy();
      tls.destroy();
    },
  };
}

interface Exchanged {
  readonly result: HttpResult;
  /** Whether it failed because a kept connection had ended. */
  readonly stale: boolean;
}

function exchange(outgoing: ClientRequest, request: PostRequest, connectTimeout_ms: number): Promise<Exchanged> {
  return new Promise((settle) => {
    let connecting: NodeJS.Timeout | undefined;
    // Before the handshake is over nothing of the message has left, also when a broken handshake ends the stream as if it had.
    let established = false;
    const finish = (result: HttpResult, stale = false): void => {
      clearTimeout(total);
      clearTimeout(connecting);
      request.signal?.removeEventListener("abort", aborted);
      settle({ result, stale });
    };
    const fail = (fault: HttpFault, stale = false): void => {
      finish({ kind: "failed", fault, uploaded: established && outgoing.writableFinished }, stale);
      outgoing.destroy();
    };
    const aborted = (): void => {
      fail("aborted");
    };
    const total = setTimeout(() => {
      fail("timeout");
    }, request.timeout_ms);
    request.signal?.addEventListener("abort", aborted);

    outgoing.on("socket", (socket) => {
      established = !socket.connecting;
      if (established) return;
      connecting = setTimeout(() => {
        fail("connect_timeout");
      }, connectTimeout_ms);
      socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", () => {
        established = true;
        clearTimeout(connecting);
      });
    });
    outgoing.on("error", (error) => {
      const fault = faultOf(error);
      fail(fault, fault === "reset" && outgoing.reusedSocket);
    });
    outgoing.on("response", (response) => {
      collect(response, request.responseBytesMax, finish, fail);
    });
    outgoing.end(request.body);
  });
}

function collect(
  response: IncomingMessage,
  bytesMax: number,
  finish: (result: HttpResult) => void,
  fail: (fault: HttpFault) => void,
): void {
  const connection = connectionOf(response.socket);
  // Bounded by bytesMax.
  const chunks: Buffer[] = [];
  let received = 0;
  response.on("data", (chunk: Buffer) => {
    received += chunk.length;
    if (received > bytesMax) fail("too_large");
    else chunks.push(chunk);
  });
  response.on("error", () => {
    fail("reset");
  });
  response.on("aborted", () => {
    fail("reset");
  });
  response.on("end", () => {
    if (!response.complete) fail("reset");
    else
      finish({
        kind: "response",
        status: response.statusCode ?? 0,
        contentType: response.headers["content-type"] ?? "",
        body: Buffer.concat(chunks),
        connection,
      });
  });
}
