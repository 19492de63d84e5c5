/** `kurier firms|integrators|keys create` and `keys list`: what an operator must do without SQL. */
import { systemClock } from "../../engine/clock.js";
import { type Config, loadConfig } from "../../engine/config.js";
import { createFirm, createIntegrator, registerParticipant } from "../../engine/identity/firms.js";
import { createKey, type KeyOwner } from "../../engine/identity/keys.js";
import { FIRM_KEY_SCOPES } from "../../engine/identity/scopes.js";
import { type FirmId, type IntegratorId, parseFirmId, parseIntegratorId, parseParticipantId, participantKey } from "../../engine/ids.js";
import { PARTICIPANT_CAPABILITIES } from "../../engine/peppol/capabilities.js";
import { isScope, type Scope, SCOPES } from "../../engine/scopes.js";
import { listKeys } from "../../engine/storage/keys.js";
import { addCapabilities, findOwnParticipant } from "../../engine/storage/received.js";
import type { Sql } from "../../engine/storage/sql.js";
import { print } from "../terminal.js";
import { type Command, EXIT, type ParsedArguments, parseArguments, UsageError } from "./command.js";
import { withDatabase } from "./database.js";

const required = ({ options }: ParsedArguments, name: string): string => {
  const value = options.get(name);
  if (value === undefined) throw new UsageError(`--${name} is needed.`);
  return value;
};

function scopesOf(text: string | undefined, otherwise: readonly Scope[]): readonly Scope[] {
  if (text === undefined) return otherwise;
  const names = text.split(/[\s,]+/).filter((name) => name !== "");
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0 || names.length === 0) throw new UsageError(`--scopes takes names out of: ${SCOPES.join(" ")}.`);
  return names.filter(isScope);
}

const printRecord = (record: Readonly<Record<string, unknown>>): void => { print(JSON.stringify(record, null, 2)); };

/** A firm with one participant that takes billing documents, and one key. */
export async function makeFirm(
  deps: { readonly sql: Sql; readonly environment: Config["ENVIRONMENT"] }, firm: { readonly name: string; readonly participantId: string },
): Promise<{ readonly firmId: FirmId; readonly clientId: string; readonly clientSecret: string } | "invalid_participant" | "participant_taken"> {
  const participantId = parseParticipantId(firm.participantId);
  if (participantId === undefined) return "invalid_participant";
  if (await findOwnParticipant(deps.sql, participantKey(participantId)) !== undefined) return "participant_taken";
  const made = { sql: deps.sql, clock: systemClock };
  const firmId = await createFirm(made, { name: firm.name, sandbox: deps.environment === "sandbox" });
  if (!await registerParticipant(made, firmId, participantId)) return "participant_taken";
  await addCapabilities(deps.sql, participantKey(participantId), PARTICIPANT_CAPABILITIES);
  const key = await createKey({ ...made, environment: deps.environment }, { owner: { firmId }, scopes: FIRM_KEY_SCOPES, name: "First key" });
  if (typeof key === "string") throw new Error(`no key for a new firm: ${key}`);
  return { firmId, clientId: key.id, clientSecret: key.secret };
}

/** An integrator with one central key. */
export async function makeIntegrator(
  deps: { readonly sql: Sql; readonly environment: Config["ENVIRONMENT"] }, integrator: { readonly name: string },
): Promise<{ readonly integratorId: IntegratorId; readonly clientId: string; readonly clientSecret: string }> {
  const made = { sql: deps.sql, clock: systemClock };
  const integratorId = await createIntegrator(made, { name: integrator.name, productionAuthorized: deps.environment === "production" });
  const key = await createKey({ ...made, environment: deps.environment }, { owner: { integratorId }, scopes: SCOPES, name: "First key" });
  if (typeof key === "string") throw new Error(`no key for a new integrator: ${key}`);
  return { integratorId, clientId: key.id, clientSecret: key.secret };
}

