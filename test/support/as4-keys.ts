/** Throw-away keys and certificates for AS4 tests: made in the test, never stored. */
import { generateKeyPairSync, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { wrapPrivateKey } from "../../validators/wss/keys.js";
import type { OwnKey } from "../../validators/wss/protocol.js";

x509.cryptoProvider.set(webcrypto as Crypto);

export interface AccessPoint extends OwnKey {
  /** Common name of the certificate and PartyId, such as PSK000001. */
  seat: string;
  /** PKCS#8 PEM. */
  private_pem: string;
  certificate_pem: string;
}

/** A self-signed access point certificate with an RSA key of the given size. */
export async function accessPoint(seat: string, bits = 2048): Promise<AccessPoint> {
  const pair = generateKeyPairSync("rsa", { modulusLength: bits });
  const private_pem = pair.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const pkcs8 = pair.privateKey.export({ type: "pkcs8", format: "der" });
  const spki = pair.publicKey.export({ type: "spki", format: "der" });
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${seat}, OU=PEPPOL TEST AP, O=Kurier Test, C=SK`,
    notBefore: new Date("2026-01-01T00:00:00Z"),
    notAfter: new Date("2036-01-01T00:00:00Z"),
    signingAlgorithm: algorithm,
    keys: {
      privateKey: await webcrypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]),
      publicKey: await webcrypto.subtle.importKey("spki", spki, algorithm, true, ["verify"]),
    },
  });
  return {
    seat, private_pem, certificate_pem: certificate.toString("pem"),
    certificate: Buffer.from(certificate.rawData), key: wrapPrivateKey(private_pem),
  };
}
