/** Runs the `kurier` program as a user does. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

import { buildIfNeeded } from "../../../deploy/build.mjs";

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** @param options.input  what standard input holds; default nothing */
export async function kurier(
  args: readonly string[],
  options: { readonly input?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Ran> {
  await buildIfNeeded();
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL("../../../gateway/kurier.mjs", import.meta.url)), ...args],
      {
        env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...options.env },
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
    });
    child.once("error", reject);
    child.once("close", (code) => {
      resolve({ code, out, err });
    });
    child.stdin.end(options.input ?? "");
  });
}
