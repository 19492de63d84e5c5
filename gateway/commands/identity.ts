/** `kurier firms|integrators|keys create` and `keys list`: what an operator must do without SQL. */
import { keyName, tenantName } from "../../engine/identity/names.js";
import type { ParticipantFault } from "../../engine/identity/registration.js";
import { tenantKind, tenantsThroughActors } from "../../actors/tenant.js";
import type { Tenants } from "../../actors/tenant.js";
import { systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import type { Config } from "../../engine/base/config.js";
import type { KeyOwner } from "../../engine/identity/keys.js";
import { changeFirm, firmFacts, firmParticipant } from "../../engine/identity/firm-facts.js";
import type { FirmFacts } from "../../engine/identity/firm-facts.js";
import { FIRM_KEY_SCOPES, isForFirmKeys } from "../../engine/identity/scopes.js";
import { Refusal } from "../../engine/base/errors.js";
import { parseAllowlist } from "../../engine/identity/allowlist.js";
import { parseFirmId, parseIntegratorId } from "../../engine/base/ids.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../engine/base/ids.js";
import { registersNewFirms } from "../../engine/peppol/discovery/registrations-setup.js";
import { REGISTRATION_RESULTS } from "../../engine/peppol/discovery/registrations.js";
import type { RegistrationResult } from "../../engine/peppol/discovery/registrations.js";
import { isScope, SCOPES } from "../../engine/base/scopes.js";
import type { Scope } from "../../engine/base/scopes.js";
import { isOwnerKnown, listKeys } from "../../engine/storage/identity/keys.js";
import { complain, print, printRow } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command, ParsedArguments } from "./command.js";
import { lookInto, withDatabase } from "./database.js";
import type { CommandDatabase, DatabaseUse } from "./database.js";
import { withActors } from "./people/actors.js";
import { withRegistrations } from "./participants.js";
import { LIMITS } from "../../engine/base/limits.js";

const required = ({ options }: ParsedArguments, name: string): string => {
  const value = options.get(name);
  if (value === undefined) throw new UsageError(`--${name} is needed.`);
  return value;
};

function scopesOf(text: string | undefined, otherwise: readonly Scope[]): readonly Scope[] {
  if (text === undefined) return otherwise;
  const names = text.split(/[\s,]+/).filter((name) => name !== "");
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0 || names.length === 0)
    throw new UsageError(`--scopes takes names out of: ${SCOPES.join(" ")}.`);
  return names.filter(isScope);
}

/** The scopes of a new key. @throws UsageError for one that this kind of key cannot hold */
function keyScopes(owner: KeyOwner, text: string | undefined): readonly Scope[] {
  if ("firmId" in owner) return scopesOf(text, FIRM_KEY_SCOPES);
  if (owner.scopedFirmId === undefined) return scopesOf(text, SCOPES);
  const scopes = scopesOf(text, SCOPES.filter(isForFirmKeys));
  if (scopes.every(isForFirmKeys)) return scopes;
  throw new UsageError("keys:manage is for a key of an integrator that no firm restricts.");
}

const printRecord = (record: Readonly<Record<string, unknown>>): void => {
  print(JSON.stringify(record, null, 2));
};

/** Runs `use` with the actors that own tenants. */
export const withTenants = <T>(
  config: Config,
  use: (tenants: Tenants, database: CommandDatabase) => Promise<T>,
  options: DatabaseUse = {},
): Promise<T> =>
  withDatabase(
    config,
    (database) =>
      withActors((actors) => {
        const kind = tenantKind({ sql: database.sql, clock: systemClock, environment: config.ENVIRONMENT });
        return use(tenantsThroughActors(actors, kind), database);
      }),
    options,
  );

/** Registers a firm that was just made. It and its secret stay whatever comes of this, so that nothing is thrown. */
const registerNewFirm = (config: Config, participantId: ParticipantId): Promise<RegistrationResult> =>
  withRegistrations(config, ({ registrations }) =>
    registrations.change(participantId, { operation: "register" }),
  ).catch((error: unknown) => {
    complain(error instanceof Error ? error.message : "The participant could not be registered.");
    return { kind: "unavailable", state: undefined, code: undefined };
  });

const PARTICIPANT_FAULTS: Readonly<Record<ParticipantFault, string>> = {
  participant_taken: "--participant belongs to another firm already.",
  participant_of_provider: "--participant is a service provider's (scheme 0242); give the firm an id of its own.",
};

