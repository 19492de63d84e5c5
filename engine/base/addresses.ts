/**
 * Internet addresses as bytes: parsed strictly, compared exactly. Allowlists, trusted proxies and rate limits use it.
 *
 * An IPv4 address is 4 bytes, an IPv6 address 16; `::ffff:a.b.c.d` in any spelling is the IPv4 address that it carries.
 * Refused, because readers of such forms disagree on what they mean: leading zeros (octal?), fewer than four IPv4
 * parts, zone ids, trailing dots, brackets, spaces, and a dotted tail anywhere but behind `::ffff:`.
 * @source design/reliability.md, A-10
 */

/** 4 or 16 bytes. */
export type Address = Uint8Array;

export interface Cidr {
  readonly address: Address;
  /** Leading bits that must agree. */
  readonly prefix: number;
}

const V4 = /^(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$/;
const GROUP = /^[0-9a-fA-F]{1,4}$/;
const MAPPED_BITS = 96;

/** The address that `text` spells; undefined for anything else. */
export function parseAddress(text: string): Address | undefined {
  if (!text.includes(":")) return parseV4(text);
  const bytes = parseV6(text);
  return bytes !== undefined && isMapped(bytes) ? bytes.subarray(12) : bytes;
}

/**
 * The address of a socket in the words of Node.js, which puts its interface behind one that is of a link alone:
 * `fe80::1%eth0`.
 */
export const addressOfSocket = (text: string): Address | undefined => parseAddress(text.replace(/%.*$/s, ""));

/** An address, or a network as `address/prefix`; bits of the address behind the prefix are ignored. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  if (slash === -1) {
    const address = parseAddress(text);
    return address && { address, prefix: address.length * 8 };
  }
  const prefixText = text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(prefixText)) return undefined;
  const written = text.slice(0, slash);
  const address = parseAddress(written);
  if (address === undefined) return undefined;
  // A mapped network counts its bits from the start of the IPv6 form; one wider than the mapping means no IPv4 network.
  const prefix = Number(prefixText) - (address.length === 4 && written.includes(":") ? MAPPED_BITS : 0);
  return prefix >= 0 && prefix <= address.length * 8 ? { address, prefix } : undefined;
}

/** Whether the address lies in the network. An IPv4 address lies in no IPv6 network and the other way round. */
export function inCidr(address: Address, cidr: Cidr): boolean {
  if (address.length !== cidr.address.length) return false;
  const whole = cidr.prefix >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== cidr.address[i]) return false;
  const rest = cidr.prefix & 7;
  if (rest === 0) return true;
  const mask = (0xff << (8 - rest)) & 0xff;
  return (((address[whole] ?? 0) ^ (cidr.address[whole] ?? 0)) & mask) === 0;
}

/** Whether who listens on all of `wide` has the address `narrow`, too: `::` is IPv4 as well, 0.0.0.0 IPv4 alone. */
const isAllOf = (wide: Address | undefined, narrow: Address | undefined): boolean =>
  wide?.every((byte) => byte === 0) === true && (wide.length === 16 || narrow?.length === 4);

/** What the one name that every system has may stand for; which of the two it is, only the system knows. */
const LOCALHOST = ["127.0.0.1", "::1"];
const hostsOf = (host: string): readonly string[] => (host === "localhost" ? LOCALHOST : [host]);

function oneMeets(a: string, b: string): boolean {
  const [first, second] = [parseAddress(a), parseAddress(b)];
  if (first === undefined && second === undefined) return a === b;
  if (first !== undefined && second !== undefined && Buffer.compare(first, second) === 0) return true;
  return isAllOf(first, second) || isAllOf(second, first);
}

/**
 * Whether two listeners there would meet on one port. Names but localhost are not looked up: they meet their like, and
 * `::`.
 */
export const hostsMeet = (a: string, b: string): boolean =>
  hostsOf(a.toLowerCase()).some((first) => hostsOf(b.toLowerCase()).some((second) => oneMeets(first, second)));

/**
 * The address of a socket: 4 or 16 bytes as the system gives them, mapped IPv4 taken out of its wrapping. A view of
 * them.
 */
export function addressOfBytes(bytes: Uint8Array): Address {
  return bytes.length === 16 && isMapped(bytes) ? bytes.subarray(12) : bytes;
}

/** Canonical text: dotted decimal, or RFC 5952. */
export function formatAddress(address: Address): string {
  if (address.length === 4) return address.join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((address[2 * i] ?? 0) << 8) | (address[2 * i + 1] ?? 0));
  const gap = longestZeroRun(groups);
  if (gap.length < 2) return groups.map(hex).join(":");
  return `${groups.slice(0, gap.start).map(hex).join(":")}::${groups
    .slice(gap.start + gap.length)
    .map(hex)
    .join(":")}`;
}

/**
 * Under what an unauthenticated client is counted: an IPv4 address alone, an IPv6 address with its /64, because one
 * customer owns at least that many.
 * @source design/reliability.md, R-03
 */
export function addressGroup(address: Address): string {
  if (address.length === 4) return formatAddress(address);
  const network = new Uint8Array(16);
  network.set(address.subarray(0, 8));
  return `${formatAddress(network)}/64`;
}

const hex = (group: number): string => group.toString(16);

function isMapped(bytes: Uint8Array): boolean {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return false;
  return bytes[10] === 0xff && bytes[11] === 0xff;
}

function parseV4(text: string): Address | undefined {
  const match = V4.exec(text);
  if (match === null) return undefined;
  const parts = match.slice(1).map(Number);
  return parts.every((part) => part <= 255) ? Uint8Array.from(parts) : undefined;
}

function parseV6(text: string): Address | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head = "", tail] = halves;
  const front = parseGroups(head, tail === undefined);
  const back = tail === undefined ? [] : parseGroups(tail, true);
  if (front === undefined || back === undefined) return undefined;
  const zeros = 16 - front.length - back.length;
  if (tail === undefined ? zeros !== 0 : zeros < 2) return undefined;
  const bytes = Uint8Array.from([...front, ...new Array<number>(zeros).fill(0), ...back]);
  return text.includes(".") && !isMapped(bytes) ? undefined : bytes;
}

/** Bytes of colon-separated groups; the last one may be dotted decimal when the address ends with it. */
function parseGroups(text: string, last: boolean): number[] | undefined {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [i, group] of groups.entries()) {
    if (last && i === groups.length - 1 && group.includes(".")) {
      const dotted = parseV4(group);
      if (dotted === undefined) return undefined;
      bytes.push(...dotted);
    } else {
      if (!GROUP.test(group)) return undefined;
      const value = parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (let i = 0; i <= groups.length; i++) {
    if (i < groups.length && groups[i] === 0) continue;
    if (i - start > best.length) best = { start, length: i - start };
    start = i + 1;
  }
  return best;
}
