/**
 * The environment, read once: each variable is a row with its default, its meaning and its parser. The only reader of
 * process.env.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";

import { hostsMeet } from "./addresses.js";
import { findMisspelt } from "./config/misspelt.js";
import type { Misspelt } from "./config/misspelt.js";
import {
  baseUrlOf,
  databaseUrl,
  dnsZone,
  evidenceStore,
  folderUrl,
  mailUrl,
  natsServers,
  smpInterface,
} from "./config/urls.js";
import {
  absolute,
  adminToken,
  count,
  email,
  headerPairs,
  list,
  Malformed,
  masterKey,
  oneOf,
  port,
  ratio,
  securityContact,
  smpId,
  text,
  webhookSecret,
} from "./config/values.js";
import type { Email } from "./ids.js";
import { threadsFor } from "./memory/budgets.js";
import { LOG_LEVELS } from "./log.js";
import type { LogLevel } from "./log.js";

export const ENVIRONMENTS = ["sandbox", "production"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];
export const SMP_MODES = ["embedded", "sml", "static"] as const;
/**
 * When a receiver is to answer with a Message Level Status: only of failures (the default of the network), or always.
 */
export const MLS_TYPES = ["FAILURE_ONLY", "ALWAYS_SEND"] as const;
export type MlsType = (typeof MLS_TYPES)[number];
export const REVOCATION_MODES = ["off", "soft", "hard"] as const;
/** When the schema is brought up to date: by a start that finds it behind, or by `kurier migrate` alone. */
export const MIGRATE_MODES = ["at-start", "by-command"] as const;
type MigrateMode = (typeof MIGRATE_MODES)[number];
/** What a process does with the keys of firms: seals under them, or only opens what others have sealed. */
export const FIRM_KEY_USES = ["seal", "open"] as const;
export type FirmKeyUse = (typeof FIRM_KEY_USES)[number];

/** `no` is what people write who are asked whether a start migrates. */
const migrateMode = (value: string): MigrateMode => (value === "no" ? "by-command" : oneOf(MIGRATE_MODES)(value));

interface Row<T> {
  /** What applies when the variable is absent, as the operator reads it. */
  readonly shown: string;
  readonly meaning: string;
  readonly parse: (value: string) => T;
  readonly absent: T;
  /** Whether `NAME_FILE` may name a file that holds the value. */
  readonly file?: true;
}
const row = <T>(shown: string, meaning: string, parse: (value: string) => T, absent: T): Row<T> => ({
  shown,
  meaning,
  parse,
  absent,
});
/** A row whose value may be in a file, because it is a secret. */
const secret = <T>(plain: Row<T>): Row<T> => ({ ...plain, file: true });

