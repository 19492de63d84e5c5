/** What is asked of a host that somebody else named, and what comes of it: the words that every client speaks. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import type { OutboundUrl, OutboundUse } from "./outbound-address.js";

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
  /** Octets of the answer's body; a longer answer ends the call. */
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
export interface Connection {
  /** The address that was connected to. */
  readonly address: string | undefined;
  /** `TLSv1.3`. */
  readonly tlsVersion: string | undefined;
  /** SHA-256 of the server's certificate, hex. */
  readonly tlsCertificateSha256: string | undefined;
}

/** A response, whatever its status. */
export interface HttpAnswered {
  readonly kind: "response";
  readonly status: number;
  readonly contentType: string;
  /** The header Retry-After as it came. */
  readonly retryAfter?: string;
  readonly body: Buffer;
  readonly connection: Connection;
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
export type HttpResult = HttpAnswered | HttpFailed;

/** What came of a call that was not made. */
export const notSent = (fault: HttpFault, code: string): HttpFailed => ({
  kind: "failed",
  fault,
  code,
  uploaded: false,
});

/** One exchange of a call. */
export interface Exchanged {
  readonly result: HttpResult;
  /**
   * How the call is made once more: on a new connection, as a kept one had ended, or by node:http, as undici does not
   * understand the answer. @default it is not
   */
  readonly again?: "anew" | "by_node";
}

// To read a certificate costs 0.05 ms, a third of a small call on a connection that is kept.
// Bounded by the connections that are open: an entry goes with its connection.
const known = new WeakMap<Socket, Connection>();

/** What a response tells of its connection, which stands. */
export function connectionOf(socket: Socket): Connection {
  const before = known.get(socket);
  if (before !== undefined) return before;
  const tls = socket instanceof TLSSocket ? socket : undefined;
  const connection = {
    address: socket.remoteAddress,
    tlsVersion: tls?.getProtocol() ?? undefined,
    tlsCertificateSha256: tls?.getPeerCertificate().fingerprint256?.replaceAll(":", "").toLowerCase(),
  };
  known.set(socket, connection);
  return connection;
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

/** The code of an error, which is a word of the system or of a library. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "ERROR";

/** What such a code says of a call. */
export function networkFaultOf(code: string): HttpFault {
  const known = FAULT_OF_CODE[code];
  if (known !== undefined) return known;
  if (code.startsWith("HPE_")) return "protocol";
  return /CERT|TLS|SSL|SIGNATURE|ALTNAME|SELF_SIGNED|EPROTO/.test(code) ? "tls" : "reset";
}
