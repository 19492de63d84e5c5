/**
 * RSA of exchanges and nothing else, on one core: some in each part of a second, counted by the time of the processor.
 * Says once that it has begun, and when it is asked how many a second that core would make.
 */
import {
  constants,
  createPrivateKey,
  privateDecrypt,
  publicEncrypt,
  randomBytes,
  sign,
  verify,
  X509Certificate,
} from "node:crypto";

import { accessPointKey } from "../rsa.js";
import type { AccessPointKey, ExchangeSide } from "../rsa.js";

/** Exchanges of RSA alone that one part counts, about 12 ms, so that it stands in the way of little. */
const PART = 5;
/** Exchanges before those of each part, which find the caches as others have left them. */
const PART_BEFORE = 2;
/** Parts before the first that counts: as many as it takes until the code is compiled. */
const PARTS_BEFORE = 20;
const PARTS_EVERY_MS = 500;

/** An exchange's operations of RSA, one behind the other. */
function rsaOf(own: AccessPointKey, side: ExchangeSide): () => void {
  const key = createPrivateKey(own.pem);
  const { publicKey } = new X509Certificate(own.certificate);
  const octets = randomBytes(1_024);
  const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
  const contentKey = randomBytes(16);
  const wrapped = publicEncrypt({ key: publicKey, ...padding }, contentKey);
  const signature = sign("sha256", octets, key);
  const signs = (): void => {
    sign("sha256", octets, key);
  };
  const verifies = (): void => {
    if (!verify("sha256", octets, publicKey, signature)) throw new Error("the signature does not hold");
  };
  const decrypts = (): void => {
    privateDecrypt({ key, ...padding }, wrapped);
  };
  const encrypts = (): void => {
    publicEncrypt({ key: publicKey, ...padding }, contentKey);
  };
  const steps = {
    inbound: [decrypts, verifies, signs],
    exchange: [signs, encrypts, decrypts, verifies, signs, verifies],
  }[side];
  return () => {
    for (const step of steps) step();
  };
}

const [, , folder = "", side = "exchange"] = process.argv;
const exchange = rsaOf(await accessPointKey(folder), side === "inbound" ? "inbound" : "exchange");
let [count, spent_us] = [0, 0];

const makePart = (): void => {
  for (let i = 0; i < PART_BEFORE; i += 1) exchange();
  const before = process.cpuUsage();
  for (let i = 0; i < PART; i += 1) exchange();
  const { user, system } = process.cpuUsage(before);
  count += PART;
  spent_us += user + system;
};

for (let i = 0; i < PARTS_BEFORE; i += 1) makePart();
[count, spent_us] = [0, 0];
makePart();
setInterval(makePart, PARTS_EVERY_MS);
process.on("message", () => process.send?.((count * 1_000_000) / spent_us));
process.on("disconnect", () => process.exit());
process.send?.(0);
