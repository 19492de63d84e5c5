/** The `kurier` command: one table of commands, one way to fail. */
import { ConfigError } from "../engine/base/config.js";
import { findMisspelt } from "../engine/base/config/misspelt.js";
import { Refusal } from "../engine/base/errors.js";
import { EmbeddedError, PathError, pathErrorOf } from "../engine/embedded/embedded.js";
import { FirmKeyFailure } from "../engine/storage/keyring/firm-key-files.js";
import { MasterKeyError } from "../engine/storage/keyring/keyring.js";
import { MigrationError } from "../engine/storage/migrate.js";
import { DatabaseError, databaseErrorOf } from "../engine/storage/unusable.js";
import { EXIT, UsageError } from "./commands/command.js";
import type { Command, ExitCode } from "./commands/command.js";
import { complain, isOutputLost, print } from "./commands/terminal.js";
import { ListenError } from "./http/claim-port.js";
import { NoWorker } from "../validators/lanes/job.js";
import { VERSION } from "./start/console/version.js";

/** Commands of one file: the words that they begin with, and how the file is loaded. */
interface CommandFile {
  readonly words: readonly string[];
  readonly load: () => Promise<readonly Command[]>;
}

/**
 * Files of commands in the order in which help shows them. A command loads its own file alone: the engine's takes seven
 * times as long to load as that of `validate`.
 * @source design/interface.md, Command line
 */
export const COMMAND_FILES: readonly CommandFile[] = [
  {
    words: ["serve"],
    load: async () => {
      // In parts: Node opens the files of everything that it loads at once, and a process may have as few as 256.
      await import("../engine/peppol/access-point.js");
      await import("./start/operations.js");
      return [(await import("./commands/serve.js")).serveCommand];
    },
  },
  { words: ["migrate"], load: async () => [(await import("./commands/migrate.js")).migrateCommand] },
  { words: ["demo"], load: async () => [(await import("./commands/demo.js")).demoCommand] },
  { words: ["validate"], load: async () => [(await import("./commands/validate.js")).validateCommand] },
  { words: ["rules"], load: async () => (await import("./commands/rules.js")).rulesCommands },
  {
    words: ["firms", "integrators", "keys"],
    load: async () => (await import("./commands/identity.js")).identityCommands,
  },
  {
    words: ["integrators"],
    load: async () => (await import("./commands/people/integrators.js")).integratorCommands,
  },
  { words: ["keys"], load: async () => [(await import("./commands/keys/rotate-master.js")).keysRotateMasterCommand] },
  { words: ["keys"], load: async () => (await import("./commands/keys/signing.js")).signingKeyCommands },
  { words: ["owner", "people"], load: async () => (await import("./commands/people/people.js")).peopleCommands },
  {
    words: ["oauth-clients"],
    load: async () => (await import("./commands/people/oauth-clients.js")).oauthClientCommands,
  },
  { words: ["onboarding"], load: async () => (await import("./commands/people/onboarding.js")).onboardingCommands },
  { words: ["participants"], load: async () => (await import("./commands/participants.js")).participantsCommands },
  { words: ["meter", "plan"], load: async () => (await import("./commands/billing/billing.js")).billingCommands },
  { words: ["white-label"], load: async () => (await import("./commands/people/white-label.js")).whiteLabelCommands },
  {
    words: ["pki"],
    load: async () => {
      const { pkiInitCommand, pkiShowCommand } = await import("./commands/pki.js");
      return [pkiInitCommand, pkiShowCommand];
    },
  },
  { words: ["top"], load: async () => [(await import("./commands/operating/top.js")).topCommand] },
  { words: ["doctor"], load: async () => [(await import("./commands/operating/doctor.js")).doctorCommand] },
  { words: ["probe"], load: async () => [(await import("./commands/probe/probe.js")).probeCommand] },
  { words: ["reconcile"], load: async () => [(await import("./commands/reconcile.js")).reconcileCommand] },
  { words: ["env"], load: async () => [(await import("./commands/env.js")).envCommand] },
  { words: ["evidence"], load: async () => [(await import("./commands/keeping/evidence.js")).evidenceVerifyCommand] },
  { words: ["retention"], load: async () => [(await import("./commands/keeping/retention.js")).retentionCommand] },
  { words: ["firms"], load: async () => [(await import("./commands/keeping/erase.js")).firmsEraseCommand] },
  { words: ["openapi"], load: async () => [(await import("./commands/openapi.js")).openapiCommand] },
  { words: ["bench"], load: async () => [(await import("./commands/bench.js")).benchCommand] },
  { words: ["bench"], load: async () => (await import("./commands/measuring/report.js")).reportCommands },
];

