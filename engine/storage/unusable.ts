/** Why the database cannot be used, as the operator reads it where a start or a command ends for it. */
import { Refusal } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";
import { FirmKeyFailure } from "./keyring/firm-key-files.js";
import { UNTRUSTED, isEnding, isOfFile, isPassing } from "./sql.js";

/** The database cannot be used; the message is one sentence for the operator. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** Whether the same start may succeed a moment later. */
  readonly passing: boolean;

  constructor(sentence: string, passing: boolean, cause: unknown) {
    super(sentence, { cause });
    this.passing = passing;
  }
}

interface Reason {
  /** What follows "The database cannot be used:". */
  readonly words: string;
  /** @default true */
  readonly passing?: false;
}

const LEFT: Reason = { words: "it ended the connection" };
const SILENT: Reason = { words: "nobody answers at the address of DATABASE_URL" };
const STATEMENT_LOST: Reason = {
  words: "the pooler before it does not follow prepared statements, which prepare=false in DATABASE_URL ends",
  passing: false,
};
const UNTRUSTED_REASON: Reason = { words: "its certificate is not trusted here", passing: false };

/** By SQLSTATE, and by the codes of the sockets and of postgres.js. */
const REASONS: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: { words: "nobody listens at the address of DATABASE_URL" },
  EAGAIN: { words: "it takes no connection from the full queue of its socket" },
  ENOENT: { words: "there is no socket at the path of DATABASE_URL" },
  ENOTFOUND: { words: "the host of DATABASE_URL is not known" },
  EAI_AGAIN: { words: "the host of DATABASE_URL cannot be resolved now" },
  ETIMEDOUT: SILENT,
  EHOSTUNREACH: SILENT,
  ENETUNREACH: SILENT,
  CONNECT_TIMEOUT: SILENT,
  ECONNRESET: LEFT,
  EPIPE: LEFT,
  CONNECTION_CLOSED: LEFT,
  CONNECTION_ENDED: LEFT,
  CONNECTION_DESTROYED: LEFT,
  UNANSWERED: { words: "it does not answer" },
  "25006": { words: "it can only be read now, as a standby can" },
  "26000": STATEMENT_LOST,
  "28000": { words: "it does not let the user of DATABASE_URL in", passing: false },
  "28P01": { words: "it does not take the password of DATABASE_URL", passing: false },
  "3D000": { words: "there is no database of the name in DATABASE_URL", passing: false },
  "3F000": { words: "it has no schema of the search path that DATABASE_URL or its user asks for", passing: false },
  "42P05": STATEMENT_LOST,
  "42501": { words: "the user of DATABASE_URL lacks rights on it", passing: false },
  "53100": { words: "its disk is full" },
  "53300": { words: `it has no connection left, of which each engine takes up to ${LIMITS.db_process_connections}` },
  "57014": { words: "it did not answer in time" },
  "57P01": LEFT,
  "57P02": LEFT,
  "57P05": LEFT,
  "58030": { words: "its disk cannot be read or written" },
  "58P01": { words: "a file of its own is missing" },
  "57P03": { words: "it is starting or stopping" },
  ...Object.fromEntries(UNTRUSTED.map((code) => [code, UNTRUSTED_REASON])),
  TLS_NOT_OFFERED: { words: "it offers no TLS, which DATABASE_URL asks for", passing: false },
};

/** What is said where a session is refused before it begins. */
interface Refused {
  /** What the text has; what it names is told, and nothing else of it. */
  readonly said: RegExp;
  readonly words: (named: string) => string;
  /** In the place of what a text of another language does not name; without it such a text is not known here. */
  readonly other?: string;
  readonly passing?: true;
}

/** A database's folder that is not there, or has lost its PG_VERSION, in whatever language and marks of quotation. */
const DAMAGED: Refused = {
  said: /\b((?:base|pg_tblspc)\/[\w./-]*\w)/,
  words: (folder) =>
    `files are missing or damaged in ${folder} of its data (of DATA_DIR/postgres, where it is the engine's own), which has to come back from a copy`,
};
const NAMED_SETTING = /"(\w+)"/;

