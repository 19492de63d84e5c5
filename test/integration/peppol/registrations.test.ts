/**
 * Goal: what the network says of our participants and what we have written down of them never part, whatever gets lost on
 * the way; and nothing is asked of the SML a second time to find out. The SML here keeps a register, and a DNS server answers from it.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { loadConfig } from "../../../engine/base/config.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createResolveNaptr } from "../../../engine/peppol/network/dns.js";
import { createOwnKeys } from "../../../engine/peppol/pki/own-keys.js";
import type { OwnKeys } from "../../../engine/peppol/pki/own-keys.js";
import { publishedParticipants } from "../../../engine/peppol/discovery/published.js";
import {
  changeRegistration,
  checkRegistration,
  REGISTRATION_RESULTS,
  settleReview,
} from "../../../engine/peppol/discovery/registrations.js";
import type {
  NetworkRegistrationPorts,
  RegistrationRequest,
  RegistrationResult,
} from "../../../engine/peppol/discovery/registrations.js";
import { openRegistrationPorts } from "../../../engine/peppol/discovery/registrations-setup.js";
import { createSmlRegistry, isMigrationKey } from "../../../engine/peppol/discovery/sml-registry.js";
import type { Registry } from "../../../engine/peppol/discovery/sml-registry.js";
import { createSml } from "../../../engine/peppol/discovery/sml.js";
import { endRegistration, findRegistration, listRegistrations } from "../../../engine/storage/registrations.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { participantsCommands } from "../../../gateway/commands/participants.js";
import { startDnsServer } from "../../support/peppol/dns-server.js";
import type { TestDnsServer } from "../../support/peppol/dns-server.js";
import { fakeClock } from "../../support/fake-clock.js";
import { hearCommand } from "../../support/engines/heard-command.js";
import { closableDatabase } from "../../support/database/closable.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { locatorFault, smlRegister, startFakeSml } from "../../support/peppol/sml.js";
import type { FakeSml, SmlCall, SmlRegister } from "../../support/peppol/sml.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";

const P = "0245:2020202020" as ParticipantId;
const PROVIDER = "0242:000001" as ParticipantId;
const ZONE = "participant.test";
const OUR_SMP = "KURIER-SMP";
const clock = fakeClock();
let db: TestDatabase;
let dns: TestDnsServer;
let sml: FakeSml;
let register: SmlRegister;
let keys: OwnKeys;
const seenResults = new Set<string>();

beforeAll(async () => {
  const pki = await makeTestPki();
  keys = await createOwnKeys({
    store: pki.store,
    clock,
    log: silentLog,
    load: () => Promise.resolve([pki.leaf("ap", "PSK000001"), pki.leaf("smp", "PSK000010")]),
  });
  [db, sml, dns] = await Promise.all([freshDatabase(), startFakeSml(pki), startDnsServer(() => undefined)]);
  await seedFirm(db.sql, P);
});
afterAll(async () => {
  sml.close();
  await dns.close();
  await db.drop();
});
beforeEach(async () => {
  register = smlRegister(ZONE, { [OUR_SMP]: "http://smp.kurier.example/smp/", OTHER: "https://smp.other.example" });
  sml.seen.length = 0;
  sml.answer = register.answer;
  dns.answer = (name, transport) => register.dns(name, transport);
  await db.sql`truncate registration, registration_operation`;
});

function ports(changes: Partial<NetworkRegistrationPorts> = {}): NetworkRegistrationPorts {
  const published = publishedParticipants(db.sql, keys, clock);
  const identity = (): NonNullable<ReturnType<OwnKeys["smp"]>> => {
    const smp = keys.smp();
    if (smp === undefined) throw new Error("no SMP key");
    return smp;
  };
  return {
    sql: db.sql,
    sealer: createSealer([Buffer.alloc(32, 7)]),
    clock,
    smpId: OUR_SMP,
    smpUrl: "https://SMP.kurier.example/smp",
    registry: createSmlRegistry({ url: sml.url, smpId: OUR_SMP, identity, ca: [sml.ca], timeout_ms: 2_000 }),
    sml: createSml({ zone: ZONE, clock, resolveNaptr: createResolveNaptr({ servers: [dns], timeout_ms: 200 }) }),
    isPublished: async (participant) => (await published(participant)) !== undefined,
    ...changes,
  };
}

test("our SMP knows a participant of ours also when it is asked while Postgres is started again", async () => {
  const closable = closableDatabase(db);
  try {
    await closable.close();
    const published = publishedParticipants(closable.sql, keys, closable.openAtLook(clock, 5));
    expect((await published(P))?.capabilities.length).toBeGreaterThan(0);
    expect(await published("0245:0000000000")).toBeUndefined();
  } finally {
    await closable.stop();
  }
});

const note = (result: RegistrationResult): RegistrationResult => {
  seenResults.add(result.kind);
  return result;
};
const change = async (
  operation: Exclude<RegistrationRequest["operation"], "migrate">,
  participant = P,
  changes?: Partial<NetworkRegistrationPorts>,
): Promise<RegistrationResult> => note(await changeRegistration(ports(changes), participant, { operation }));
const migrate = async (migrationKey: string): Promise<RegistrationResult> =>
  note(await changeRegistration(ports(), P, { operation: "migrate", migrationKey }));
const check = async (): Promise<RegistrationResult> => note(await checkRegistration(ports(), P));
const settle = async (state: "registered" | "unregistered"): Promise<RegistrationResult> =>
  note(await settleReview(ports(), P, state));
const recorded = async (): Promise<string | undefined> => (await findRegistration(db.sql, P))?.state;
const asked = (): string[] =>
  sml.seen.map(({ element }) => element.replace(/(ParticipantIdentifier|MigrationRecord)$/, ""));
const story = async (): Promise<string[]> =>
  (
    await db.sql<
      { operation: string; outcome: string | null; state: string | null }[]
    >`select operation, outcome, state from registration_operation order by position`
  ).map(({ operation, outcome, state }) => `${operation} ${outcome ?? "?"} ${state ?? "?"}`);

/** Does what is asked, and loses the answer. */
const doneButLost = (call: SmlCall): "reset" => {
  register.answer(call);
  return "reset";
};

