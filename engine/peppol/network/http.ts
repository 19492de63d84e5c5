/**
 * Calls to hosts that somebody else named: bounded in time and size, never redirected, only to checked addresses.
 * Outcomes of the network are values.
 * @source design/reliability.md, S-01 to S-04
 */
import { request as httpRequest } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

import { LIMITS } from "../../base/limits.js";
import { guardedLookup, parseOutboundUrl, systemResolve } from "./outbound-address.js";
import type { OutboundPolicy, OutboundUse, Resolve, UrlFault } from "./outbound-address.js";

export interface HttpCall {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly use: OutboundUse;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Octets of the answer's body; more ends the call. */
  readonly bytes_max: number;
  /** Connection, request and answer together. @default LIMITS.outbound_total_ms */
  readonly timeout_ms?: number;
  readonly signal?: AbortSignal;
}

export const HTTP_FAILURES = [
  "refused_address",
  "name",
  "connection",
  "tls",
  "timeout",
  "too_large",
  "aborted",
] as const;
export type HttpFailure = (typeof HTTP_FAILURES)[number];

export type HttpAnswer =
  | { readonly kind: "answer"; readonly status: number; readonly contentType: string; readonly body: Buffer }
  /** `code`: a short code of ours or of the system, never text of the peer. */
  | { readonly kind: "failed"; readonly failure: HttpFailure; readonly code: string };

/** Makes one call. Never throws. */
export type Http = (call: HttpCall) => Promise<HttpAnswer>;

export interface HttpOptions {
  readonly policy: OutboundPolicy;
  readonly resolve?: Resolve;
  /** Certificates of TLS servers that are trusted beside the system's; for tests and private networks. */
  readonly ca?: readonly string[];
}

/** The client of the engine for hosts that others have named. */
export function createHttp(options: HttpOptions): Http {
  return async (call) => {
    const target = parseOutboundUrl(call.url, call.use, options.policy);
    if (target.kind === "refused") return failed("refused_address", target.fault satisfies UrlFault);
    if (call.signal?.aborted === true) return failed("aborted", "ABORTED");
    const make = target.url.protocol === "https:" ? httpsRequest : httpRequest;
    return exchange(
      make(target.url, {
        method: call.method,
        agent: false,
        lookup: guardedLookup(target, options.resolve ?? systemResolve),
        maxHeaderSize: LIMITS.outbound_header_bytes_max,
        headers: { "User-Agent": "Kurier", "Accept-Encoding": "identity", ...call.headers },
        minVersion: "TLSv1.2",
        ...(options.ca === undefined ? {} : { ca: [...options.ca] }),
      }),
      call,
    );
  };
}

const failed = (failure: HttpFailure, code: string): HttpAnswer => ({ kind: "failed", failure, code });

/** What a call needs of HttpCall once its request object exists. */
export type ExchangeBounds = Pick<HttpCall, "body" | "bytes_max" | "timeout_ms" | "signal">;

/** Sends a request and collects its answer within the bounds. */
export function exchange(
  request: ClientRequest,
  { body, bytes_max, timeout_ms = LIMITS.outbound_total_ms, signal }: ExchangeBounds,
): Promise<HttpAnswer> {
  return new Promise((resolve) => {
    const timers = [
      setTimeout(() => {
        end(failed("timeout", "TIMEOUT"));
      }, timeout_ms),
    ];
    const connecting = setTimeout(
      () => {
        end(failed("timeout", "CONNECT_TIMEOUT"));
      },
      Math.min(LIMITS.outbound_connect_ms, timeout_ms),
    );
    timers.push(connecting);
    const onAbort = (): void => {
      end(failed("aborted", "ABORTED"));
    };
    const end = (answer: HttpAnswer): void => {
      for (const timer of timers) clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      request.destroy();
      resolve(answer);
    };
    signal?.addEventListener("abort", onAbort);
    request.on("error", (error) => {
      end(failureOf(error));
    });
    request.on("socket", (socket) => {
      const isTls = "encrypted" in socket;
      socket.once(isTls ? "secureConnect" : "connect", () => {
        clearTimeout(connecting);
      });
    });
    request.on("response", (response) => {
      clearTimeout(connecting);
      collect(response, bytes_max).then(end, (error: unknown) => {
        end(failureOf(error));
      });
    });
    request.end(body);
  });
}

async function collect(response: IncomingMessage, bytes_max: number): Promise<HttpAnswer> {
  const announced = Number(response.headers["content-length"] ?? 0);
  if (announced > bytes_max) return failed("too_large", "TOO_LARGE");
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytes_max) return failed("too_large", "TOO_LARGE");
    chunks.push(chunk);
  }
  return {
    kind: "answer",
    status: response.statusCode ?? 0,
    contentType: response.headers["content-type"] ?? "",
    body: Buffer.concat(chunks),
  };
}

const NAME_CODES: ReadonlySet<string> = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA"]);
const CONNECTION_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
  "EADDRNOTAVAIL",
]);

function failureOf(error: unknown): HttpAnswer {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "ERROR";
  if (code === "EADDRESSREFUSED") return failed("refused_address", "address");
  if (NAME_CODES.has(code)) return failed("name", code);
  if (CONNECTION_CODES.has(code) || code.startsWith("HPE_") || code === "ERROR") return failed("connection", code);
  return failed(/CERT|TLS|SSL|SIGNATURE|ALTNAME|SELF_SIGNED/.test(code) ? "tls" : "connection", code);
}