/**
 * What a session is refused for before it begins, by SQLSTATE; inside of a session some of these codes are faults of
 * ours. A pooler has one code for all that it refuses, so that its text decides; a server may say its own in any
 * language.
 */
const REFUSED: Readonly<Record<string, readonly Refused[]>> = {
  "42704": [
    {
      said: NAMED_SETTING,
      words: (setting) => `it has no setting ${setting}, which DATABASE_URL asks for`,
      other: "of that name",
    },
  ],
  "55P02": [
    {
      said: NAMED_SETTING,
      words: (setting) => `DATABASE_URL asks for the setting ${setting}, which no connection may change`,
      other: "that is fixed",
    },
  ],
  "22023": [
    DAMAGED,
    { said: /^database files are incompatible/, words: () => "its data are of another version of PostgreSQL" },
    {
      said: NAMED_SETTING,
      words: (setting) => `it does not take the value of ${setting} in DATABASE_URL`,
      other: "a setting",
    },
  ],
  "3D000": [DAMAGED],
  "0A000": [{ said: /\bUTF8\b/, words: () => "it has an encoding of which its server makes no UTF8" }],
  "55000": [
    { said: /(?:)/, words: () => "it takes no connections, as one that is closed or half dropped", passing: true },
  ],
  "08P01": [
    {
      said: /^unsupported startup parameter: (\w+)$/,
      words: (setting) =>
        `the pooler before it does not take the setting ${setting}, see ignore_startup_parameters in docs/deploy.md`,
    },
    { said: /^no such database: /, words: () => "the pooler before it has no database of the name in DATABASE_URL" },
    {
      said: /^database ".*" does not exist$/,
      words: () => "there is no database of the name that the pooler asks for",
    },
    {
      said: /^(?:no such user|(?:SASL|password) authentication failed)/,
      words: () => "the pooler before it does not take the user or the password of DATABASE_URL",
    },
  ],
};

type Coded = Error & { readonly code: string; readonly detail?: string };

/** The error, or the one behind it, that has a code: a migration wraps what its statement met. */
function codedOf(error: unknown): Coded | undefined {
  if (!(error instanceof Error)) return undefined;
  return "code" in error && typeof error.code === "string" ? (error as Coded) : codedOf(error.cause);
}

/** The code of what failed behind a refusal that a client would get: it has taken the place of the error. */
const failureOf = (error: unknown): string | undefined =>
  error instanceof Refusal && error.reason === "TEMPORARY" ? error.extras.failure : undefined;

/** Why a session was refused, in words; undefined for any other error, as one inside of a session. */
function refusedFor(error: Coded): Reason | undefined {
  const text = error.detail === undefined ? error.message : `${error.message}\n${error.detail}`;
  for (const { said, words, other, passing } of isEnding(error) ? (REFUSED[error.code] ?? []) : []) {
    const found = said.exec(text);
    const named = found === null ? other : (found[1] ?? "");
    if (named !== undefined) return { words: words(named), ...(passing === true ? {} : { passing: false }) };
  }
  return undefined;
}

/** A fault of the database as a sentence; undefined for any other error, which is a bug or somebody else's. */
export function databaseErrorOf(error: unknown): DatabaseError | undefined {
  // It has its sentence, whatever the file system said: a code like ETIMEDOUT is a network's, too.
  if (error instanceof FirmKeyFailure) return undefined;
  const coded = codedOf(error);
  if (coded !== undefined && isOfFile(coded)) return undefined;
  const code = coded?.code ?? failureOf(error) ?? "";
  const refused = coded === undefined ? undefined : refusedFor(coded);
  const reason = refused ?? REASONS[code] ?? (isPassing(error) ? { words: "it is away or busy" } : undefined);
  if (reason === undefined) return undefined;
  const passing = reason.passing ?? true;
  const advice = passing ? "try again when it is there" : "correct it";
  return new DatabaseError(`The database cannot be used: ${reason.words} (${code}); ${advice}.`, passing, error);
}
