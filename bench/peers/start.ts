/** Starts a peer as a process of its own on a free port. */
import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { systemClock } from "../../engine/base/clock.js";
import { childEnvironment } from "../../engine/base/config.js";
import { loadUws } from "../../gateway/http/uws-binding.js";

/** What the peer without validation runs on, for the names of figures. */
export const LIMIT_SERVER = loadUws() === undefined ? "node:http" : "uWS";

const PATIENCE_MS = 10_000;
const POLL_MS = 20;

/** @param port a free port @param databaseUrl  for peers that insert */
export async function startPeer(
  name: "uws-insert" | "fastify-insert" | "event-receiver",
  port: number,
  databaseUrl = "",
): Promise<{ readonly url: string; readonly pid: number | undefined; stop(): Promise<void> }> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL(`./${name}.js`, import.meta.url)), String(port), databaseUrl],
    { env: childEnvironment(), stdio: ["ignore", "ignore", "inherit"] },
  );
  const url = `http://127.0.0.1:${port}`;
  const start = systemClock.monotonic();
  for (;;) {
    try {
      await fetch(`${url}/hello`);
      break;
    } catch {
      if (child.exitCode !== null || systemClock.monotonic() - start > PATIENCE_MS)
        throw new Error(`the peer ${name} did not start`);
      await pause(POLL_MS);
    }
  }
  return {
    url,
    pid: child.pid,
    stop: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    },
  };
}
