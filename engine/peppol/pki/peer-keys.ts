/** Keys of another access point in the sandbox: leaves of its development PKI, one good and one that has ended. */
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import type { Clock } from "../../base/clock.js";
import { ensurePeerLeaves } from "./development.js";
import { developmentFolder } from "./setup.js";

/** The seat of the sandbox's other access point. */
export const PEER_SEAT = "PSK000900";

/** The key with which the other access point signs and opens, and what it may pretend to have. */
export interface PeerKeys {
  readonly key: OwnKey;
  /** DER of a certificate of the same seat that has expired. */
  readonly expiredCertificate: Buffer;
}

interface PeerKeysOptions {
  readonly dataDir: string;
  readonly clock: Clock;
}

/** Makes the keys where there are none. @throws ConfigError when their folder is damaged */
export async function openPeerKeys({ dataDir, clock }: PeerKeysOptions): Promise<PeerKeys> {
  const { privateKey, valid, expired } = await ensurePeerLeaves(developmentFolder(dataDir), PEER_SEAT, clock);
  return { key: { certificate: valid.der, key: wrapPrivateKey(privateKey) }, expiredCertificate: expired.der };
}
