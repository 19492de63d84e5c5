/**
 * Where the engine may connect to when somebody else chose the address: endpoints and redirects of SMP answers, SMP
 * addresses from DNS, revocation services from certificates.
 *
 * A URL is checked when it is read, and every address of its name again when the connection is made; the connection
 * goes to an address that was checked, so a name that answers differently the second time gains nothing.
 * @source design/reliability.md, S-01, S-02
 */
import { lookup as systemLookup } from "node:dns";
import type { LookupAddress, LookupOptions } from "node:dns";

import { inCidr, parseAddress, parseCidr } from "../../base/addresses.js";
import type { Address, Cidr } from "../../base/addresses.js";
import { LIMITS } from "../../base/limits.js";

/** What an address is wanted for. */
export const OUTBOUND_USES = {
  /** Access points: many messages go to the same few. @source design/as4.md section 13: port 443, TLS */
  as4: { schemes: ["https:"], ports: [443], keepsConnections: true },
  smp: { schemes: ["https:"], ports: [443], keepsConnections: false },
  /** The management interface of the SML, where each call proves who we are with the certificate of that moment. */
  sml: { schemes: ["https:"], ports: [443], keepsConnections: false },
  /** The directory of companies that the operator has configured. */
  directory: { schemes: ["https:"], ports: [443], keepsConnections: true },
  /** The SMP of somebody else in which the operator puts participants. */
  registry: { schemes: ["https:"], ports: [443], keepsConnections: false },
  /** OCSP and CRL services: their answers are signed, and they are plain HTTP by custom. */
  revocation: { schemes: ["http:", "https:"], ports: [80, 443], keepsConnections: false },
  /** Receivers of events, which firms and integrators name: theirs is any port, behind TLS and a public address. */
  webhook: { schemes: ["https:"], ports: "any", keepsConnections: true },
} as const satisfies Record<string, OutboundUseRow>;

interface OutboundUseRow {
  readonly schemes: readonly string[];
  readonly ports: readonly number[] | "any";
  readonly keepsConnections: boolean;
}
/** What an address is wanted for. */
export type OutboundUse = keyof typeof OUTBOUND_USES;

/** What the operator allows beyond the open network. */
export interface OutboundPolicy {
  /** Loopback addresses in plain HTTP on any port: for the sandbox, where the peer is this machine. */
  readonly allowLoopback: boolean;
  /**
   * Origins (`https://ap.example:8443`) that the operator has configured: their scheme, port and addresses are not
   * judged.
   */
  readonly ownOrigins: readonly string[];
}

/**
 * Networks in which no host of the open network has its address.
 * @source design/reliability.md, S-01; IANA special-purpose registries
 */
const FORBIDDEN = networks([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // All of IPv6 but its global unicast addresses, and of those the ones for documentation and the ones that carry an
  // IPv4 address.
  "::/3",
  "4000::/2",
  "8000::/1",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
]);
const LOOPBACK = networks(["127.0.0.0/8", "::1/128"]);

function networks(texts: readonly string[]): readonly Cidr[] {
  return texts.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) throw new Error(`not a network: ${text}`);
    return cidr;
  });
}

const isIn = (address: Address, list: readonly Cidr[]): boolean => list.some((network) => inCidr(address, network));

/** Whether an address is one of the open network. */
export const isPublicAddress = (address: Address): boolean => !isIn(address, FORBIDDEN);
const isLoopbackAddress = (address: Address): boolean => isIn(address, LOOPBACK);

/** Whether a URL that the operator has configured names the machine on which it is read, and so no other finds it. */
export function namesOwnMachine(url: string): boolean {
  const { hostname } = new URL(url);
  const literal = parseAddress(hostname.replace(/^\[|\]$/g, ""));
  return hostname === "localhost" || (literal !== undefined && isLoopbackAddress(literal));
}

/** Every reason why a URL is not called. */
export const URL_FAULTS = ["malformed", "scheme", "userinfo", "host", "port", "address"] as const;
type UrlFault = (typeof URL_FAULTS)[number];

/** A URL that may be called, with what is still to be checked of its addresses. */
export interface OutboundUrl {
  readonly kind: "url";
  readonly url: URL;
  /** The host may only be a loopback address: see OutboundPolicy.allowLoopback. */
  readonly loopback: boolean;
  /** One of OutboundPolicy.ownOrigins. */
  readonly own: boolean;
}