describe("a participant", () => {
  test("a participant is registered once, however often it is asked for, and found at our SMP", async () => {
    expect(await change("register")).toMatchObject({ kind: "done", state: "registered" });
    expect(await change("register")).toEqual({ kind: "already", state: "registered", code: undefined });
    expect([...register.holders]).toEqual([[P, OUR_SMP]]);
    expect(asked()).toEqual(["Create"]);
    expect(await check()).toEqual({ kind: "done", state: "registered", code: "dns_us" });
  });

  test("a participant is taken out once", async () => {
    await change("register");
    expect(await change("unregister")).toMatchObject({ kind: "done", state: "unregistered" });
    expect(await change("unregister")).toMatchObject({ kind: "already" });
    expect(register.holders.size).toBe(0);
    expect(asked()).toEqual(["Create", "Delete"]);
    expect(await story()).toEqual(["register done registered", "unregister done unregistered"]);
  });

  test("a participant of nobody here is not registered: the network would be sent to an SMP that knows nothing of it", async () => {
    expect(await change("register", "0245:9999999999" as ParticipantId)).toEqual({
      kind: "not_published",
      state: undefined,
      code: undefined,
    });
    expect(asked()).toEqual([]);
  });

  test("the provider that we are ourselves is registered like any other participant", async () => {
    expect(await change("register", PROVIDER)).toMatchObject({ kind: "done", state: "registered" });
    expect(register.holders.get(PROVIDER)).toBe(OUR_SMP);
  });

  test("a participant of another SMP is a conflict, and stays where it is", async () => {
    register.holders.set(P, "OTHER");
    expect(await change("register")).toMatchObject({
      kind: "conflict",
      state: "unregistered",
      code: "BadRequestFault",
    });
    sml.answer = () => locatorFault("UnauthorizedFault");
    expect(await change("register")).toMatchObject({
      kind: "conflict",
      state: "unregistered",
      code: "UnauthorizedFault",
    });
    expect(register.holders.get(P)).toBe("OTHER");
  });

  test("a participant that the network knows better than our record is written down as it is", async () => {
    register.holders.set(P, OUR_SMP);
    expect(await change("register")).toMatchObject({ kind: "done", state: "registered" });
    register.holders.delete(P);
    expect(await change("unregister")).toMatchObject({ kind: "done", state: "unregistered" });
  });

  test("a participant is left as it was when the SML refuses, fails or is away, and can be asked for again", async () => {
    for (const [answer, kind] of [
      [locatorFault("UnauthorizedFault"), "refused"],
      [locatorFault("BadRequestFault"), "refused"],
      [locatorFault("InternalErrorFault"), "unavailable"],
      [{ status: 503, body: "" }, "unavailable"],
    ] as const) {
      sml.answer = () => answer;
      expect(await change("register")).toMatchObject({ kind, state: "unregistered" });
    }
    sml.answer = register.answer;
    expect(await change("register")).toMatchObject({ kind: "done", state: "registered" });
    sml.answer = () => ({ status: 503, body: "" });
    expect(await change("unregister")).toMatchObject({ kind: "unavailable", state: "registered" });
  });
});

