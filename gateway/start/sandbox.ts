/** The sandbox's participants with a fate, where there are any: in a sandbox that is its own network. */
import type { As4Jobs } from "../../engine/peppol/as4/jobs.js";
import type { As4Crypto } from "../../engine/peppol/as4/messages.js";
import type { DocumentWorkers } from "../../engine/documents/accept/validators.js";
import { FATES } from "../../engine/sandbox/fates.js";
import { createScriptedPeers } from "../../engine/sandbox/sandbox.js";
import type { ScriptedPeers } from "../../engine/sandbox/sandbox.js";
import type { Base } from "./infrastructure.js";

interface SandboxParts {
  readonly publicUrl: string;
  readonly crypto: As4Crypto;
  readonly jobs: As4Jobs;
  readonly validators: DocumentWorkers;
}

/** @returns undefined in production, and where other keys or another look-up than the sandbox's own are configured */
export function scriptedPeersOf(
  { config, dataDir, clock, log }: Base,
  { publicUrl, crypto, jobs, validators }: SandboxParts,
): ScriptedPeers | undefined {
  const isOwnNetwork =
    config.ENVIRONMENT === "sandbox" && config.SMP_MODE === "embedded" && config.AS4_KEYSTORE === undefined;
  if (!isOwnNetwork) return undefined;
  return createScriptedPeers({
    dataDir,
    publicUrl,
    crypto,
    jobs,
    clock,
    log,
    read: async (payload) => {
      const read = await validators.parse(payload, { fairnessKey: "sandbox" });
      if (read.kind === "refused") return undefined;
      const { number, issueDate, typeCode, supplier, customer } = read.summary;
      return { number, issueDate, typeCode, sellerName: supplier.name, buyerName: customer.name };
    },
  });
}

/** The participants for the reference: one line each. */
export const sandboxWords = (): string =>
  [
    "Participants of this sandbox behave as follows, whoever sends to them:",
    [...FATES].map(([id, { description }]) => `- \`${id}\` ${description}`).join("\n"),
  ].join("\n\n");
