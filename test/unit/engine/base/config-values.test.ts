/** Values of the environment that look right and with which nothing would work: each is refused, or made right. */
import { describe, expect, test } from "vitest";

import { ConfigError, loadConfig, misspeltNames } from "../../../../engine/base/config.js";

/** Names of the variables that are refused; no sentence quotes what stood in one. */
function refused(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig({ ENVIRONMENT: "sandbox", ...environment });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.message).not.toMatch(/secret|hunter2/);
    return error.sentences.map((sentence) => sentence.split(" ")[0] ?? "");
  }
}

const BASES = ["PUBLIC_URL", "DIRECTORY_URL", "SML_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const;

describe.each(BASES)("%s, to which paths are added", (name) => {
  test.each(["https://ap.example/", "https://ap.example///"])("the slashes go from the end of %s", (value) => {
    expect(loadConfig({ [name]: value })[name]).toBe("https://ap.example");
  });
  test("the path of a proxy stays, without the slash behind it", () => {
    expect(loadConfig({ [name]: "https://ap.example/peppol/" })[name]).toBe("https://ap.example/peppol");
  });
  test.each([
    "https://user@ap.example",
    "https://user:hunter2@ap.example",
    "https://:hunter2@ap.example",
    "https://ap.example?tenant=1",
    "https://ap.example/?",
    "https://ap.example/#top",
    "https://ap.example#",
    "https:ap.example",
    "https://",
    "https://ap.example/a b",
    "https://ap.example\\as4",
  ])("an address is refused that reads %s", (value) => {
    expect(refused({ [name]: value })).toEqual([name]);
  });
});

describe("a percent sign that encodes nothing", () => {
  test.each([
    ["DATABASE_URL", "postgres://u:100%secret@h/x"],
    ["DATABASE_URL", "postgres://u%:s@h/x"],
    ["DATABASE_URL", "postgres://u:s@%zz/x"],
    ["WHITE_LABEL_SMP", "https://u:100%secret@smp.example/"],
    ["NATS_URL", "nats://u:100%secret@127.0.0.1:4222"],
    ["SMTP_URL", "smtp://u:100%secret@mail.example"],
    ["SMTP_URL", "file:/var/mail/100%"],
    ["EVIDENCE_STORE", "s3:https://k:100%secret@s3.example/bucket"],
  ])("a percent sign that encodes nothing is refused in %s=%s", (name, value) => {
    expect(refused({ [name]: value })).toEqual([name]);
  });
  test("the sentence says how a percent sign is written", () => {
    expect(() => loadConfig({ DATABASE_URL: "postgres://u:100%secret@h/x", ENVIRONMENT: "sandbox" })).toThrow(
      /^DATABASE_URL must be percent-encoded.*%25.*\.$/,
    );
  });
  test("an encoded percent sign stays as it was written", () => {
    const url = "postgres://u:100%25secret@h/x?sslmode=require";
    expect(loadConfig({ DATABASE_URL: url, ENVIRONMENT: "sandbox" }).DATABASE_URL).toBe(url);
  });
});

test.each([
  ["SMTP_URL", "smtp://"],
  ["SMTP_URL", "smtps:mail.example"],
  ["SMTP_URL", "smtp://user:secret@"],
  ["SMTP_URL", "file:"],
  ["EVIDENCE_STORE", "file:"],
  ["EVIDENCE_STORE", "file://"],
  ["PAYLOAD_STORE", "file:"],
  ["FIRM_KEYS", "file:///"],
  ["SML_ZONE", "a..b"],
  ["SML_ZONE", "a.example."],
  ["SML_ZONE", `${"a".repeat(64)}.example`],
  ["SML_ZONE", "https://sml.example"],
  ["WHITE_LABEL_SMP", "https://smp.example/"],
  ["WHITE_LABEL_SMP", "https://u:secret@smp.example/?x=1"],
  ["WHITE_LABEL_SMP", "https://u:secret@smp.example/#x"],
])("%s=%s names nothing that can be reached", (name, value) => {
  expect(refused({ [name]: value })).toEqual([name]);
});

test.each([
  ["SMTP_URL", "smtp://user:s%40cret@mail.example:587"],
  ["SMTP_URL", "file:/var/mail"],
  ["EVIDENCE_STORE", "file:evidence"],
  ["EVIDENCE_STORE", "file:///var/lib/evidence 100%"],
  ["EVIDENCE_STORE", "s3:https://k:s@s3.example/bucket/prefix?region=eu"],
  ["SML_ZONE", "acc.edelivery.tech.ec.europa.eu"],
  ["WHITE_LABEL_SMP", "https://u:secret@smp.example/smp/"],
] as const)("%s=%s is taken as it is", (name, value) => {
  expect(loadConfig({ [name]: value })[name]).toBe(value);
});

test.each([
  ["nats://127.0.0.1:4222,", "nats://127.0.0.1:4222"],
  [" nats://a:4222 ,, b:4222, ", "nats://a:4222,b:4222"],
  ["embedded", "embedded"],
])("NATS_URL=%s is the list of its servers", (value, servers) => {
  expect(loadConfig({ NATS_URL: value }).NATS_URL).toBe(servers);
});

test.each(["KURIER_URL", "KURIER_CLIENT_ID", "KURIER_CLIENT_SECRET"])(
  "%s, which the guides have a reader set, stops no command in the same terminal; a slip of it does",
  (name) => {
    expect(refused({ [name]: "x" })).toEqual([]);
    expect(refused({ [`${name}S`]: "x" })).toEqual([`${name}S`]);
  },
);

describe("a name that is one slip away from one of ours", () => {
  test.each([
    ["ENVIROMENT", "ENVIRONMENT"],
    ["ENVIRONMENTT", "ENVIRONMENT"],
    ["ENVIRNOMENT", "ENVIRONMENT"],
    ["ENVIRONNENT", "ENVIRONMENT"],
    ["LOGLEVEL", "LOG_LEVEL"],
    ["DATA_DIRS", "DATA_DIR"],
    ["OTEL_EXPORTER_OTLP_HEADERS_FILES", "OTEL_EXPORTER_OTLP_HEADERS_FILE"],
  ])("the slip %s is told with the name that was probably meant, %s", (given, meant) => {
    expect(misspeltNames({ [given]: "production" })).toEqual([{ given, meant }]);
    expect(refused({ [given]: "production" })).toEqual([]);
  });
  test("names of ours and of others that are not alike are told by nobody", () => {
    expect(
      misspeltNames({ HOST: "::", PORT: "1", SMTP_URL: "x", SML_URL: "x", PATH: "/bin", HOME: "/", SHELL: "sh" }),
    ).toEqual([]);
    expect(misspeltNames({ NATS_PORT: "1", KURIER_TEST_SEEDS: "1", HOSTNAME: "x", USER: "x", LANG: "C" })).toEqual([]);
  });
  test("a slip is told also when its value is empty", () => {
    expect(misspeltNames({ ENVIROMENT: "" })).toEqual([{ given: "ENVIROMENT", meant: "ENVIRONMENT" }]);
  });
});
