/** Participants registered as an operator does it: by the command line and over the admin listener, against an SML with TLS and DNS. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { systemClock } from "../../../engine/base/clock.js";
import { DEVELOPMENT_SEAT, ensureDevelopmentPki, trustFolder } from "../../../engine/peppol/pki/development.js";
import { newId, participantKey } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { beginRegistration } from "../../../engine/storage/registrations.js";
import { providerOfSeat } from "../../../engine/peppol/seats.js";
import { startDnsServer } from "../../support/peppol/dns-server.js";
import type { TestDnsServer } from "../../support/peppol/dns-server.js";
import { http } from "../../support/engines/engine.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { startEngineProcess } from "../../support/engines/process.js";
import { smlRegister, startFakeSml } from "../../support/peppol/sml.js";
import type { FakeSml, SmlRegister } from "../../support/peppol/sml.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import { kurier as runKurier } from "../../unit/commands/kurier.js";
import type { Ran } from "../../unit/commands/kurier.js";

const ZONE = "participant.test";
const SMP = "KURIER-SMP";
const PUBLIC_URL = "http://kurier.example";
const PROVIDER = providerOfSeat(DEVELOPMENT_SEAT) ?? "";
let dataDir: string;
let db: TestDatabase;
let dns: TestDnsServer;
let sml: FakeSml;
let register: SmlRegister;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  await buildIfNeeded();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-registrations-"));
  const folder = join(dataDir, "pki");
  await ensureDevelopmentPki({ folder, clock: systemClock });
  [db, dns, sml] = await Promise.all([
    freshDatabase(),
    startDnsServer(() => undefined),
    startFakeSml(await makeTestPki(), { clientCa: readFileSync(join(trustFolder(folder), "root.pem"), "utf8") }),
  ]);
  const ca = join(dataDir, "sml-ca.pem");
  writeFileSync(ca, sml.ca);
  env = {
    DATA_DIR: dataDir,
    ENVIRONMENT: "sandbox",
    DATABASE_URL: db.url,
    NATS_URL: "embedded",
    NODE_EXTRA_CA_CERTS: ca,
    PUBLIC_URL,
    SMP_MODE: "sml",
    SML_SMP_ID: SMP,
    SML_URL: sml.url,
    SML_ZONE: ZONE,
    DNS_SERVERS: `127.0.0.1:${dns.port}`,
  };
});
afterAll(async () => {
  sml.close();
  await dns.close();
  await db.drop();
  rmSync(dataDir, { recursive: true, force: true });
});
beforeEach(() => {
  register = smlRegister(ZONE, { [SMP]: `${PUBLIC_URL}/smp`, OTHER: "http://other.example" });
  sml.answer = register.answer;
  sml.seen.length = 0;
  dns.answer = (name, transport) => register.dns(name, transport);
});

/** Runs `kurier` beside this process, which answers for the SML and DNS. */
const kurier = (args: readonly string[], changes: Readonly<Record<string, string>> = {}): Promise<Ran> =>
  runKurier(args, { env: { ...env, ...changes } });
const participants = (...args: readonly string[]): Promise<Ran> => kurier(["participants", ...args]);

test("a new firm is registered at once; the provider itself, a migration and an end by their commands", async () => {
  const P = "0245:4040404040";
  const made = await kurier(["firms", "create", "--name", "Firm", "--participant", P]);
  expect([made.code, JSON.parse(made.out)], made.err).toMatchObject([
    0,
    { participantId: P, registration: { kind: "done", state: "registered" } },
  ]);
  expect(await participants("register", "--provider")).toMatchObject({
    code: 0,
    out: expect.stringContaining(PROVIDER) as string,
  });
  expect([...register.holders]).toEqual([
    [P, SMP],
    [PROVIDER, SMP],
  ]);
  expect(new Set(sml.seen.map(({ client }) => client))).toEqual(new Set([DEVELOPMENT_SEAT]));

  const prepared = await participants("prepare-migration", P);
  expect(prepared).toMatchObject({ code: 0, out: expect.stringMatching(/\n.{24}\n$/) as string });
  expect(register.keys.get(P)).toBe(prepared.out.trimEnd().split("\n").at(-1));
  const listed = await participants("list");
  expect(listed.out.split("\n").map((line) => line.split("  ").slice(0, 3).join(" "))).toEqual([
    `${PROVIDER} registered register`,
    `${P} registered prepare_migration`,
    "",
  ]);
  expect(await participants("unregister", P)).toMatchObject({ code: 0 });
  expect([...register.holders.keys()]).toEqual([PROVIDER]);

  register.holders.set(P, "OTHER");
  register.keys.set(P, "aB3#cD4$eF5%gH6(");
  expect(await participants("register", P)).toMatchObject({
    code: 1,
    out: "",
    err: expect.stringMatching(/another SMP.*kurier participants migrate/) as string,
  });
  expect(await participants("migrate", P, "--key", "aB3#cD4$eF5%gH6(")).toMatchObject({ code: 0 });
  expect(register.holders.get(P)).toBe(SMP);
});

