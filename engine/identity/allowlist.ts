/** Where a key may be used from: a list of addresses and networks, empty for anywhere. */
import { formatAddress, inCidr, parseAddress, parseCidr } from "../base/addresses.js";
import type { Address, Cidr } from "../base/addresses.js";
import { Refusal } from "../base/errors.js";
import type { ErrorDetail } from "../base/errors.js";
import { LIMITS } from "../base/limits.js";

/**
 * IPv6 networks whose addresses carry an IPv4 address in a way that only some routers undo: nobody can say whom they
 * name.
 */
const AMBIGUOUS: readonly Cidr[] = ["::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"]
  .map(parseCidr)
  .filter((cidr) => cidr !== undefined);
const LOOPBACK_V6 = parseAddress("::1");

const equal = (a: Address, b: Address | undefined): boolean => b !== undefined && Buffer.compare(a, b) === 0;

function isAmbiguous(cidr: Cidr): boolean {
  if (cidr.address.length !== 16 || (cidr.prefix === 128 && equal(cidr.address, LOOPBACK_V6))) return false;
  return AMBIGUOUS.some((network) => cidr.prefix >= network.prefix && inCidr(cidr.address, network));
}

/**
 * Checks the entries of an allowlist.
 * @param field  the member that an error names; default ip_allowlist
 * @returns the entries as they are stored and shown: canonical address text, with the prefix when one was given
 * @throws Refusal REQUEST_INVALID that names each entry that is wrong, or the number of entries
 * @source spec/enterprise.md, Token objects: a bare IPv4/IPv6 address or CIDR addr/prefix; Limits: max 50
 */
export function parseAllowlist(entries: readonly string[], field = "ip_allowlist"): readonly string[] {
  if (entries.length > LIMITS.ip_allowlist_entries_max) {
    throw new Refusal("REQUEST_INVALID", [
      { field, message: `List at most ${LIMITS.ip_allowlist_entries_max} entries.` },
    ]);
  }
  const wrong: ErrorDetail[] = [];
  const parsed = entries.map((entry, index) => {
    const cidr = parseCidr(entry);
    if (cidr !== undefined && !isAmbiguous(cidr)) {
      const whole = cidr.prefix === cidr.address.length * 8;
      return whole ? formatAddress(cidr.address) : `${formatAddress(cidr.address)}/${cidr.prefix}`;
    }
    wrong.push({
      field: `${field}[${index}]`,
      message: "Write an IPv4 or IPv6 address, or a network as address/prefix.",
    });
    return entry;
  });
  if (wrong.length > 0) throw new Refusal("REQUEST_INVALID", wrong);
  return parsed;
}

const compiled = new WeakMap<readonly string[], readonly Cidr[]>();

function compile(allowlist: readonly string[]): readonly Cidr[] {
  const known = compiled.get(allowlist);
  if (known !== undefined) return known;
  const networks = allowlist.map(parseCidr).filter((cidr) => cidr !== undefined);
  compiled.set(allowlist, networks);
  return networks;
}

/** Whether a key with this allowlist may be used from `address`. An address that cannot be read is on no list. */
export function isAddressAllowed(allowlist: readonly string[], address: string): boolean {
  if (allowlist.length === 0) return true;
  const parsed = parseAddress(address);
  return parsed !== undefined && compile(allowlist).some((network) => inCidr(parsed, network));
}
