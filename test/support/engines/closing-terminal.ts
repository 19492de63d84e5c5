/** A program in a terminal of its own that can be closed: that of util-linux's `script`. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../eventually.js";

const SCRIPT = "/usr/bin/script";

/** Whether there can be one on this machine. */
export const hasTerminals = existsSync(SCRIPT);

export interface InTerminal {
  /** What it has shown so far. */
  readonly shown: () => string;
  /** Takes the terminal away at once, as a lost connection does. */
  close(): void;
  /** How it ended: the exit code as a shell tells it, and what it wrote to standard error, which lies in a file. */
  ended(): Promise<{ readonly code: number; readonly errors: string }>;
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/**
 * Starts a program in a terminal.
 * @param folder  for what it leaves behind
 * @param isLed  whether the program is told by SIGHUP that the terminal closes, as one in a session of its own is not
 */
export function startInTerminal(
  words: readonly string[],
  {
    folder,
    env,
    isLed,
  }: { readonly folder: string; readonly env: Readonly<Record<string, string>>; readonly isLed: boolean },
): InTerminal {
  const [script, code, errors] = [join(folder, "in-terminal.sh"), join(folder, "code"), join(folder, "errors")];
  const program = [...(isLed ? [] : ["setsid", "--wait"]), ...words].map(quoted).join(" ");
  // The shell outlives its terminal to say how the program ended; Node.js undoes for itself what it ignores.
  writeFileSync(script, `trap "" HUP\n(exec ${program}) 2>${quoted(errors)}\necho $? >${quoted(code)}\n`);
  const terminal = spawn(SCRIPT, ["-qfc", `sh ${quoted(script)}`, "/dev/null"], {
    env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", SHELL: "/bin/sh", ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let shown = "";
  terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
  });
  return {
    shown: () => shown,
    close: () => {
      terminal.kill("SIGKILL");
    },
    ended: async () => {
      await eventually("the program has ended", () => existsSync(code) && readFileSync(code, "utf8").endsWith("\n"));
      return { code: Number(readFileSync(code, "utf8")), errors: readFileSync(errors, "utf8") };
    },
  };
}
