/** `kurier integrators …`: which there are, which may act in production, and whom they may invite in a sandbox. */
import { isoInstant, systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { parseFirmId, parseIntegratorId } from "../../../engine/base/ids.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { nodesKnow } from "../../../engine/identity/nodes/hearing.js";
import type { BindingState } from "../../../engine/storage/identity/bindings.js";
import { findIntegratorSheet, listIntegratorSheets } from "../../../engine/storage/operators/integrators.js";
import type { IntegratorSheet } from "../../../engine/storage/operators/integrators.js";
import { EXIT, parseArguments, reasonGiven, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { lookInto } from "../database.js";
import { withTenants } from "../identity.js";
import { complain, printRow } from "../terminal.js";

/** Counts end at a bound, and say so. */
const counted = (count: number): string => (count === LIMITS.console_counted_max ? `${count} or more` : String(count));

const cellsOf = (one: IntegratorSheet, environment: string): readonly string[] => [
  one.id,
  one.name,
  environment,
  `${one.isApproved ? "approved" : "not approved"} since ${isoInstant(one.since)}`,
  `firms ${counted(one.firms)}`,
  `keys ${counted(one.keys)}`,
  one.lastUsedAt === null ? "never used" : `last used ${isoInstant(one.lastUsedAt)}`,
];

const integratorIn = (text: string | undefined): IntegratorId => {
  const id = parseIntegratorId(text ?? "");
  if (id === undefined) throw new UsageError("Name one integrator by its id; kurier integrators lists them.");
  return id;
};

const UNKNOWN = "There is no integrator of this id.";

const USAGE = [
  "kurier integrators [list] [--after ID]",
  `By name, at most ${LIMITS.operator_page_max} lines: id, name, environment, approval for production, firms, active keys, last use of a key. --after goes on behind the last one.`,
];

const listCommand: Command = {
  name: "integrators list",
  summary: "List integrators with their approval for production, their firms and keys.",
  usage: USAGE,
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["after"] });
    const text = options.get("after");
    const after = text === undefined ? undefined : parseIntegratorId(text);
    if (text !== undefined && after === undefined)
      throw new UsageError("--after must be the id of an integrator, as the last line of the list before has it.");
    const config = loadConfig();
    return lookInto(config, async ({ sql }) => {
      const read = await listIntegratorSheets(sql, { after, limit: LIMITS.operator_page_max });
      // Nothing is behind the last integrator, and behind one that is not there.
      if (after !== undefined && read.length === 0 && (await findIntegratorSheet(sql, after)) === undefined) {
        complain(UNKNOWN);
        return EXIT.failed;
      }
      for (const one of read) printRow(cellsOf(one, config.ENVIRONMENT));
      return EXIT.ok;
    });
  },
};

/** What a decision means, for its help. */
interface Decision {
  readonly verb: "approve" | "withdraw";
  readonly isAuthorized: boolean;
  readonly summary: string;
  readonly usage: readonly string[];
}

const decisionCommand = ({ verb, isAuthorized, summary, usage }: Decision): Command => ({
  name: `integrators ${verb}`,
  summary,
  usage: [
    `kurier integrators ${verb} ID --reason "WHY"`,
    ...usage,
    "The reason stands in the operators' record; every running engine knows when the command ends. Safe to repeat.",
  ],
  run: async (args) => {
    const { values, options } = parseArguments(args, { options: ["reason"], words: 1 });
    const id = integratorIn(values[0]);
    const reason = reasonGiven(options);
    const config = loadConfig();
    const now = await withTenants(config, async (tenants, { sql, url }) => {
      const outcome = await tenants.decideProduction({ id, isAuthorized, reason });
      if (outcome === "unknown") return undefined;
      // Also where it was so already: who repeats a command that was stopped must not read it before it holds.
      await nodesKnow({ sql, databaseUrl: url, clock: systemClock });
      return findIntegratorSheet(sql, id);
    });
    if (now === undefined) {
      complain(UNKNOWN);
      return EXIT.failed;
    }
    printRow(cellsOf(now, config.ENVIRONMENT));
    if (config.ENVIRONMENT === "sandbox") complain("This is a sandbox, where integrators act without an approval.");
    return EXIT.ok;
  },
});

const firmIn = (text: string | undefined): FirmId => {
  const id = parseFirmId(text ?? "");
  if (id === undefined) throw new UsageError("--firm is needed: the id of a firm, as kurier firms create prints it.");
  return id;
};

/** What is said of a binding by its state. */
const ASSIGNED: Readonly<Record<BindingState, string>> = {
  required: "The integrator may invite it now: POST /consent-offers.",
  pending: "The firm has agreed; the integrator takes it in with POST /firms/assign.",
  active: "The integrator acts for it already.",
  revoked: "The firm has withdrawn; the integrator may invite it again: POST /consent-offers.",
};

const assignCommand: Command = {
  name: "integrators assign",
  summary: "Let an integrator invite a firm of the sandbox.",
  usage: [
    "kurier integrators assign ID --firm FIRM",
    "In a sandbox an integrator may invite only firms that are assigned to it; the demo firms are the demo integrator's.",
    "It acts for the firm once the firm has agreed. A binding that there is stays as it is. Safe to repeat.",
  ],
  run: async (args) => {
    const { values, options } = parseArguments(args, { options: ["firm"], words: 1 });
    const integratorId = integratorIn(values[0]);
    const firmId = firmIn(options.get("firm"));
    const config = loadConfig();
    if (config.ENVIRONMENT !== "sandbox")
      throw new UsageError("In production an approved integrator invites any firm; there is nothing to assign.");
    const state = await withTenants(config, (tenants) => tenants.assignFirm({ integratorId, firmId }));
    if (state === "unknown_integrator" || state === "unknown_firm") {
      complain(state === "unknown_firm" ? "There is no firm of this id in the sandbox." : UNKNOWN);
      return EXIT.failed;
    }
    printRow([integratorId, firmId, state]);
    complain(ASSIGNED[state]);
    return EXIT.ok;
  },
};

/** Operators' view of integrators, their approval, and whom they may invite in a sandbox. */
export const integratorCommands: readonly Command[] = [
  { ...listCommand, name: "integrators" },
  listCommand,
  assignCommand,
  decisionCommand({
    verb: "approve",
    isAuthorized: true,
    summary: "Let an integrator act for firms in production, also again.",
    usage: ["Its keys, consents and webhooks are those that it had, and serve from now on."],
  }),
  decisionCommand({
    verb: "withdraw",
    isAuthorized: false,
    summary: "Let an integrator act for no firm in production any more.",
    usage: [
      "Its keys go on to log in and are refused for every firm; it is told of nothing, and nothing that it has scheduled leaves.",
      "Documents that were accepted are delivered. Keys and consents stay for an approval that comes later.",
    ],
  }),
];
