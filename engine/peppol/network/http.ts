/**
 * The one HTTP client towards hosts that somebody else named: other access points, SMPs, revocation services, the SML.
 *
 * Every call is bounded in time and in size, is never redirected, and connects only to addresses that were checked.
 * What the network does is a value and never an exception, and a failure says whether the request may have arrived.
 * @source design/reliability.md, S-01 to S-04
 */
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import { errorCode } from "../../base/errors.js";
import { BoundedMap } from "../../base/bounded.js";
import { LIMITS } from "../../base/limits.js";
import { dnsAddresses } from "./dns-addresses.js";
import { guardedLookup, OUTBOUND_USES, parseOutboundUrl, systemResolve } from "./outbound-address.js";
import type { OutboundPolicy, OutboundUrl, OutboundUse, Resolve } from "./outbound-address.js";

/** One request and the bounds of its answer. */
export interface HttpCall {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  /** Decides which schemes and ports are allowed, and whether the connection is kept for the next call. */
  readonly use: OutboundUse;
  /** The same URL, when it has been checked already. */
  readonly target?: OutboundUrl;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Octets of the answer's body; a longer answer ends the call, as one in LIMITS.outbound_pieces_max pieces does. */
  readonly bytes_max: number;
  /** Whether a longer answer is read no further instead, and counts with its beginning. @default false */
  readonly cut?: boolean;
  /** Connection, request and answer together. @default LIMITS.outbound_total_ms */
  readonly timeout_ms?: number;
  /** Certificate and key, both PEM, for a server that asks who we are. */
  readonly identity?: { readonly cert: string; readonly key: string };
  readonly signal?: AbortSignal;
  /**
   * Called when a connection stands and the first octet goes out; again when the request is made anew on another one.
   */
  readonly onSending?: () => void;
}

/** Every reason why a call can end without a response. */
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
/** Why a call ended without a response. */
export type HttpFault = (typeof HTTP_FAULTS)[number];

/** The connection that a response came over; the TLS members are undefined for plain HTTP. */
interface Connection {
  /** The address that was connected to. */
  readonly address: string | undefined;
  /** `TLSv1.3`. */
  readonly tlsVersion: string | undefined;
  /** SHA-256 of the server's certificate, hex. */
  readonly tlsCertificateSha256: string | undefined;
}

interface HttpResponse {
  readonly kind: "response";
  readonly status: number;
  readonly contentType: string;
  /** The header Retry-After as it came. */
  readonly retryAfter?: string;
  readonly body: Buffer;
  readonly connection: Connection;
  /** The request had gone out whole before, on a kept connection that broke: the peer may have had it then. */
  readonly isRepeated?: true;
  /** It came before the whole request had gone out, so that the peer cannot have had that. */
  readonly isEarly?: true;
}

interface HttpFailed {
  readonly kind: "failed";
  readonly fault: HttpFault;
  /** A short code of ours or of the system, such as `ECONNREFUSED`; never text of the peer. */
  readonly code: string;
  /** Whether the whole request was handed to the system, so that the peer may have it. */
  readonly uploaded: boolean;
}

/** What came of a call: the response, whatever its status, or the fault that prevented one. */
export type HttpResult = HttpResponse | HttpFailed;

/** Makes one call. Never throws. */
export type Http = (call: HttpCall) => Promise<HttpResult>;

/** What a client is told once. */
interface HttpOptions {
  readonly policy: OutboundPolicy;
  /** @default DNS for names that somebody else chose, the system's for the operator's own; see dns-addresses.ts */
  readonly resolve?: Resolve;
  /** DNS servers that names of others are asked of: `192.0.2.1:53`. @default the system's */
  readonly dnsServers?: readonly string[];
  /** PEM of the authorities for TLS servers, instead of the system's; for tests and private networks. */
  readonly ca?: readonly string[];
  /** @default LIMITS.outbound_connect_ms */
  readonly connectTimeout_ms?: number;
}

/** A client with connections of its own. */
export interface HttpClient {
  readonly request: Http;
  /** Ends the connections that are kept. */
  close(): void;
}

