/** Whose address a request has: the socket's, or the one that a trusted proxy vouches for. */
import { inCidr, parseAddress } from "../../engine/base/addresses.js";
import type { Address, Cidr } from "../../engine/base/addresses.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { HeaderList } from "./headers.js";

/**
 * Reads X-Forwarded-For from the right, as long as the hop that wrote the entry is a trusted proxy. The first address
 * that is none of them is the client; what stands left of it was written by the client and is not believed.
 * @param peer the socket's other end
 * @param trusted networks of the operator's proxies; empty: the header is not looked at
 * @source design/reliability.md, A-11
 */
export function clientAddress(peer: Address, headers: HeaderList, trusted: readonly Cidr[]): Address {
  if (trusted.length === 0 || !isTrusted(peer, trusted)) return peer;
  const hops = headers.all("x-forwarded-for").join(",").split(",");
  let client = peer;
  for (let i = 1; i <= Math.min(hops.length, LIMITS.forwarded_hops_max); i++) {
    const address = hopAddress((hops[hops.length - i] ?? "").trim());
    if (address === undefined) return client;
    client = address;
    if (!isTrusted(address, trusted)) return client;
  }
  return client;
}

/** An address with the port that some proxies add, as RFC 7239 writes it: that of IPv6 stands in brackets. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/;

function hopAddress(text: string): Address | undefined {
  const [, v6, v4] = WITH_PORT.exec(text) ?? [];
  return parseAddress(v6 ?? v4 ?? text);
}

const isTrusted = (address: Address, trusted: readonly Cidr[]): boolean =>
  trusted.some((cidr) => inCidr(address, cidr));
