/** Goal: other access points find our participants at /smp, and what they read there is what we ourselves believe. */
import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import type { As4Crypto } from "../../../engine/peppol/as4/messages.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { createOwnKeys } from "../../../engine/peppol/pki/own-keys.js";
import type { OwnKeys } from "../../../engine/peppol/pki/own-keys.js";
import { createSmpLookup } from "../../../engine/peppol/discovery/smp.js";
import { createEmbeddedSource } from "../../../engine/peppol/discovery/smp-source.js";
import { smpReader } from "../../../engine/peppol/discovery/smp-document.js";
import { createSmpServer } from "../../../engine/peppol/discovery/smp-server.js";
import type { PublishedParticipant, SmpServer } from "../../../engine/peppol/discovery/smp-server.js";
import { smpRoutes } from "../../../gateway/routes/smp.js";
import { inThread } from "../../support/as4/as4.js";
import { smpRecord, startDnsServer } from "../../support/peppol/dns-server.js";
import type { TestDnsServer } from "../../support/peppol/dns-server.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";
import { INVOICE, networkLookup, question, RECEIVER, SANDBOX_POLICY, trustOf } from "../../support/peppol/smp.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import type { TestPki } from "../../support/peppol/test-pki.js";

const ENDPOINT = "http://127.0.0.1:1/as4";
let pki: TestPki;
let dns: TestDnsServer;
let clock: FakeClock;
let keys: OwnKeys;
let server: SmpServer;
let signatures: number;
const participants = new Map<string, PublishedParticipant>();

const counting: As4Crypto = (kind, input) => {
  if (kind === "enveloped.sign") signatures += 1;
  return inThread(kind, input);
};
const ownKeys = (names: readonly ("ap" | "smp")[]): Promise<OwnKeys> =>
  createOwnKeys({
    store: pki.store,
    clock,
    log: silentLog,
    load: () => Promise.resolve(names.map((usage) => pki.leaf(usage, "PSK000001"))),
  });
const makeServer = (changes: Partial<Parameters<typeof createSmpServer>[0]> = {}): SmpServer =>
  createSmpServer({
    find: (key) => Promise.resolve(participants.get(key)),
    crypto: counting,
    keys,
    endpointUrl: ENDPOINT,
    baseUrl: "http://127.0.0.1:1/smp",
    log: silentLog,
    ...changes,
  });

beforeAll(async () => {
  [pki, dns] = await Promise.all([makeTestPki(), startDnsServer(() => ({}))]);
});
afterAll(() => dns.close());
beforeEach(async () => {
  clock = fakeClock();
  signatures = 0;
  participants.clear();
  participants.set(RECEIVER, { capabilities: BILLING_CAPABILITIES });
  keys = await ownKeys(["ap", "smp"]);
  server = makeServer();
});

const id = encodeURIComponent(`iso6523-actorid-upis::${RECEIVER}`);
const type = encodeURIComponent(`busdox-docid-qns::${INVOICE.documentTypeId}`);