/** Makes a client; its owner closes it. */
export function createHttpClient(options: HttpOptions): HttpClient {
  const { policy, resolve, connectTimeout_ms = LIMITS.outbound_connect_ms } = options;
  const pool = {
    keepAlive: true,
    maxSockets: LIMITS.peer_connections_max,
    maxFreeSockets: LIMITS.peer_connections_max,
    timeout: LIMITS.peer_idle_ms,
    scheduling: "lifo",
  } as const;
  const plain = new PlainAgent(pool);
  const tls = new TlsAgent(pool);
  // Most calls go to the same few URLs, and reading one is an eighth of what such a call costs.
  const known = new BoundedMap<string, OutboundUrl>(LIMITS.outbound_urls_known_max);
  const targetOf = (url: string, use: OutboundUse): ReturnType<typeof parseOutboundUrl> => {
    const name = `${use} ${url}`;
    const target = known.get(name) ?? parseOutboundUrl(url, use, policy);
    return target.kind === "url" ? known.keep(name, target) : target;
  };

  const strangers = dnsAddresses(options.dnsServers);
  const resolveFor = ({ own, loopback }: OutboundUrl): Resolve =>
    resolve ?? (own || loopback ? systemResolve : strangers);

  function begin(target: OutboundUrl, { method, use, headers, identity }: HttpCall): ClientRequest {
    const { url } = target;
    const { keepsConnections } = OUTBOUND_USES[use];
    const common = {
      method,
      lookup: guardedLookup(target, resolveFor(target)),
      autoSelectFamilyAttemptTimeout: LIMITS.outbound_address_ms,
      maxHeaderSize: LIMITS.outbound_header_bytes_max,
      headers: { "user-agent": "Kurier", "accept-encoding": "identity", ...headers },
    };
    if (url.protocol !== "https:") return plainRequest(url, { ...common, agent: keepsConnections ? plain : false });
    return tlsRequest(url, {
      ...common,
      agent: keepsConnections ? tls : false,
      minVersion: "TLSv1.2",
      rejectUnauthorized: true,
      ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
      ...identity,
    });
  }

  return {
    request: async (call) => {
      const target = call.target ?? targetOf(call.url, call.use);
      if (target.kind === "refused")
        return notSent(target.fault === "address" ? "address_refused" : "bad_url", target.fault);
      const isAborted = (): boolean => call.signal?.aborted === true;
      if (isAborted()) return notSent("aborted", "ABORTED");
      const over = new AbortController();
      const total = setTimeout(() => {
        over.abort();
      }, call.timeout_ms ?? LIMITS.outbound_total_ms);
      const once = (): Promise<Exchanged> =>
        exchange(begin(target, call), call, { connectTimeout_ms, over: over.signal });
      try {
        const first = await once();
        if (!first.stale || over.signal.aborted || isAborted()) return first.result;
        // A peer that closes a kept connection has hardly read the request, so that it is made once more on a new one.
        const { result } = await once();
        // Hardly is not never: what was handed over whole may be there, whatever became of the repeat.
        if (!wasUploaded(first.result)) return result;
        return result.kind === "failed" ? { ...result, uploaded: true } : { ...result, isRepeated: true };
      } finally {
        clearTimeout(total);
      }
    },
    close: () => {
      plain.destroy();
      tls.destroy();
    },
  };
}

const wasUploaded = (result: HttpResult): boolean => result.kind === "failed" && result.uploaded;

const notSent = (fault: HttpFault, code: string): HttpFailed => ({ kind: "failed", fault, code, uploaded: false });

interface Exchanged {
  readonly result: HttpResult;
  /** Whether it failed because a kept connection had ended. */
  readonly stale: boolean;
}

/** Sends a request and collects its response within the bounds. */
function exchange(
  outgoing: ClientRequest,
  call: HttpCall,
  { connectTimeout_ms, over }: { readonly connectTimeout_ms: number; readonly over: AbortSignal },
): Promise<Exchanged> {
  return new Promise((settle) => {
    let connecting: NodeJS.Timeout | undefined;
    // Nothing of the request leaves before the handshake is over, but a handshake that breaks ends the stream as if it
    // had.
    let established = false;
    // Who has begun to answer has read the request; half of a head is no response that Node tells of.
    let hasBegun = (): boolean => false;
    const finish = (result: HttpResult, stale = false): void => {
      over.removeEventListener("abort", timedOut);
      clearTimeout(connecting);
      call.signal?.removeEventListener("abort", aborted);
      settle({ result, stale });
    };
    const fail = (fault: HttpFault, code = fault.toUpperCase(), stale = false): void => {
      finish({ kind: "failed", fault, code, uploaded: established && outgoing.writableFinished }, stale);
      outgoing.destroy();
    };
    const aborted = (): void => {
      fail("aborted");
    };
    const timedOut = (): void => {
      fail("timeout");
    };
    over.addEventListener("abort", timedOut);
    call.signal?.addEventListener("abort", aborted);

    outgoing.on("socket", (socket) => {
      const before = socket.bytesRead;
      hasBegun = () => socket.bytesRead > before;
      established = !socket.connecting;
      if (established) {
        call.onSending?.();
        return;
      }
      connecting = setTimeout(() => {
        fail("connect_timeout");
      }, connectTimeout_ms);
      socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", () => {
        established = true;
        clearTimeout(connecting);
        call.onSending?.();
      });
    });
    outgoing.on("error", (error) => {
      const code = errorCode(error) ?? "ERROR";
      const fault = faultOf(code);
      fail(fault, code, fault === "reset" && outgoing.reusedSocket && !hasBegun());
    });
    // Without a listener Node ends the connection of a 101 that names a protocol, and tells nobody.
    outgoing.on("upgrade", (_, socket) => {
      socket.destroy();
      fail("protocol");
    });
    outgoing.on("response", (response) => {
      // Behind 101 comes no HTTP, and we have asked for nothing else.
      if (response.statusCode === 101) {
        fail("protocol");
        return;
      }
      const answered = (result: HttpResponse): void => {
        if (outgoing.writableFinished) {
          finish(result);
          return;
        }
        finish({ ...result, isEarly: true });
        // Who answers before it has read the request may never read the rest, which would hold octets and a connection.
        outgoing.destroy();
      };
      collect(response, call, answered, (fault) => {
        fail(fault);
      });
    });
    outgoing.end(call.body);
  });
}

