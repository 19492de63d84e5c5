/** The `kurier` command: one table of commands, one way to fail. */
import { ConfigError } from "../engine/base/config.js";
import { EmbeddedError, PathError } from "../engine/embedded/embedded.js";
import { MasterKeyError } from "../engine/storage/keyring/keyring.js";
import { MigrationError } from "../engine/storage/migrate.js";
import { DatabaseError } from "../engine/storage/unusable.js";
import { EXIT, UsageError } from "./commands/command.js";
import type { Command, ExitCode } from "./commands/command.js";
import { billingCommands } from "./commands/billing/billing.js";
import { benchCommand } from "./commands/bench.js";
import { demoCommand } from "./commands/demo.js";
import { envCommand } from "./commands/env.js";
import { evidenceVerifyCommand } from "./commands/keeping/evidence.js";
import { firmsEraseCommand } from "./commands/keeping/erase.js";
import { retentionCommand } from "./commands/keeping/retention.js";
import {
  firmsCreateCommand,
  integratorsCreateCommand,
  keysCreateCommand,
  keysListCommand,
} from "./commands/identity.js";
import { keysRotateMasterCommand } from "./commands/keys/rotate-master.js";
import { migrateCommand } from "./commands/migrate.js";
import { openapiCommand } from "./commands/openapi.js";
import { participantsCommands } from "./commands/participants.js";
import { oauthClientCommands } from "./commands/people/oauth-clients.js";
import { onboardingCommands } from "./commands/people/onboarding.js";
import { whiteLabelCommands } from "./commands/people/white-label.js";
import { peopleCommands } from "./commands/people/people.js";
import { topCommand } from "./commands/operating/top.js";
import { pkiInitCommand, pkiShowCommand } from "./commands/pki.js";
import { reconcileCommand } from "./commands/reconcile.js";
import { rulesCommands } from "./commands/rules.js";
import { serveCommand } from "./commands/serve.js";
import { validateCommand } from "./commands/validate.js";
import { complain, print } from "./commands/terminal.js";
import { ListenError } from "./start/infrastructure.js";

/** @source design/interface.md, Command line */
export const COMMANDS: readonly Command[] = [
  serveCommand,
  migrateCommand,
  demoCommand,
  validateCommand,
  ...rulesCommands,
  firmsCreateCommand,
  integratorsCreateCommand,
  keysCreateCommand,
  keysListCommand,
  keysRotateMasterCommand,
  ...peopleCommands,
  ...oauthClientCommands,
  ...onboardingCommands,
  ...participantsCommands,
  ...billingCommands,
  ...whiteLabelCommands,
  pkiInitCommand,
  pkiShowCommand,
  topCommand,
  reconcileCommand,
  envCommand,
  evidenceVerifyCommand,
  retentionCommand,
  firmsEraseCommand,
  openapiCommand,
  benchCommand,
];

function help(): void {
  print("kurier — a Peppol access point engine\n");
  print("Usage: kurier COMMAND [ARGUMENTS]\n");
  const width = Math.max(...COMMANDS.map((command) => command.name.length));
  for (const command of COMMANDS) print(`  ${command.name.padEnd(width)}  ${command.summary}`);
  print("\nkurier COMMAND --help says more. Configuration is read from the environment: see deploy/env.example.");
}

const find = (args: readonly string[]): Command | undefined =>
  COMMANDS.toSorted((a, b) => b.name.length - a.name.length).find((command) =>
    command.name.split(" ").every((word, index) => args[index] === word),
  );

/** Errors whose message is written for the operator. */
const FOR_OPERATORS = [
  ConfigError,
  DatabaseError,
  EmbeddedError,
  ListenError,
  MasterKeyError,
  MigrationError,
  PathError,
] as const;

/** What the process ends with; undefined for a bug, which shows its stack. */
function exitCodeOf(error: unknown): ExitCode | undefined {
  if (error instanceof UsageError) return EXIT.usage;
  if (!FOR_OPERATORS.some((kind) => error instanceof kind)) return undefined;
  return error instanceof Error && "passing" in error && error.passing === true ? EXIT.away : EXIT.configuration;
}

/** Runs a command line and sets the process's exit code. */
export async function main(args: readonly string[]): Promise<void> {
  const command = find(args);
  if (command === undefined) {
    help();
    if (args.length > 0 && args[0] !== "--help" && args[0] !== "help") {
      complain(`\nThere is no command ${args[0] ?? ""}.`);
      process.exitCode = EXIT.usage;
    }
    return;
  }
  const rest = args.slice(command.name.split(" ").length);
  if (rest.includes("--help")) {
    print(command.summary);
    for (const line of command.usage) print(`  ${line}`);
    return;
  }
  try {
    process.exitCode = await command.run(rest);
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === undefined || !(error instanceof Error)) throw error;
    complain(error.message);
    process.exitCode = code;
  }
}
