/** DER, written: as much as certificates and questions about them need. */
import { TAG } from "./der.js";

/** One node. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(body.length)]), body]);
}

function lengthOctets(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return [0x80 | octets.length, ...octets];
}

/** A SEQUENCE of elements that are written already. */
export const sequence = (...content: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...content);

/** A non-negative INTEGER from its octets. */
export function integer(octets: Uint8Array): Buffer {
  let start = 0;
  while (start < octets.length - 1 && octets[start] === 0) start += 1;
  const body = octets.subarray(start);
  return der(TAG.integer, (body[0] ?? 0) >= 0x80 || body.length === 0 ? Buffer.concat([Buffer.from([0]), body]) : body);
}

/** An OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const octets = [first * 40 + second, ...rest].flatMap((part) => {
    const groups = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left % 128) | 0x80);
    return groups;
  });
  return der(TAG.oid, Buffer.from(octets));
}

/** A BIT STRING. @param unused bits of the last octet that do not count */
export const bitString = (octets: Uint8Array, unused = 0): Buffer => der(TAG.bitString, Buffer.from([unused]), octets);
/** An OCTET STRING. */
export const octetString = (octets: Uint8Array): Buffer => der(TAG.octetString, octets);
/** The NULL element. */
export const NULL = der(TAG.null);
/** The BOOLEAN that is true. */
export const TRUE = der(TAG.boolean, Buffer.from([0xff]));

/** UTCTime until 2049, GeneralizedTime afterwards. @param instant milliseconds; a fraction of a second is cut off */
export function time(instant: number): Buffer {
  const digits = new Date(instant).toISOString().replace(/[-:T]|\.\d+/g, "");
  return digits < "2050"
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(digits));
}

/** GeneralizedTime, as OCSP wants it. */
export const generalizedTime = (instant: number): Buffer =>
  der(TAG.generalizedTime, Buffer.from(new Date(instant).toISOString().replace(/[-:T]|\.\d+/g, "")));

/** AlgorithmIdentifier of RSA with SHA-256. */
export const RSA_SHA256 = sequence(oid("1.2.840.113549.1.1.11"), NULL);
