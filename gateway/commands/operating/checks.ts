/**
 * What an installation for production must have, as a table: each row looks at facts that were gathered before and says
 * in one sentence what is missing. Nothing here asks anybody.
 */
import { parseAddress } from "../../../engine/base/addresses.js";
import type { Environment } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { ServerFacts } from "../../../engine/storage/operators/server.js";

/** What is known of an installation. What could not be found out says why. */
export interface Installation {
  readonly environment: Environment;
  /** Sentences on the environment that stop a start; then nothing else is known. */
  readonly configFaults: readonly string[];
  readonly adminHost: string;
  /** Where a container's machine has the operators' listener, as --admin-published says. */
  readonly adminPublished: string | undefined;
  readonly adminToken: string | undefined;
  readonly publicUrl: string | undefined;
  readonly trustedProxies: number;
  readonly revocation: "off" | "soft" | "hard";
  readonly isMasterKeyGiven: boolean;
  /** Our keys and the authorities that we trust. */
  readonly pki:
    | { readonly fault: string }
    | {
        readonly fault: undefined;
        readonly hasKeystore: boolean;
        readonly authorities: number;
        readonly endsInDays: number;
      };
  /** What a stranger gets who asks PUBLIC_URL for the public keys; a fault where nobody answers. */
  readonly reached: { readonly fault: string } | { readonly fault: undefined; readonly status: number };
  readonly database: { readonly fault: string } | Database;
  /** Whether DATABASE_URL names it; otherwise it is the one that an engine keeps in DATA_DIR. */
  readonly isDatabaseGiven: boolean;
  /** What carries the streams: Postgres, the engine's own nats-server, or servers that NATS_URL names. */
  readonly nats: "postgres" | "embedded" | NatsServers;
  /** Where SMTP_URL has letters go; undefined where it is not set, and they become files in DATA_DIR. */
  readonly mail: "server" | "folder" | undefined;
  /** DATA_DIR and the stores that are folders. */
  readonly folders: readonly Folder[];
}

interface Folder {
  readonly name: "DATA_DIR" | "EVIDENCE_STORE" | "PAYLOAD_STORE";
  /** Of its disk, or of that on which it would be made; a fault where nobody can look. */
  readonly room:
    | { readonly fault: string }
    | { readonly fault: undefined; readonly bytes: number; readonly share: number };
  readonly isEmpty: boolean;
}

interface NatsServers {
  readonly fault: string | undefined;
  /** What the monitoring said; undefined where it was not asked, or did not say. */
  readonly isSynchronous: boolean | undefined;
  /** Why the monitoring that was named said nothing. */
  readonly monitorFault?: string;
}

/** What the database says of itself, asked as the engine asks. */
interface Database {
  readonly fault: undefined;
  readonly version: number;
  readonly settings: ServerFacts["settings"];
  /** Whether a pooler in front gives prepared statements to sessions that lack them. */
  readonly losesStatements: boolean;
  /** Of its clock against ours, without the way there and back. */
  readonly clockSkew_ms: number;
  /** Since when the oldest wake-up waits for its stream; undefined where the schema lacks migrations. */
  readonly wakeUpAge_s: number | undefined;
  /** Migrations that are missing or were changed. */
  readonly migrations: readonly string[];
  /** The stores in which something lies; undefined where the schema lacks migrations. */
  readonly filled: readonly Folder["name"][] | undefined;
  /** Why the master keys do not open what is stored; undefined where they do. */
  readonly keyringFault: string | undefined;
}

interface Check {
  readonly name: string;
  /** What an installation has that passes, where it has it. */
  readonly promise: string | ((installation: Installation) => string);
  /** What it is about, where that could not be looked at: the fault of another row, which is told there. */
  readonly about?: "database" | "pki";
  /** @returns why it could not be looked at otherwise; undefined where it was */
  readonly unseen?: (installation: Installation) => string | undefined;
  /** @returns what is missing; undefined where nothing is, or nothing is known */
  missing(installation: Installation): string | undefined;
}

/** What is said of a row. */
interface Verdict {
  readonly state: "ok" | "missing" | "unknown";
  readonly words: string;
}

const UNSEEN = {
  database: "not looked at, because the database does not answer",
  pki: "not looked at, because the key store or the authorities cannot be read",
} as const;