/** @source design/interface.md, Environment */
export const VARIABLES = {
  HOST: row("127.0.0.1", "Address of the public listener.", text, "127.0.0.1"),
  PORT: row(
    "8080",
    "Port of the public listener: /api/v1, /sapi/v1, /oauth, /as4, /smp, /docs, /consent, /.well-known.",
    port,
    8080,
  ),
  ADMIN_HOST: row("127.0.0.1", "Address of the operators' listener.", text, "127.0.0.1"),
  ADMIN_PORT: row(
    "9090",
    "Port of the operators' listener: /metrics, /livez, /readyz, /admin/*, /console.",
    port,
    9090,
  ),
  DATA_DIR: row(
    "./data",
    "Embedded Postgres, streams, evidence, mail, keys of the sandbox.",
    absolute,
    resolve("data"),
  ),
  DATABASE_URL: secret(
    row<string | undefined>(
      "",
      "A Postgres of version 15 or later; empty starts the embedded one.",
      databaseUrl,
      undefined,
    ),
  ),
  MIGRATE: row<MigrateMode | undefined>(
    "at-start in the sandbox, by-command in production",
    "Who brings the schema up to date: at-start, a start that finds it behind; by-command (or no), kurier migrate alone.",
    migrateMode,
    undefined,
  ),
  NATS_URL: secret(
    row<string | undefined>(
      "",
      "Comma-separated NATS servers; `embedded` forces the Postgres stream; empty starts nats-server when it is on PATH.",
      natsServers,
      undefined,
    ),
  ),
  ENVIRONMENT: row<Environment>(
    "sandbox",
    "sandbox or production; must be given with DATABASE_URL or AS4_KEYSTORE.",
    oneOf(ENVIRONMENTS),
    "sandbox",
  ),
  PUBLIC_URL: row<string | undefined>(
    "http://HOST:PORT",
    "Base of links, consent URLs and Location headers.",
    baseUrlOf("http", "https"),
    undefined,
  ),
  ADMIN_TOKEN: secret(
    row<string | undefined>(
      "",
      "The operators' token for /admin, at least 32 random characters; the sandbox makes one, production without one keeps /admin closed.",
      adminToken,
      undefined,
    ),
  ),
  MASTER_KEY: secret(
    row<Buffer | undefined>(
      "",
      "32 bytes in base64 that encrypt payloads at rest; the sandbox generates one in DATA_DIR.",
      masterKey,
      undefined,
    ),
  ),
  MASTER_KEY_PREVIOUS: secret(
    row<readonly Buffer[]>(
      "",
      "Comma-separated earlier master keys, which open what they have sealed, until kurier keys rotate-master has ended.",
      (value) => list(value).map(masterKey),
      [],
    ),
  ),
  AS4_KEYSTORE: row<string | undefined>(
    "",
    "PKCS#12 file with the access point's key and chain; the sandbox generates a development PKI.",
    absolute,
    undefined,
  ),
  AS4_KEYSTORE_PASSWORD: secret(row<string | undefined>("", "Password of AS4_KEYSTORE.", text, undefined)),
  PEPPOL_TRUST_DIR: row<string | undefined>(
    "",
    "Folder of PEM files of the AP and SMP certification authorities and their roots; one whose name does not say which it is lies in the subfolder ap or smp. The sandbox trusts its development PKI.",
    absolute,
    undefined,
  ),
  SMP_MODE: row<(typeof SMP_MODES)[number]>(
    "embedded",
    "Where recipients are looked up: embedded, sml or static.",
    oneOf(SMP_MODES),
    "embedded",
  ),
  SML_ZONE: row<string | undefined>("", "DNS zone of the SML, for SMP_MODE=sml.", dnsZone, undefined),
  SML_SMP_ID: row<string | undefined>(
    "",
    "Id of our SMP in the SML, by which participants are registered there; empty: we do not register. New firms are registered at once when SMP_MODE is sml.",
    smpId,
    undefined,
  ),
  SML_URL: row<string | undefined>(
    "(of the network)",
    "Management interface of the SML; empty: that of the test network, in production that of production.",
    baseUrlOf("https"),
    undefined,
  ),
  DNS_SERVERS: row<readonly string[]>("", "Comma-separated resolvers for the SML; empty uses the system's.", list, []),
  SMP_ROUTES: row<string | undefined>(
    "",
    "JSON file, participant to {url, certificate, documentTypes}, for SMP_MODE=static.",
    absolute,
    undefined,
  ),
  DIRECTORY_URL: row<string | undefined>(
    "(the firms of this engine)",
    "Base of the Peppol Directory's REST interface, such as https://directory.peppol.eu; empty: companies are those of this engine.",
    baseUrlOf("http", "https"),
    undefined,
  ),
  WHITE_LABEL_SMP: secret(
    row<string | undefined>(
      "(our own SMP)",
      "The SMP in which White Label puts participants, by its REST interface: https://USER:PASSWORD@HOST/PATH; empty: our own SMP and the SML, where an operator vouches in production for the token of each registration.",
      smpInterface,
      undefined,
    ),
  ),
  MLS_TYPE: row<MlsType>(
    "FAILURE_ONLY",
    "Which Message Level Status we ask of the receivers of our documents: FAILURE_ONLY or ALWAYS_SEND.",
    oneOf(MLS_TYPES),
    "FAILURE_ONLY",
  ),
  REVOCATION: row<(typeof REVOCATION_MODES)[number]>(
    "soft",
    "What an unanswered question about a certificate's revocation means: off asks none, soft takes the certificate, hard refuses it; must be given in production.",
    oneOf(REVOCATION_MODES),
    "soft",
  ),
  EVIDENCE_STORE: secret(
    row<string | undefined>(
      "file:DATA_DIR/evidence",
      "file:DIRECTORY, or s3:https://KEY:SECRET@HOST/BUCKET/PREFIX?region=REGION (a bucket with object lock).",
      evidenceStore,
      undefined,
    ),
  ),
  PAYLOAD_STORE: row<string | undefined>(
    "none: payloads stay in the database",
    "file:DIRECTORY, shared by all processes: payloads go there when their documents have ended and are 90 days old.",
    folderUrl,
    undefined,
  ),
  FIRM_KEYS: row<string | undefined>(
    "none: one key seals what belongs to all firms",
    "file:DIRECTORY, shared by all processes and saved apart from the database: a key for each firm, which ends with it.",
    folderUrl,
    undefined,
  ),
  FIRM_KEYS_USE: row<FirmKeyUse | undefined>(
    "seal, with FIRM_KEYS",
    "seal, or open: nodes that get FIRM_KEYS one after another only open, until all of them have it.",
    oneOf(FIRM_KEY_USES),
    undefined,
  ),
  VALIDATOR_THREADS: row<number>(
    "cores - 1, at most one for each 256 MiB of memory, at least 1",
    "Threads that validate and sign.",
    count,
    threadsFor(availableParallelism()),
  ),
  RULES_DIR: row<string | undefined>(
    "(built-in rules)",
    "Folder of imported official rule packs.",
    absolute,
    undefined,
  ),
  SMTP_URL: secret(
    row<string | undefined>(
      "file:DATA_DIR/mail",
      "Where letters with sign-in codes are handed over: smtp://USER:PASSWORD@HOST:PORT, smtps:…, or file:DIRECTORY, which writes them as files.",
      mailUrl,
      undefined,
    ),
  ),
  MAIL_FROM: row<Email | undefined>("kurier@HOST of PUBLIC_URL", "Sender of letters.", email, undefined),
  ONBOARDING_PREVIEW: row<"on" | "off">(
    "off",
    "on or off: whether integrators may ask for firms that only send.",
    oneOf(["on", "off"]),
    "off",
  ),
  PFS_WEBHOOK_SECRET: secret(
    row<string | undefined>(
      "",
      "The secret with which the tax authority signs its confirmations to /api/v1/webhooks/pfs; without one none is taken.",
      webhookSecret,
      undefined,
    ),
  ),
  SECURITY_CONTACT: row<string | undefined>(
    "",
    "Whom to tell of a weakness, for /.well-known/security.txt: mailto:ADDRESS, or an https: or tel: address; without one there is no such file.",
    securityContact,
    undefined,
  ),
  FIRM_KEY_ISSUANCE: row<"enabled" | "disabled" | undefined>(
    "enabled in the sandbox, disabled in production",
    "Whether integrators may make keys for single firms: enabled or disabled.",
    oneOf(["enabled", "disabled"]),
    undefined,
  ),
  HTTP_SERVER: row<"uws" | "node" | undefined>(
    "uws where its binary loads, else node",
    "Form of the HTTP server: uws (uWebSockets.js) is fast; node (node:http) is strict about every octet between requests.",
    oneOf(["uws", "node"]),
    undefined,
  ),
  CHUNKED_REQUESTS: row<"accept" | "refuse">(
    "accept",
    "Whether request bodies may come in chunks: accept, each the last request of its connection; refuse answers 411, which other access points may not understand.",
    oneOf(["accept", "refuse"]),
    "accept",
  ),
  TRUSTED_PROXIES: row<readonly string[]>("", "Comma-separated CIDRs whose X-Forwarded-For is believed.", list, []),
  OTEL_EXPORTER_OTLP_ENDPOINT: row<string | undefined>(
    "",
    "A collector of traces that takes OTLP over HTTP in JSON, such as http://127.0.0.1:4318; empty: no traces are made.",
    baseUrlOf("http", "https"),
    undefined,
  ),
  OTEL_EXPORTER_OTLP_HEADERS: secret(
    row<Readonly<Record<string, string>>>(
      "",
      "Comma-separated NAME=VALUE headers for the collector, for example its token; values percent-encoded.",
      headerPairs,
      {},
    ),
  ),
  OTEL_SERVICE_NAME: row("kurier", "What the collector calls this service.", text, "kurier"),
  OTEL_TRACES_SAMPLER_ARG: row<number>(
    "1",
    "Share of traces that are sent, 0 to 1; which ones follows from their ids, so that all processes send the same.",
    ratio,
    1,
  ),
  LOG_LEVEL: row<LogLevel>(
    "info",
    "fatal, error, warn, info, debug or silent; JSON lines on standard output.",
    oneOf(LOG_LEVELS),
    "info",
  ),
} as const;

