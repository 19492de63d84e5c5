/**
 * The client towards access points over TLS: it says what protected the connection, and nothing of a message goes to a server
 * that cannot prove its name, or that speaks an older TLS. @source design/as4.md, sections 13 and 15
 */
import { createHash, randomUUID } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import type { Server } from "node:http";
import { createServer } from "node:https";
import type { ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { buildError } from "../../../engine/peppol/as4/messages.js";
import type { EbmsErrorCode } from "../../../engine/peppol/as4/ebms-errors.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { Http, HttpClient, HttpResult } from "../../../engine/peppol/network/http.js";
import { pemOf } from "../../../engine/peppol/pki/certificate.js";
import type { NewCertificate } from "../../../engine/peppol/pki/issue.js";
import { inThread } from "../../support/as4/as4.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import { outgoing, transportTo } from "../../support/as4/outgoing.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import type { Leaf, TestPki } from "../../support/peppol/test-pki.js";

let pki: TestPki;
let other: TestPki;
let client: HttpClient;
let lookups: Http;
const ends: (() => void)[] = [];
beforeAll(async () => {
  [pki, other] = await Promise.all([makeTestPki("WEB"), makeTestPki("OTHER WEB")]);
  client = createHttpClient({
    policy: { allowLoopback: true, ownOrigins: [] },
    ca: [pemOf(pki.root.certificate)],
    connectTimeout_ms: 5_000,
  });
  lookups = client.request;
});
afterAll(() => {
  client.close();
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const host = (from = pki, changes: Partial<NewCertificate> = {}): Leaf =>
  from.leaf("smp", "localhost", { subject: { CN: "localhost" }, ...changes });
const identity = (leaf: Leaf, issuer = pki): ServerOptions => ({
  key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }),
  cert: pemOf(leaf.certificate) + pemOf(issuer.smp.certificate),
});

interface Peer {
  readonly url: string;
  /** Bodies that arrived. */
  readonly bodies: string[];
  readonly ports: Set<number | undefined>;
}
/** @param answer  of a body. @default ok */
async function serve(
  make: (listener: Parameters<typeof createHttpServer>[1]) => Server | ReturnType<typeof createServer>,
  answer: (body: Buffer) => Promise<string> = () => Promise.resolve("ok"),
): Promise<Peer> {
  const [bodies, ports]: [string[], Set<number | undefined>] = [[], new Set()];
  const server = make((request, response) => {
    ports.add(request.socket.remotePort);
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        const body = Buffer.concat(chunks);
        bodies.push(body.toString("latin1"));
        void answer(body).then((text) => response.setHeader("content-type", "application/soap+xml").end(text));
      });
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => {
    server.listen(0, "localhost", resolve);
  });
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://localhost:${(server.address() as AddressInfo).port}/as4`, bodies, ports };
}
const secure =
  (options: ServerOptions): ((listener: Parameters<typeof createHttpServer>[1]) => ReturnType<typeof createServer>) =>
  (listener) =>
    createServer(options, listener);

const post = ({ url }: Pick<Peer, "url">): Promise<HttpResult> =>
  client.request({
    method: "POST",
    use: "as4",
    url,
    headers: { "content-type": "text/plain" },
    body: Buffer.from("the message"),
    bytes_max: 1_000,
    timeout_ms: 5_000,
  });

describe("a server that proves its name", () => {
  test.each(["TLSv1.2", "TLSv1.3"] as const)(
    "a server that proves its name is told with %s and its certificate, also on a connection that was kept",
    async (version) => {
      const leaf = host();
      const peer = await serve(secure({ ...identity(leaf), minVersion: version, maxVersion: version }));
      const tlsCertificateSha256 = createHash("sha256").update(leaf.certificate).digest("hex");
      for (let i = 0; i < 3; i += 1)
        expect(await post(peer)).toMatchObject({
          kind: "response",
          status: 200,
          connection: { tlsVersion: version, tlsCertificateSha256 },
        });
      expect(peer.ports.size).toBe(1);
      expect(peer.bodies).toEqual(["the message", "the message", "the message"]);
    },
  );

  test.each([
    ["says good-bye", "", true],
    ["says good-bye in the middle of a head", "HTTP/1.1 200 OK\r\ncontent-", false],
  ] as const)(
    "a kept connection of a server that %s carries a message anew on another one only where no answer had begun",
    async (_, begun, isRepeated) => {
      let requests = 0;
      const peer = await serve((listener) =>
        createServer(identity(host()), (request, response) => {
          requests += 1;
          if (requests === 2) request.resume().on("end", () => request.socket.end(begun));
          else listener?.(request, response);
        }),
      );
      expect(await post(peer)).toMatchObject({ kind: "response" });
      expect(await post(peer)).toMatchObject(
        isRepeated ? { kind: "response", isRepeated } : { kind: "failed", fault: "reset", uploaded: true },
      );
      expect(requests).toBe(isRepeated ? 3 : 2);
    },
  );
});

