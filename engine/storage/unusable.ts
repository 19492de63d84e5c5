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

/**
 * What a session is refused for before it begins, by SQLSTATE. A pooler has one code for all that it refuses, so that
 * its text decides; a server may say its own in any language. Of the text the setting's name is told alone.
 */
const SETTINGS: Readonly<Record<string, readonly [text: RegExp, words: (setting: string) => string, other?: string]>> =
  {
    "42704": [/"(\w+)"/, (setting) => `it has no setting ${setting}, which DATABASE_URL asks for`, "of that name"],
    "55P02": [
      /"(\w+)"/,
      (setting) => `DATABASE_URL asks for the setting ${setting}, which no connection may change`,
      "that is fixed",
    ],
    "22023": [/"(\w+)"/, (setting) => `it does not take the value of ${setting} in DATABASE_URL`, "a setting"],
    "08P01": [
      /^unsupported startup parameter: (\w+)$/,
      (setting) =>
        `the pooler before it does not take the setting ${setting}, see ignore_startup_parameters in docs/deploy.md`,
    ],
  };

type Coded = Error & { readonly code: string };

/** The error, or the one behind it, that has a code: a migration wraps what its statement met. */
function codedOf(error: unknown): Coded | undefined {
  if (!(error instanceof Error)) return undefined;
  return "code" in error && typeof error.code === "string" ? (error as Coded) : codedOf(error.cause);
}

/** The code of what failed behind a refusal that a client would get: it has taken the place of the error. */
const failureOf = (error: unknown): string | undefined =>
  error instanceof Refusal && error.reason === "TEMPORARY" ? error.extras.failure : undefined;

/** The setting for which a session was refused, in words; undefined for any other error, as one inside of a session. */
function settingRefused(error: Coded): Reason | undefined {
  const [text, words, other] = isEnding(error) ? (SETTINGS[error.code] ?? []) : [];
  const setting = text?.exec(error.message)?.[1] ?? other;
  return setting === undefined || words === undefined ? undefined : { words: words(setting), passing: false };
}

/** A fault of the database as a sentence; undefined for any other error, which is a bug or somebody else's. */
export function databaseErrorOf(error: unknown): DatabaseError | undefined {
  // It has its sentence, whatever the file system said: a code like ETIMEDOUT is a network's, too.
  if (error instanceof FirmKeyFailure) return undefined;
  const coded = codedOf(error);
  if (coded !== undefined && isOfFile(coded)) return undefined;
  const code = coded?.code ?? failureOf(error) ?? "";
  const refused = coded === undefined ? undefined : settingRefused(coded);
  const reason = refused ?? REASONS[code] ?? (isPassing(error) ? { words: "it is away or busy" } : undefined);
  if (reason === undefined) return undefined;
  const passing = reason.passing ?? true;
  const advice = passing ? "try again when it is there" : "correct it";
  return new DatabaseError(`The database cannot be used: ${reason.words} (${code}); ${advice}.`, passing, error);
}
