/** `kurier participants …`: who is found in the network at our SMP. */
import { readFileSync } from "node:fs";

import { registrationKind, registrationsThroughActors } from "../../actors/registration.js";
import type { Registrations } from "../../actors/registration.js";
import { isoInstant, systemClock } from "../../engine/base/clock.js";
import { ConfigError, loadConfig } from "../../engine/base/config.js";
import type { Config } from "../../engine/base/config.js";
import { Refusal } from "../../engine/base/errors.js";
import { parseParticipantId, participantKey } from "../../engine/base/ids.js";
import type { ParticipantId } from "../../engine/base/ids.js";
import { silentLog } from "../../engine/base/log.js";
import { openOwnPki } from "../../engine/peppol/pki/setup.js";
import { providerOfSeat } from "../../engine/peppol/seats.js";
import { openRegistrationPorts } from "../../engine/peppol/discovery/registrations-setup.js";
import { REGISTRATION_RESULTS } from "../../engine/peppol/discovery/registrations.js";
import type { RegistrationResult, RegistrationResultKind } from "../../engine/peppol/discovery/registrations.js";
import { isMigrationKey } from "../../engine/peppol/discovery/sml-registry.js";
import { findRegistration, listRegistrations, REGISTRATION_STATES } from "../../engine/storage/registrations.js";
import { openMasterKeys } from "../start/data-dir.js";
import { complain, print } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command, ExitCode, ParsedArguments } from "./command.js";
import { lookInto, withDatabase } from "./database.js";
import { withActors } from "./people/actors.js";
import { LIMITS } from "../../engine/base/limits.js";

interface Registering {
  readonly registrations: Registrations;
  /** Our own participant as a provider. */
  readonly provider: ParticipantId | undefined;
}

/** Runs `use` with the actors that own registrations. @throws ConfigError when we do not register */
export const withRegistrations = <T>(config: Config, use: (registering: Registering) => Promise<T>): Promise<T> =>
  withDatabase(config, async ({ sql }) => {
    const { keys } = await openOwnPki({ config, dataDir: config.DATA_DIR, clock: systemClock, log: silentLog });
    const ports = openRegistrationPorts({
      config,
      sql,
      sealer: (await openMasterKeys(sql, config)).sealer,
      keys,
      clock: systemClock,
    });
    if (ports === undefined)
      throw new ConfigError(["SML_SMP_ID must be set: it names our SMP in the network's register."]);
    const provider = providerOfSeat(keys.ap().seat);
    return withActors((actors) =>
      use({ registrations: registrationsThroughActors(actors, registrationKind(ports)), provider }),
    );
  });

/** What an operator is told of a result; for those that did not succeed, what to do. */
const SENTENCES = {
  done: "It is done.",
  already: "It was so already; nothing was asked.",
  conflict:
    "The participant belongs to another SMP. Get a migration key from its provider and run kurier participants migrate.",
  refused: "The SML does not do it; nothing has changed.",
  unavailable: "The SML is away or has a fault; nothing has changed. Try again later.",
  manual_review:
    "Nobody knows whether the SML did it, and DNS does not prove it yet. Run kurier participants check later; when it stays so, ask the operator of the SML and run kurier participants settle.",
  busy: "Another process is at this participant. Try again in a minute.",
  not_published: "Our SMP does not answer for this participant. Create its firm first.",
  not_registered: "There is no registration of this participant.",
} as const satisfies Record<RegistrationResultKind, string>;

/** Prints a result; the migration key alone on the last line, so that it can be piped. */
function tell(participant: ParticipantId, { kind, state, code, migrationKey }: RegistrationResult): ExitCode {
  const { ok } = REGISTRATION_RESULTS[kind];
  // Of a participant at which another process is, nobody has read the state here.
  const known = state?.replace("_", " ") ?? (kind === "busy" ? undefined : "no record");
  const facts = [participant, known, code === undefined ? undefined : `(${code})`]
    .filter((fact) => fact !== undefined)
    .join("  ");
  (ok ? print : complain)(`${facts}: ${SENTENCES[kind]}`);
  if (migrationKey !== undefined) print(migrationKey);
  return ok ? EXIT.ok : EXIT.failed;
}

/** The participant that is named, or undefined for our own. @throws UsageError for none of them, and for both */
function participantOf({ values, options }: ParsedArguments): ParticipantId | undefined {
  const [text] = values;
  const isOwn = options.has("provider");
  const named = text === undefined ? undefined : parseParticipantId(text);
  if (isOwn === (text !== undefined) || (text !== undefined && named === undefined))
    throw new UsageError(
      "Name one participant, <scheme>:<id>, for example 0245:2020202020; or --provider for our own.",
    );
  return named;
}

/** Reads the options, before anything is opened; what it gives is then done. @throws UsageError for wrong options */
type Use = (
  parsed: ParsedArguments,
) => (registrations: Registrations, participant: ParticipantId) => Promise<RegistrationResult>;

