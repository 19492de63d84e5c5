/** What the `kurier` program does where nobody reads what it writes. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { EXIT } from "../../../gateway/commands/command.js";
import type { Heartbeat } from "../../../gateway/web/console/heartbeat.js";
import { hasTerminals, startInTerminal } from "../../support/engines/closing-terminal.js";
import { killEverythingOn, PROJECT } from "../../support/engines/process.js";
import { eventually } from "../../support/eventually.js";
import { kurier } from "./kurier.js";

const BEAT: Heartbeat = {
  at: "2026-11-22T12:00:00.000Z",
  environment: "production",
  perSecond: { requests: 0, accepted: 0, received: 0, attempts: 0, delivered: 0, events: 0 },
  oldestDue_s: 0,
  ...{ nodes: [], documents: [], streams: [], receivers: [], webhooks: [], certificates: [] },
  evidence: { index: 0, hash: "ab".repeat(32), storedAt: null },
  reviews: { registrations: 0, whiteLabel: 0, onboarding: 0, held: 0 },
};
const KURIER = join(PROJECT, "gateway/kurier.mjs");

let folder: string;
let looks: number;
/** From this look on none is answered: a command that waits for an answer shows nothing meanwhile. */
let silentFrom = Infinity;
const engine = createServer((_, answer) => {
  looks += 1;
  if (looks < silentFrom) answer.setHeader("content-type", "application/json").end(JSON.stringify(BEAT));
});
beforeEach(async () => {
  await buildIfNeeded();
  folder = mkdtempSync(join(tmpdir(), "kurier-top-"));
  looks = 0;
  silentFrom = Infinity;
  engine.listen(0, "127.0.0.1");
  await once(engine, "listening");
});
afterEach(async () => {
  killEverythingOn(folder);
  engine.close();
  engine.closeAllConnections();
  await once(engine, "close");
  rmSync(folder, { recursive: true, force: true });
});

const words = (): readonly string[] => ["top", `--url=http://127.0.0.1:${(engine.address() as AddressInfo).port}`];
const surroundings = (): Readonly<Record<string, string>> => ({ DATA_DIR: folder, ADMIN_TOKEN: "t".repeat(43) });

test.skipIf(!hasTerminals).each([
  ["that tells it so", true, 129, ""],
  [
    "that tells it nothing",
    false,
    EXIT.failed,
    "Standard output takes nothing more (EIO): the command goes on, and what it says is lost.\n",
  ],
])("kurier top ends without a stack with the terminal in which it runs, one %s", async (_, isLed, code, errors) => {
  const LAST = 3;
  // Who is told of the closed terminal ends by that, if he does not write to it in the same moment; the other by writing.
  silentFrom = isLed ? LAST : Infinity;
  const terminal = startInTerminal([process.execPath, KURIER, ...words()], { folder, env: surroundings(), isLed });
  try {
    await eventually("it has looked again", () => looks >= LAST && terminal.shown().includes("Nodes"));
  } finally {
    terminal.close();
  }
  expect(await terminal.ended()).toEqual({ code, errors });
});

test.skipIf(!existsSync("/dev/full"))("kurier top ends where what shows it takes nothing more", async () => {
  const atTerminal = "--import=data:text/javascript,process.stdout.isTTY=true";
  expect(await kurier(words(), { full: ["out"], env: { ...surroundings(), NODE_OPTIONS: atTerminal } })).toEqual({
    code: EXIT.failed,
    out: "",
    err: "Standard output takes nothing more (ENOSPC): the command goes on, and what it says is lost.\n",
  });
  expect(looks).toBe(1);
});

test.skipIf(!hasTerminals).each([
  ["shown in a terminal", {}, true],
  ["shown in a terminal that has a name of its own", { TERM: "alacritty" }, true],
  ["shown where NO_COLOR is empty", { NO_COLOR: "" }, true],
  ["not shown where NO_COLOR is set", { NO_COLOR: "1" }, false],
  ["not shown in a terminal that has none", { TERM: "dumb" }, false],
])("colours are %s", async (_, env, isColoured) => {
  const program = [process.execPath, KURIER, "validate", "gateway/README.md"];
  const terminal = startInTerminal(program, { folder, env: { TERM: "xterm", ...env }, isLed: true });
  await terminal.ended();
  await eventually("all of it is shown", () => terminal.shown().includes("1 checked"));
  expect(terminal.shown().includes("\u001b[31m")).toBe(isColoured);
});

const run = promisify(execFile);

test.each(["--help", "env"])("kurier %s ends well and says nothing more when its reader has gone", async (words) => {
  // `true` has gone before Node has started; bash then tells how the program before it ended.
  const line = `"${process.execPath}" gateway/kurier.mjs ${words} | true; exit "\${PIPESTATUS[0]}"`;
  const { stderr } = await run("bash", ["-c", line], { cwd: PROJECT });
  expect(stderr).toBe("");
});
