/** What a command of the `kurier` program is, and how its words are read. */
import { parseArgs } from "node:util";

import { errorCode } from "../../engine/base/errors.js";
import { LIMITS } from "../../engine/base/limits.js";

/**
 * Exit codes. The last two are those of sysexits.h, which supervisors know: what is away may come back, so that another
 * start makes sense; a wrong configuration stays wrong.
 * @source design/interface.md, validate: 0 all valid, 1 findings, 2 usage or unreadable file
 */
export const EXIT = { ok: 0, failed: 1, usage: 2, away: 75, configuration: 78 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface Command {
  /** Words after `kurier`, for example `keys create`. */
  readonly name: string;
  readonly summary: string;
  /** Lines below the summary in --help. */
  readonly usage: readonly string[];
  /** @returns the exit code @throws UsageError for arguments that make no sense */
  run(args: readonly string[]): Promise<ExitCode>;
}

/** The command's words are wrong; the message says how, in one sentence. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export interface ParsedArguments {
  /** Words that are no options. */
  readonly values: readonly string[];
  /** Options by their name; a flag that was given has the value `true`. */
  readonly options: ReadonlyMap<string, string>;
}

/** Why an operator does something, for the operators' record. @throws UsageError for none, and for one that is long */
export function reasonGiven(options: ParsedArguments["options"]): string {
  const reason = (options.get("reason") ?? "").trim();
  if (reason !== "" && reason.length <= LIMITS.console_reason_chars_max) return reason;
  throw new UsageError(`--reason must say why, in at most ${LIMITS.console_reason_chars_max} characters.`);
}

/** What node:util says of wrong words, in ours: its own sentences name its functions. */
const SENTENCES: Readonly<Record<string, (option: string) => string>> = {
  ERR_PARSE_ARGS_UNKNOWN_OPTION: (option) => `${option} is not an option of this command.`,
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: (option) =>
    `${option} was given a value that it does not take, or none where it needs one; write --option=VALUE for a value that begins with a dash.`,
};

/** What a command takes. */
interface KnownArguments {
  /** They take a value; of one that comes twice the last counts. */
  readonly options?: readonly string[];
  /** They take none. */
  readonly flags?: readonly string[];
  /** How many words that are no options. @default 0, so that a flag without its dashes is never passed over */
  readonly words?: number;
}

/** The address of a listener, without a slash at its end. @throws UsageError for what is none, by its option */
export function addressIn(option: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--${option} must be the address of a listener, such as http://127.0.0.1:9090.`);
  return text.replace(/\/+$/, "");
}

const COUNTS: Readonly<Record<number, string>> = { 0: "no words, only options", 1: "one word" };

/** That a word is one too many; where it is the name of an option, that this has dashes. */
function tooMany(word: string, { options = [], flags = [], words = 0 }: KnownArguments): UsageError {
  const meant = [...options, ...flags].includes(word) ? `; the option is --${word}` : "";
  return new UsageError(`${word} is a word too many: this command takes ${COUNTS[words] ?? `${words} words`}${meant}.`);
}

/**
 * Reads `--name value`, `--name=value`, `--flag` and plain values; after `--` everything is a plain value.
 * @throws UsageError for an option that is not in the lists, a value that is missing, one that a flag does not take,
 *   and a word that is one too many
 */
export function parseArguments(args: readonly string[], known: KnownArguments): ParsedArguments {
  const typed = (names: readonly string[] = [], type: "string" | "boolean") =>
    names.map((name) => [name, { type }] as const);
  let read: ReturnType<typeof parseArgs>;
  try {
    read = parseArgs({
      args: [...args],
      options: Object.fromEntries([...typed(known.options, "string"), ...typed(known.flags, "boolean")]),
      allowPositionals: true,
    });
  } catch (error) {
    const sentence = SENTENCES[errorCode(error) ?? ""];
    if (!(error instanceof TypeError) || sentence === undefined) throw error;
    throw new UsageError(sentence(/--?[A-Za-z][A-Za-z-]*/.exec(error.message)?.[0] ?? "One of the words"));
  }
  const extra = read.positionals[known.words ?? 0];
  if (extra !== undefined) throw tooMany(extra, known);
  return {
    values: read.positionals,
    options: new Map(Object.entries(read.values).map(([name, value]) => [name, String(value)])),
  };
}
