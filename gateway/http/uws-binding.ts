/**
 * The uWebSockets.js binary: what is used of it, and where it comes from on this platform. Loaded here, used by
 * server-uws.ts alone.
 */
import { createRequire } from "node:module";
import { arch, platform, versions } from "node:process";

import { LIMITS } from "../../engine/base/limits.js";

export interface HttpRequest {
  forEach(each: (name: string, value: string) => void): void;
  getCaseSensitiveMethod(): string;
  /** Undefined for a path without a question mark. */
  getQuery(): string | undefined;
  getUrl(): string;
}

/** Must not be touched once it has ended or aborted. */
export interface HttpResponse {
  close(): HttpResponse;
  cork(write: () => void): HttpResponse;
  end(body?: string | ArrayBuffer | Uint8Array, closeConnection?: boolean): HttpResponse;
  endWithoutBody(reportedContentLength?: number, closeConnection?: boolean): HttpResponse;
  getRemoteAddress(): ArrayBuffer;
  getWriteOffset(): number;
  onAborted(handler: () => void): HttpResponse;
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): HttpResponse;
  /** Reads no more of the connection, and forgets its idle time. */
  pause(): HttpResponse;
  resume(): HttpResponse;
  onWritable(handler: (offset: number) => boolean): HttpResponse;
  tryEnd(body: string | ArrayBuffer | Uint8Array, totalSize: number): [ok: boolean, done: boolean];
  writeHeader(name: string, value: string): HttpResponse;
  writeStatus(status: string): HttpResponse;
}

declare const listening: unique symbol;
/** A listening socket of the binding. */
export interface ListenSocket {
  readonly [listening]: true;
}

export interface Uws {
  App(): {
    filter(handler: (res: HttpResponse, change: number) => void): void;
    any(pattern: string, handler: (res: HttpResponse, req: HttpRequest) => void): void;
    /** Calls with 1 for a connection that has come, whose address is known then, and with -1 for one that has gone. */
    filter(handler: (res: HttpResponse, change: number) => void): void;
    listen(host: string, port: number, options: number, listening: (socket: ListenSocket | false) => void): void;
    close(): void;
  };
  us_listen_socket_close(socket: ListenSocket): void;
  us_socket_local_port(socket: ListenSocket): number;
  readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

let loaded: Uws | undefined | "unavailable";

/**
 * The binding for this Node.js and platform, from its package on npm: Linux on x64 with Node 20 and 22 (glibc ≥ 2.27),
 * 24 and 26 (glibc ≥ 2.38). Undefined elsewhere: the server then is node:http.
 */
export function loadUws(): Uws | undefined {
  if (loaded === undefined) {
    // Not a setting of ours: the native module reads this name from the process's environment while it loads, and has
    // no other way to be told. Without it the header block ends at 4 KB. What is over our own limit, but not over this
    // one, is refused by us, in the words of its family; uws only says 431 and ends the connection.
    process.env["UWS_HTTP_MAX_HEADERS_SIZE"] = String(LIMITS.request_header_bytes_read_max);
    try {
      loaded = createRequire(import.meta.url)(`@uwsjs/${platform}-${arch}-${versions.node.split(".")[0] ?? ""}`) as Uws;
    } catch {
      // No package for this platform, or a C library older than the binary wants.
      loaded = "unavailable";
    }
  }
  return loaded === "unavailable" ? undefined : loaded;
}