interface UrlRefused {
  readonly kind: "refused";
  readonly fault: UrlFault;
}

const HOST_NAME = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** Reads a URL that somebody else wrote. */
export function parseOutboundUrl(text: string, use: OutboundUse, policy: OutboundPolicy): OutboundUrl | UrlRefused {
  const trimmed = text.trim();
  if (
    trimmed.length > LIMITS.outbound_url_chars_max ||
    !URL.canParse(trimmed) ||
    /[\x00-\x20\x7f-\uffff\\]/.test(trimmed)
  )
    return refused("malformed");
  const url = new URL(trimmed);
  if (url.protocol !== "https:" && url.protocol !== "http:") return refused("scheme");
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/\/[^/?#]*@/i.test(trimmed)) return refused("userinfo");
  if (policy.ownOrigins.includes(url.origin)) return { kind: "url", url, loopback: false, own: true };
  const literal = parseAddress(url.hostname.replace(/^\[|\]$/g, ""));
  // The URL parser turns 0x7f.1 and 2130706433 into 127.0.0.1: an address counts only in the one spelling that
  // everybody reads alike.
  if (literal !== undefined && !writtenHost(trimmed).includes(url.hostname)) return refused("host");
  if (policy.allowLoopback && (url.hostname === "localhost" || (literal !== undefined && isLoopbackAddress(literal)))) {
    return { kind: "url", url, loopback: true, own: false };
  }
  if (literal === undefined && !HOST_NAME.test(url.hostname)) return refused("host");
  const { schemes, ports }: OutboundUseRow = OUTBOUND_USES[use];
  if (!schemes.includes(url.protocol)) return refused("scheme");
  if (ports !== "any" && !ports.includes(portOf(url))) return refused("port");
  if (literal !== undefined && !isPublicAddress(literal)) return refused("address");
  return { kind: "url", url, loopback: false, own: false };
}

const refused = (fault: UrlFault): UrlRefused => ({ kind: "refused", fault });

const writtenHost = (text: string): string => /^[a-z]+:\/\/([^/?#]*)/i.exec(text)?.[1]?.toLowerCase() ?? "";

/** The port that a URL means. */
const portOf = (url: URL): number => (url.port !== "" ? Number(url.port) : url.protocol === "https:" ? 443 : 80);

/** Finds all addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The addresses that the system knows of a name, the hosts file included: for names that the operator chose. */
export const systemResolve: Resolve = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true, verbatim: true }, (error, addresses) => {
      if (error !== null) reject(error);
      else resolve(addresses.map(({ address }) => address));
    });
  });

/** A name resolves to an address that must not be connected to. */
class AddressRefused extends Error {
  override readonly name = "AddressRefused";
  readonly code = "EADDRESSREFUSED";
}

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;
type Lookup = (host: string, options: LookupOptions, callback: LookupCallback) => void;

/**
 * The `lookup` option of node's sockets for one checked URL: resolves once, checks every address, and gives out only
 * checked ones. One forbidden address refuses the name.
 * @throws AddressRefused through the callback
 */
export function guardedLookup(target: OutboundUrl, resolve: Resolve = systemResolve): Lookup {
  return (host, options, callback) => {
    resolve(host)
      .then((texts) => {
        const addresses = texts
          .slice(0, LIMITS.outbound_addresses_max + 1)
          .map((text) => ({ text, address: parseAddress(text) }));
        const bad = addresses.some(({ address }) => address === undefined || !mayConnect(address, target));
        if (addresses.length === 0 || addresses.length > LIMITS.outbound_addresses_max || bad)
          throw new AddressRefused("The name has an address that is not allowed.");
        const answers = addresses.map(({ text, address }): LookupAddress => ({
          address: text,
          family: address?.length === 4 ? 4 : 6,
        }));
        const [first] = answers;
        if (options.all === true) callback(null, answers);
        else callback(null, first?.address ?? "", first?.family ?? 4);
      })
      .catch((error: unknown) => {
        callback(error instanceof Error ? error : new Error("look-up failed"), "");
      });
  };
}

const mayConnect = (address: Address, target: OutboundUrl): boolean =>
  target.own || (target.loopback ? isLoopbackAddress(address) : isPublicAddress(address));
