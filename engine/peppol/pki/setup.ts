/** From the configuration to our trust and our keys: files of the operator, or the sandbox's own PKI. */
import { join } from "node:path";

import type { Clock } from "../../base/clock.js";
import { ConfigError } from "../../base/config.js";
import type { Config } from "../../base/config.js";
import type { Log } from "../../base/log.js";
import { ensureDevelopmentPki, loadDevelopmentKeys, trustFolder } from "./development.js";
import { loadKeyStore } from "./key-store.js";
import { createOwnKeys } from "./own-keys.js";
import type { OwnKeys } from "./own-keys.js";
import { loadTrustStore } from "./trust.js";
import type { TrustStore } from "./trust.js";

interface OwnPki {
  readonly store: TrustStore;
  readonly keys: OwnKeys;
}

interface OwnPkiOptions {
  readonly config: Pick<Config, "AS4_KEYSTORE" | "AS4_KEYSTORE_PASSWORD" | "PEPPOL_TRUST_DIR" | "ENVIRONMENT">;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Where the development PKI lies inside a data directory. */
export const developmentFolder = (dataDir: string): string => join(dataDir, "pki");

/**
 * Reads what is configured; in the sandbox without configuration, makes the development PKI.
 * @throws ConfigError with sentences for the operator
 */
export async function openOwnPki({ config, dataDir, clock, log }: OwnPkiOptions): Promise<OwnPki> {
  const { AS4_KEYSTORE: keyStore, PEPPOL_TRUST_DIR: trust } = config;
  if (keyStore !== undefined) {
    if (trust === undefined) throw new ConfigError(["PEPPOL_TRUST_DIR must be set when AS4_KEYSTORE is."]);
    const store = loadTrustStore(trust);
    return {
      store,
      keys: await createOwnKeys({
        load: () => loadKeyStore(keyStore, config.AS4_KEYSTORE_PASSWORD ?? ""),
        store,
        clock,
        log,
      }),
    };
  }
  if (config.ENVIRONMENT === "production")
    throw new ConfigError(["AS4_KEYSTORE must be set when ENVIRONMENT is production."]);
  const folder = developmentFolder(dataDir);
  const done = await ensureDevelopmentPki({ folder, clock });
  if (done !== "kept") log.info("pki.development_ready", { outcome: done });
  const store = loadTrustStore(trust ?? trustFolder(folder));
  return { store, keys: await createOwnKeys({ load: () => loadDevelopmentKeys(folder), store, clock, log }) };
}