describe("an answer that is lost", () => {
  test("an answer that is lost after the SML did it is proved by DNS", async () => {
    sml.answer = doneButLost;
    expect(await change("register")).toMatchObject({ kind: "done", state: "registered" });
    expect(await change("unregister")).toMatchObject({ kind: "done", state: "unregistered" });
    expect(asked()).toEqual(["Create", "Delete"]);
  });

  test("an answer that is lost and that DNS does not prove leaves a review, and nothing is asked a second time however often it is repeated", async () => {
    sml.answer = () => "reset";
    expect(await change("register")).toMatchObject({ kind: "manual_review", state: "manual_review" });
    sml.answer = register.answer;
    for (const operation of ["register", "unregister"] as const)
      expect(await change(operation)).toMatchObject({
        kind: "manual_review",
        state: "manual_review",
        code: "dns_nobody",
      });
    expect(asked()).toEqual(["Create"]);
    expect(await recorded()).toBe("manual_review");
  });

  test("an answer that is lost is proved by DNS later", async () => {
    sml.answer = () => "reset";
    await change("register");
    register.holders.set(P, OUR_SMP);
    expect(await check()).toEqual({ kind: "done", state: "registered", code: "dns_us" });
    expect(await story()).toEqual([expect.stringMatching(/^register manual_review/), "check dns_us registered"]);
  });

  test("an answer that is lost is settled by the next operation once DNS proves how it stands", async () => {
    sml.answer = () => "reset";
    await change("register");
    register.holders.set(P, OUR_SMP);
    sml.answer = register.answer;
    expect(await change("unregister")).toMatchObject({ kind: "done", state: "unregistered" });
    expect(asked()).toEqual(["Create", "Delete"]);
  });

  test("an answer to a register that is lost while DNS names another SMP is a conflict", async () => {
    register.holders.set(P, "OTHER");
    sml.answer = () => "reset";
    expect(await change("register")).toMatchObject({ kind: "conflict", state: "unregistered" });
  });

  test("an answer that is lost is proved neither way while DNS does not answer", async () => {
    await change("register");
    sml.answer = doneButLost;
    dns.answer = () => ({ rcode: 2 });
    expect(await change("unregister")).toMatchObject({ kind: "manual_review" });
    expect(await check()).toMatchObject({ kind: "manual_review", code: "dns_unknown" });
  });

  test("an answer that is lost is settled by a person, once, and only while it is under review", async () => {
    sml.answer = () => "reset";
    await change("register");
    expect(await settle("unregistered")).toMatchObject({ kind: "done", state: "unregistered" });
    expect(await settle("unregistered")).toMatchObject({ kind: "already" });
    expect(await settle("registered")).toMatchObject({ kind: "refused", state: "unregistered", code: "NOT_IN_REVIEW" });
    expect(note(await settleReview(ports(), PROVIDER, "registered"))).toMatchObject({ kind: "not_registered" });
    sml.answer = register.answer;
    expect(await change("register")).toMatchObject({ kind: "done" });
  });
});