/** A command on one participant, told apart by the word behind `participants`. */
const onParticipant = (
  verb: string,
  { options = [], ...described }: Pick<Command, "summary" | "usage"> & { readonly options?: readonly string[] },
  use: Use,
): Command => ({
  ...described,
  name: `participants ${verb}`,
  run: async (args) => {
    const parsed = parseArguments(args, { options, flags: ["provider"], words: 1 });
    const named = participantOf(parsed);
    const change = use(parsed);
    return withRegistrations(loadConfig(), async ({ registrations, provider }) => {
      const participant = named ?? provider;
      if (participant === undefined) throw new UsageError("--provider: our certificate names no seat in the network.");
      try {
        return tell(participant, await change(registrations, participant));
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return tell(participant, { kind: "busy", state: undefined, code: error.reason });
      }
    });
  },
});

/** The key from --key or the file of --key-file. */
function keyOf({ options }: ParsedArguments): string {
  const file = options.get("key-file");
  let key = options.get("key");
  if (file !== undefined && key !== undefined) throw new UsageError("--key or --key-file is needed, and not both.");
  try {
    if (file !== undefined) key = readFileSync(file, "utf8").trim();
  } catch {
    throw new UsageError("--key-file cannot be read.");
  }
  if (key === undefined || !isMigrationKey(key))
    throw new UsageError(
      "--key or --key-file must give a migration key: 8 to 24 characters, at least two small and two capital letters, digits and signs each.",
    );
  return key;
}

function settledStateOf({ options }: ParsedArguments): "registered" | "unregistered" {
  const state = (["registered", "unregistered"] as const).find((known) => known === options.get("state"));
  if (state === undefined) throw new UsageError("--state must be registered or unregistered.");
  return state;
}

/** The key of the participant that a list goes on behind. */
function afterOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const participant = parseParticipantId(text);
  if (participant === undefined)
    throw new UsageError("--after must be <scheme>:<id>, as the last line of the list before has it.");
  return participantKey(participant);
}

const listCommand: Command = {
  name: "participants list",
  summary: "List the registrations of participants in the network.",
  usage: [
    "kurier participants list [--state registered|unregistered|manual_review] [--after 0245:…]",
    `At most ${LIMITS.operator_page_max} lines; --after goes on behind the last one.`,
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["state", "after"] });
    const state = REGISTRATION_STATES.find((known) => known === options.get("state"));
    if (options.has("state") && state === undefined)
      throw new UsageError(`--state must be one of ${REGISTRATION_STATES.join(", ")}.`);
    const after = afterOf(options.get("after"));
    return lookInto(loadConfig(), async ({ sql }) => {
      if (after !== undefined && (await findRegistration(sql, after)) === undefined) {
        complain(SENTENCES.not_registered);
        return EXIT.failed;
      }
      for (const row of await listRegistrations(sql, { state, after: after ?? "", limit: LIMITS.operator_page_max })) {
        const prepared =
          row.migrationPreparedAt === undefined ? [] : [`migration prepared ${isoInstant(row.migrationPreparedAt)}`];
        print(
          [
            row.participant,
            row.state,
            row.lastOperation,
            row.underWay ? "under way" : [row.outcome, row.code].filter((part) => part !== undefined).join(" "),
            isoInstant(row.changedAt),
            ...prepared,
          ].join("  "),
        );
      }
      return EXIT.ok;
    });
  },
};

export const participantsCommands: readonly Command[] = [
  onParticipant(
    "register",
    {
      summary: "Register a participant in the network, so that it is found at our SMP.",
      usage: [
        "kurier participants register 0245:2020202020",
        "kurier participants register --provider",
        "--provider registers ourselves, where the statuses of our documents arrive.",
      ],
    },
    () => (registrations, participant) => registrations.change(participant, { operation: "register" }),
  ),
  onParticipant(
    "unregister",
    {
      summary: "Take a participant out of the network.",
      usage: ["kurier participants unregister 0245:2020202020"],
    },
    () => (registrations, participant) => registrations.change(participant, { operation: "unregister" }),
  ),
  onParticipant(
    "prepare-migration",
    {
      summary: "Make a key by which another SMP may take a participant over.",
      usage: [
        "kurier participants prepare-migration 0245:2020202020",
        "Prints the key on the last line. Repeated, it prints the same one.",
      ],
    },
    () => (registrations, participant) => registrations.change(participant, { operation: "prepare_migration" }),
  ),
  onParticipant(
    "migrate",
    {
      summary: "Take a participant over from another SMP.",
      usage: [
        "kurier participants migrate 0245:2020202020 --key KEY",
        "kurier participants migrate 0245:2020202020 --key-file FILE",
      ],
      options: ["key", "key-file"],
    },
    (parsed) => {
      const migrationKey = keyOf(parsed);
      return (registrations, participant) => registrations.change(participant, { operation: "migrate", migrationKey });
    },
  ),
  onParticipant(
    "check",
    {
      summary: "Ask DNS who speaks for a participant, and write down what it proves.",
      usage: ["kurier participants check 0245:2020202020"],
    },
    () => (registrations, participant) => registrations.check(participant),
  ),
  onParticipant(
    "settle",
    {
      summary: "Write down what a person has found out about a participant in manual review.",
      usage: ["kurier participants settle 0245:2020202020 --state registered|unregistered"],
      options: ["state"],
    },
    (parsed) => {
      const state = settledStateOf(parsed);
      return (registrations, participant) => registrations.settle(participant, state);
    },
  ),
  listCommand,
];
