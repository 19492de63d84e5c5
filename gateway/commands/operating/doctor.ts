/** `kurier doctor`: whether an installation is fit for production, one line for each thing that it needs. */
import { addressIn, EXIT, parseArguments } from "../command.js";
import type { Command } from "../command.js";
import { colour, print } from "../terminal.js";
import { CHECKS } from "./checks.js";
import { gatherInstallation } from "./facts.js";

export const doctorCommand: Command = {
  name: "doctor",
  summary: "Check an installation for production, and say what is missing.",
  usage: [
    "kurier doctor [--nats-monitor=http://HOST:8222]",
    "Run it with the environment of the engine, while the engine runs. It changes nothing.",
    "--nats-monitor names the monitoring address of a NATS server, which alone tells whether it syncs each write.",
    "The exit code is 1 when something is missing.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["nats-monitor"] });
    const monitor = options.get("nats-monitor");
    const natsMonitor = monitor === undefined ? undefined : addressIn("nats-monitor", monitor);
    const installation = await gatherInstallation({ natsMonitor });
    // Where the configuration cannot be used nothing else was looked at.
    const checks =
      installation.configFaults.length > 0 ? CHECKS.filter(({ name }) => name === "configuration") : CHECKS;
    const verdicts = checks.map((check) => ({ ...check, fault: check.missing(installation) }));
    for (const { name, promise, fault } of verdicts)
      print(
        fault === undefined
          ? `${colour("green", "ok     ")}  ${name}: ${typeof promise === "string" ? promise : promise(installation)}`
          : `${colour("red", "missing")}  ${name}: ${fault.replace(/\s+/g, " ")}`,
      );
    return verdicts.every(({ fault }) => fault === undefined) ? EXIT.ok : EXIT.failed;
  },
};
