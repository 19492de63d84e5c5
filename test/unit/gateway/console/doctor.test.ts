/** `kurier doctor`: a healthy installation passes every row of the table, and each row finds the fault that it is for. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { LIMITS } from "../../../../engine/base/limits.js";
import { CHECKS, tokenBits, judgeCheck } from "../../../../gateway/commands/operating/checks.js";
import type { Installation } from "../../../../gateway/commands/operating/checks.js";
import { gatherInstallation } from "../../../../gateway/commands/operating/facts.js";

const DATABASE = {
  fault: undefined,
  version: 180_000,
  settings: {
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    jit: "off",
    enable_seqscan: "off",
    lock_timeout: "2s",
    default_transaction_isolation: "read committed",
    server_encoding: "UTF8",
  },
  losesStatements: false,
  clockSkew_ms: 3,
  migrations: [],
  keyringFault: undefined,
  wakeUpAge_s: 60,
  filled: ["EVIDENCE_STORE", "PAYLOAD_STORE"],
} as const;
const PKI = { fault: undefined, hasKeystore: true, authorities: 2, endsInDays: 300 } as const;
const ROOM = { fault: undefined, bytes: LIMITS.doctor_disk_bytes_min, share: 0.5 } as const;
const HEALTHY: Installation = {
  environment: "production",
  configFaults: [],
  adminHost: "127.0.0.1",
  adminPublished: undefined,
  adminToken: "3q2-7wAbCdEfGhIjKlMnOpQrStUvWxYz0123456789_x",
  publicUrl: "https://ap.example",
  trustedProxies: 1,
  revocation: "hard",
  isMasterKeyGiven: true,
  pki: PKI,
  reached: { fault: undefined, status: 200 },
  database: DATABASE,
  isDatabaseGiven: true,
  nats: { fault: undefined, isSynchronous: true },
  mail: "server",
  folders: [
    { name: "DATA_DIR", room: ROOM, isEmpty: false },
    { name: "EVIDENCE_STORE", room: ROOM, isEmpty: false },
    { name: "PAYLOAD_STORE", room: ROOM, isEmpty: false },
  ],
};

const settings = (changes: Partial<Record<keyof typeof DATABASE.settings, string>>) => ({
  database: { ...DATABASE, settings: { ...DATABASE.settings, ...changes } },
});

/** An installation of which one folder is otherwise. */
const folder = (name: string, changes: Partial<Installation["folders"][number]>) => ({
  folders: HEALTHY.folders.map((one) => (one.name === name ? { ...one, ...changes } : one)),
});