describe.each(serverForms)("over HTTP (%s)", (form) => {
  let gateway: TestGateway;
  beforeEach(async () => {
    gateway = await startGateway(form, smpRoutes(server));
    return () => gateway.drain();
  });
  const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(`${gateway.origin}/smp${path}`, { headers });

  test("another access point finds our participant through DNS, and encrypts to our certificate", async () => {
    dns.answer = () => ({ naptr: [smpRecord(`${gateway.origin}/smp`)] });
    const lookup = networkLookup(dns, pki, clock);
    expect(await lookup.lookup(question())).toMatchObject({
      status: "ready",
      endpoint: { url: ENDPOINT, seat: "PSK000001", certificate: keys.ap().certificate },
    });
    expect(await lookup.lookup(question({ documentType: "urn:a::B##c::2.1" }))).toMatchObject({
      status: "document_type_not_supported",
    });
    expect(await lookup.lookup(question({ participant: "0245:1" as ParticipantId }))).toMatchObject({
      status: "participant_not_found",
      reason: "not_at_smp",
    });
    const types = await lookup.documentTypes(RECEIVER);
    expect(types.kind === "types" && types.documentTypes.toSorted()).toEqual(
      BILLING_CAPABILITIES.map(({ documentTypeId }) => `busdox-docid-qns::${documentTypeId}`).toSorted(),
    );
  });

  test("an answer has an ETag, is not sent again to who has it, and is signed once", async () => {
    const first = await get(`/${id}/services/${type}`);
    const etag = first.headers.get("etag") ?? "";
    expect([first.status, first.headers.get("content-type")]).toEqual([200, "application/xml; charset=utf-8"]);
    expect(etag).toMatch(/^"[\w-]{32}"$/);
    const body = await first.text();
    for (const header of [etag, `"x", W/${etag}`])
      expect((await get(`/${id}/services/${type}`, { "if-none-match": header })).status).toBe(304);
    expect(await (await get(`/${id}/services/${type}`, { "if-none-match": '"x"' })).text()).toBe(body);
    expect(signatures).toBe(1);
    expect((await get(`/${id}`, { "if-none-match": (await get(`/${id}`)).headers.get("etag") ?? "" })).status).toBe(
      304,
    );
  });

  test.each([
    ["an unknown participant", `/${encodeURIComponent("iso6523-actorid-upis::0245:1")}/services/${type}`],
    ["an unknown participant's group", `/${encodeURIComponent("iso6523-actorid-upis::0245:1")}`],
    ["a type that is not taken", `/${id}/services/${encodeURIComponent("busdox-docid-qns::urn:x::Y##z::2.1")}`],
    ["a participant without its scheme", `/${encodeURIComponent(RECEIVER)}`],
    ["another scheme", `/${encodeURIComponent(`other::${RECEIVER}`)}`],
    ["a type without its scheme", `/${id}/services/${encodeURIComponent(INVOICE.documentTypeId)}`],
    ["nothing", "/"],
    ["a broken escape", "/%zz"],
    ["a path upwards", `/${id}/services/..%2f..%2fetc`],
  ])("%s is 404", async (_, path) => {
    expect((await get(path)).status).toBe(404);
  });

  test("the path may be written with or without escapes, in any letter case of the participant", async () => {
    participants.set("9915:test", { capabilities: BILLING_CAPABILITIES });
    expect((await get("/iso6523-actorid-upis::9915:TEST")).status).toBe(200);
    expect((await get(`/iso6523-actorid-upis%3a%3a9915%3Atest/services/${type}`)).status).toBe(200);
  });
});

test("a new certificate, a new capability or a new key of the SMP makes a new document; nothing else does", async () => {
  const of = async (): Promise<string> => {
    const answer = await server.metadata(RECEIVER, INVOICE.documentTypeId);
    return answer.kind === "document" ? answer.etag : answer.kind;
  };
  const first = await of();
  expect(await of()).toBe(first);
  participants.set(RECEIVER, {
    capabilities: [...BILLING_CAPABILITIES, { documentTypeId: INVOICE.documentTypeId, processId: "urn:other" }],
  });
  const second = await of();
  participants.set(RECEIVER, {
    capabilities: [{ documentTypeId: INVOICE.documentTypeId, processId: "urn:other" }, ...BILLING_CAPABILITIES],
  });
  expect([second === first, await of()]).toEqual([false, second]);
  server = makeServer({ keys: await ownKeys(["ap", "smp"]) });
  expect(await of()).not.toBe(second);
});

test("without a key of an SMP, or when the database is away, there is no answer rather than a wrong one", async () => {
  expect(await makeServer({ keys: await ownKeys(["ap"]) }).metadata(RECEIVER, INVOICE.documentTypeId)).toEqual({
    kind: "failed",
    reason: "no_smp_key",
  });
  expect(await makeServer({ find: () => Promise.reject(new Error("away")) }).group(RECEIVER)).toEqual({
    kind: "failed",
    reason: "internal",
  });
});

