/** `kurier serve`: the engine, until it is told to stop. */
import { systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { EmbeddedError } from "../../engine/embedded/embedded.js";
import { within } from "../../engine/base/waiting/wake.js";
import type { NoWorker } from "../../validators/lanes/job.js";
import type { Engine, Role } from "../main.js";
import { ROLES, startEngine } from "../main.js";
import { standardOutput } from "../../engine/base/files/standard-output.js";
import { colour, complain } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command, ExitCode } from "./command.js";
import { toldToEnd } from "./told-to-end.js";

const roleOf = (text: string | undefined): Role => {
  const role = ROLES.find((known) => known === (text ?? "all"));
  if (role === undefined) throw new UsageError(`--role is one of ${ROLES.join(", ")}.`);
  return role;
};

/** As the log, so that a full disk or a terminal that is gone does not end the engine. */
const print = (line = ""): void => {
  standardOutput.write(`${line}\n`);
};

/** Tells who has started the engine where it listens, with which credentials, and lines that work when pasted. */
function banner(engine: Engine): void {
  const { sandbox } = engine;
  print();
  print(colour("bold", "Kurier is ready."));
  print(`  API        ${engine.publicUrl}/api/v1    SAPI  ${engine.publicUrl}/sapi/v1`);
  print(`  Reference  ${engine.publicUrl}/docs`);
  print(`  Operators  ${engine.adminUrl}/console  /metrics  /livez  /readyz`);
  print(
    `  Streams    ${engine.streams === "jetstream" ? "NATS JetStream" : "Postgres"}    HTTP  ${engine.server === "uws" ? "uWebSockets.js" : "node:http"}`,
  );
  print(`  Pages      ${engine.publicUrl}/`);
  if (sandbox === undefined) return;
  print(`  People     ${Object.values(sandbox.people).join("  ")}  (codes: DATA_DIR/mail)`);
  print(`  Admin      Authorization: Bearer ${sandbox.admin.token}`);
  const { sender, receiver } = sandbox;
  print(`  Sender     ${sender.participantId}  client_id ${sender.clientId}  client_secret ${sender.clientSecret}`);
  print(
    `  Receiver   ${receiver.participantId}  client_id ${receiver.clientId}  client_secret ${receiver.clientSecret}`,
  );
  print();
  print("Try it (npm run demo does all of this and more):");
  print(
    `  TOKEN=$(curl -s ${sandbox.sapiBaseUrl}/auth/token -H 'Content-Type: application/json' -d '{"grant_type":"client_credentials","client_id":"${receiver.clientId}","client_secret":"${receiver.clientSecret}"}' | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
  );
  print(
    `  curl -s ${sandbox.sapiBaseUrl}/document/receive -H "Authorization: Bearer $TOKEN" -H 'X-Peppol-Participant-Id: ${receiver.participantId}'`,
  );
  print(
    `  curl -s '${engine.adminUrl}/admin/sandbox/invoice?lines=3' -H 'Authorization: Bearer ${sandbox.admin.token}'`,
  );
  print();
}

const codeOf = ({ passing }: NoWorker | EmbeddedError): ExitCode => (passing ? EXIT.away : EXIT.configuration);

/** What a shell tells of a program that a signal has ended: it did not do what it began. */
const LEFT = 130;

/**
 * The engine, once it is ready; undefined when it was told to end and was still not ready a while later, or failed: who
 * ends a group of processes, or a unit of systemd, ends those that a start waits for as well.
 */
function unlessStopped(starting: Promise<Engine>, stopRequested: Promise<undefined>): Promise<Engine | undefined> {
  const isTold = stopRequested.then(() => true);
  const begun = starting.catch(async (error: unknown) => {
    if (await Promise.race([isTold, false])) return undefined;
    throw error;
  });
  return Promise.race([begun, stopRequested.then(() => within(begun, LIMITS.start_left_ms, undefined))]);
}

export const serveCommand: Command = {
  name: "serve",
  summary: "Start the engine.",
  usage: [
    "kurier serve [--role all|gateway|worker]",
    "Ctrl-C drains and stops; another one a second later stops at once.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["role"] });
    const role = roleOf(options.get("role"));
    const config = loadConfig();
    const stopRequested = toldToEnd(process, systemClock, () => process.exit(LEFT));
    const engine = await unlessStopped(startEngine(config, { role }), stopRequested);
    // Children end with the process, what was accepted is committed, and the rest is begun again by the next start.
    if (engine === undefined) process.exit(EXIT.ok);
    banner(engine);
    // Without a thread every document that is sent here would be refused; two engines with one DATA_DIR have one name.
    const fault = await Promise.race([
      stopRequested,
      engine.threadsWork.then((reason) => reason ?? stopRequested),
      engine.dataDirLost,
    ]);
    if (fault !== undefined) complain(fault.message);
    await engine.stop();
    // What hung and was left behind must not keep the process.
    process.exit(fault === undefined ? EXIT.ok : codeOf(fault));
  },
};