/** Row of the table → what is wrong with an installation, and a word of what is said. */
const FAULTS: Readonly<Record<string, readonly (readonly [Partial<Installation>, string])[]>> = {
  configuration: [[{ configFaults: ["PORT must be a port number."] }, "PORT"]],
  environment: [[{ environment: "sandbox" }, "ENVIRONMENT"]],
  keystore: [
    [{ pki: { fault: "AS4_KEYSTORE cannot be opened." } }, "AS4_KEYSTORE"],
    [{ pki: { ...PKI, hasKeystore: false } }, "development"],
    [{ pki: { ...PKI, endsInDays: LIMITS.doctor_certificate_days } }, "ends in 30 days"],
  ],
  trust: [
    [{ pki: { ...PKI, authorities: 0 } }, "PEPPOL_TRUST_DIR has no certification authority"],
    [{ pki: { ...PKI, hasKeystore: false, authorities: 0 } }, "authorities of the development PKI are trusted"],
  ],
  revocation: [[{ revocation: "off" }, "REVOCATION"]],
  "public url": [
    [{ publicUrl: undefined }, "PUBLIC_URL is not set"],
    [{ reached: { fault: "connect ECONNREFUSED" } }, "ECONNREFUSED"],
    [{ reached: { fault: undefined, status: 502 } }, "502"],
  ],
  tls: [[{ publicUrl: "http://ap.example" }, "https"]],
  proxies: [[{ trustedProxies: 0 }, "TRUSTED_PROXIES"]],
  "admin listener": [
    [{ adminHost: "0.0.0.0" }, "ADMIN_HOST"],
    [{ adminHost: "::" }, "ADMIN_HOST"],
    [{ adminHost: "::0" }, "ADMIN_HOST"],
    [{ adminHost: "0.0.0.0", adminPublished: "0.0.0.0" }, "ADMIN_PORT is published at 0.0.0.0"],
    [{ adminHost: "127.0.0.1", adminPublished: "::" }, "ADMIN_PORT is published at ::"],
    [{ adminHost: "0.0.0.0", adminPublished: "::ffff:0.0.0.0" }, "ADMIN_PORT is published at ::ffff:0.0.0.0"],
  ],
  "admin token": [
    [{ adminToken: undefined }, "ADMIN_TOKEN is not set: /admin and the console are closed"],
    [{ adminToken: undefined, environment: "sandbox" }, "the sandbox has made one"],
    [{ adminToken: "a".repeat(64) }, "guessed"],
    [{ adminToken: "abababababababababababababababab" }, "guessed"],
    [{ adminToken: "kurier-admin".repeat(8) }, "guessed"],
  ],
  "master key": [
    [{ isMasterKeyGiven: false }, "MASTER_KEY is not set"],
    [{ database: { ...DATABASE, keyringFault: "The canary is damaged." } }, "canary"],
  ],
  database: [
    [{ database: { fault: "Nobody listens at DATABASE_URL." } }, "Nobody listens"],
    [{ isDatabaseGiven: false }, "the engine's own in DATA_DIR"],
  ],
  "postgres version": [[{ database: { ...DATABASE, version: 140_010 } }, "Postgres is 14"]],
  "postgres fsync": [[settings({ fsync: "off" }), "fsync"]],
  "postgres full_page_writes": [[settings({ full_page_writes: "off" }), "full_page_writes"]],
  "postgres synchronous_commit": [
    [settings({ synchronous_commit: "off" }), "synchronous_commit"],
    [settings({ synchronous_commit: "local" }), "synchronous_commit"],
  ],
  "postgres jit": [[settings({ jit: "on" }), "jit"]],
  "postgres enable_seqscan": [[settings({ enable_seqscan: "on" }), "enable_seqscan of Postgres is on"]],
  "postgres lock_timeout": [[settings({ lock_timeout: "0" }), "lock_timeout of Postgres is 0"]],
  "postgres default_transaction_isolation": [
    [
      settings({ default_transaction_isolation: "serializable" }),
      "default_transaction_isolation of Postgres is serial",
    ],
  ],
  "postgres statements": [[{ database: { ...DATABASE, losesStatements: true } }, "prepare=false"]],
  "postgres server_encoding": [
    [settings({ server_encoding: "SQL_ASCII" }), "server_encoding of Postgres is SQL_ASCII"],
  ],
  clock: [
    [{ database: { ...DATABASE, clockSkew_ms: LIMITS.doctor_clock_skew_ms + 1 } }, "clock"],
    [{ database: { ...DATABASE, clockSkew_ms: -LIMITS.doctor_clock_skew_ms - 1 } }, "clock"],
  ],
  migrations: [[{ database: { ...DATABASE, migrations: ["0230_console.sql"] } }, "0230_console.sql"]],
  nats: [[{ nats: { fault: "NATS does not answer.", isSynchronous: undefined } }, "NATS"]],
  "nats sync": [
    [{ nats: { fault: undefined, isSynchronous: false } }, "sync_interval"],
    [{ nats: { fault: undefined, isSynchronous: undefined, monitorFault: "fetch failed" } }, "fetch failed"],
  ],
  "wake-ups": [[{ database: { ...DATABASE, wakeUpAge_s: 61 } }, "61 s"]],
  mail: [[{ mail: undefined }, "SMTP_URL is not set"]],
  disk: [
    [folder("DATA_DIR", { room: { ...ROOM, bytes: ROOM.bytes - 1 } }), "DATA_DIR has 5.0 GiB left"],
    [folder("EVIDENCE_STORE", { room: { ...ROOM, share: 0.01 } }), "EVIDENCE_STORE has 5.0 GiB left, 1 % of its disk"],
    [folder("PAYLOAD_STORE", { room: { fault: "ENOTCONN" } }), "PAYLOAD_STORE cannot be looked at: ENOTCONN"],
  ],
  stores: [
    [folder("EVIDENCE_STORE", { isEmpty: true }), "EVIDENCE_STORE is an empty folder"],
    [folder("PAYLOAD_STORE", { isEmpty: true }), "PAYLOAD_STORE is an empty folder"],
  ],
};