/** Nothing that was not looked at is said to be well. */
export function judgeCheck({ missing, promise, about, unseen }: Check, installation: Installation): Verdict {
  const fault = missing(installation);
  if (fault !== undefined) return { state: "missing", words: fault.replace(/\s+/g, " ") };
  if (about !== undefined && installation[about].fault !== undefined) return { state: "unknown", words: UNSEEN[about] };
  const why = unseen?.(installation);
  if (why !== undefined) return { state: "unknown", words: why };
  return { state: "ok", words: typeof promise === "string" ? promise : promise(installation) };
}

/** What a row on the database says; nothing where the database itself is away, which has a row of its own. */
const ofDatabase = (judge: (database: Database) => string | undefined): Pick<Check, "about" | "missing"> => ({
  about: "database",
  missing: ({ database }) => (database.fault === undefined ? judge(database) : undefined),
});

const setting = (name: keyof Database["settings"], wanted: readonly string[], why: string): Check => ({
  name: `postgres ${name}`,
  promise: `${name} is ${wanted.join(" or ")}`,
  ...ofDatabase(({ settings }) =>
    wanted.includes(settings[name]) ? undefined : `${name} of Postgres is ${settings[name]}: ${why}.`,
  ),
});

/** The shortest beginning of a text that makes all of it when it is repeated, whole or cut off at the end. */
function blockOf(text: string): string {
  for (let length = 1; length <= text.length / 2; length++)
    if (text.startsWith(text.slice(length))) return text.slice(0, length);
  return text;
}

/**
 * Bits that a token has at the most, when each of its characters is as likely as those that it has. What is repeated
 * counts once.
 */
export function tokenBits(token: string): number {
  const block = blockOf(token);
  return block.length * Math.log2(Math.max(1, new Set(block).size));
}

const GiB = 1024 ** 3;
/** Whether a listener there is at every address, however that is spelt. */
const isEverywhere = (host: string): boolean => parseAddress(host)?.every((byte) => byte === 0) === true;

/** What lacks room, or cannot be looked at, in a sentence; undefined where it has enough. */
function tightness({ name, room }: Folder): string | undefined {
  if (room.fault !== undefined) return `${name} cannot be looked at: ${room.fault}.`;
  return room.bytes >= LIMITS.doctor_disk_bytes_min && room.share >= LIMITS.doctor_disk_share_min
    ? undefined
    : `${name} has ${(room.bytes / GiB).toFixed(1)} GiB left, ${Math.round(room.share * 100)} % of its disk.`;
}

/** Sentences as one text; undefined where there are none. */
const joined = (sentences: readonly (string | undefined)[]): string | undefined =>
  sentences.filter((sentence) => sentence !== undefined).join(" ") || undefined;

/** What carries the streams where NATS_URL names no server. */
const CARRIERS = {
  postgres: "Postgres carries the streams; NATS_URL names no server",
  embedded: "the engine's own nats-server carries the streams; NATS_URL names none",
} as const;

