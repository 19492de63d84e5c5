/** The RSA of AS4 messages and nothing else: what bounds every exchange from above. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { systemClock } from "../engine/base/clock.js";
import { childEnvironment } from "../engine/base/config.js";
import { loadDevelopmentKeys } from "../engine/peppol/pki/development.js";
import { wrapPrivateKey } from "../validators/wss/keys.js";

/** The key of an access point, RSA-2048. */
export interface AccessPointKey {
  /** DER. */
  readonly certificate: Buffer;
  readonly key: ReturnType<typeof wrapPrivateKey>;
  readonly pem: string;
}

/** The access point's key of a development PKI. */
export async function accessPointKey(folder: string): Promise<AccessPointKey> {
  const [leaf] = existsSync(folder) ? await loadDevelopmentKeys(folder) : [];
  if (leaf === undefined) throw new Error("the development PKI has no access point key");
  return {
    certificate: Buffer.from(leaf.certificate),
    key: wrapPrivateKey(leaf.privateKey),
    pem: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** Runs a step for so long and says how many a second. */
export async function rate(seconds: number, step: () => Promise<unknown> | void): Promise<number> {
  const start = systemClock.monotonic();
  let count = 0;
  while (systemClock.monotonic() - start < seconds * 1_000) {
    await step();
    count += 1;
  }
  return count / ((systemClock.monotonic() - start) / 1_000);
}

/** Sides of an exchange: `inbound` decrypts the key, verifies and signs the receipt; `exchange` is both sides. */
export type ExchangeSide = "inbound" | "exchange";

/**
 * Does a step, and finds meanwhile how many exchanges a second one core could make if an exchange were its RSA
 * operations alone. A process of its own makes some all along the step and counts them by its processor time, because
 * what a processor of a shared host makes of RSA changes by a third within seconds.
 * @param folder  a development PKI, whose access point's key is used
 * @returns what the step came to, and the limit
 * @throws Error when that process ends too early
 */
export async function besideRsaLimit<T>(
  folder: string,
  side: ExchangeSide,
  step: () => Promise<T>,
): Promise<{ readonly result: T; readonly limit: number }> {
  const child = fork(fileURLToPath(new URL("./peers/rsa-alone.js", import.meta.url)), [folder, side], {
    env: childEnvironment(),
    execArgv: [],
  });
  const death = new AbortController();
  child.once("exit", () => {
    death.abort(new Error("the process that measures RSA alone has ended"));
  });
  const told = async (): Promise<number> => Number((await once(child, "message", { signal: death.signal }))[0]);
  try {
    await told();
    const result = await step();
    const limit = told();
    child.send("limit");
    return { result, limit: await limit };
  } finally {
    child.kill("SIGKILL");
  }
}
