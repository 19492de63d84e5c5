/** Starts a gateway on a free port, in either form, over rows and ports that the test gives. */
import { connect } from "node:net";
import type { Socket } from "node:net";

import { systemClock } from "../../../engine/base/clock.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { parseFirmId, parseKeyId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { createPipeline } from "../../../gateway/request/pipeline.js";
import type { PipelineOptions } from "../../../gateway/request/pipeline.js";
import type { PipelinePorts } from "../../../gateway/request/ports.js";
import type { Route } from "../../../gateway/contract/route.js";
import { startServer } from "../../../gateway/http/server.js";
import type { ServerForm, ServerOptions } from "../../../gateway/http/listener.js";
import type { RunningServer } from "../../../gateway/http/server.js";
import { uwsAvailable } from "../../../gateway/http/server-uws.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { Refusal } from "../../../engine/base/errors.js";

/** The forms that this platform can run: a suite runs on each with `describe.each(serverForms)`. */
export const serverForms: readonly ServerForm[] = uwsAvailable() ? ["uws", "node"] : ["node"];

const must = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("a test value is missing");
  return value;
};

export const TEST_FIRM = must(parseFirmId("018f6a3e-0000-7000-8000-000000000001"));

/** A firm's caller with every scope; a test overrides what it is about. */
export const testCaller = (changes: Partial<Caller> = {}): Caller => ({
  kind: "firm",
  keyType: "sk_live",
  firmId: TEST_FIRM,
  keyId: must(parseKeyId("018f6a3e-0000-7000-8000-0000000000aa")),
  scopes: new Set(SCOPES),
  ipAllowlist: [],
  tokenId: "test-token",
  issuedAt: 0,
  expiresAt: Number.MAX_SAFE_INTEGER,
  generation: 1,
  bindingGeneration: 0,
  productionAuthorized: true,
  tokenScope: [...SCOPES],
  ...changes,
});

/** Ports that let everybody in: the token `good` is `testCaller()`, the admin token is `admin`, nothing is limited. */
export const testPorts = (changes: Partial<PipelinePorts> = {}): PipelinePorts => ({
  authenticate: (token) => {
    if (token !== "good") throw new Refusal("TOKEN_INVALID");
    return testCaller();
  },
  authenticateAdmin: (token) => token === "admin",
  admit: () => ({ allowed: true, limit: 1, remaining: 1, resetAt: 0, retryAfter_s: 0 }),
  firmContext: (caller, firmId) => ({ firmId: firmId ?? TEST_FIRM, scopes: caller.scopes }),
  customerContext: (caller, customerRef) => ({ firmId: TEST_FIRM, customerRef, scopes: caller.scopes }),
  participantContext: (caller, participantId) => ({ firmId: TEST_FIRM, participantId, scopes: caller.scopes }),
  mayReceive: () => true,
  documentBytes: () => Promise.resolve(0),
  asRefusal: (error) => error,
  metrics: createMetrics(),
  log: silentLog,
  clock: systemClock,
  ...changes,
});

export interface TestGateway extends RunningServer {
  readonly origin: string;
}

export async function startGateway(
  form: ServerForm,
  rows: readonly Route[],
  options: {
    ports?: Partial<PipelinePorts>;
    limits?: ServerOptions["limits"];
    takesChunks?: boolean;
    trustedProxies?: PipelineOptions["trustedProxies"];
    proxies?: ServerOptions["proxies"];
  } = {},
): Promise<TestGateway> {
  const ports = testPorts(options.ports);
  const onRequest = createPipeline({
    rows,
    ports,
    ...(options.trustedProxies === undefined ? {} : { trustedProxies: options.trustedProxies }),
  });
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    form,
    monotonic: () => ports.clock.monotonic(),
    onRequest,
    ...(options.takesChunks === undefined ? {} : { takesChunks: options.takesChunks }),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(options.proxies === undefined ? {} : { proxies: options.proxies }),
  });
  return { ...server, origin: `http://127.0.0.1:${server.port}` };
}

/** One answer as read from the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A bare connection: for requests that no HTTP client would send. */
export class WireClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #ended = false;
  readonly #waiters: (() => void)[] = [];

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    this.socket.on("error", () => {
      this.#ended = true;
      this.#wake();
    });
    this.socket.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
    this.socket.on("end", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  send(text: string | Uint8Array): this {
    this.socket.write(text);
    return this;
  }

  /** The next answer, or undefined when the connection ends without one. @param toHead whether the answer has no body by its method */
  async answer(toHead = false): Promise<WireAnswer | undefined> {
    for (;;) {
      const found = this.#take(toHead);
      if (found !== undefined && found.status !== 100) return found;
      if (found !== undefined) continue;
      if (this.#ended) return undefined;
      await this.#activity();
    }
  }

  /** Resolves when the other side has ended the connection. */
  async closed(): Promise<void> {
    while (!this.#ended) await this.#activity();
  }

  #activity(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }

  #take(toHead: boolean): WireAnswer | undefined {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end === -1) return undefined;
    const lines = this.#received.toString("latin1", 0, end).split("\r\n");
    const headers: Record<string, string> = {};
    for (const line of lines.slice(1)) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const status = Number(lines[0]?.split(" ")[1]);
    // An error of the protocol itself has no Content-Length in one form: its body ends with the connection.
    const untilClose = headers["content-length"] === undefined && headers["connection"] === "close";
    if (untilClose && !this.#ended) return undefined;
    const length =
      toHead || status === 100
        ? 0
        : untilClose
          ? this.#received.length - end - 4
          : Number(headers["content-length"] ?? 0);
    if (this.#received.length < end + 4 + length) return undefined;
    const body = this.#received.toString("utf8", end + 4, end + 4 + length);
    this.#received = this.#received.subarray(end + 4 + length);
    return { status, headers, body };
  }
}

/** Sends one raw request on a connection of its own. */
export async function wire(port: number, text: string | Uint8Array): Promise<WireAnswer | undefined> {
  const client = new WireClient(port).send(text);
  const answer = await client.answer();
  client.socket.destroy();
  return answer;
}
