/**
 * A private PKI made by OpenSSL and keytool, so that no certificate of the matrix comes from our own code: root, AP and SMP
 * authorities, leaves of both access points, key stores for each side. Throw-away: a fresh one each run.
 */
import { execFile } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";

const run = promisify(execFile);
const TIMEOUT_MS = 60_000;
export const PASSWORD = "interop";

export interface InteropPki {
  /** PSK000001, us; also as PKCS#12 with its chain. */
  readonly ours: AccessPoint;
  readonly ourKeyStore: string;
  /** PSK000002, phase4. */
  readonly theirs: AccessPoint;
  readonly theirKeyStore: string;
  /** A second key of ours under the same name, unknown to whoever answers at our address. */
  readonly stranger: AccessPoint;
  /** Our name, certified by an authority that phase4 does not know. */
  readonly outsider: AccessPoint;
  /** Our name, certified by the authority of metadata publishers, below the same root. */
  readonly misplaced: AccessPoint;
  /** For PEPPOL_TRUST_DIR. */
  readonly trustFolder: string;
  /** PKCS#12 with the same authorities, for phase4: WSS4J trusts all of them, the Peppol part "ap" only. */
  readonly trustStore: string;
}

interface Issued {
  readonly certificate: string;
  readonly key: string;
}

export async function makePki(folder: string): Promise<InteropPki> {
  const trustFolder = join(folder, "trust");
  mkdirSync(trustFolder, { recursive: true });
  const openssl = (...args: string[]): Promise<unknown> => run("openssl", args, { cwd: folder, timeout: TIMEOUT_MS });

  async function issue(name: string, subject: string, extensions: readonly string[], issuer?: Issued): Promise<Issued> {
    const issued = { certificate: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
    await openssl(
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-sha256",
      "-days",
      "700",
      "-subj",
      subject,
      "-out",
      issued.certificate,
      "-keyout",
      issued.key,
      ...extensions.flatMap((extension) => ["-addext", extension]),
      ...(issuer === undefined ? [] : ["-CA", issuer.certificate, "-CAkey", issuer.key]),
    );
    return issued;
  }
  const authority = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"];
  const leaf = [
    "basicConstraints=critical,CA:FALSE",
    "keyUsage=critical,digitalSignature,keyEncipherment,dataEncipherment",
  ];
  const subjectOf = (seat: string): string => `/C=SK/O=Interop/OU=PEPPOL TEST AP/CN=${seat}`;

  const root = await issue("root", "/C=SK/O=Interop/CN=Interop Root CA", authority);
  const ap = await issue("ap-ca", "/C=SK/O=Interop/CN=INTEROP ACCESS POINT CA", authority, root);
  const smp = await issue("smp-ca", "/C=SK/O=Interop/CN=INTEROP SERVICE METADATA PUBLISHER CA", authority, root);
  const other = await issue("other-ca", "/C=SK/O=Other/CN=OTHER ACCESS POINT CA", authority);
  const ours = await issue("ours", subjectOf("PSK000001"), leaf, ap);
  const theirs = await issue("theirs", subjectOf("PSK000002"), leaf, ap);
  const stranger = await issue("stranger", subjectOf("PSK000001"), leaf, ap);
  const outsider = await issue("outsider", subjectOf("PSK000001"), leaf, other);
  const misplaced = await issue("misplaced", subjectOf("PSK000001"), leaf, smp);

  for (const [name, { certificate }] of Object.entries({ root, ap, smp }))
    writeFileSync(join(trustFolder, `${name}.pem`), readFileSync(certificate));
  const chain = join(folder, "chain.pem");
  writeFileSync(chain, Buffer.concat([readFileSync(ap.certificate), readFileSync(root.certificate)]));
  const keyStore = async (name: string, { certificate, key }: Issued): Promise<string> => {
    const path = join(folder, `${name}.p12`);
    await openssl(
      "pkcs12",
      "-export",
      "-in",
      certificate,
      "-inkey",
      key,
      "-certfile",
      chain,
      "-name",
      "ap",
      "-passout",
      `pass:${PASSWORD}`,
      "-out",
      path,
    );
    return path;
  };
  const trustStore = join(folder, "trust.p12");
  for (const [alias, { certificate }] of Object.entries({ root, ap, smp })) {
    await run(
      "keytool",
      [
        "-importcert",
        "-noprompt",
        "-storetype",
        "PKCS12",
        "-keystore",
        trustStore,
        "-storepass",
        PASSWORD,
        "-alias",
        alias,
        "-file",
        certificate,
      ],
      { timeout: TIMEOUT_MS },
    );
  }
  return {
    ours: accessPoint("PSK000001", ours),
    theirs: accessPoint("PSK000002", theirs),
    stranger: accessPoint("PSK000001", stranger),
    outsider: accessPoint("PSK000001", outsider),
    misplaced: accessPoint("PSK000001", misplaced),
    ourKeyStore: await keyStore("ours", ours),
    theirKeyStore: await keyStore("theirs", theirs),
    trustFolder,
    trustStore,
  };
}

function accessPoint(seat: string, { certificate, key }: Issued): AccessPoint {
  const privateKey = createPrivateKey(readFileSync(key));
  return {
    seat,
    certificate: new X509Certificate(readFileSync(certificate)).raw,
    privateKey,
    key: wrapPrivateKey(privateKey),
  };
}