const missing = (installation: Installation) =>
  CHECKS.flatMap((check) => {
    const fault = check.missing(installation);
    return fault === undefined ? [] : [[check.name, fault] as const];
  });

describe("the table of kurier doctor", () => {
  test("a healthy installation lacks nothing, with NATS, without it, and where nobody says how it writes", () => {
    expect(missing(HEALTHY)).toEqual([]);
    expect(missing({ ...HEALTHY, nats: "postgres" })).toEqual([]);
    expect(missing({ ...HEALTHY, nats: "embedded" })).toEqual([]);
    expect(missing({ ...HEALTHY, mail: "folder" })).toEqual([]);
    expect(
      missing({ ...HEALTHY, ...folder("EVIDENCE_STORE", { isEmpty: true }), database: { ...DATABASE, filled: [] } }),
    ).toEqual([]);
    expect(missing({ ...HEALTHY, adminHost: "0.0.0.0", adminPublished: "127.0.0.1" })).toEqual([]);
    expect(missing({ ...HEALTHY, nats: { fault: undefined, isSynchronous: undefined } })).toEqual([]);
  });

  test.each([
    ["postgres", [/Postgres carries the streams/, /names no server/]],
    ["embedded", [/own nats-server carries the streams/, /names no server/]],
    [{ fault: undefined, isSynchronous: undefined }, [/NATS servers answer/, /^not asked/]],
    [{ fault: undefined, isSynchronous: true }, [/NATS servers answer/, /^JetStream writes before it answers$/]],
  ] as const)("a row that passes says what is so, and of servers that are not there nothing: %j", (nats, words) => {
    const said = CHECKS.filter(({ name }) => name.startsWith("nats")).map(({ promise }) =>
      typeof promise === "string" ? promise : promise({ ...HEALTHY, nats }),
    );
    expect(said).toEqual(words.map((word) => expect.stringMatching(word) as string));
  });

  test("a row that passes promises no more than was looked at: an address, a folder that is not empty, a token's characters", () => {
    const promised = Object.fromEntries(CHECKS.map(({ name, promise }) => [name, promise]));
    expect(promised).toMatchObject({
      trust: "PEPPOL_TRUST_DIR has authorities; whether they are the network's, kurier pki show lets you compare",
      tls: "PUBLIC_URL begins with https:",
      proxies: "TRUSTED_PROXIES names a network",
      "admin token": "ADMIN_TOKEN is set and does not repeat a few characters",
    });
  });

  test("each row has a fault that it is for, and each name stands once", () => {
    const names = CHECKS.map(({ name }) => name);
    expect(Object.keys(FAULTS).sort()).toEqual([...names].sort());
    expect(new Set(names).size).toBe(names.length);
  });

  test.each(CHECKS.map(({ name }) => [name] as const))(
    "the row %s finds its faults, in one sentence a fault",
    (name) => {
      for (const [fault, word] of FAULTS[name] ?? []) {
        const said = missing({ ...HEALTHY, ...fault }).find(([row]) => row === name)?.[1] ?? "";
        expect(said).toContain(word);
        expect(said).toMatch(/\.$/);
        expect(said).not.toContain("\n");
      }
    },
  );

  test("a database that is away is one fault, not one for each of its settings", () => {
    expect(missing({ ...HEALTHY, database: { fault: "Nobody listens." } })).toEqual([["database", "Nobody listens."]]);
  });

  test("what could not be looked at is unknown, and not said to be well", () => {
    const states = (installation: Installation, state: string): readonly string[] =>
      CHECKS.filter((check) => judgeCheck(check, installation).state === state).map(({ name }) => name);
    expect(states({ ...HEALTHY, database: { fault: "Nobody listens." } }, "unknown")).toEqual([
      ...["master key", "postgres version", "postgres fsync", "postgres full_page_writes"],
      ...["postgres synchronous_commit", "postgres jit", "postgres enable_seqscan", "postgres lock_timeout"],
      ...["postgres default_transaction_isolation", "postgres statements", "postgres server_encoding"],
      ...["clock", "migrations", "wake-ups", "stores"],
    ]);
    expect(states({ ...HEALTHY, pki: { fault: "AS4_KEYSTORE cannot be opened." } }, "unknown")).toEqual(["trust"]);
    expect(states(HEALTHY, "ok")).toHaveLength(CHECKS.length);
  });

  test.each(["wake-ups", "stores"])(
    "what the row %s is about is not said to be well where the schema is older",
    (name) => {
      const older = { ...DATABASE, migrations: ["0352_x.sql"], wakeUpAge_s: undefined, filled: undefined };
      const check = CHECKS.find((one) => one.name === name);
      expect(check && judgeCheck(check, { ...HEALTHY, database: older })).toEqual({
        state: "unknown",
        words: "not looked at before the schema is that of this release",
      });
    },
  );

  test("no row says a token or a key", () => {
    const adminToken = "ababababababababababababababababababab";
    expect(JSON.stringify(missing({ ...HEALTHY, adminToken }))).not.toContain(adminToken);
  });

  test.each([
    ["0123456789abcdeffedcba9876543210", 128],
    ["0123456789abcdef0123456789abcdef", 64],
    ["0123456789abcdef0123456789abcdef0123456789a", 64],
    ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0],
  ])("the token %s has at most %d bits", (token, bits) => {
    expect(tokenBits(token)).toBe(bits);
  });
});

