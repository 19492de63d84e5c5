/** Goal: a participant is registered in the SML with our SMP's certificate, and an unclear answer is never taken for a yes or a no. */
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { ParticipantId } from "../../engine/ids.js";
import { silentLog } from "../../engine/log.js";
import { createOwnKeys, type OwnIdentity } from "../../engine/peppol/pki/own-keys.js";
import { pemOf } from "../../engine/peppol/pki/certificate.js";
import { createSmlRegistry, isMigrationKey, newMigrationKey, type Registry, type RegistryOutcomeKind, type SmlRegistryOptions } from "../../engine/peppol/sml-registry.js";
import { childElements, parseXml, textOf } from "../../validators/xml/tree.js";
import { fakeClock } from "../support/fake-clock.js";
import { makeTestPki } from "../support/test-pki.js";
import type { TestPki } from "../support/test-pki.js";

const P = "0245:2020202020" as ParticipantId;
const KEY = "aB3#cD4$eF5%gH6(";
interface Seen { readonly action: string; readonly element: string; readonly values: Readonly<Record<string, string>>; readonly client: string; readonly path: string }

let pki: TestPki;
let server: Server;
let url: string;
let smp: OwnIdentity;
const seen: Seen[] = [];
let answer: () => { readonly status?: number; readonly body?: string } | "reset" | undefined;

const fault = (detail: string): { readonly status: number; readonly body: string } => ({
  status: 500, body: `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault><faultcode>S:Server</faultcode><faultstring>no</faultstring><detail>${detail}</detail></S:Fault></S:Body></S:Envelope>`,
});
const locator = (name: string): string => `<${name} xmlns="http://busdox.org/serviceMetadata/locator/1.0/"><FaultMessage>x</FaultMessage></${name}>`;
const EMPTY = '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body/></S:Envelope>';

beforeAll(async () => {
  pki = await makeTestPki();
  const clock = fakeClock();
  const keys = await createOwnKeys({ store: pki.store, clock, log: silentLog, load: () => Promise.resolve([pki.leaf("ap", "PSK000001"), pki.leaf("smp", "PSK000010")]) });
  const found = keys.smp();
  if (found === undefined) throw new Error("no SMP key");
  smp = found;
  const host = pki.leaf("smp", "localhost", { subject: { CN: "localhost" } });
  server = createServer({
    key: host.privateKey.export({ type: "pkcs8", format: "pem" }), cert: pemOf(host.certificate) + pemOf(pki.smp.certificate), ca: [pemOf(pki.root.certificate)], requestCert: true, rejectUnauthorized: true,
  }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const tree = parseXml(Buffer.concat(chunks));
      const [operation] = tree.kind === "refused" ? [] : childElements(tree.root).flatMap(childElements);
      const values = Object.fromEntries((operation === undefined ? [] : childElements(operation)).map((child) => [child.local, textOf(child) ?? ""]));
      seen.push({ action: String(request.headers["soapaction"]), element: operation?.local ?? "", values, client: String((request.socket as TLSSocket).getPeerCertificate().subject.CN), path: request.url ?? "" });
      const given = answer();
      if (given === "reset") request.socket.destroy();
      else if (given !== undefined) response.writeHead(given.status ?? 200, { "content-type": "text/xml" }).end(given.body ?? EMPTY);
    });
  });
  await new Promise<void>((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  url = `https://localhost:${(server.address() as AddressInfo).port}/edelivery-sml/`;
});
afterAll(() => { server.closeAllConnections(); server.close(); });
beforeEach(() => { seen.length = 0; answer = () => ({}); });

const open = (changes: Partial<SmlRegistryOptions> = {}): Registry =>
  createSmlRegistry({ url, smpId: "KURIER-SMP", identity: () => smp, ca: [pemOf(pki.root.certificate)], timeout_ms: 2_000, ...changes });

