/** The Oxalis process: configured in a folder of its own, started on a free port, ended by closing its standard input. */
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { ready, stop } from "./java.js";
import type { InteropPki } from "./pki.js";
import { PASSWORD } from "./pki.js";

const START_TIMEOUT_MS = 90_000;
const TARGET = fileURLToPath(new URL("../oxalis/target/", import.meta.url));
const SEND_TIMEOUT_MS = 100_000;
const HEAP = "-Xmx1g";

/** See Sender.java. */
export interface SendParameters {
  /** Without an address, Oxalis looks the receiver up at its metadata publisher. */
  readonly to?: { readonly url: string; /** DER of the certificate to encrypt to. */ readonly certificate: Buffer };
  readonly sender: string;
  readonly receiver: string;
  /** Without it, Oxalis chooses. */
  readonly messageId?: string;
  /** With messageId: a message of the test service. */
  readonly ping?: "true";
  readonly doctype?: string;
  readonly sbdhSender?: string;
  readonly sbdhReceiver?: string;
  /** `file` of an earlier result: the same standard business document again. */
  readonly resend?: string;
}

export interface SendResult {
  /** SUCCESS: Oxalis took the answer for a receipt. ERROR_RECEIVED: for an ebMS error. FAILED: for neither. */
  readonly result: "SUCCESS" | "ERROR_RECEIVED" | "FAILED";
  /** RefToMessageId of the receipt. */
  readonly messageId?: string;
  /** The standard business document that was sent. */
  readonly file: string;
  /** As Oxalis reads an error signal: code, and its ErrorDetail. */
  readonly code?: string;
  readonly detail?: string;
  readonly exceptions?: readonly string[];
}

export interface Oxalis {
  readonly url: string;
  readonly version: string;
  send(parameters: SendParameters, payload: Buffer): Promise<SendResult>;
  /** The document that Oxalis has stored under this MessageId. */
  stored(messageId: string): Buffer | undefined;
  /** How many documents Oxalis has stored. */
  storedCount(): number;
  stop(): Promise<void>;
}

export interface OxalisOptions {
  /** A metadata publisher: Oxalis finds receivers there, and asks it for each document that arrives whether it is for Oxalis. */
  readonly smp?: string;
  /** What must be part of the address that the metadata publisher names. */
  readonly ownUrl?: string;
}

export async function startOxalis(pki: InteropPki, folder: string, options: OxalisOptions = {}): Promise<Oxalis> {
  configure(pki, folder, options);
  const classPath = [join(TARGET, "oxalis-harness.jar"), join(TARGET, "lib/*"), folder].join(":");
  const child = spawn("java", [HEAP, `-DOXALIS_HOME=${folder}`, "-cp", classPath, "kurier.interop.Harness"], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const log: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (log.push(line) > 400) log.shift();
  });
  const [port, version] = await ready("Oxalis", START_TIMEOUT_MS, child, log);
  const base = `http://127.0.0.1:${port}`;
  const documents = (): string[] => {
    const inbound = join(folder, "inbound");
    return existsSync(inbound)
      ? readdirSync(inbound, { recursive: true, encoding: "utf8" })
          .filter((path) => path.endsWith(".doc.xml"))
          .map((path) => join(inbound, path))
      : [];
  };
  return {
    url: `${base}/as4`,
    version,
    storedCount: () => documents().length,
    stored: (messageId) => {
      // As Oxalis makes a file name of it.
      const name = `${messageId.replace(/[^a-zA-Z0-9.-]/g, "_")}.doc.xml`;
      const path = documents().find((candidate) => candidate.endsWith(`/${name}`));
      return path === undefined ? undefined : readFileSync(path);
    },
    send: async ({ to, ...parameters }, payload) => {
      const query = new URLSearchParams({
        ...parameters,
        folder,
        ...(to === undefined ? {} : { url: to.url, certificate: to.certificate.toString("base64") }),
      });
      const response = await fetch(`${base}/control/send?${query.toString()}`, {
        method: "POST",
        body: new Uint8Array(payload),
        signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`Oxalis could not send: ${text}\n${log.slice(-20).join("\n")}`);
      return JSON.parse(text) as SendResult;
    },
    stop: () => stop(child),
  };
}

/** OXALIS_HOME: its configuration, its key, and the authorities that it trusts (mode INTEROP of the harness). */
function configure(pki: InteropPki, folder: string, { smp, ownUrl }: OxalisOptions): void {
  mkdirSync(join(folder, "interop"), { recursive: true });
  mkdirSync(join(folder, "inbound"), { recursive: true });
  copyFileSync(pki.theirKeyStore, join(folder, "theirs.p12"));
  copyFileSync(pki.trustStore, join(folder, "interop/authorities.p12"));
  const certificate = (name: string): string =>
    `<Certificate>${readFileSync(join(pki.trustFolder, `${name}.pem`), "utf8").replace(/-----[^-]*-----/g, "")}</Certificate>`;
  const issuedBy = (authority: string): string =>
    `<PrincipleName field="CN" principal="ISSUER"><Value>${authority}</Value></PrincipleName>`;
  writeFileSync(
    join(folder, "interop/pki.xml"),
    `<ValidatorRecipe xmlns="http://oxalis.network/xsd/certvalidator/1.0" name="interop" version="1">
  <Validator><Expiration/><Signing type="PUBLIC_SIGNED"/><Chain><RootBucketReference>root</RootBucketReference><IntermediateBucketReference>issuers</IntermediateBucketReference></Chain></Validator>
  <Validator name="AP">${issuedBy("INTEROP ACCESS POINT CA")}<ValidatorReference>default</ValidatorReference></Validator>
  <Validator name="SMP">${issuedBy("INTEROP SERVICE METADATA PUBLISHER CA")}<ValidatorReference>default</ValidatorReference></Validator>
  <CertificateBucket name="root">${certificate("root")}</CertificateBucket>
  <CertificateBucket name="issuers">${certificate("ap")}${certificate("smp")}</CertificateBucket>
</ValidatorRecipe>
`,
  );
  writeFileSync(
    join(folder, "oxalis.conf"),
    [
      'oxalis.keystore = { path = "theirs.p12", password = "interop", key.alias = "ap", key.password = "interop" }'.replaceAll(
        "interop",
        PASSWORD,
      ),
      'oxalis.as4.hostname = "oxalis.interop"',
      ...(smp === undefined
        ? []
        : [
            `lookup.locator = { class = "network.oxalis.vefa.peppol.lookup.locator.StaticLocator", hostname = "${smp}" }`,
            "access.point.isReceiverCheckEnabled = true",
            `my.access.point.url = "${ownUrl ?? ""}"`,
          ]),
    ].join("\n"),
  );
}
