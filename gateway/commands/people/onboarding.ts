/** `kurier onboarding …`: operators' decisions on firms that integrators ask for. */
import { onboardingThroughActors } from "../../../actors/onboarding.js";
import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { Refusal } from "../../../engine/base/errors.js";
import { parseIntegratorId, parseOnboardingId } from "../../../engine/base/ids.js";
import { createOnboarding, ONBOARDING_DECISIONS } from "../../../engine/identity/onboarding/onboarding.js";
import type { Onboarding, OnboardingDecision } from "../../../engine/identity/onboarding/onboarding.js";
import { revokeConsent } from "../../../engine/identity/firms.js";
import { ONBOARDING_STATES } from "../../../engine/lifecycle/onboarding.js";
import { setManagedBilling } from "../../../engine/storage/identity/onboarding/requests.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { lookInto, withDatabase } from "../database.js";
import { withActors } from "./actors.js";
import { print, printRow } from "../terminal.js";

/** Runs `use` with the onboarding of the database; a refusal becomes a sentence for the operator. */
const withOnboarding = (
  use: (onboarding: Onboarding) => Promise<void>,
  run: typeof lookInto = withDatabase,
): Promise<void> => {
  const config = loadConfig();
  return run(config, async ({ sql }) => {
    const ports = { sql, clock: systemClock };
    const onboarding = createOnboarding({
      ...ports,
      environment: config.ENVIRONMENT,
      isOn: true,
      identity: { revokeConsent: (integratorId, firmId) => revokeConsent(ports, integratorId, firmId) },
    });
    try {
      await withActors((actors) => use(onboardingThroughActors(actors, onboarding)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new UsageError(error.message);
    }
  });
};

const SUMMARIES: Readonly<Record<OnboardingDecision, string>> = {
  approve: "Vouch for the firm of an onboarding request and activate it.",
  refuse: "Refuse an onboarding request for good.",
  return: "Return an onboarding request to be corrected.",
  resume: "Let a returned onboarding request wait again.",
  revoke: "End an onboarding request and the consent that it made.",
};

const decisionCommand = (decision: OnboardingDecision): Command => ({
  name: `onboarding ${decision}`,
  summary: SUMMARIES[decision],
  usage: [`kurier onboarding ${decision} ID [--words "why, or what is to be done"]`],
  run: async (args) => {
    const { values, options } = parseArguments(args, { options: ["words"], words: 1 });
    const id = parseOnboardingId(values[0] ?? "");
    if (id === undefined) throw new UsageError("Name one request by its id.");
    await withOnboarding(async (onboarding) => {
      const { status, firmId } = await onboarding.decide(id, decision, options.get("words"));
      print(JSON.stringify({ id, status, firmId }, null, 2));
    });
    return EXIT.ok;
  },
});

const listCommand: Command = {
  name: "onboarding list",
  summary: "List onboarding requests, newest first.",
  usage: [`kurier onboarding list [--status ${ONBOARDING_STATES.join("|")}]`],
  run: async (args) => {
    const wanted = parseArguments(args, { options: ["status"] }).options.get("status");
    const status = ONBOARDING_STATES.find((state) => state === wanted);
    if (wanted !== undefined && status === undefined)
      throw new UsageError(`--status is one of ${ONBOARDING_STATES.join(", ")}.`);
    await withOnboarding(async (onboarding) => {
      for (const request of await onboarding.list(status))
        printRow([request.id, request.status, request.dic, request.customerRef, request.integratorId]);
    }, lookInto);
    return EXIT.ok;
  },
};

const billingCommand: Command = {
  name: "onboarding billing",
  summary: "Note whether an integrator has signed a billing account for managed services.",
  usage: ["kurier onboarding billing --integrator ID --managed on|off"],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["integrator", "managed"] });
    const id = parseIntegratorId(options.get("integrator") ?? "");
    const managed = options.get("managed");
    if (id === undefined || (managed !== "on" && managed !== "off"))
      throw new UsageError("--integrator ID and --managed on|off are needed.");
    const isFound = await withDatabase(loadConfig(), ({ sql }) => setManagedBilling(sql, id, managed === "on"));
    if (!isFound) throw new UsageError("There is no such integrator.");
    print(JSON.stringify({ integratorId: id, managed }, null, 2));
    return EXIT.ok;
  },
};

export const onboardingCommands: readonly Command[] = [
  listCommand,
  ...(Object.keys(ONBOARDING_DECISIONS) as OnboardingDecision[]).map(decisionCommand),
  billingCommand,
];