function collect(
  response: IncomingMessage,
  { bytes_max, cut = false }: HttpCall,
  finish: (result: HttpResponse) => void,
  fail: (fault: HttpFault) => void,
): void {
  const connection = connectionOf(response.socket);
  if (!cut && Number(response.headers["content-length"] ?? 0) > bytes_max) {
    fail("too_large");
    return;
  }
  const gathered = new Gathered();
  const answered = (body: Buffer): HttpResponse => {
    const retryAfter = response.headers["retry-after"];
    return {
      kind: "response",
      status: response.statusCode ?? 0,
      contentType: response.headers["content-type"] ?? "",
      ...(retryAfter === undefined ? {} : { retryAfter }),
      body,
      connection,
    };
  };
  response.on("data", (chunk: Buffer) => {
    const room = gathered.pieces < LIMITS.outbound_pieces_max ? bytes_max - gathered.length : 0;
    if (chunk.length <= room) gathered.add(chunk);
    else if (!cut) fail("too_large");
    else {
      gathered.add(chunk.subarray(0, room));
      finish(answered(gathered.whole()));
      response.destroy();
    }
  });
  for (const broken of ["error", "aborted"])
    response.on(broken, () => {
      fail("reset");
    });
  response.on("end", () => {
    if (!response.complete) fail("reset");
    else finish(answered(gathered.whole()));
  });
}

/**
 * What has come of one answer. In one piece, however it came: a megabyte in chunks of an octet each would be a million
 * buffers, 440 MB.
 */
class Gathered {
  #octets = Buffer.alloc(0);
  length = 0;
  pieces = 0;

  add(chunk: Buffer): void {
    const length = this.length + chunk.length;
    if (length > this.#octets.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#octets.length));
      this.#octets.copy(larger, 0, 0, this.length);
      this.#octets = larger;
    }
    chunk.copy(this.#octets, this.length);
    this.length = length;
    this.pieces += 1;
  }

  whole(): Buffer {
    // What came in one piece has no room behind it.
    return this.length === this.#octets.length ? this.#octets : Buffer.from(this.#octets.subarray(0, this.length));
  }
}

function connectionOf(socket: Socket): Connection {
  const tls = socket instanceof TLSSocket ? socket : undefined;
  return {
    address: socket.remoteAddress,
    tlsVersion: tls?.getProtocol() ?? undefined,
    tlsCertificateSha256: tls?.getPeerCertificate().fingerprint256?.replaceAll(":", "").toLowerCase(),
  };
}

const FAULT_OF_CODE: Readonly<Record<string, HttpFault>> = {
  EADDRESSREFUSED: "address_refused",
  ENOTFOUND: "name_unknown",
  EAI_AGAIN: "name_unknown",
  EAI_FAIL: "name_unknown",
  EAI_NODATA: "name_unknown",
  ECONNREFUSED: "connect_refused",
  EHOSTUNREACH: "connect_refused",
  ENETUNREACH: "connect_refused",
  EADDRNOTAVAIL: "connect_refused",
  ECONNRESET: "reset",
  EPIPE: "reset",
  ECONNABORTED: "reset",
  ETIMEDOUT: "connect_timeout",
};

function faultOf(code: string): HttpFault {
  const known = FAULT_OF_CODE[code];
  if (known !== undefined) return known;
  if (code.startsWith("HPE_")) return "protocol";
  return /CERT|TLS|SSL|SIGNATURE|ALTNAME|SELF_SIGNED|EPROTO/.test(code) ? "tls" : "reset";
}
