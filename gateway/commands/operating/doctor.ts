/** `kurier doctor`: whether an installation is fit for production, one line for each thing that it needs. */
import { parseAddress } from "../../../engine/base/addresses.js";
import { addressIn, EXIT, parseArguments, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { colour, print } from "../terminal.js";
import { CHECKS, judgeCheck } from "./checks.js";
import { gatherInstallation } from "./facts.js";

const COLOURS = { ok: "green", missing: "red", unknown: "yellow" } as const;

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Check an installation for production, and say what is missing.",
  usage: [
    "kurier doctor [--nats-monitor=http://HOST:8222] [--admin-published=127.0.0.1]",
    "Run it with the environment of the engine, while the engine runs. It changes nothing.",
    "--nats-monitor names the monitoring address of a NATS server, which alone tells whether it syncs each write.",
    "--admin-published says at which address its machine publishes ADMIN_PORT of a container, which listens on all of its own.",
    "The exit code is 1 when something is missing.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["nats-monitor", "admin-published"] });
    const monitor = options.get("nats-monitor");
    const natsMonitor = monitor === undefined ? undefined : addressIn("nats-monitor", monitor);
    const adminPublished = options.get("admin-published");
    if (adminPublished !== undefined && parseAddress(adminPublished) === undefined)
      throw new UsageError("--admin-published must be an address such as 127.0.0.1, without a port.");
    const installation = await gatherInstallation({ natsMonitor, adminPublished });
    // Where the configuration cannot be used nothing else was looked at.
    const checks =
      installation.configFaults.length > 0 ? CHECKS.filter(({ name }) => name === "configuration") : CHECKS;
    const verdicts = checks.map((check) => ({ name: check.name, ...judgeCheck(check, installation) }));
    for (const { name, state, words } of verdicts)
      print(`${colour(COLOURS[state], state.padEnd("missing".length))}  ${name}: ${words}`);
    return verdicts.every(({ state }) => state === "ok") ? EXIT.ok : EXIT.failed;
  },
};
