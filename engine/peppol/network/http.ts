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
import { TLSSocket } from "node:tls";

import { BoundedMap } from "../../base/bounded.js";
import { LIMITS } from "../../base/limits.js";
import { codeOf, connectionOf, networkFaultOf, notSent } from "./http-call.js";
import type { Exchanged, HttpCall, HttpFault, HttpAnswered, HttpResult } from "./http-call.js";
import { createLines } from "./http-undici.js";
import { guardedLookup, OUTBOUND_USES, parseOutboundUrl, systemResolve } from "./outbound-address.js";
import type { OutboundPolicy, OutboundUrl, OutboundUse, Resolve } from "./outbound-address.js";

export type { HttpCall, HttpFault, HttpResult } from "./http-call.js";

/** Makes one call. Never throws. */
export type Http = (call: HttpCall) => Promise<HttpResult>;

/** What a client is told once. */
interface HttpOptions {
  readonly policy: OutboundPolicy;
  /** @default the system's */
  readonly resolve?: Resolve;
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
  const { policy, resolve = systemResolve, connectTimeout_ms = LIMITS.outbound_connect_ms } = options;
  const pool = {
    keepAlive: true,
    maxSockets: LIMITS.peer_connections_max,
    maxFreeSockets: LIMITS.peer_connections_max,
    timeout: LIMITS.peer_idle_ms,
    scheduling: "lifo",
  } as const;
  const plain = new PlainAgent(pool);
  const tls = new TlsAgent(pool);
  const lines = createLines({ resolve, ca: options.ca, connectTimeout_ms });
  // Origins whose answers undici does not understand.
  const odd = new BoundedMap<string, true>(LIMITS.outbound_urls_known_max);
  // Most calls go to the same few URLs, and reading one is an eighth of what such a call costs.
  const known = new BoundedMap<string, OutboundUrl>(LIMITS.outbound_urls_known_max);
  const targetOf = (url: string, use: OutboundUse): ReturnType<typeof parseOutboundUrl> => {
    const name = `${use} ${url}`;
    const target = known.get(name) ?? parseOutboundUrl(url, use, policy);
    return target.kind === "url" ? known.keep(name, target) : target;
  };

  function begin({ url, ...checked }: OutboundUrl, { method, use, headers, identity }: HttpCall): ClientRequest {
    const { keepsConnections } = OUTBOUND_USES[use];
    const common = {
      method,
      lookup: guardedLookup({ url, ...checked }, resolve),
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
      if (call.signal?.aborted === true) return notSent("aborted", "ABORTED");
      const { origin } = target.url;
      const isFrequent = OUTBOUND_USES[call.use].client === "undici" && !odd.has(origin);
      const byNode = (): Promise<Exchanged> => exchange(begin(target, call), call, connectTimeout_ms);
      const { result, again } = await (isFrequent ? lines.exchange(target, call) : byNode());
      if (again === undefined) return result;
      if (again === "by_node") odd.set(origin, true);
      // A peer that closes a kept connection has not read the request, so that it is made once more on a new one.
      return (await (isFrequent && again === "anew" ? lines.exchange(target, call, true) : byNode())).result;
    },
    close: () => {
      lines.close();
      plain.destroy();
      tls.destroy();
    },
  };
}

/** Sends a request and collects its response within the bounds. */
function exchange(outgoing: ClientRequest, call: HttpCall, connectTimeout_ms: number): Promise<Exchanged> {
  return new Promise((settle) => {
    let connecting: NodeJS.Timeout | undefined;
    // Nothing of the request leaves before the handshake is over, but a handshake that breaks ends the stream as if it
    // had.
    let established = false;
    const finish = (result: HttpResult, again?: Exchanged["again"]): void => {
      clearTimeout(total);
      clearTimeout(connecting);
      call.signal?.removeEventListener("abort", aborted);
      settle(again === undefined ? { result } : { result, again });
    };
    const fail = (fault: HttpFault, code = fault.toUpperCase(), again?: Exchanged["again"]): void => {
      finish({ kind: "failed", fault, code, uploaded: established && outgoing.writableFinished }, again);
      outgoing.destroy();
    };
    const aborted = (): void => {
      fail("aborted");
    };
    const total = setTimeout(() => {
      fail("timeout");
    }, call.timeout_ms ?? LIMITS.outbound_total_ms);
    call.signal?.addEventListener("abort", aborted);

    outgoing.on("socket", (socket) => {
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
      const code = codeOf(error);
      const fault = networkFaultOf(code);
      fail(fault, code, fault === "reset" && outgoing.reusedSocket ? "anew" : undefined);
    });
    outgoing.on("response", (response) => {
      collect(response, call, finish, (fault) => {
        fail(fault);
      });
    });
    outgoing.end(call.body);
  });
}

function collect(
  response: IncomingMessage,
  { bytes_max, cut = false }: HttpCall,
  finish: (result: HttpAnswered) => void,
  fail: (fault: HttpFault) => void,
): void {
  const connection = connectionOf(response.socket);
  if (!cut && Number(response.headers["content-length"] ?? 0) > bytes_max) {
    fail("too_large");
    return;
  }
  // Bounded by bytes_max.
  const chunks: Buffer[] = [];
  let received = 0;
  const answered = (body: Buffer): HttpAnswered => {
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
    received += chunk.length;
    if (received <= bytes_max) chunks.push(chunk);
    else if (!cut) fail("too_large");
    else {
      finish(answered(Buffer.concat([...chunks, chunk]).subarray(0, bytes_max)));
      response.destroy();
    }
  });
  for (const broken of ["error", "aborted"])
    response.on(broken, () => {
      fail("reset");
    });
  response.on("end", () => {
    if (!response.complete) fail("reset");
    else finish(answered(Buffer.concat(chunks)));
  });
}