/** What is said of a text that is no name, behind the option in which it was written. */
const textFault = (chars_max: number): string => `has 1 to ${chars_max} characters, none of them a control character.`;
/** Of these faults the library that reads the facts speaks in words of its own. */
const LENGTH_ISSUES: ReadonlySet<string | undefined> = new Set(["too_small", "too_big"]);

const NAMES = {
  tenant: { schema: tenantName, chars_max: LIMITS.firm_name_chars_max },
  key: { schema: keyName, chars_max: LIMITS.key_name_chars_max },
};

/** @throws UsageError for a name that no list could show */
export function nameIn(of: keyof typeof NAMES, name: string): string {
  const { schema, chars_max } = NAMES[of];
  const read = schema.safeParse(name);
  if (!read.success) throw new UsageError(`--name ${textFault(chars_max)}`);
  return read.data;
}

const FACT_OPTIONS = ["ico", "ic-dph", "street", "city", "zip"] as const;

/** What the options say of a firm. @throws UsageError naming the option that is wrong */
function factsOf({ options }: ParsedArguments): FirmFacts {
  const facts = firmFacts.safeParse({
    ico: options.get("ico"),
    icDph: options.get("ic-dph"),
    street: options.get("street"),
    city: options.get("city"),
    zip: options.get("zip"),
  });
  if (facts.success) return facts.data;
  const [issue] = facts.error.issues;
  const fault = LENGTH_ISSUES.has(issue?.code)
    ? textFault(LIMITS.firm_name_chars_max)
    : `${issue?.message ?? "is wrong"}.`;
  throw new UsageError(`--${String(issue?.path[0] ?? "").replace("icDph", "ic-dph")} ${fault}`);
}

const firmsSetCommand: Command = {
  name: "firms set",
  summary: "Change what stands of a firm in its invoices.",
  usage: [
    "kurier firms set --firm ID [--name NAME] [--ico 12345678] [--ic-dph SK2020202020] [--street S] [--city C] [--zip Z]",
    "What is not given stays as it is. A firm without --ic-dph charges no tax: its JSON invoices at a rate are refused.",
  ],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["firm", "name", ...FACT_OPTIONS] });
    const firmId = parseFirmId(required(parsed, "firm"));
    if (firmId === undefined) throw new UsageError("--firm must be the id of a firm.");
    const name = parsed.options.get("name");
    const changes = { ...factsOf(parsed), ...(name === undefined ? {} : { name: nameIn("tenant", name) }) };
    const isChanged = await withDatabase(loadConfig(), ({ sql }) =>
      changeFirm({ sql, clock: systemClock }, firmId, changes),
    );
    if (!isChanged) complain("There is no such firm.");
    return isChanged ? EXIT.ok : EXIT.failed;
  },
};

const firmsCreateCommand: Command = {
  name: "firms create",
  summary: "Create a firm with one participant and one key.",
  usage: [
    "kurier firms create --name NAME --participant 0245:2020202020 [--ico 12345678] [--ic-dph SK2020202020] [--street S] [--city C] [--zip Z]",
    "Prints the ids and the secret, which is shown this once.",
    "With SML_SMP_ID and SMP_MODE=sml the participant is registered in the network too; when that fails the exit code is 1, the firm is there, and kurier participants register repeats it.",
  ],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["name", "participant", ...FACT_OPTIONS] });
    const name = nameIn("tenant", required(parsed, "name"));
    const facts = factsOf(parsed);
    const participant = firmParticipant.safeParse(required(parsed, "participant"));
    if (!participant.success)
      throw new UsageError(`--participant ${participant.error.issues[0]?.message ?? "is wrong"}.`);
    const { data: participantId } = participant;
    const config = loadConfig();
    const made = await withTenants(config, (tenants) => tenants.makeFirm({ name, participantId, ...facts }), {
      begins: true,
    });
    if (typeof made === "string") throw new UsageError(PARTICIPANT_FAULTS[made]);
    const registered = registersNewFirms(config) ? await registerNewFirm(config, participantId) : undefined;
    printRecord({ ...made, participantId, ...(registered === undefined ? {} : { registration: registered }) });
    return registered === undefined || REGISTRATION_RESULTS[registered.kind].ok ? EXIT.ok : EXIT.failed;
  },
};

const integratorsCreateCommand: Command = {
  name: "integrators create",
  summary: "Create an integrator with one central key.",
  usage: ["kurier integrators create --name NAME", "Prints the ids and the secret, which is shown this once."],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["name"] });
    const integrator = { name: nameIn("tenant", required(parsed, "name")) };
    const config = loadConfig();
    printRecord({ ...(await withTenants(config, (tenants) => tenants.makeIntegrator(integrator), { begins: true })) });
    return EXIT.ok;
  },
};