type VariableName = keyof typeof VARIABLES;
export type Config = { readonly [N in VariableName]: (typeof VARIABLES)[N]["absent"] };

/** The environment has values that cannot be used: one sentence per mistake. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly sentences: readonly string[];

  constructor(sentences: readonly string[]) {
    super(sentences.join("\n"));
    this.sentences = sentences;
  }
}

/**
 * Names that begin so and are not ours are refused: a misspelt one would otherwise be ignored in silence. Names that
 * many programs have (HOST, PORT, LOG_LEVEL) are left alone.
 */
const OUR_PREFIXES = [
  "KURIER_",
  "AS4_",
  "SMP_",
  "SML_",
  "MLS_",
  "DIRECTORY_",
  "WHITE_LABEL_",
  "PEPPOL_",
  "VALIDATOR_",
  "EVIDENCE_",
  "PAYLOAD_",
  "REVOCATION",
  "RULES_DIR",
  "PUBLIC_URL",
  "ADMIN_",
  "FIRM_KEY_",
  "FIRM_KEYS",
  "TRUSTED_",
  "CHUNKED_",
  "HTTP_SERVER",
  "MASTER_KEY",
  "DATABASE_URL",
  "MIGRATE",
  "NATS_",
  "SMTP_",
  "MAIL_",
  "ONBOARDING_",
  "PFS_",
  "SECURITY_CONTACT",
];
/**
 * What Kubernetes adds for a service that happens to be named like one of ours: NATS_SERVICE_HOST, NATS_PORT_4222_TCP.
 */
