/** Bytes over HTTP as the test wants them: a server that records what arrives, and a client that chooses its framing. */
import { createServer, request } from "node:http";
import type { IncomingHttpHeaders, Server } from "node:http";

import { listening } from "../../support/network/listening.js";

const TIMEOUT_MS = 100_000;

export interface Exchanged {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

export interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly contentType: string;
  readonly body: Buffer;
}

export type Framing = "chunked" | "content-length";

export function post(
  url: string,
  contentType: string,
  body: Uint8Array,
  framing: Framing = "content-length",
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": contentType,
      ...(framing === "chunked" ? { "transfer-encoding": "chunked" } : { "content-length": body.length }),
    };
    const outgoing = request(url, { method: "POST", headers, timeout: TIMEOUT_MS, agent: false }, (response) => {
      void collect(response).then((bytes) => {
        resolve({ status: response.statusCode ?? 0, contentType: response.headers["content-type"] ?? "", body: bytes });
      }, reject);
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer in time")));
    outgoing.once("error", reject);
    // Several writes make several chunks.
    for (let at = 0; at < body.length; at += 60_000) outgoing.write(body.subarray(at, at + 60_000));
    outgoing.end();
  });
}

export interface Endpoint {
  readonly url: string;
  /** Everything that has arrived. */
  readonly arrived: readonly Arrived[];
  close(): Promise<void>;
}

/** Answers every POST with what `answer` says. */
export async function serve(answer: (arrived: Arrived) => Promise<Exchanged>): Promise<Endpoint> {
  const arrived: Arrived[] = [];
  const server: Server = createServer((incoming, response) => {
    const handle = async (): Promise<void> => {
      const one = {
        headers: incoming.headers,
        contentType: incoming.headers["content-type"] ?? "",
        body: await collect(incoming),
      };
      arrived.push(one);
      const { status, contentType, body } = await answer(one);
      response.writeHead(status, { "content-type": contentType, "content-length": body.length });
      response.end(body);
    };
    handle().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const { origin, close } = await listening(server);
  return {
    url: `${origin}/as4`,
    arrived,
    close,
  };
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}
