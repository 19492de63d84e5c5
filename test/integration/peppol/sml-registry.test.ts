/** Goal: a participant is registered in the SML with our SMP's certificate, and an unclear answer is never taken for a yes or a no. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createOwnKeys } from "../../../engine/peppol/pki/own-keys.js";
import type { OwnIdentity } from "../../../engine/peppol/pki/own-keys.js";
import { createSmlRegistry, isMigrationKey, newMigrationKey } from "../../../engine/peppol/discovery/sml-registry.js";
import type {
  Registry,
  RegistryOutcomeKind,
  SmlRegistryOptions,
} from "../../../engine/peppol/discovery/sml-registry.js";
import { fakeClock } from "../../support/fake-clock.js";
import { locatorFault, soapFault, startFakeSml } from "../../support/peppol/sml.js";
import type { FakeSml, SmlAnswer } from "../../support/peppol/sml.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";

const P = "0245:2020202020" as ParticipantId;
const KEY = "aB3#cD4$eF5%gH6(";

let sml: FakeSml;
let smp: OwnIdentity;

beforeAll(async () => {
  const pki = await makeTestPki();
  const keys = await createOwnKeys({
    store: pki.store,
    clock: fakeClock(),
    log: silentLog,
    load: () => Promise.resolve([pki.leaf("ap", "PSK000001"), pki.leaf("smp", "PSK000010")]),
  });
  const found = keys.smp();
  if (found === undefined) throw new Error("no SMP key");
  smp = found;
  sml = await startFakeSml(pki);
});
afterAll(() => {
  sml.close();
});
beforeEach(() => {
  sml.seen.length = 0;
  sml.answer = () => ({});
});

const open = (changes: Partial<SmlRegistryOptions> = {}): Registry =>
  createSmlRegistry({
    url: sml.url,
    smpId: "KURIER-SMP",
    identity: () => smp,
    ca: [sml.ca],
    timeout_ms: 2_000,
    ...changes,
  });

const PREFIX = "http://busdox.org/serviceMetadata/ManageBusinessIdentifierService/1.0/         :";
test.each<
  readonly [string, (registry: Registry) => Promise<unknown>, string, string, Readonly<Record<string, string>>]
>([
  [
    "create",
    (registry) => registry.create(P),
    "createIn",
    "CreateParticipantIdentifier",
    { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P },
  ],
  [
    "delete",
    (registry) => registry.delete(P),
    "deleteIn",
    "DeleteParticipantIdentifier",
    { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P },
  ],
  [
    "prepareToMigrate",
    (registry) => registry.prepareToMigrate(P, KEY),
    "prepareMigrateIn",
    "PrepareMigrationRecord",
    { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P, MigrationKey: KEY },
  ],
  [
    "migrate",
    (registry) => registry.migrate(P, KEY),
    "migrateIn",
    "CompleteMigrationRecord",
    { ServiceMetadataPublisherID: "KURIER-SMP", ParticipantIdentifier: P, MigrationKey: KEY },
  ],
])("%s is asked for with our SMP's certificate", async (_, run, action, element, values) => {
  expect(await run(open())).toEqual({ kind: "done", code: "http_200" });
  expect(sml.seen).toEqual([
    {
      action: `"${PREFIX}${action}"`,
      element,
      values,
      client: "PSK000010",
      path: "/edelivery-sml/manageparticipantidentifier",
    },
  ]);
  expect(Object.keys(sml.seen[0]?.values ?? {}), "in the order of the schema").toEqual(Object.keys(values));
});

describe("an answer", () => {
  test.each<readonly [string, () => SmlAnswer, RegistryOutcomeKind]>([
    ["without a body is a yes", () => ({ body: "" }), "done"],
    ["with an empty envelope is a yes", () => ({}), "done"],
    ["that it is not there", () => locatorFault("NotFoundFault"), "not_found"],
    ["that we may not", () => locatorFault("UnauthorizedFault"), "unauthorized"],
    ["that it is registered already", () => locatorFault("BadRequestFault"), "bad_request"],
    ["that it failed", () => locatorFault("InternalErrorFault"), "internal_error"],
    ["with an unknown fault", () => soapFault("<x/>"), "internal_error"],
    ["with a fault of another name", () => locatorFault("constructor"), "internal_error"],
    ["401 without a fault", () => ({ status: 401, body: "" }), "unauthorized"],
    ["503", () => ({ status: 503, body: "" }), "unreachable"],
    ["200 with something else", () => ({ body: "<html/>" }), "unknown"],
    ["200 with a fault", () => ({ ...locatorFault("NotFoundFault"), status: 200 }), "unknown"],
    ["500 with garbage", () => ({ status: 500, body: "garbage" }), "unknown"],
    ["too long", () => ({ body: "x".repeat(100_000) }), "unknown"],
    ["that breaks off", () => "reset", "unknown"],
    ["that never comes", () => undefined, "unknown"],
  ])("an answer of the SML %s means one outcome of the list", async (_, given, kind) => {
    sml.answer = given;
    expect((await open({ timeout_ms: 300 }).create(P)).kind).toBe(kind);
  });

  test("an answer that is missing, for the host is not there or not the one it says it is, means that nothing was sent", async () => {
    expect(await open({ url: "https://127.0.0.1:1" }).create(P)).toEqual({ kind: "unreachable", code: "ECONNREFUSED" });
    expect((await open({ ca: [] }).create(P)).kind).toBe("unreachable");
    expect((await open({ url: sml.url.replace("localhost", "127.0.0.1") }).create(P)).kind).toBe("unreachable");
    expect(sml.seen).toEqual([]);
  });
});

describe("a migration key", () => {
  test("a migration key of ours is one, never twice the same, and can stand in the path of an SMP", () => {
    const keys = Array.from({ length: 200 }, newMigrationKey);
    expect(keys.every(isMigrationKey)).toBe(true);
    expect(new Set(keys).size).toBe(200);
    expect(keys.join("")).not.toContain("%");
  });

  test.each(["11AAbb$$", "1Ab$1Ab$", "11AAbb$$11AAbb$$11AAbb$$", "aB3_aB3_", "aaBB33##./&<'"])(
    "a migration key of another provider may be %j, and goes to the registry as it is",
    async (key) => {
      expect(await open().migrate(P, key)).toMatchObject({ kind: "done" });
      expect(sml.seen[0]?.values).toMatchObject({ MigrationKey: key });
    },
  );

  test.each([
    "",
    "aB3#",
    "abcdefgh",
    "aB3#aB3",
    "aaBB33",
    "aaBB33##".repeat(4),
    "aaBB33# #",
    "aaBB33#č",
    "aaBB33##č",
    "aaBB3##x",
    "aaBb33##",
    "aABB33##",
    "aaBB33##\n",
    "aaBB33##\u0000",
    "aB3#aB3",
    `${"aaBB33##".repeat(3)}x`,
  ])("a migration key %j is none, and is not sent", async (key) => {
    expect(isMigrationKey(key)).toBe(false);
    expect(await open().migrate(P, key)).toEqual({ kind: "bad_request", code: "MIGRATION_KEY" });
    expect(sml.seen).toEqual([]);
  });
});