describe("servers that do not prove their name", () => {
  const servers: readonly (readonly [string, () => Promise<Peer>])[] = [
    ["a server of an authority that nobody knows", () => serve(secure(identity(host(other), other)))],
    ["a server under another name", () => serve(secure(identity(host(pki, { subject: { CN: "elsewhere.example" } }))))],
    [
      "a server whose certificate has ended",
      () => serve(secure(identity(host(pki, { notAfter: systemClock.now() - 1_000 })))),
    ],
    [
      "a server whose certificate is not valid yet",
      () => serve(secure(identity(host(pki, { notBefore: systemClock.now() + 86_400_000 })))),
    ],
    [
      "a server with the certificate of its own making",
      () => {
        const own = accessPoint("localhost");
        return serve(
          secure({ key: own.privateKey.export({ type: "pkcs8", format: "pem" }), cert: pemOf(own.certificate) }),
        );
      },
    ],
    [
      "a server that speaks TLS 1.1",
      () =>
        serve(secure({ ...identity(host()), minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" })),
    ],
    ["a server that speaks no TLS", () => serve((listener) => createHttpServer(listener))],
  ];
  test.each(servers)("nothing is transmitted to %s", async (_, start) => {
    const peer = await start();
    expect(await post(peer)).toMatchObject({ kind: "failed", fault: "tls", uploaded: false });
    // Connections to SMPs and revocation services are not kept, but the same rule holds for them.
    expect(
      await lookups({ method: "GET", url: peer.url, use: "smp", bytes_max: 1_000, timeout_ms: 5_000 }),
    ).toMatchObject({ kind: "failed", fault: "tls", uploaded: false });
    expect(peer.bodies).toEqual([]);
  });

  test("the answer of a server that proves its name is read", async () => {
    const peer = await serve(secure(identity(host())));
    expect(
      await lookups({ method: "GET", url: peer.url, use: "smp", bytes_max: 1_000, timeout_ms: 5_000 }),
    ).toMatchObject({ kind: "response", status: 200 });
  });
});

describe("an answer without a signature", () => {
  const [us, them] = [accessPoint("PSK000001"), accessPoint("PSK000002")];
  const unsignedError =
    (code: EbmsErrorCode) =>
    async (body: Buffer): Promise<string> => {
      const refToMessageId = /<eb:MessageId>([^<]+)</.exec(body.toString("latin1"))?.[1] ?? "";
      const signal = await buildError(
        {
          id: randomUUID(),
          signer: them,
          messageId: `${randomUUID()}@peer`,
          timestamp: "2026-11-20T10:00:00Z",
          refToMessageId,
        },
        { code },
        inThread,
      );
      return Buffer.from(signal.body)
        .toString()
        .replace(/<wsse:Security.*<\/wsse:Security>/s, "");
    };

  test.each([
    ["EBMS:4001", "already_handed_over"],
    ["EBMS:0103", "peer_refused"],
  ] as const)(
    "%s is believed of a server that has proven its name, and the evidence names its certificate: %s",
    async (code, kind) => {
      const leaf = host();
      const peer = await serve(secure(identity(leaf)), unsignedError(code));
      const archive = memoryArchive();
      const transport = transportTo(peer.url, [us, them], { http: client.request, evidence: archive });
      const outcome = await transport.deliver(outgoing({ attempt: 2, answers: 1 }), new AbortController().signal);
      expect(outcome).toMatchObject({ kind, code });
      expect(archive.stored[0]?.record.facts.connection).toMatchObject({
        tlsVersion: "TLSv1.3",
        tlsCertificateSha256: createHash("sha256").update(leaf.certificate).digest("hex"),
      });
    },
  );
});