describe("a migration", () => {
  test("a migration away: one key, sealed, the same however often it is asked for; once another SMP has used it, DNS says so", async () => {
    expect(await change("prepare_migration")).toMatchObject({ kind: "not_registered" });
    await change("register");
    const { kind, migrationKey = "" } = await change("prepare_migration");
    expect([kind, isMigrationKey(migrationKey), register.keys.get(P)]).toEqual(["done", true, migrationKey]);
    expect(await change("prepare_migration")).toMatchObject({ kind: "already", migrationKey });
    expect(asked()).toEqual(["Create", "Prepare"]);
    const [row] = await db.sql<
      { text: string; sealed: Buffer }[]
    >`select registration::text as text, migration_key_sealed as sealed from registration`;
    expect(row?.text).not.toContain(migrationKey);
    expect(row?.sealed.includes(migrationKey)).toBe(false);
    register.holders.set(P, "OTHER");
    expect(await check()).toEqual({ kind: "done", state: "unregistered", code: "dns_other" });
    expect((await db.sql`select 1 from registration where migration_key_sealed is not null`).length).toBe(0);
  });

  test("a migration away, with its answer lost: a review, which the same key asked for again ends", async () => {
    await change("register");
    sml.answer = doneButLost;
    const first = await change("prepare_migration");
    expect(first).toMatchObject({ kind: "manual_review", state: "manual_review" });
    expect(await check()).toMatchObject({ kind: "manual_review" });
    sml.answer = register.answer;
    expect(await change("prepare_migration")).toMatchObject({
      kind: "done",
      state: "registered",
      migrationKey: first.migrationKey ?? "none",
    });
    expect(
      sml.seen
        .filter(({ element }) => element === "PrepareMigrationRecord")
        .map(({ values }) => values["MigrationKey"]),
    ).toEqual([first.migrationKey, first.migrationKey]);
  });

  test("a migration away, refused: the key is forgotten, and the participant stays", async () => {
    await change("register");
    sml.answer = () => locatorFault("UnauthorizedFault");
    const refused = await change("prepare_migration");
    expect(refused).toMatchObject({ kind: "refused", state: "registered" });
    expect(refused.migrationKey).toBeUndefined();
    expect((await db.sql`select 1 from registration where migration_key_sealed is not null`).length).toBe(0);
  });

  test("a migration here: with the key that its holder has prepared, and with no other", async () => {
    const key = "aB3#cD4$eF5%gH6(";
    register.holders.set(P, "OTHER");
    register.keys.set(P, key);
    expect(await migrate("zZ9#yY8$xX7%wW6(")).toMatchObject({
      kind: "refused",
      state: "unregistered",
      code: "NotFoundFault",
    });
    expect(await migrate("no key")).toMatchObject({ kind: "refused", code: "MIGRATION_KEY" });
    expect(await migrate(key)).toMatchObject({ kind: "done", state: "registered" });
    expect(register.holders.get(P)).toBe(OUR_SMP);
    expect(await migrate(key)).toMatchObject({ kind: "already" });
  });

  test("a migration here, with its answer lost: DNS proves it, or it is under review", async () => {
    const key = "aB3#cD4$eF5%gH6(";
    register.holders.set(P, "OTHER");
    register.keys.set(P, key);
    sml.answer = () => "reset";
    expect(await migrate(key)).toMatchObject({ kind: "manual_review" });
    // The old holder may only be there still.
    expect(await check()).toMatchObject({ kind: "manual_review", code: "dns_other" });
    await settle("unregistered");
    sml.answer = doneButLost;
    expect(await migrate(key)).toMatchObject({ kind: "done", state: "registered" });
  });
});

describe("processes", () => {
  test("two processes that ask at once ask the SML once", async () => {
    const results = await Promise.all([change("register"), change("register"), change("register")]);
    expect(asked()).toEqual(["Create"]);
    expect(results.map(({ kind }) => kind).filter((kind) => kind === "done")).toHaveLength(1);
    expect(results.every(({ kind }) => kind === "done" || kind === "busy" || kind === "already")).toBe(true);
  });

  /** A registry that does what it is asked and whose caller dies before the answer. */
  const dying: Registry = {
    create: () => new Promise(() => undefined),
    delete: () => new Promise(() => undefined),
    prepareToMigrate: () => new Promise(() => undefined),
    migrate: () => new Promise(() => undefined),
  };
  async function die(operation: "register" | "unregister"): Promise<void> {
    void changeRegistration(ports({ registry: dying }), P, { operation });
    while ((await db.sql`select 1 from registration where operation_id is not null`).length === 0);
    expect(await change(operation)).toMatchObject({ kind: "busy" });
    await db.sql`update registration set claimed_until = clock_timestamp()`;
  }

  test("a process that died while it asked leaves a review behind, never a second question", async () => {
    await die("register");
    expect(await change("register")).toMatchObject({
      kind: "manual_review",
      state: "manual_review",
      code: "dns_nobody",
    });
    expect(asked()).toEqual([]);
    expect(await story()).toEqual(["register interrupted manual_review"]);
    register.holders.set(P, OUR_SMP);
    expect(await change("register")).toMatchObject({ kind: "already", state: "registered" });
    expect(asked()).toEqual([]);
  });

  test("a process that died is found by a look at DNS, too", async () => {
    await die("register");
    expect(await check()).toMatchObject({ kind: "manual_review", code: "dns_nobody" });
    expect(await settle("unregistered")).toMatchObject({ kind: "done" });
    await change("register");
    await die("unregister");
    register.holders.delete(P);
    expect(await check()).toMatchObject({ kind: "done", state: "unregistered", code: "dns_nobody" });
  });

  test("a process that comes back too late changes nothing: its operation counts as interrupted", async () => {
    let id = "";
    const slow: Registry = {
      ...dying,
      create: async () => {
        [{ id = "" } = {}] = await db.sql<{ id: string }[]>`select operation_id as id from registration`;
        await db.sql`update registration set claimed_until = clock_timestamp()`;
        await change("register");
        return { kind: "done", code: "http_200" };
      },
    };
    expect(await change("register", P, { registry: slow })).toMatchObject({ kind: "manual_review" });
    expect(await recorded()).toBe("manual_review");
    expect(
      await endRegistration(db.sql, { id, key: P, state: "registered", outcome: "done", code: "x", now: clock.now() }),
    ).toBeUndefined();
  });
});

