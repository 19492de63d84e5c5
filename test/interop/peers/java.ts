/** A harness of ours in a Java process: it says READY with its port and version, and ends when its input does. */
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

const STOP_TIMEOUT_MS = 20_000;

/** Waits until it is ready. @param name for the error, which has the end of its log. @returns port and version */
export function ready(
  name: string,
  timeout_ms: number,
  child: ChildProcess,
  log: readonly string[],
): Promise<[string, string]> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      reject(new Error(`${name} ${why}\n${log.slice(-40).join("\n")}`));
    };
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail("did not start in time");
    }, timeout_ms);
    child.once("error", (error) => {
      clearTimeout(timer);
      fail(`could not be started: ${error.message}`);
    });
    child.once("exit", (code) => {
      clearTimeout(timer);
      fail(`ended with ${String(code)}`);
    });
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [word, port, version] = line.split(" ");
      if (word !== "READY" || port === undefined || version === undefined) return;
      clearTimeout(timer);
      resolve([port, version]);
    });
  });
}

/** Ends it; what does not end in time is killed. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    child.once("exit", () => {
      clearTimeout(timer);
      resolve();
    });
    child.stdin?.end();
  });
}
