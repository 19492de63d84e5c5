/** What a command of the `kurier` program is. */

/** Exit codes. @source design/interface.md, validate: 0 all valid, 1 findings, 2 usage or unreadable file */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
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
  readonly values: readonly string[];
  /** `--name value` and `--name=value`; flags without a value hold "true". */
  readonly options: ReadonlyMap<string, string>;
}

/**
 * Reads `--name value`, `--flag` and plain values.
 * @throws UsageError for an option that is not in the lists
 */
export function parseArguments(
  args: readonly string[],
  known: { readonly options?: readonly string[]; readonly flags?: readonly string[] },
): ParsedArguments {
  const values: string[] = [];
  const options = new Map<string, string>();
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? "";
    if (!arg.startsWith("--")) {
      values.push(arg);
      continue;
    }
    const [name = "", inline] = arg.slice(2).split(/=(.*)/s);
    if (known.flags?.includes(name) === true && inline === undefined) {
      options.set(name, "true");
    } else if (known.options?.includes(name) === true) {
      const value = inline ?? args[(i += 1)];
      if (value === undefined) throw new UsageError(`--${name} needs a value.`);
      options.set(name, value);
    } else {
      throw new UsageError(`--${name} is not an option of this command.`);
    }
  }
  return { values, options };
}
