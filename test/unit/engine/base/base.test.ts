/** The base: configuration, ids, cursors, clock, log, errors, sealing. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { addDays, bratislavaDay, isStorable, parseInstant } from "../../../../engine/base/clock.js";
import { ConfigError, environmentExample, loadConfig, VARIABLES } from "../../../../engine/base/config.js";
import { createCursors, cutPage, placeIn } from "../../../../engine/base/cursors.js";
import { ERRORS, Refusal } from "../../../../engine/base/errors.js";
import {
  newId,
  parseParticipantId,
  parseRequestId,
  parseUuid,
  participantKey,
  participantParts,
} from "../../../../engine/base/ids.js";
import { createLog, errorFields } from "../../../../engine/base/log.js";
import { createMetrics, METRICS } from "../../../../engine/base/metrics.js";
import { documentTypeId, parseDocumentType } from "../../../../engine/peppol/envelope/identifiers.js";
import { createSealer } from "../../../../engine/storage/sealer.js";

const mistakes = (environment: Record<string, string>): readonly string[] => {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.sentences;
    throw error;
  }
};

describe("configuration", () => {
  test("an empty environment is a working sandbox", () => {
    expect(loadConfig({})).toMatchObject({
      HOST: "127.0.0.1",
      PORT: 8080,
      ADMIN_HOST: "127.0.0.1",
      ADMIN_PORT: 9090,
      ENVIRONMENT: "sandbox",
      SMP_MODE: "embedded",
      REVOCATION: "soft",
      LOG_LEVEL: "info",
    });
  });
  test("each mistake is one sentence that names its variable and quotes no value", () => {
    const sentences = mistakes({
      PORT: "http",
      ENVIRONMENT: "prod",
      MASTER_KEY: "c2VjcmV0",
      LOG_LEVEL: "loud",
      DATABASE_URL: "mysql://user:hunter2@db",
    });
    expect(sentences.map((sentence) => sentence.split(" ")[0])).toEqual(
      ["DATABASE_URL", "ENVIRONMENT", "MASTER_KEY", "PORT", "LOG_LEVEL"].sort(
        (a, b) => Object.keys(VARIABLES).indexOf(a) - Object.keys(VARIABLES).indexOf(b),
      ),
    );
    expect(sentences.join()).not.toMatch(/hunter2|c2VjcmV0/);
  });
  test("a misspelt name of ours stops the start; names that an orchestrator invents do not", () => {
    expect(mistakes({ ADMIN_PROT: "1" })).toHaveLength(1);
    expect(
      mistakes({ NATS_SERVICE_HOST: "10.0.0.1", NATS_PORT_4222_TCP: "tcp://10.0.0.1:4222", EDITOR: "vi" }),
    ).toEqual([]);
  });
  test("production refuses an embedded database, generated keys and plain HTTP", () => {
    expect(mistakes({ ENVIRONMENT: "production" }).map((sentence) => sentence.split(" ")[0])).toEqual([
      "REVOCATION",
      "DATABASE_URL",
      "MASTER_KEY",
      "AS4_KEYSTORE",
      "PEPPOL_TRUST_DIR",
      "PUBLIC_URL",
    ]);
  });
  test("an SMP that is registered needs an address, and the register is spoken to over TLS only", () => {
    expect(mistakes({ SML_SMP_ID: "KURIER-SMP" })).toEqual([
      "PUBLIC_URL must be set when SML_SMP_ID is: the network finds our SMP by it.",
    ]);
    expect(mistakes({ SML_SMP_ID: "KURIER-SMP", PUBLIC_URL: "https://kurier.example" })).toEqual([]);
    expect(
      mistakes({ SML_SMP_ID: "two words", SML_URL: "http://sml.example" }).map((sentence) => sentence.split(" ")[0]),
    ).toEqual(["SML_SMP_ID", "SML_URL"]);
  });
  test("the two listeners have two ports where their addresses meet, and a free one each for 0", () => {
    const sentence =
      "ADMIN_PORT must differ from PORT: HOST and ADMIN_HOST share an address, which has one listener a port.";
    expect(mistakes({ PORT: "9090" })).toEqual([sentence]);
    expect(mistakes({ PORT: "8120", ADMIN_PORT: "8120", HOST: "0.0.0.0" })).toEqual([sentence]);
    expect(mistakes({ PORT: "8120", ADMIN_PORT: "8120", HOST: "localhost" })).toEqual([sentence]);
    expect(mistakes({ PORT: "8120", ADMIN_PORT: "8120", HOST: "localhost", ADMIN_HOST: "localhost" })).toEqual([
      sentence,
    ]);
    expect(mistakes({ PORT: "8120", ADMIN_PORT: "8120", HOST: "10.0.0.5" })).toEqual([]);
    expect(mistakes({ PORT: "0", ADMIN_PORT: "0" })).toEqual([]);
  });
  test("which status is asked of receivers is one of two", () => {
    expect([loadConfig({}).MLS_TYPE, loadConfig({ MLS_TYPE: "ALWAYS_SEND" }).MLS_TYPE]).toEqual([
      "FAILURE_ONLY",
      "ALWAYS_SEND",
    ]);
    expect(mistakes({ MLS_TYPE: "NEVER" })).toHaveLength(1);
  });
  test("a secret may come from a file", () => {
    expect(mistakes({ MASTER_KEY_FILE: "/nonexistent/key" })).toHaveLength(1);
  });
  test("the servers of NATS, whose addresses hold a password, may come from a file", () => {
    const file = join(mkdtempSync(join(tmpdir(), "kurier-nats-")), "url");
    writeFileSync(file, "nats://kurier:secret@nats-1:4222,nats://nats-2:4222\n");
    expect(loadConfig({ NATS_URL_FILE: file }).NATS_URL).toBe("nats://kurier:secret@nats-1:4222,nats://nats-2:4222");
  });
  test("what is no secret has no form in a file, and whoever gives it one is told", () => {
    for (const name of [
      "AS4_KEYSTORE_FILE",
      "PUBLIC_URL_FILE",
      "REVOCATION_FILE",
      "PAYLOAD_STORE_FILE",
      "RULES_DIR_FILE",
    ])
      expect(mistakes({ [name]: "/etc/kurier/value" })).toEqual([expect.stringContaining(`${name} is not a variable`)]);
  });
  test("the operators' token is given by variable or file, and one that could be guessed stops the start", () => {
    const token = "0123456789abcdef0123456789ABCDEF";
    const file = join(mkdtempSync(join(tmpdir(), "kurier-token-")), "token");
    writeFileSync(file, `${token}\n`);
    expect([loadConfig({}), loadConfig({ ADMIN_TOKEN: token }), loadConfig({ ADMIN_TOKEN_FILE: file })]).toMatchObject([
      { ADMIN_TOKEN: undefined },
      { ADMIN_TOKEN: token },
      { ADMIN_TOKEN: token },
    ]);
    for (const weak of ["admin", token.slice(1), `${token} ${token}`, `${token}é`]) {
      const sentences = mistakes({ ADMIN_TOKEN: weak });
      expect(sentences, weak).toEqual([expect.stringMatching(/^ADMIN_TOKEN /)]);
      expect(sentences.join()).not.toContain(token.slice(1));
    }
  });
  test("the example names every variable", () => {
    for (const name of Object.keys(VARIABLES)) expect(environmentExample()).toContain(`# ${name}=`);
  });
});

describe("ids", () => {
  test("a participant is read with and without its scheme, and compared without case", () => {
    expect(parseParticipantId("0245:2020202020")).toBe("0245:2020202020");
    expect(parseParticipantId("iso6523-actorid-upis::0245:2020202020")).toBe("0245:2020202020");
    const id = parseParticipantId("9930:DE123456789");
    expect(id === undefined ? "" : participantKey(id)).toBe("9930:de123456789");
  });
  test("a participant has the parts that its colon divides, of whatever length its scheme's values are", () => {
    const parts = ["0245:2020202020", "9930:DE1"]
      .map((text) => parseParticipantId(text))
      .filter((id) => id !== undefined);
    expect(parts.map(participantParts)).toEqual([
      { scheme: "0245", value: "2020202020" },
      { scheme: "9930", value: "DE1" },
    ]);
  });
  test.each([
    "",
    "0245",
    "0245:",
    ":1",
    "245:1",
    "0245:a b",
    "0245:*",
    "0245:../x",
    "busdox::0245:1",
    `0245:${"1".repeat(131)}`,
    "0245:1\u200b",
  ])("%j is no participant", (text) => {
    expect(parseParticipantId(text)).toBeUndefined();
  });
  test("UUIDs are read in any case; version 7 sorts by time", () => {
    expect(parseUuid("0190B2A4-0000-7000-8000-000000000001")).toBe("0190b2a4-0000-7000-8000-000000000001");
    expect(parseUuid("{0190b2a4-0000-7000-8000-000000000001}")).toBeUndefined();
    const at = (now: number): string => newId({ now: () => now, monotonic: () => 0 });
    expect(at(1) < at(2)).toBe(true);
    expect(at(1)[14]).toBe("7");
  });
  test("a client's request id is used when it has 1 to 128 characters of A-Z a-z 0-9 . _ : -", () => {
    expect(parseRequestId("a.B_1:-")).toBe("a.B_1:-");
    for (const bad of ["", "a b", "a\n", "ä", "x".repeat(129)]) expect(parseRequestId(bad)).toBeUndefined();
  });
  test("a document type is read with and without its scheme", () => {
    const id =
      "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#x::2.1";
    const parsed = parseDocumentType(`busdox-docid-qns::${id}`);
    expect(parsed).toMatchObject({ rootLocal: "Invoice", version: "2.1" });
    expect(parsed === undefined ? "" : documentTypeId(parsed)).toBe(id);
    expect(parseDocumentType("Invoice")).toBeUndefined();
  });
});

describe("cursors", () => {
  const cursors = createCursors(Buffer.alloc(32, 1));
  test("a cursor opens on its own list only, and not when a bit of it was changed", () => {
    const cursor = cursors.seal("a", "17");
    expect(cursors.open("a", cursor)).toBe("17");
    expect(cursors.open("b", cursor)).toBeUndefined();
    expect(createCursors(Buffer.alloc(32, 2)).open("a", cursor)).toBeUndefined();
    for (let i = 0; i < cursor.length; i += 1) {
      const changed = cursor.slice(0, i) + (cursor[i] === "A" ? "B" : "A") + cursor.slice(i + 1);
      expect(cursors.open("a", changed)).toBeUndefined();
    }
  });
  // rulings §1: "a cursor is opaque and authenticated; a forged, truncated or foreign one is 400"
  test("no other last character opens, also where it spells the same octets", () => {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (const place of ["17", "176", "1764"]) {
      const cursor = cursors.seal("a", place);
      const others = [...alphabet].map((last) => cursor.slice(0, -1) + last).filter((other) => other !== cursor);
      expect(others.filter((other) => cursors.open("a", other) !== undefined)).toEqual([]);
    }
  });
  test("a page has as many rows as it may, and its cursor leads behind the last of them", () => {
    const of = { limit: 2, placeOf: (row: number) => String(row) };
    const { nextCursor, ...page } = cutPage(cursors, "a", [7, 8, 9], of);
    expect(page).toEqual({ rows: [7, 8], hasMore: true });
    expect(placeIn(cursors, "a", nextCursor ?? undefined, Number)).toBe(8);
    expect(cutPage(cursors, "a", [9], of)).toEqual({ rows: [9], nextCursor: null, hasMore: false });
    expect(placeIn(cursors, "a", undefined, Number)).toBeUndefined();
  });
  test("a cursor of another list is refused by its name, and so is a place that the list cannot be read by", () => {
    const refused = (list: string, read: (text: string) => string | undefined): unknown => {
      try {
        return placeIn(cursors, list, cursors.seal("a", "17"), read);
      } catch (error) {
        return error instanceof Refusal ? [error.reason, error.details.map(({ field }) => field)] : error;
      }
    };
    expect(refused("a", String)).toBe("17");
    expect(refused("b", String)).toEqual(["REQUEST_INVALID", ["cursor"]]);
    expect(refused("a", () => undefined)).toEqual(["REQUEST_INVALID", ["cursor"]]);
  });
});

describe("clock", () => {
  test.each(["2026-02-31", "2026-02-29", "1900-02-29", "2026-04-31", "2026-11-00", "0000-01-01", "20260-01-01"])(
    "a time on %s, which no calendar has, is none",
    (day) => {
      expect(parseInstant(`${day}T12:00:00Z`)).toBeUndefined();
      expect(isStorable(`${day}T12:00:00+01:00`)).toBe(false);
    },
  );

  test.each(["2024-02-29T12:00:00Z", "2026-11-30T00:30:00.123+01:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])(
    "the instant %s is read as it is written",
    (text) => {
      expect(parseInstant(text)).toBe(Date.parse(text));
    },
  );

  test.each([
    ["2026-12-31T22:59:59Z", "2026-12-31"],
    ["2026-12-31T23:00:00Z", "2027-01-01"],
    ["2027-03-28T00:59:59Z", "2027-03-28"],
    ["2027-10-31T22:59:59Z", "2027-10-31"],
    ["2027-10-31T23:00:00Z", "2027-11-01"],
  ])("%s is %s in Bratislava", (instant, day) => {
    expect(bratislavaDay(Date.parse(instant))).toBe(day);
  });
  test("days are counted on the calendar, over the change of summer time and leap days", () => {
    expect(addDays("2027-03-20", 15)).toBe("2027-04-04");
    expect(addDays("2028-02-20", 10)).toBe("2028-03-01");
  });
});

describe("sealing", () => {
  const old = Buffer.alloc(32, 1);
  const sealer = createSealer([Buffer.alloc(32, 2), old]);
  test("what an earlier key sealed is still read; a changed bit, another context or an unknown key is refused", () => {
    const before = createSealer([old]);
    expect(sealer.open(before.keyId, before.seal(Buffer.from("x"), "c"), "c").toString()).toBe("x");
    const sealed = sealer.seal(Buffer.from("payload"), "document 1");
    expect(() => sealer.open(sealer.keyId, sealed, "document 2")).toThrow();
    expect(() => sealer.open("0000000000000000", sealed, "document 1")).toThrow();
    for (let i = 0; i < sealed.length; i += 1) {
      const changed = Buffer.from(sealed);
      changed[i] = (changed[i] ?? 0) ^ 1;
      expect(() => sealer.open(sealer.keyId, changed, "document 1")).toThrow();
    }
  });
});

describe("log and catalogue", () => {
  test("a log line carries the fields of the list and nothing else, on one line", () => {
    const lines: string[] = [];
    const log = createLog("info", {
      write: (line) => {
        lines.push(line);
      },
    });
    const smuggled = { documentId: "d\n1", token: "canary", payload: "canary" };
    log.info("engine.ready", smuggled);
    log.error("request.failed", errorFields(Object.assign(new Error("canary in a message"), { query: "canary" })));
    expect(lines).toHaveLength(2);
    expect(lines.every((line) => line.indexOf("\n") === line.length - 1)).toBe(true);
    expect(lines.join("")).not.toContain("canary");
    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({ level: "info", event: "engine.ready", documentId: "d\n1" });
  });
  test("the path of the machine is not in an error's place", () => {
    expect(errorFields(new Error("x")).at ?? "").not.toMatch(/file:|(^| |\()\//);
  });

  test("a number that a library gives an error is its code, and so is the name of what an error without a code wraps", () => {
    const denied = Object.assign(new Error("canary"), { name: "PermissionViolationError" });
    expect(errorFields(Object.assign(new Error("x"), { code: 10_047 })).code).toBe("10047");
    expect(errorFields(new Error("x", { cause: denied })).code).toBe("PermissionViolationError");
    expect(errorFields(new Error("x", { cause: Object.assign(denied, { code: "EPIPE" }) })).code).toBe("EPIPE");
    for (const plain of [
      new Error("x"),
      new Error("x", { cause: new Error("y") }),
      new DOMException("x", "TimeoutError"),
    ])
      expect(errorFields(plain)).not.toHaveProperty("code");
  });
  test("every error is one sentence with a 4xx or 5xx status", () => {
    for (const [name, row] of Object.entries(ERRORS)) {
      expect([name, row.status >= 400 && row.status < 600, /\S+ .*\.$/.test(row.message)]).toEqual([name, true, true]);
    }
  });
  test("a thousand who ask for the figures while they are written share the next ones, which have what was counted meanwhile", async () => {
    const metrics = createMetrics();
    const first = metrics.exposition();
    metrics.count("documents_accepted_total", {});
    const asked = Array.from({ length: 1_000 }, () => metrics.exposition());
    expect([new Set(asked).size, new Set(asked).has(first)]).toEqual([1, false]);
    expect(await asked[0]).toContain("kurier_documents_accepted_total 1\n");
    metrics.count("documents_accepted_total", {});
    expect(await metrics.exposition()).toContain("kurier_documents_accepted_total 2\n");
  });
  test("who asks for the figures in the moment between two expositions has the next one, and begins none beside it", async () => {
    const metrics = createMetrics();
    const between = metrics.exposition().then(() => [metrics.exposition()]);
    const next = metrics.exposition();
    expect((await between)[0]).toBe(next);
    expect(await next).toContain("kurier_documents_accepted_total 0\n");
  });
  test("the exposition has every metric of the table, with the prefix", async () => {
    const text = await createMetrics().exposition();
    for (const name of Object.keys(METRICS)) expect(text).toContain(`# HELP kurier_${name} `);
  });
});
