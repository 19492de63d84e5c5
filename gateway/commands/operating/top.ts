/** `kurier top`: the heartbeat of the whole engine in a terminal, again and again. */
import { setTimeout as pause } from "node:timers/promises";

import { loadConfig } from "../../../engine/base/config.js";
import type { Config } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { readSandbox } from "../../../engine/identity/sandbox.js";
import { adminUrlOf } from "../../start/addresses.js";
import { HEARTBEAT } from "../../web/console/heartbeat.js";
import type { Tone } from "../../web/console/sections.js";
import { addressIn, EXIT, parseArguments, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { call } from "../demo/calls.js";
import { clearTerminal, colour, complain, isAtTerminal, isOutputLost, print } from "../terminal.js";
import { heartbeatLines } from "./heartbeat-lines.js";

/** Where the operators' listener is, and what opens it. */
interface AdminAccess {
  readonly url: string;
  readonly token: string;
}

/** @throws UsageError where nobody knows the operators' token */
function accessOf(config: Config, url: string | undefined): AdminAccess {
  const sandbox = config.ENVIRONMENT === "sandbox" ? readSandbox(config.DATA_DIR) : undefined;
  const token = config.ADMIN_TOKEN ?? sandbox?.admin.token;
  if (token === undefined)
    throw new UsageError("Set ADMIN_TOKEN to the operators' token of the engine, or run this where its DATA_DIR is.");
  return { url: url ?? sandbox?.adminUrl ?? adminUrlOf(config), token };
}

const PAINTS: Readonly<Record<Tone, (text: string) => string>> = {
  well: (text) => text,
  late: (text) => colour("yellow", text),
  bad: (text) => colour("red", text),
};

/** Why there is nothing to show, by the status of the answer. */
const WHY_NOT: Readonly<Partial<Record<number, string>>> = {
  200: "The answer is no heartbeat of this release: another engine, or something else, listens there.",
  401: "The engine does not take this operators' token.",
};

/** One look. @returns lines, or undefined with a word on standard error */
async function look({ url, token }: AdminAccess): Promise<readonly string[] | undefined> {
  try {
    const answer = await call("GET", `${url}/admin/heartbeat`, { authorization: `Bearer ${token}` });
    const beat = answer.status === 200 ? HEARTBEAT.safeParse(answer.json) : undefined;
    if (beat?.success === true) return heartbeatLines(beat.data, (tone, text) => PAINTS[tone](text));
    complain(WHY_NOT[answer.status] ?? `The engine answered ${answer.status}; its database may be away.`);
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof DOMException)) throw error;
    complain(`No engine answers at ${url}.`);
  }
  return undefined;
}

export const topCommand: Command = {
  name: "top",
  summary: "Show the heartbeat of the engine in a terminal.",
  usage: [
    "kurier top [--once] [--url=http://ADMIN_HOST:ADMIN_PORT]",
    "Asks the operators' listener with ADMIN_TOKEN, or with the token of the sandbox in DATA_DIR.",
    "Looks again every two seconds on a terminal, once where the output goes elsewhere. Ctrl-C ends it.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["url"], flags: ["once"] });
    const url = options.get("url");
    const address = url === undefined ? undefined : addressIn("url", url);
    const access = accessOf(loadConfig(), address);
    const isOnce = options.has("once") || !isAtTerminal;
    for (;;) {
      const lines = await look(access);
      if (lines !== undefined) {
        if (!isOnce) clearTerminal();
        for (const line of lines) print(line);
      }
      if (isOnce) return lines === undefined ? EXIT.failed : EXIT.ok;
      if (await isOutputLost()) return EXIT.failed;
      await pause(LIMITS.top_interval_ms);
    }
  },
};
