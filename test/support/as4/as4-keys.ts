/** Throw-away keys and certificates for AS4 tests: made in the test, never stored. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";

export interface AccessPoint extends OwnKey {
  /** Common name of the certificate and PartyId, such as PSK000001. */
  seat: string;
  certificate: Buffer;
  privateKey: KeyObject;
}

/** A self-signed access point certificate with an RSA key of the given size. */
export function accessPoint(seat: string, bits = 2048): AccessPoint {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: bits });
  const certificate = selfSigned(seat, privateKey, publicKey);
  return { seat, privateKey: privateKey, certificate, key: wrapPrivateKey(privateKey) };
}

/** X.509 v3 by hand: @peculiar/x509 2 does not load without reflect-metadata. @source RFC 5280 section 4.1 */
function selfSigned(seat: string, privateKey: KeyObject, publicKey: KeyObject): Buffer {
  const algorithm = der(0x30, Buffer.from("06092a864886f70d01010b0500", "hex"));
  const name = der(
    0x30,
    attribute("550406", 0x13, "SK"),
    attribute("55040a", 0x0c, "Kurier Test"),
    attribute("55040b", 0x0c, "PEPPOL TEST AP"),
    attribute("550403", 0x0c, seat),
  );
  const validity = der(0x30, der(0x17, Buffer.from("260101000000Z")), der(0x17, Buffer.from("360101000000Z")));
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(15)]);
  const tbs = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serial),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  return der(0x30, tbs, algorithm, der(0x03, Buffer.from([0]), sign("sha256", tbs, privateKey)));
}

const attribute = (oid: string, tag: number, value: string): Buffer =>
  der(0x31, der(0x30, der(0x06, Buffer.from(oid, "hex")), der(tag, Buffer.from(value))));

function der(tag: number, ...content: Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const length =
    body.length < 128
      ? [body.length]
      : body.length < 256
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}