const PREFIX = "http://busdox.org/serviceMetadata/ManageBusinessIdentifierService/1.0/         :";
test.each<readonly [string, (registry: Registry) => Promise<unknown>, string, string, Readonly<Record<string, string>>]>([
  ["create", (registry) => registry.create(P), "createIn", "CreateParticipantIdentifier", { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P }],
  ["delete", (registry) => registry.delete(P), "deleteIn", "DeleteParticipantIdentifier", { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P }],
  ["prepareToMigrate", (registry) => registry.prepareToMigrate(P, KEY), "prepareMigrateIn", "PrepareMigrationRecord", { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P, MigrationKey: KEY }],
  ["migrate", (registry) => registry.migrate(P, KEY), "migrateIn", "CompleteMigrationRecord", { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P, MigrationKey: KEY }],
])("%s is asked for with our SMP's certificate", async (_, run, action, element, values) => {
  expect(await run(open())).toEqual({ kind: "done", code: "http_200" });
  expect(seen).toEqual([{ action: `"${PREFIX}${action}"`, element, values, client: "PSK000010", path: "/edelivery-sml/manageparticipantidentifier" }]);
  expect(Object.keys(seen[0]?.values ?? {}), "in the order of the schema").toEqual(Object.keys(values));
});

describe("an answer", () => {
  test.each<readonly [string, () => ReturnType<typeof answer>, RegistryOutcomeKind]>([
    ["without a body is a yes", () => ({ body: "" }), "done"], ["with an empty envelope is a yes", () => ({}), "done"],
    ["that it is not there", () => fault(locator("NotFoundFault")), "not_found"], ["that we may not", () => fault(locator("UnauthorizedFault")), "unauthorized"],
    ["that it is registered already", () => fault(locator("BadRequestFault")), "bad_request"], ["that it failed", () => fault(locator("InternalErrorFault")), "internal_error"],
    ["with an unknown fault", () => fault("<x/>"), "internal_error"], ["with a fault of another name", () => fault(locator("constructor")), "internal_error"],
    ["401 without a fault", () => ({ status: 401, body: "" }), "unauthorized"], ["503", () => ({ status: 503, body: "" }), "unreachable"],
    ["200 with something else", () => ({ body: "<html/>" }), "unknown"], ["200 with a fault", () => ({ ...fault(locator("NotFoundFault")), status: 200 }), "unknown"],
    ["500 with garbage", () => ({ status: 500, body: "garbage" }), "unknown"], ["too long", () => ({ body: "x".repeat(100_000) }), "unknown"], ["that breaks off", () => "reset", "unknown"],
    ["that never comes", () => undefined, "unknown"],
  ])("%s", async (_, given, kind) => {
    answer = given;
    expect((await open({ timeout_ms: 300 }).create(P)).kind).toBe(kind);
  });

  test("of a host that is not there, or not the one it says it is, means that nothing was sent", async () => {
    expect(await open({ url: "https://127.0.0.1:1" }).create(P)).toEqual({ kind: "unreachable", code: "ECONNREFUSED" });
    expect((await open({ ca: [] }).create(P)).kind).toBe("unreachable");
    expect((await open({ url: url.replace("localhost", "127.0.0.1") }).create(P)).kind).toBe("unreachable");
    expect(seen).toEqual([]);
  });
});

describe("a migration key", () => {
  test("of ours is one, and never twice the same", () => {
    const keys = Array.from({ length: 200 }, newMigrationKey);
    expect(keys.every(isMigrationKey)).toBe(true);
    expect(new Set(keys).size).toBe(200);
  });

  test.each(["", "aB3#", "abcdefgh", "aB3#aB3", "aaBB33", "aaBB33##".repeat(4), "aaBB33# #", "aaBB33#č", "aaBB3##x"])("%j is none, and is not sent", async (key) => {
    expect(isMigrationKey(key)).toBe(false);
    expect(await open().migrate(P, key)).toEqual({ kind: "bad_request", code: "MIGRATION_KEY" });
    expect(seen).toEqual([]);
  });
});
