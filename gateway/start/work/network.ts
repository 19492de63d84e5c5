/** Other access points, and the transport to them. */
import type { As4Crypto } from "../../../engine/peppol/as4/messages.js";
import { smpWorkers } from "../../../engine/documents/inbound/arrival-workers.js";
import { openAccessPoint } from "../../../engine/peppol/access-point.js";
import type { AccessPoint, AccessPointOptions } from "../../../engine/peppol/access-point.js";
import type { ConnectedPeers, ScriptedPeers } from "../../../engine/sandbox/sandbox.js";
import type { Base } from "../infrastructure.js";
import { scriptedPeersOf } from "../sandbox.js";
import type { Workers } from "./threads.js";

/** The seat that stands in evidence and reports when there is no access point. */
export const LOOPBACK_SEAT = "PSK000000";

export interface WorkOptions {
  /** A process with the role `gateway` serves requests but sends nothing. */
  readonly role: "all" | "gateway" | "worker";
  /** `loopback` hands documents over without a network. */
  readonly transport: "as4" | "loopback";
  readonly publicUrl: string;
}

type NetworkParts = Omit<Workers, "threadsWork"> & Pick<AccessPointOptions, "sql" | "sealer" | "archive" | "receive">;

/** What documents leave this process by; undefined is what is not there. */
interface Network {
  readonly accessPoint: AccessPoint | undefined;
  readonly scripted: ScriptedPeers | undefined;
  readonly peers: ConnectedPeers | undefined;
}

/** Other access points, and those that a sandbox plays; none of them where documents never leave this process. */
export async function startNetwork(
  base: Base,
  { transport, publicUrl }: WorkOptions,
  parts: NetworkParts,
): Promise<Network> {
  const { config, clock, log, metrics, stack, dataDir } = base;
  if (transport === "loopback") return { accessPoint: undefined, scripted: undefined, peers: undefined };
  const { validators, pool, jobs, ...rest } = parts;
  // Signatures of ours and of what we looked up: as many as there are attempts, look-ups and answers under way.
  const crypto: As4Crypto = (kind, input) => pool.run(kind, input, { fairnessKey: "as4", own: true });
  const network = { publicUrl, crypto, jobs, reader: smpWorkers(pool) };
  const scripted = scriptedPeersOf(base, { ...network, validators });
  const accessPoint = await openAccessPoint({
    ...{ config, dataDir, clock, log, metrics, ...rest, ...network },
    ...(scripted === undefined ? {} : { others: scripted.find }),
  });
  const peers = scripted?.connect(accessPoint);
  stack.add("access point", () => {
    peers?.stop();
    accessPoint.stop();
  });
  return { accessPoint, scripted, peers };
}