test("an environment that stops a start is told with every sentence, and nothing else is asked", async () => {
  const found = await gatherInstallation({ environment: { ENVIRONMENT: "production" }, natsMonitor: undefined });
  expect(found.configFaults.join(" ")).toMatch(/DATABASE_URL must be set.*MASTER_KEY must be set/);
});

test.each([
  [undefined, undefined],
  ["file:/var/spool/kurier", "folder"],
  ["smtps://kurier:secret@mail.example:465", "server"],
])("whether letters leave this machine is known of SMTP_URL: %s", async (SMTP_URL, mail) => {
  const environment = { ENVIRONMENT: "sandbox", DATA_DIR: "/nowhere/at/all", ...(SMTP_URL && { SMTP_URL }) };
  expect((await gatherInstallation({ environment, natsMonitor: undefined })).mail).toBe(mail);
});

test("a monitoring that does not answer is a fault of its row, and ends nothing", async () => {
  const environment = { ENVIRONMENT: "sandbox", NATS_URL: "nats://127.0.0.1:1", DATA_DIR: "/nowhere/at/all" };
  const found = await gatherInstallation({ environment, natsMonitor: "http://127.0.0.1:1" });
  expect(missing(found)).toContainEqual(["nats sync", expect.stringMatching(/--nats-monitor does not tell: .+\.$/)]);
});

test("room is told of the disk on which a store that is not there yet would be made", async () => {
  const environment = {
    ENVIRONMENT: "sandbox",
    NATS_URL: "embedded",
    DATA_DIR: tmpdir(),
    EVIDENCE_STORE: `file:${tmpdir()}/nowhere/at/all`,
    PAYLOAD_STORE: "file:/dev/null/payloads",
  };
  const { folders } = await gatherInstallation({ environment, natsMonitor: undefined });
  expect(folders.map(({ name, room }) => [name, room.fault])).toEqual([
    ["DATA_DIR", undefined],
    ["EVIDENCE_STORE", undefined],
    ["PAYLOAD_STORE", "ENOTDIR"],
  ]);
});

test("an installation whose database and address do not answer is judged all the same", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kurier-doctor-"));
  try {
    const found = await gatherInstallation({
      environment: {
        DATA_DIR: folder,
        ENVIRONMENT: "sandbox",
        DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
        PUBLIC_URL: "http://127.0.0.1:1",
        NATS_URL: "embedded",
      },
      natsMonitor: undefined,
    });
    const rows = missing(found).map(([name]) => name);
    for (const row of ["environment", "public url", "tls", "database", "keystore"]) expect(rows).toContain(row);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