export const CHECKS: readonly Check[] = [
  {
    name: "configuration",
    promise: "every variable can be used",
    missing: ({ configFaults }) => (configFaults.length === 0 ? undefined : configFaults.join(" ")),
  },
  {
    name: "environment",
    promise: "ENVIRONMENT is production",
    missing: ({ environment }) =>
      environment === "production"
        ? undefined
        : "ENVIRONMENT is sandbox: firms and keys that everybody knows are made; set it to production.",
  },
  {
    name: "keystore",
    promise: "AS4_KEYSTORE opens and its certificate holds for more than 30 days",
    missing: ({ pki }) => {
      if (pki.fault !== undefined) return pki.fault;
      if (!pki.hasKeystore) return "AS4_KEYSTORE is not set: the keys are those of a development PKI.";
      return pki.endsInDays > LIMITS.doctor_certificate_days
        ? undefined
        : `A certificate in use ends in ${pki.endsInDays} days; see kurier pki show.`;
    },
  },
  {
    name: "trust",
    about: "pki",
    promise: "PEPPOL_TRUST_DIR has authorities; whether they are the network's, kurier pki show lets you compare",
    missing: ({ pki }) => {
      if (pki.fault !== undefined || pki.authorities > 0) return undefined;
      return pki.hasKeystore
        ? "PEPPOL_TRUST_DIR has no certification authority: no other access point is trusted."
        : "Without AS4_KEYSTORE the authorities of the development PKI are trusted; set it and PEPPOL_TRUST_DIR.";
    },
  },
  {
    name: "revocation",
    promise: "revoked certificates are refused",
    missing: ({ revocation }) =>
      revocation === "off" ? "REVOCATION is off: revoked certificates are taken; set it to hard or soft." : undefined,
  },
  {
    name: "public url",
    promise: "PUBLIC_URL leads to this engine",
    missing: ({ publicUrl, reached }) => {
      if (publicUrl === undefined)
        return "PUBLIC_URL is not set: links and the network's addresses name this machine, which nobody else finds by them.";
      if (reached.fault !== undefined) return `Nobody answers at PUBLIC_URL ${publicUrl}: ${reached.fault}.`;
      return reached.status === 200
        ? undefined
        : `PUBLIC_URL ${publicUrl} answers ${reached.status} for /.well-known/jwks.json: it does not lead to an engine.`;
    },
  },
  {
    name: "tls",
    promise: "PUBLIC_URL begins with https:",
    missing: ({ publicUrl }) =>
      publicUrl?.startsWith("https:") === true
        ? undefined
        : "PUBLIC_URL does not begin with https: put a proxy with TLS in front and name its address.",
  },
  {
    name: "proxies",
    promise: "TRUSTED_PROXIES names a network",
    missing: ({ trustedProxies }) =>
      trustedProxies > 0
        ? undefined
        : "TRUSTED_PROXIES is empty: all callers count as one address, that of the proxy; name its network.",
  },
  {
    name: "admin listener",
    promise: ({ adminPublished }) =>
      adminPublished === undefined
        ? "operators' listener is not open to everybody"
        : `operators' listener is published at ${adminPublished}, as --admin-published says`,
    missing: ({ adminHost, adminPublished }) => {
      if (adminPublished !== undefined)
        return isEverywhere(adminPublished)
          ? `ADMIN_PORT is published at ${adminPublished}, on every network of the machine; publish it at one address.`
          : undefined;
      return isEverywhere(adminHost)
        ? `ADMIN_HOST is ${adminHost}: the operators' listener is on every network of this machine; name one address, or say with --admin-published at which address its machine publishes that of a container.`
        : undefined;
    },
  },
  {
    name: "admin token",
    promise: "ADMIN_TOKEN is set and does not repeat a few characters",
    missing: ({ adminToken, environment }) => {
      if (adminToken === undefined)
        return environment === "sandbox"
          ? "ADMIN_TOKEN is not set: the sandbox has made one (DATA_DIR/sandbox.json), production makes none."
          : "ADMIN_TOKEN is not set: /admin and the console are closed.";
      return tokenBits(adminToken) >= LIMITS.doctor_token_bits_min
        ? undefined
        : "ADMIN_TOKEN repeats few characters and can be guessed; make one with openssl rand -base64 48.";
    },
  },
  {
    name: "master key",
    about: "database",
    promise: "MASTER_KEY is given and opens what is stored",
    missing: ({ isMasterKeyGiven, database }) => {
      if (!isMasterKeyGiven) return "MASTER_KEY is not set: the key lies in DATA_DIR beside what it seals.";
      return database.fault === undefined ? database.keyringFault : undefined;
    },
  },
  {
    name: "database",
    promise: "the database answers",
    missing: ({ database, isDatabaseGiven }) =>
      database.fault ??
      (isDatabaseGiven
        ? undefined
        : "DATABASE_URL is not set: the database is the engine's own in DATA_DIR, with which production does not start."),
  },
  {
    name: "postgres version",
    promise: "Postgres is 15 or newer",
    ...ofDatabase(({ version }) =>
      version >= LIMITS.postgres_version_min
        ? undefined
        : `Postgres is ${Math.trunc(version / 10_000)}; the engine needs 15 or newer.`,
    ),
  },
  setting("fsync", ["on"], "what was accepted is lost when the machine stops"),
  setting("full_page_writes", ["on"], "pages that were half written are not mended"),
  setting(
    "synchronous_commit",
    ["on", "remote_apply", "remote_write"],
    "what was accepted is lost when Postgres stops; a pooler in front may leave out what the engine asks for",
  ),
  setting(
    "jit",
    ["off"],
    "plans are compiled for each statement; a pooler in front may leave out what the engine asks for",
  ),
  setting(
    "enable_seqscan",
    ["off"],
    "plans read whole tables, and no engine starts; a pooler in front may leave out what the engine asks for",
  ),
  {
    name: "postgres lock_timeout",
    promise: "lock_timeout is set",
    ...ofDatabase(({ settings }) =>
      settings.lock_timeout !== "0"
        ? undefined
        : "lock_timeout of Postgres is 0: who waits for a lock does so for ever, and no engine starts; a pooler in front may leave out what the engine asks for.",
    ),
  },
  setting(
    "default_transaction_isolation",
    ["read committed"],
    "much that is done side by side fails, and no engine starts; set it back for the role, and take it out of DATABASE_URL",
  ),
  {
    name: "postgres statements",
    promise: "prepared statements are found by those who prepared them",
    ...ofDatabase(({ losesStatements }) =>
      losesStatements
        ? "The pooler in front gives prepared statements to sessions that lack them, and no engine starts: put prepare=false into DATABASE_URL."
        : undefined,
    ),
  },
  setting(
    "server_encoding",
    ["UTF8"],
    "names in letters that it lacks are answered with 500; docs/operators/backup.md says how rows are moved to one with UTF8",
  ),
  {
    name: "clock",
    promise: "the clocks of engine and database agree",
    ...ofDatabase(({ clockSkew_ms }) =>
      Math.abs(clockSkew_ms) <= LIMITS.doctor_clock_skew_ms
        ? undefined
        : `The database's clock is ${Math.round(clockSkew_ms / 100) / 10} s from ours; set both by NTP.`,
    ),
  },
  {
    name: "migrations",
    promise: "the schema is that of this release",
    ...ofDatabase(({ migrations }) =>
      migrations.length === 0
        ? undefined
        : `The schema lacks ${migrations.length} migrations, the first is ${migrations[0] ?? ""}; run kurier migrate.`,
    ),
  },
  {
    name: "nats",
    promise: ({ nats }) => (typeof nats === "string" ? CARRIERS[nats] : "the NATS servers answer and have our streams"),
    missing: ({ nats }) => (typeof nats === "string" ? undefined : nats.fault),
  },
  {
    name: "nats sync",
    promise: ({ nats }) => {
      if (typeof nats === "string") return "NATS_URL names no server that could be asked";
      return nats.isSynchronous === true
        ? "JetStream writes before it answers"
        : "not asked whether JetStream writes before it answers: --nats-monitor names who tells";
    },
    missing: ({ nats }) => {
      if (typeof nats === "string") return undefined;
      if (nats.monitorFault !== undefined) return `The address of --nats-monitor does not tell: ${nats.monitorFault}.`;
      return nats.isSynchronous === false
        ? "JetStream does not sync each write: set sync_interval: always, as deploy/nats/nats.conf has it."
        : undefined;
    },
  },
  {
    name: "wake-ups",
    promise: "none has waited for a minute to be handed to its stream",
    unseen: ({ database }) =>
      database.fault === undefined && database.wakeUpAge_s === undefined
        ? "not looked at before the schema is that of this release"
        : undefined,
    ...ofDatabase(({ wakeUpAge_s = 0 }) =>
      wakeUpAge_s <= LIMITS.doctor_wake_up_s
        ? undefined
        : `Wake-ups have waited for ${Math.round(wakeUpAge_s)} s: no engine runs, or they say why in relay.publish_failed.`,
    ),
  },
  {
    name: "mail",
    promise: ({ mail }) =>
      mail === "folder" ? "letters are files in the folder of SMTP_URL" : "SMTP_URL names a mail server",
    missing: ({ mail }) =>
      mail === undefined
        ? "SMTP_URL is not set: letters with sign-in codes become files in DATA_DIR/mail and reach nobody; name a mail server."
        : undefined,
  },
  {
    name: "disk",
    promise: ({ folders }) => `there is room for ${folders.map(({ name }) => name).join(", ")}`,
    missing: ({ folders }) => joined(folders.map(tightness)),
  },
  {
    name: "stores",
    about: "database",
    promise: "no folder is empty in which something lies by what the database says",
    unseen: ({ database }) =>
      database.fault === undefined && database.filled === undefined
        ? "not looked at before the schema is that of this release"
        : undefined,
    missing: ({ database, folders }) =>
      joined(
        folders.map(({ name, isEmpty }) =>
          isEmpty && database.fault === undefined && database.filled?.includes(name) === true
            ? `${name} is an empty folder, or none, and the database says that something lies in it: its file system is not mounted, ${name} was changed, or all of it is lost.`
            : undefined,
        ),
      ),
  },
];
