/** What a command of the `kurier` program is, and how its words are read. */
import { parseArgs } from "node:util";

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

/** What node:util says of wrong words, in ours: its own sentences name its functions. */
const SENTENCES: Readonly<Record<string, (option: string) => string>> = {
  ERR_PARSE_ARGS_UNKNOWN_OPTION: (option) => `${option} is not an option of this command.`,
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: (option) =>
    `${option} was given a value that it does not take, or none where it needs one; write --option=VALUE for a value that begins with a dash.`,
};

/**
 * Reads `--name value`, `--name=value`, `--flag` and plain values; after `--` everything is a plain value.
 * @param known options, which take a value, and flags, which take none; of an option that comes twice the last counts
 * @throws UsageError for an option that is not in the lists, a value that is missing, and one that a flag does not take
 */
export function parseArguments(
  args: readonly string[],
  known: { readonly options?: readonly string[]; readonly flags?: readonly string[] },
): ParsedArguments {
  const typed = (names: readonly string[] = [], type: "string" | "boolean") =>
    names.map((name) => [name, { type }] as const);
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: Object.fromEntries([...typed(known.options, "string"), ...typed(known.flags, "boolean")]),
      allowPositionals: true,
    });
    return {
      values: positionals,
      options: new Map(Object.entries(values).map(([name, value]) => [name, String(value)])),
    };
  } catch (error) {
    const code = error instanceof TypeError && "code" in error ? String(error.code) : "";
    const sentence = SENTENCES[code];
    if (!(error instanceof TypeError) || sentence === undefined) throw error;
    throw new UsageError(sentence(/--?[A-Za-z][A-Za-z-]*/.exec(error.message)?.[0] ?? "One of the words"));
  }
}