export const firmsCreateCommand: Command = {
  name: "firms create",
  summary: "Create a firm with one participant and one key.",
  usage: ["kurier firms create --name NAME --participant 0245:2020202020", "Prints the ids and the secret, which is shown this once."],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["name", "participant"] });
    const config = loadConfig();
    const firm = { name: required(parsed, "name"), participantId: required(parsed, "participant") };
    const made = await withDatabase(config, ({ sql }) => makeFirm({ sql, environment: config.ENVIRONMENT }, firm));
    if (made === "invalid_participant") throw new UsageError("--participant must be <scheme>:<id>, for example 0245:2020202020.");
    if (made === "participant_taken") throw new UsageError("--participant belongs to another firm already.");
    printRecord({ ...made, participantId: firm.participantId });
    return EXIT.ok;
  },
};

export const integratorsCreateCommand: Command = {
  name: "integrators create",
  summary: "Create an integrator with one central key.",
  usage: ["kurier integrators create --name NAME", "Prints the ids and the secret, which is shown this once."],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["name"] });
    const config = loadConfig();
    const integrator = { name: required(parsed, "name") };
    printRecord(await withDatabase(config, ({ sql }) => makeIntegrator({ sql, environment: config.ENVIRONMENT }, integrator)));
    return EXIT.ok;
  },
};

function ownerOf(parsed: ParsedArguments): KeyOwner {
  const firm = parsed.options.get("firm");
  const integrator = parsed.options.get("integrator");
  const firmId = firm === undefined ? undefined : parseFirmId(firm);
  const integratorId = integrator === undefined ? undefined : parseIntegratorId(integrator);
  if (integratorId !== undefined) return { integratorId, ...(firmId === undefined ? {} : { scopedFirmId: firmId }) };
  if (firmId !== undefined) return { firmId };
  throw new UsageError("--firm ID, --integrator ID, or both for a key that is restricted to the firm.");
}

export const keysCreateCommand: Command = {
  name: "keys create",
  summary: "Create an API key for a firm or an integrator.",
  usage: ["kurier keys create --firm ID [--scopes \"documents:send documents:read\"] [--name NAME] [--ip 192.0.2.0/24,…]", "kurier keys create --integrator ID [--firm ID] …", "Prints the secret, which is shown this once."],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["firm", "integrator", "scopes", "name", "ip"] });
    const owner = ownerOf(parsed);
    const config = loadConfig();
    const name = parsed.options.get("name");
    const ip = parsed.options.get("ip");
    const scopes = scopesOf(parsed.options.get("scopes"), "firmId" in owner ? FIRM_KEY_SCOPES : SCOPES);
    const key = await withDatabase(config, ({ sql }) => createKey({ sql, clock: systemClock, environment: config.ENVIRONMENT }, {
      owner, scopes, ...(name === undefined ? {} : { name }), ...(ip === undefined ? {} : { ipAllowlist: ip.split(",") }),
    }));
    if (typeof key === "string") throw new UsageError(`No key was made: ${key.replaceAll("_", " ")}.`);
    printRecord({ clientId: key.id, keyPrefix: key.prefix, clientSecret: key.secret, scopes });
    return EXIT.ok;
  },
};

const LISTED_MAX = 200;

export const keysListCommand: Command = {
  name: "keys list",
  summary: "List the API keys of a firm or an integrator, without their secrets.",
  usage: ["kurier keys list --firm ID", "kurier keys list --integrator ID"],
  run: async (args) => {
    const owner = ownerOf(parseArguments(args, { options: ["firm", "integrator"] }));
    await withDatabase(loadConfig(), async ({ sql }) => {
      for (const key of await listKeys(sql, owner, LISTED_MAX)) {
        print([key.id, key.prefix, key.active ? "active" : "inactive", key.name ?? "", key.scopes.join(" ")].join("  "));
      }
    });
    return EXIT.ok;
  },
};
