/** The keys of one development PKI for the engines of a whole run; tests of how they are made give none to their engines. */
import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";

import { systemClock } from "../../../engine/base/clock.js";
import type { Clock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { developmentFolder } from "../../../engine/peppol/pki/setup.js";
import { sharedParts } from "../database/postgres.js";

/**
 * Puts the run's PKI into a data directory that has none. An engine whose clock is far from this machine's makes its own.
 * @param clock of the engine
 */
export async function giveDevelopmentPki(dataDir: string, clock: Clock = systemClock): Promise<void> {
  const folder = developmentFolder(dataDir);
  const isNear = Math.abs(clock.now() - systemClock.now()) < LIMITS.development_begin_before_ms;
  if (isNear && !existsSync(folder)) await cp((await sharedParts()).pki, folder, { recursive: true });
}
