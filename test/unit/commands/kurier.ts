/** Runs the `kurier` program as a user does. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { buildIfNeeded } from "../../../deploy/build.mjs";

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Surroundings {
  /** What standard input holds. @default nothing */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Outputs that lie on a disk which is full. @default none */
  readonly full?: readonly ("out" | "err")[];
}

export async function kurier(args: readonly string[], options: Surroundings = {}): Promise<Ran> {
  await buildIfNeeded();
  const full = openSync("/dev/full", "w");
  const outputTo = (name: "out" | "err") => (options.full?.includes(name) === true ? full : "pipe");
  return new Promise<Ran>((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL("../../../gateway/kurier.mjs", import.meta.url)), ...args],
      {
        env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...options.env },
        stdio: ["pipe", outputTo("out"), outputTo("err")],
      },
    );
    let [out, err] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ code, out, err });
    });
    child.stdin?.end(options.input ?? "");
  }).finally(() => {
    closeSync(full);
  });
}
