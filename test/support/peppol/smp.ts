/** An SMP network for tests: a DNS server, SMPs on free ports that answer what a test decides, and a look-up over both. */
import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";

import { silentLog } from "../../../engine/base/log.js";
import { createResolveNaptr } from "../../../engine/peppol/network/dns.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import type { OutboundPolicy } from "../../../engine/peppol/network/outbound-address.js";
import { createPki } from "../../../engine/peppol/pki/pki.js";
import type { Pki } from "../../../engine/peppol/pki/pki.js";
import { createSmpLookup } from "../../../engine/peppol/discovery/smp.js";
import type { SmpLookup, SmpQuestion } from "../../../engine/peppol/discovery/smp.js";
import { serviceMetadataXml, smpReader } from "../../../engine/peppol/discovery/smp-document.js";
import type { SmpReader } from "../../../engine/peppol/discovery/smp-document.js";
import { createNetworkSource } from "../../../engine/peppol/discovery/smp-source.js";
import { createSml } from "../../../engine/peppol/discovery/sml.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import type { Clock } from "../../../engine/base/clock.js";
import { signEnveloped } from "../../../validators/wss/enveloped.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { inThread } from "../as4/as4.js";
import type { TestDnsServer } from "./dns-server.js";
import type { Leaf, TestPki } from "./test-pki.js";
import { listening } from "../network/listening.js";

export const RECEIVER = "0245:1234567890" as ParticipantId;
export const [INVOICE = { documentTypeId: "", processId: "" }] = BILLING_CAPABILITIES;
export const question = (changes: Partial<SmpQuestion> = {}): SmpQuestion => ({
  participant: RECEIVER,
  documentType: INVOICE.documentTypeId,
  process: INVOICE.processId,
  ...changes,
});

export const SANDBOX_POLICY: OutboundPolicy = { allowLoopback: true, ownOrigins: [] };

export interface FakeSmp {
  readonly url: string;
  /** Paths asked so far. */
  readonly asked: string[];
  answer: (
    path: string,
    request: IncomingMessage,
  ) =>
    | { readonly status?: number; readonly body?: string | Buffer; readonly headers?: Readonly<Record<string, string>> }
    | undefined;
  close(): Promise<void>;
}

/** An SMP whose answers a test decides; undefined never answers. */
export async function startFakeSmp(): Promise<FakeSmp> {
  const asked: string[] = [];
  const state: { answer: FakeSmp["answer"] } = { answer: () => ({ status: 404 }) };
  const server: Server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const answer = state.answer(request.url ?? "", request);
    if (answer !== undefined) response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  });
  const { origin, close } = await listening(server);
  return Object.assign(state, {
    asked,
    url: origin,
    close,
  });
}

/** A look-up over the test's DNS server and PKI. */
export function networkLookup(
  dns: TestDnsServer,
  pki: TestPki,
  clock: Clock,
  options: {
    readonly policy?: OutboundPolicy;
    readonly timeout_ms?: number;
    readonly trust?: Pki;
    readonly reader?: SmpReader;
  } = {},
): SmpLookup {
  const policy = options.policy ?? SANDBOX_POLICY;
  const { reader = smpReader(inThread) } = options;
  const http = createHttpClient({ policy }).request;
  const sml = createSml({
    zone: "participant.test",
    clock,
    resolveNaptr: createResolveNaptr({ servers: [dns], timeout_ms: options.timeout_ms ?? 300 }),
  });
  return createSmpLookup({
    source: createNetworkSource({
      sml,
      http: (call) => http({ ...call, timeout_ms: options.timeout_ms ?? 2_000 }),
      reader,
    }),
    reader,
    pki: options.trust ?? trustOf(pki, clock),
    policy,
    clock,
    log: silentLog,
  });
}

/** The trust decision of a test PKI, without revocation. */
export const trustOf = ({ store }: TestPki, clock: Clock): Pki =>
  createPki({
    store,
    mode: "off",
    clock,
    log: silentLog,
    revocation: { ask: () => Promise.reject(new Error("not asked")) },
  });

/** Metadata of RECEIVER, changed as text, then signed. */
export function signedMetadata(
  signer: OwnKey,
  accessPoint: Leaf,
  change: (text: string) => string = (text) => text,
  url = "http://127.0.0.1:1/as4",
): Buffer {
  const text = serviceMetadataXml({
    participant: RECEIVER,
    documentType: INVOICE.documentTypeId,
    processes: [INVOICE.processId],
    url,
    certificate: accessPoint.certificate,
    activation: Date.parse("2026-01-01T00:00:00Z"),
    expiration: Date.parse("2028-01-01T00:00:00Z"),
    contact: "https://contact.example",
  });
  return signEnveloped(Buffer.from(change(text)), signer);
}