test("registrations are listed by participant, page by page, and by state", async () => {
  await change("register", PROVIDER);
  sml.answer = () => "reset";
  await change("register");
  const list = async (
    page: { state?: "registered" | "manual_review"; after?: string; limit?: number } = {},
  ): Promise<string[]> =>
    (await listRegistrations(db.sql, { state: page.state, after: page.after ?? "", limit: page.limit ?? 10 })).map(
      ({ participant, state }) => `${participant} ${state}`,
    );
  expect(await list()).toEqual([`${PROVIDER} registered`, `${P} manual_review`]);
  expect(await list({ limit: 1 })).toEqual([`${PROVIDER} registered`]);
  expect(await list({ after: PROVIDER })).toEqual([`${P} manual_review`]);
  expect(await list({ state: "manual_review" })).toEqual([`${P} manual_review`]);
});

/** `kurier participants list`. */
const listed = (...args: readonly string[]) =>
  hearCommand({ commands: participantsCommands, name: "participants list", databaseUrl: db.url, args });

test("the command line goes on behind a registration however it is spelled, and refuses to behind none, wherever it would sort", async () => {
  await change("register", PROVIDER);
  await change("register");
  const rows = (await listed()).said.trimEnd().split("\n");
  expect(rows.map((row) => row.split("  ")[0])).toEqual([PROVIDER, P]);
  const behind = await listed("--after", PROVIDER);
  expect([behind.code, behind.said]).toEqual([0, `${rows[1] ?? ""}\n`]);
  const last = await listed("--after", `iso6523-actorid-upis::${P}`);
  expect([last.code, last.said]).toEqual([0, ""]);
  for (const unknown of ["0001:1", "9999:1"]) {
    const none = await listed("--after", unknown);
    expect([unknown, none.code, none.said]).toEqual([unknown, 1, "There is no registration of this participant.\n"]);
  }
  await expect(listed("--after", "somebody")).rejects.toThrow("--after must be <scheme>:<id>");
});

test("without an id of our SMP nothing is registered; with one, its key and its address must be there, and the network's own addresses are the default", async () => {
  const setup = { sql: db.sql, sealer: createSealer([Buffer.alloc(32, 7)]), keys, clock };
  const config = { ...loadConfig({}), PUBLIC_URL: "https://kurier.example/" };
  expect(openRegistrationPorts({ ...setup, config })).toBeUndefined();
  expect(openRegistrationPorts({ ...setup, config: { ...config, SML_SMP_ID: OUR_SMP } })).toMatchObject({
    smpId: OUR_SMP,
    smpUrl: "https://kurier.example/smp",
  });
  expect(() => openRegistrationPorts({ ...setup, config: { ...loadConfig({}), SML_SMP_ID: OUR_SMP } })).toThrow(
    "PUBLIC_URL",
  );
  expect(() =>
    openRegistrationPorts({
      ...setup,
      keys: { ...keys, smp: () => undefined },
      config: { ...config, SML_SMP_ID: OUR_SMP },
    }),
  ).toThrow("the key of our SMP");
  expect(() =>
    openRegistrationPorts({ ...setup, config: { ...config, SML_SMP_ID: OUR_SMP, DNS_SERVERS: ["nowhere"] } }),
  ).toThrow("DNS_SERVERS");
});

test("every result of the list has a test that makes it", () => {
  expect(Object.keys(REGISTRATION_RESULTS).filter((kind) => !seenResults.has(kind))).toEqual([]);
});