test("an answer that is lost is told, listed, and settled by a person", async () => {
  const P = "0245:4141414141";
  sml.answer = () => "reset";
  const made = await kurier(["firms", "create", "--name", "Other firm", "--participant", P]);
  expect([made.code, (JSON.parse(made.out) as { registration: unknown }).registration]).toMatchObject([
    1,
    { kind: "manual_review" },
  ]);
  expect(JSON.parse(made.out)).toMatchObject({ clientSecret: expect.any(String) as string });
  expect(await participants("check", P)).toMatchObject({
    code: 1,
    err: expect.stringContaining("Nobody knows") as string,
  });
  expect((await participants("list", "--state", "manual_review")).out).toContain(P);
  expect(await participants("settle", P, "--state", "unregistered")).toMatchObject({ code: 0 });
  expect(sml.seen).toHaveLength(1);
});

test.each([
  [["register"], "Name one participant"],
  [["register", "nonsense"], "Name one participant"],
  [["register", "0245:4040404040", "--provider"], "Name one participant"],
  [["migrate", "0245:4040404040", "--key", "short"], "migration key"],
  [["migrate", "0245:4040404040", "--key-file", "/nowhere"], "cannot be read"],
  [["settle", "0245:4040404040"], "--state"],
  [["list", "--state", "x"], "--state"],
])("wrong words are told and nothing is asked: %j", async (args, sentence) => {
  expect(await participants(...args)).toMatchObject({ code: 2, err: expect.stringContaining(sentence) as string });
  expect(sml.seen).toEqual([]);
});

test("a participant at which another process is, perhaps one that was killed, is said to be busy, and not to have no record", async () => {
  const participant = "0245:4141414141" as ParticipantId;
  await beginRegistration(db.sql, {
    id: newId(systemClock),
    key: participantKey(participant),
    participant,
    smpId: SMP,
    operation: "register",
    now: systemClock.now(),
    lease_ms: 3_600_000,
    migrationKey: undefined,
  });
  const told = await participants("unregister", participant);
  expect(told).toMatchObject({ code: 1, out: "" });
  expect(told.err).toBe(`${participant}: Another process is at this participant. Try again in a minute.\n`);
});

test("without SML_SMP_ID nothing is registered, and the command says what is missing; with it PUBLIC_URL must be set", async () => {
  expect(await kurier(["participants", "register", "0245:4040404040"], { SML_SMP_ID: "" })).toMatchObject({
    code: 78,
    err: expect.stringContaining("SML_SMP_ID must be set") as string,
  });
  expect(await kurier(["participants", "list"], { PUBLIC_URL: "" })).toMatchObject({
    code: 78,
    err: expect.stringContaining("PUBLIC_URL must be set") as string,
  });
  const made = await kurier(["firms", "create", "--name", "Third firm", "--participant", "0245:4242424242"], {
    SML_SMP_ID: "",
  });
  expect(JSON.parse(made.out)).not.toHaveProperty("registration");
  expect(sml.seen).toEqual([]);
});

test("POST /admin/firms registers the participant, and the start tells a provider that is not found", async () => {
  await db.sql`delete from registration_operation where participant_key = ${PROVIDER}`;
  await db.sql`delete from registration where participant_key = ${PROVIDER}`;
  const engine = await startEngineProcess({ dataDir, env });
  try {
    const create = (participantId: string): ReturnType<typeof http> =>
      http(
        "POST",
        `${engine.sandbox.adminUrl}/admin/firms`,
        {
          authorization: `Bearer ${engine.sandbox.admin.token}`,
          "content-type": "application/json",
        },
        JSON.stringify({ name: "Admin's firm", participantId }),
      );
    expect(await create("0245:4343434343")).toMatchObject({
      status: 201,
      json: { registration: { kind: "done", state: "registered" } },
    });
    expect(register.holders.get("0245:4343434343")).toBe(SMP);
    sml.answer = () => ({ status: 503, body: "" });
    expect(await create("0245:4444444444")).toMatchObject({
      status: 201,
      json: {
        clientSecret: expect.any(String) as string,
        registration: { kind: "unavailable", state: "unregistered" },
      },
    });
    expect((await http("GET", `${engine.sandbox.adminUrl}/metrics`)).text).toMatch(
      /^kurier_registrations_state\{state="registered"\} [1-9]/m,
    );
    expect(engine.output()).toContain("kurier participants register --provider");
  } finally {
    await engine.stop();
  }
});