const SERVICE_NAME = /_(?:SERVICE_(?:HOST|PORT)|PORT)(?:_|$)/;
/** Read by the tests and their tools, not by the engine. */
const TEST_PREFIXES = ["KURIER_TEST_", "KURIER_CONFORMANCE"];
/** Read by the programs of the guides and of the reference, in whose terminal commands are given, too. */
const CLIENT_NAMES: ReadonlySet<string> = new Set(["KURIER_URL", "KURIER_CLIENT_ID", "KURIER_CLIENT_SECRET"]);

function readValue(name: VariableName, environment: NodeJS.ProcessEnv): string | undefined {
  const direct = environment[name];
  const path = "file" in VARIABLES[name] && VARIABLES[name].file ? environment[`${name}_FILE`] : undefined;
  if (direct !== undefined && direct !== "") return direct;
  if (path === undefined || path === "") return undefined;
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    throw new Malformed(`names a file in ${name}_FILE that cannot be read`);
  }
}

const isOurs = (name: string): boolean =>
  OUR_PREFIXES.some((prefix) => name.startsWith(prefix)) &&
  !TEST_PREFIXES.some((prefix) => name.startsWith(prefix)) &&
  !CLIENT_NAMES.has(name);

const knownNames = (): ReadonlySet<string> =>
  new Set(Object.entries(VARIABLES).flatMap(([name, row]) => ("file" in row ? [name, `${name}_FILE`] : [name])));

/**
 * Names that no prefix gives away as ours and that are one slip away from one: ENVIROMENT would start a sandbox. They
 * may be other programs' names, so that they are told and not refused.
 */
export const misspeltNames = (environment: NodeJS.ProcessEnv = process.env): readonly Misspelt[] =>
  findMisspelt(Object.keys(environment), knownNames()).filter(
    ({ given }) => !OUR_PREFIXES.some((prefix) => given.startsWith(prefix)),
  );

/** Variables that name what is real: with one of them a sandbox may stand on real data, or speak in a real name. */
const REAL: readonly VariableName[] = ["DATABASE_URL", "AS4_KEYSTORE"];

/** Read by the library of the database, which would take it for every connection, also to the embedded one. */
const TARGET = "PGTARGETSESSIONATTRS";

/** What nobody may have chosen by leaving it out, because the safe choice depends on where the engine runs. */
function choiceSentences(config: Config, isGiven: (name: VariableName) => boolean): string[] {
  const real = REAL.find(isGiven);
  const environment =
    real !== undefined && !isGiven("ENVIRONMENT")
      ? [
          `ENVIRONMENT must be set when ${real} is: sandbox makes firms and keys that everybody knows, production does not.`,
        ]
      : [];
  const revocation =
    config.ENVIRONMENT === "production" && !isGiven("REVOCATION")
      ? [
          "REVOCATION must be set when ENVIRONMENT is production: hard refuses a certificate whose authority does not answer, soft takes it.",
        ]
      : [];
  return [...environment, ...revocation];
}

