/**
 * A service metadata publisher for Oxalis, in our own words and with our own signature: it asks, for each document that
 * arrives, whether the metadata names its own address. So Oxalis also judges what our SMP says.
 */
import { execFile } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

import { serviceMetadataXml } from "../../engine/peppol/smp-document.js";
import { signEnveloped } from "../../validators/wss/enveloped.js";
import { wrapPrivateKey } from "../../validators/wss/keys.js";
import type { OwnKey } from "../../validators/wss/protocol.js";
import { BILLING, INVOICE_TYPE } from "./payloads.js";
import type { InteropPki } from "./pki.js";

const run = promisify(execFile);
const TIMEOUT_MS = 60_000;

export interface OxalisSmp {
  readonly url: string;
  /** Participants that were asked for, with the document type. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/**
 * @param folder  where the PKI lies, with the key of its SMP authority
 * @param endpoints  participant → address of its access point; everyone takes invoices only
 */
export async function serveOxalisSmp(pki: InteropPki, folder: string, endpoints: Readonly<Record<string, string>>): Promise<OxalisSmp> {
  const signer = await issueSmpKey(folder);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const [participant = "", documentType = ""] = (request.url ?? "").split("/services/").map((part) => decodeURIComponent(part.replace(/^\//, "")));
    asked.push(`${participant} ${documentType}`);
    const url = endpoints[participant.replace("iso6523-actorid-upis::", "")];
    if (url === undefined || documentType !== `busdox-docid-qns::${INVOICE_TYPE}`) {
      response.writeHead(404).end();
      return;
    }
    const document = serviceMetadataXml({
      participant: participant.replace("iso6523-actorid-upis::", ""), documentType: INVOICE_TYPE, processes: [BILLING], url, certificate: pki.theirs.certificate,
      activation: Date.parse("2026-01-01T00:00:00Z"), expiration: Date.parse("2036-01-01T00:00:00Z"), contact: "https://contact.example",
    });
    response.writeHead(200, { "content-type": "text/xml;charset=UTF-8" }).end(signEnveloped(Buffer.from(document), signer));
  });
  await new Promise<void>((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked,
    close: () => new Promise((resolve) => { server.close(() => { resolve(); }); server.closeAllConnections(); }),
  };
}

async function issueSmpKey(folder: string): Promise<OwnKey> {
  await run("openssl", [
    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256", "-days", "700", "-subj", "/C=SK/O=Interop/OU=PEPPOL TEST SMP/CN=PSK000009",
    "-out", "smp.pem", "-keyout", "smp.key", "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "keyUsage=critical,digitalSignature", "-CA", "smp-ca.pem", "-CAkey", "smp-ca.key",
  ], { cwd: folder, timeout: TIMEOUT_MS });
  return { certificate: new X509Certificate(readFileSync(join(folder, "smp.pem"))).raw, key: wrapPrivateKey(createPrivateKey(readFileSync(join(folder, "smp.key")))) };
}