/** One after another: Node opens the files of everything that it loads at once. */
async function load(files: readonly CommandFile[]): Promise<readonly Command[]> {
  const commands: Command[] = [];
  for (const file of files) commands.push(...(await file.load()));
  return commands;
}

/** Words that ask for help, of all commands or of one. */
const HELP: ReadonlySet<string> = new Set(["--help", "-h"]);

function help(commands: readonly Command[]): void {
  print("kurier — a Peppol access point engine\n");
  print("Usage: kurier COMMAND [ARGUMENTS]\n");
  const width = Math.max(...commands.map((command) => command.name.length));
  for (const command of commands) print(`  ${command.name.padEnd(width)}  ${command.summary}`);
  print(
    "\nkurier COMMAND --help says more, kurier --version the release. Configuration is read from the environment: see deploy/env.example.",
  );
}

/** Commands that begin with a word. */
const beginningWith = async (word: string): Promise<readonly Command[]> =>
  (await load(COMMAND_FILES.filter(({ words }) => words.includes(word)))).filter(
    ({ name }) => name.split(" ")[0] === word,
  );

const find = (args: readonly string[], commands: readonly Command[]): Command | undefined =>
  commands
    .toSorted((a, b) => b.name.length - a.name.length)
    .find((command) => command.name.split(" ").every((word, index) => args[index] === word));

/**
 * Lists all commands, or those that begin as what was asked for does, and says what is wrong with it.
 * @param kin  commands that begin with the first word
 */
async function refuseUnknown([first = "", second]: readonly string[], kin: readonly Command[]): Promise<ExitCode> {
  const commands = kin.length === 0 ? await load(COMMAND_FILES) : kin;
  help(commands);
  const [place, given] = kin.length === 0 ? [0, first] : [1, second];
  if (given === undefined) complain(`\nThere is no command ${first} alone: those above begin with it.`);
  else {
    const known = new Set(commands.flatMap(({ name }) => name.split(" ")[place] ?? []));
    const meant = findMisspelt([given], known).map((slip) => ` Did you mean ${slip.meant}?`);
    complain(`\nThere is no command ${place === 0 ? first : `${first} ${given}`}.${meant.join("")}`);
  }
  return EXIT.usage;
}

/** Errors whose message is written for the operator. */
const FOR_OPERATORS = [
  ConfigError,
  DatabaseError,
  EmbeddedError,
  ListenError,
  FirmKeyFailure,
  MasterKeyError,
  MigrationError,
  NoWorker,
  PathError,
] as const;

/** What the process ends with; undefined for a bug, which shows its stack. */
function exitCodeOf(error: unknown): ExitCode | undefined {
  if (error instanceof UsageError) return EXIT.usage;
  if (!FOR_OPERATORS.some((kind) => error instanceof kind)) return undefined;
  return error instanceof Error && "passing" in error && error.passing === true ? EXIT.away : EXIT.configuration;
}

/** What a client is told to come again for: the database, or keys of firms that are away, or a queue. */
const awayOf = (error: unknown): DatabaseError | undefined =>
  error instanceof Refusal && error.reason === "TEMPORARY"
    ? (databaseErrorOf(error) ??
      new DatabaseError("What the command needs is away or busy; run it again in a moment.", true, error))
    : undefined;

/** Runs a command line and sets the process's exit code. A command of which nothing could be read has not succeeded. */
export async function main(args: readonly string[]): Promise<void> {
  const code = await run(args);
  process.exitCode = code === EXIT.ok && (await isOutputLost()) ? EXIT.failed : code;
}

/** @returns what the process ends with */
async function run(args: readonly string[]): Promise<ExitCode> {
  const [first = "help"] = args;
  if (first === "--version") {
    print(VERSION);
    return EXIT.ok;
  }
  if (first === "help" && args.length > 1) return run([...args.slice(1), "--help"]);
  const kin = await beginningWith(first);
  const command = find(args, kin);
  if (command === undefined) {
    const isHelp = kin.length === 0 ? first === "help" || HELP.has(first) : HELP.has(args[1] ?? "");
    if (!isHelp) return refuseUnknown(args, kin);
    help(kin.length === 0 ? await load(COMMAND_FILES) : kin);
    return EXIT.ok;
  }
  const rest = args.slice(command.name.split(" ").length);
  if (rest.some((word) => HELP.has(word))) {
    print(command.summary);
    for (const line of command.usage) print(`  ${line}`);
    return EXIT.ok;
  }
  try {
    return await command.run(rest);
  } catch (thrown) {
    const error: unknown = awayOf(thrown) ?? pathErrorOf(thrown) ?? thrown;
    const code = exitCodeOf(error);
    if (code === undefined || !(error instanceof Error)) throw error;
    complain(error.message);
    return code;
  }
}
