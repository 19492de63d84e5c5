/**
 * A service metadata publisher for Oxalis, in our own words and with our own signature: it asks, for each document that
 * arrives, whether the metadata names its own address. So Oxalis also judges what our SMP says.
 */
import { execFile } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";

import { serviceMetadataXml } from "../../../engine/peppol/discovery/smp-document.js";
import { signEnveloped } from "../../../validators/wss/enveloped.js";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { BILLING, INVOICE_TYPE } from "./payloads.js";
import { PASSWORD } from "./pki.js";
import type { InteropPki } from "./pki.js";
import { listening } from "../../support/network/listening.js";

const run = promisify(execFile);
const TIMEOUT_MS = 60_000;

export interface OxalisSmp {
  readonly url: string;
  /** Participants that were asked for, with the document type. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/**
 * @param endpoints  participants of Oxalis → address of their access point; everyone takes invoices only
 * @param upstream  the publisher that knows all others
 */
export async function serveOxalisSmp(
  pki: InteropPki,
  { signer }: SmpKey,
  endpoints: Readonly<Record<string, string>>,
  upstream?: () => string,
): Promise<OxalisSmp> {
  const asked: string[] = [];
  async function answer(path: string): Promise<Buffer | undefined> {
    const [id = "", documentType = ""] = path
      .split("/services/")
      .map((part) => decodeURIComponent(part.replace(/^\//, "")));
    const participant = id.replace("iso6523-actorid-upis::", "");
    asked.push(`${participant} ${documentType}`);
    const url = endpoints[participant];
    if (url === undefined && upstream !== undefined) {
      const response = await fetch(`${upstream()}${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
      return response.status === 200 ? Buffer.from(await response.arrayBuffer()) : undefined;
    }
    if (url === undefined || documentType !== `busdox-docid-qns::${INVOICE_TYPE}`) return undefined;
    return signEnveloped(
      Buffer.from(
        serviceMetadataXml({
          participant,
          documentType: INVOICE_TYPE,
          processes: [BILLING],
          url,
          certificate: pki.theirs.certificate,
          activation: Date.parse("2026-01-01T00:00:00Z"),
          expiration: Date.parse("2036-01-01T00:00:00Z"),
          contact: "https://contact.example",
        }),
      ),
      signer,
    );
  }
  const server = createServer((request, response) => {
    answer(request.url ?? "").then(
      (document) => {
        response
          .writeHead(document === undefined ? 404 : 200, { "content-type": "text/xml;charset=UTF-8" })
          .end(document);
      },
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    );
  });
  const { origin, close } = await listening(server);
  return {
    url: origin,
    asked,
    close,
  };
}

export interface SmpKey {
  readonly signer: OwnKey;
  /** Its PKCS#12. */
  readonly keyStore: string;
}

/** A key of a metadata publisher. @param folder  where the PKI lies, with the key of its SMP authority */
export async function issueSmpKey(folder: string): Promise<SmpKey> {
  const openssl = (...args: string[]): Promise<unknown> => run("openssl", args, { cwd: folder, timeout: TIMEOUT_MS });
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
    "/C=SK/O=Interop/OU=PEPPOL TEST SMP/CN=PSK000009",
    "-out",
    "smp.pem",
    "-keyout",
    "smp.key",
    "-addext",
    "basicConstraints=critical,CA:FALSE",
    "-addext",
    "keyUsage=critical,digitalSignature",
    "-CA",
    "smp-ca.pem",
    "-CAkey",
    "smp-ca.key",
  );
  await openssl(
    "pkcs12",
    "-export",
    "-in",
    "smp.pem",
    "-inkey",
    "smp.key",
    "-certfile",
    "smp-ca.pem",
    "-name",
    "smp",
    "-passout",
    `pass:${PASSWORD}`,
    "-out",
    "smp.p12",
  );
  const at = (name: string): string => join(folder, name);
  return {
    signer: {
      certificate: new X509Certificate(readFileSync(at("smp.pem"))).raw,
      key: wrapPrivateKey(createPrivateKey(readFileSync(at("smp.key")))),
    },
    keyStore: at("smp.p12"),
  };
}

/** One key store with the keys of two. @returns its path */
export async function joinKeyStores(folder: string, first: string, second: string): Promise<string> {
  const joined = join(folder, "joined.p12");
  for (const from of [first, second]) {
    await run(
      "keytool",
      [
        "-importkeystore",
        "-noprompt",
        "-srckeystore",
        from,
        "-srcstorepass",
        PASSWORD,
        "-destkeystore",
        joined,
        "-deststoretype",
        "PKCS12",
        "-deststorepass",
        PASSWORD,
      ],
      { timeout: TIMEOUT_MS },
    );
  }
  return joined;
}