/** The id that an option gives. @throws UsageError for what is none: an owner that is mistyped is not left out */
function idIn<Id>(text: string | undefined, parse: (text: string) => Id | undefined, sentence: string): Id | undefined {
  const id = text === undefined ? undefined : parse(text);
  if (text !== undefined && id === undefined) throw new UsageError(sentence);
  return id;
}

const ownersIn = ({ options }: ParsedArguments) => ({
  firmId: idIn(options.get("firm"), parseFirmId, "--firm must be the id of a firm."),
  integratorId: idIn(options.get("integrator"), parseIntegratorId, "--integrator must be the id of an integrator."),
});

/** The firm or the integrator that a command is about. @throws UsageError for none of them, and for both */
export function oneOwnerIn(
  parsed: ParsedArguments,
): { readonly firmId: FirmId } | { readonly integratorId: IntegratorId } {
  const { firmId, integratorId } = ownersIn(parsed);
  if (firmId !== undefined && integratorId === undefined) return { firmId };
  if (integratorId !== undefined && firmId === undefined) return { integratorId };
  throw new UsageError("--firm ID or --integrator ID is needed, and not both.");
}

function ownerOf(parsed: ParsedArguments): KeyOwner {
  const { firmId, integratorId } = ownersIn(parsed);
  if (integratorId !== undefined) return { integratorId, ...(firmId === undefined ? {} : { scopedFirmId: firmId }) };
  if (firmId !== undefined) return { firmId };
  throw new UsageError("--firm ID, --integrator ID, or both for a key that is restricted to the firm.");
}

/** Where a key may be used from. @throws UsageError for what no allowlist takes */
function allowlistIn(text: string): readonly string[] {
  try {
    return parseAllowlist(text.split(",").map((entry) => entry.trim()));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new UsageError(
      `--ip takes up to ${LIMITS.ip_allowlist_entries_max} addresses, or networks such as 192.0.2.0/24, with commas between them.`,
    );
  }
}

const keysCreateCommand: Command = {
  name: "keys create",
  summary: "Create an API key for a firm or an integrator.",
  usage: [
    'kurier keys create --firm ID [--scopes "documents:send documents:read"] [--name NAME] [--ip 192.0.2.0/24,…]',
    "kurier keys create --integrator ID [--firm ID] …",
    "Prints the secret, which is shown this once.",
  ],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["firm", "integrator", "scopes", "name", "ip"] });
    const owner = ownerOf(parsed);
    const given = parsed.options.get("name");
    const name = given === undefined ? undefined : nameIn("key", given);
    const ip = parsed.options.get("ip");
    const ipAllowlist = ip === undefined ? undefined : allowlistIn(ip);
    const scopes = keyScopes(owner, parsed.options.get("scopes"));
    const key = await withTenants(loadConfig(), (tenants) =>
      tenants.makeKey({
        owner,
        scopes,
        ...(name === undefined ? {} : { name }),
        ...(ipAllowlist === undefined ? {} : { ipAllowlist }),
      }),
    );
    if (typeof key === "string") throw new UsageError(`No key was made: ${key.replaceAll("_", " ")}.`);
    printRecord({ clientId: key.id, keyPrefix: key.prefix, clientSecret: key.secret, scopes });
    return EXIT.ok;
  },
};

const keysListCommand: Command = {
  name: "keys list",
  summary: "List the API keys of a firm or an integrator, without their secrets.",
  usage: ["kurier keys list --firm ID", "kurier keys list --integrator ID"],
  run: async (args) => {
    const owner = oneOwnerIn(parseArguments(args, { options: ["firm", "integrator"] }));
    await lookInto(loadConfig(), async ({ sql }) => {
      const keys = await listKeys(sql, owner, LIMITS.operator_page_max);
      if (keys.length === 0 && !(await isOwnerKnown(sql, owner)))
        throw new UsageError("No keys are listed: owner unknown.");
      for (const key of keys) {
        printRow([key.id, key.prefix, key.active ? "active" : "inactive", key.name ?? "", key.scopes.join(" ")]);
      }
    });
    return EXIT.ok;
  },
};

/** What an operator makes of firms, integrators and their keys. */
export const identityCommands: readonly Command[] = [
  firmsCreateCommand,
  firmsSetCommand,
  integratorsCreateCommand,
  keysCreateCommand,
  keysListCommand,
];
