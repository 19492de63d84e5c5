/** The phoss SMP process: configured in a folder of its own, started on a free port, ended by closing its standard input. */
import { execFile, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import type { FakeSml } from "../../support/peppol/sml.js";
import { ready, stop } from "./java.js";
import { PASSWORD } from "./pki.js";

const START_TIMEOUT_MS = 90_000;
const TARGET = fileURLToPath(new URL("../phoss/target/", import.meta.url));
const HEAP = "-Xmx512m";

/** The administrator that phoss SMP makes when it has no user yet. */
export const PHOSS_USER = "admin@helger.com";
export const PHOSS_PASSWORD = "password";
/** As which SMP it is known to the SML. */
export const PHOSS_ID = "PHOSS-INTEROP";

export interface Phoss {
  readonly url: string;
  readonly version: string;
  stop(): Promise<void>;
}

/**
 * @param folder  its own, where its certificates lie
 * @param keyStore  PKCS#12 with the key `smp`, by which it signs and by which the SML knows it
 */
export async function startPhoss(
  folder: string,
  { keyStore, sml }: { readonly keyStore: string; readonly sml: FakeSml },
): Promise<Phoss> {
  await configure(folder, keyStore, sml);
  const classPath = [join(TARGET, "phoss-harness.jar"), join(TARGET, "lib/*"), join(folder, "conf")].join(":");
  const child = spawn("java", [HEAP, "-cp", classPath, "kurier.interop.Harness", join(folder, "web"), sml.url], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const log: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (log.push(line) > 400) log.shift();
  });
  const [port, version] = await ready("phoss SMP", START_TIMEOUT_MS, child, log);
  return { url: `http://127.0.0.1:${port}`, version, stop: () => stop(child) };
}

/** Its properties, and the authority of the SML. */
async function configure(folder: string, keyStore: string, sml: FakeSml): Promise<void> {
  for (const name of ["conf", "web", "data"]) mkdirSync(join(folder, name), { recursive: true });
  const authority = join(folder, "sml.pem");
  const trustStore = join(folder, "sml.p12");
  writeFileSync(authority, sml.ca);
  await promisify(execFile)("keytool", [
    ...["-importcert", "-noprompt", "-alias", "sml", "-file", authority],
    ...["-keystore", trustStore, "-storetype", "PKCS12", "-storepass", PASSWORD],
  ]);
  const properties = {
    "global.debug": "false",
    "global.production": "true",
    "webapp.datapath": join(folder, "data"),
    "webapp.checkfileaccess": "false",
    "smp.backend": "xml",
    "smp.keystore.type": "pkcs12",
    "smp.keystore.path": keyStore,
    "smp.keystore.password": PASSWORD,
    "smp.keystore.key.alias": "smp",
    "smp.keystore.key.password": PASSWORD,
    "smp.truststore.type": "pkcs12",
    "smp.truststore.path": trustStore,
    "smp.truststore.password": PASSWORD,
    "smp.forceroot": "true",
    "smp.identifiertype": "peppol",
    "smp.rest.type": "peppol",
    "smp.directory.integration.enabled": "false",
    "sml.smpid": PHOSS_ID,
  };
  writeFileSync(
    join(folder, "conf/application.properties"),
    Object.entries(properties)
      .map(([name, value]) => `${name} = ${value}\n`)
      .join(""),
  );
}