test("a signature that failed is tried again", async () => {
  let fail = true;
  const flaky = makeServer({
    crypto: (kind, input) =>
      fail && kind === "enveloped.sign" ? Promise.reject(new Error("worker died")) : inThread(kind, input),
  });
  expect(await flaky.metadata(RECEIVER, INVOICE.documentTypeId)).toMatchObject({ kind: "failed" });
  fail = false;
  expect(await flaky.metadata(RECEIVER, INVOICE.documentTypeId)).toMatchObject({ kind: "document" });
});

test("documents of ours that many ask for at once are signed as far as there are places; the others may be asked for again", async () => {
  const waiting: (() => void)[] = [];
  const slow = makeServer({
    find: (key) =>
      Promise.resolve({
        capabilities: BILLING_CAPABILITIES,
        endpoint: { url: `${ENDPOINT}/${key}`, certificate: keys.ap().certificate },
      }),
    crypto: async (kind, input) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
      return inThread(kind, input);
    },
  });
  const ask = (n: number): Promise<string> =>
    slow.metadata(`0245:${2_000_000_000 + n}`, INVOICE.documentTypeId).then(({ kind }) => kind);
  const first = Array.from({ length: LIMITS.smp_signatures_at_once_max }, (_, n) => ask(n));
  expect(await ask(LIMITS.smp_signatures_at_once_max)).toBe("failed");
  for (const go of waiting) go();
  expect(new Set(await Promise.all(first))).toEqual(new Set(["document"]));
  const again = ask(LIMITS.smp_signatures_at_once_max);
  await eventually("it is signed", () => Promise.resolve(waiting.length > LIMITS.smp_signatures_at_once_max));
  waiting.at(-1)?.();
  expect(await again).toBe("document");
});

describe("the embedded form", () => {
  const lookup = () =>
    createSmpLookup({
      source: createEmbeddedSource(server),
      reader: smpReader(counting),
      pki: trustOf(pki, clock),
      policy: SANDBOX_POLICY,
      clock,
      log: silentLog,
    });

  test("the embedded look-up reads our own signed documents through the same checks as everybody's", async () => {
    const answer = await lookup().lookup(question());
    expect(answer).toMatchObject({
      status: "ready",
      endpoint: { url: ENDPOINT, seat: "PSK000001" },
      evidence: { url: `http://127.0.0.1:1/smp/${id}/services/${type}` },
    });
    expect(answer.status === "ready" && new X509Certificate(answer.endpoint.certificate).subject).toContain(
      "CN=PSK000001",
    );
    expect(await lookup().documentTypes(RECEIVER)).toMatchObject({ kind: "types" });
  });

  test("the embedded look-up tells apart who is not here, what is not taken, and what cannot be said", async () => {
    expect(await lookup().lookup(question({ participant: "0245:1" as ParticipantId }))).toMatchObject({
      status: "participant_not_found",
    });
    expect(await lookup().lookup(question({ documentType: "x" }))).toMatchObject({
      status: "document_type_not_supported",
    });
    expect(await lookup().lookup(question({ documentTypeScheme: "other" }))).toMatchObject({
      status: "document_type_not_supported",
    });
    expect(await lookup().lookup(question({ process: "x" }))).toMatchObject({ status: "process_not_supported" });
    server = makeServer({ find: () => Promise.reject(new Error("away")) });
    expect(await lookup().lookup(question())).toMatchObject({ status: "lookup_failed", reason: "internal" });
  });

  test("the embedded look-up sees a change of registration when it is told to forget", async () => {
    const ours = lookup();
    await ours.lookup(question());
    participants.delete(RECEIVER);
    expect(await ours.lookup(question())).toMatchObject({ status: "ready" });
    ours.forget(RECEIVER);
    expect(await ours.lookup(question())).toMatchObject({ status: "participant_not_found" });
  });
});