/** What production refuses to start with. @source design/interface.md, ENVIRONMENT */
function productionSentences(config: Config): string[] {
  if (config.ENVIRONMENT !== "production") return [];
  const needed: VariableName[] = ["DATABASE_URL", "MASTER_KEY", "AS4_KEYSTORE", "PEPPOL_TRUST_DIR", "PUBLIC_URL"];
  const missing = needed
    .filter((name) => config[name] === undefined)
    .map((name) => `${name} must be set when ENVIRONMENT is production.`);
  const plain =
    config.PUBLIC_URL?.startsWith("http:") === true
      ? ["PUBLIC_URL must begin with https: when ENVIRONMENT is production."]
      : [];
  return [...missing, ...plain];
}

/** Refuses variables that cannot be together, or have no effect without another one, which was probably forgotten. */
const relationSentences = (config: Config): string[] => [
  ...(config.PORT !== 0 && config.PORT === config.ADMIN_PORT && hostsMeet(config.HOST, config.ADMIN_HOST)
    ? ["ADMIN_PORT must differ from PORT: HOST and ADMIN_HOST share an address, which has one listener a port."]
    : []),
  ...(config.SML_SMP_ID !== undefined && config.PUBLIC_URL === undefined
    ? ["PUBLIC_URL must be set when SML_SMP_ID is: the network finds our SMP by it."]
    : []),
  ...(config.FIRM_KEYS_USE !== undefined && config.FIRM_KEYS === undefined
    ? ["FIRM_KEYS must be set when FIRM_KEYS_USE is: it says what its keys are for."]
    : []),
];

/**
 * Reads and checks the environment.
 * @throws ConfigError with one sentence per mistake, unknown names of ours included
 * @source design/interface.md, Environment: unknown or malformed values stop the start
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const sentences: string[] = [];
  const values: Record<string, unknown> = {};
  const given = new Set<VariableName>();
  for (const name of Object.keys(VARIABLES) as VariableName[]) {
    const { parse, absent }: Row<unknown> = VARIABLES[name];
    try {
      const value = readValue(name, environment);
      if (value !== undefined) given.add(name);
      values[name] = value === undefined ? absent : parse(value);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      sentences.push(`${name} ${error.message}.`);
    }
  }
  if (!["", undefined].includes(environment[TARGET]))
    sentences.push(`${TARGET} must not be set: DATABASE_URL names one server, which has to be the primary.`);
  const known = knownNames();
  for (const name of Object.keys(environment)) {
    if (isOurs(name) && !known.has(name) && !SERVICE_NAME.test(name))
      sentences.push(`${name} is not a variable of Kurier; see deploy/env.example.`);
  }
  const config = values as Config;
  if (sentences.length === 0)
    sentences.push(
      ...choiceSentences(config, (name) => given.has(name)),
      ...productionSentences(config),
      ...relationSentences(config),
    );
  if (sentences.length > 0) throw new ConfigError(sentences);
  return config;
}

/**
 * Folder of the third-party conformance data that benchmarks use where it is: beside the checkout, unless the
 * environment names it.
 */
export const conformanceFolder = (): string => {
  const named = process.env["KURIER_CONFORMANCE"];
  return named === undefined || named === "" ? resolve("..", "shared", "conformance") : resolve(named);
};

/** Whether a start or a command may change the schema. @source design/interface.md, MIGRATE */
export const migratesAtStart = ({ MIGRATE, ENVIRONMENT }: Pick<Config, "MIGRATE" | "ENVIRONMENT">): boolean =>
  (MIGRATE ?? (ENVIRONMENT === "production" ? "by-command" : "at-start")) === "at-start";

/** The environment handed to child processes: only what a program needs to run, none of our secrets. */
export function childEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "TMPDIR", "LANG", "TZ"]) {
    const value = process.env[name];
    if (value !== undefined) kept[name] = value;
  }
  return { ...kept, ...extra };
}

/** deploy/env.example: every variable, its default and its meaning. */
export function environmentExample(): string {
  const blocks = Object.entries(VARIABLES).map(
    ([name, { shown, meaning }]) =>
      `# ${meaning}${"file" in VARIABLES[name as VariableName] ? ` ${name}_FILE may name a file that holds it.` : ""}\n# ${name}=${shown}`,
  );
  return `# Every variable is optional. This file is generated from engine/base/config.ts.\n\n${blocks.join("\n\n")}\n`;
}
