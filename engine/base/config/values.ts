/** How the text of a variable becomes its value, or the sentence that says what it must be. */
import { isAbsolute, resolve } from "node:path";

import { parseEmail } from "../ids.js";
import type { Email } from "../ids.js";

/** A value that cannot be used; the message is the sentence the operator reads. */
export class Malformed extends Error {}
/** Says why a value cannot be used. @throws Malformed */
export const refuseValue = (sentence: string): never => {
  throw new Malformed(sentence);
};

export const text = (value: string): string => value;
export const absolute = (value: string): string => (isAbsolute(value) ? value : resolve(value));
export const oneOf =
  <const T extends readonly string[]>(values: T) =>
  (value: string): T[number] =>
    values.find((v) => v === value) ?? refuseValue(`must be one of ${values.join(", ")}`);
export const port = (value: string): number =>
  /^[0-9]{1,5}$/.test(value) && Number(value) <= 65_535
    ? Number(value)
    : refuseValue("must be a port number, 0 to 65535");
export const count = (value: string): number =>
  /^[1-9][0-9]{0,2}$/.test(value) ? Number(value) : refuseValue("must be a whole number from 1 to 999");
export const list = (value: string): readonly string[] =>
  value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
export const smpId = (value: string): string =>
  /^[A-Za-z0-9._-]{1,100}$/.test(value)
    ? value
    : refuseValue("must be letters, digits, dots, hyphens and underscores, 100 at most");
export const email = (value: string): Email =>
  parseEmail(value) ?? refuseValue("must be an e-mail address, for example kurier@example.com");
export const adminToken = (value: string): string =>
  /^[A-Za-z0-9._~+/-]{32,512}=*$/.test(value.trim())
    ? value.trim()
    : refuseValue("must be 32 to 512 characters of A-Z a-z 0-9 . _ ~ + / -, chosen at random");
export const webhookSecret = (value: string): string =>
  value.length >= 16 && value.length <= 512 ? value : refuseValue("must have 16 to 512 characters, chosen at random");
export const securityContact = (value: string): string =>
  /^(mailto:[^\s@]+@[^\s@]+|https:\/\/\S+|tel:[+0-9-]+)$/.test(value)
    ? value
    : refuseValue("must be one address that begins with mailto:, https: or tel:");
export const masterKey = (value: string): Buffer => {
  const bytes = Buffer.from(value.trim(), "base64");
  return bytes.length === 32 ? bytes : refuseValue("must be 32 bytes in base64");
};

export const ratio = (value: string): number =>
  /^(?:0(?:\.[0-9]{1,9})?|1(?:\.0{1,9})?)$/.test(value) ? Number(value) : refuseValue("must be a number from 0 to 1");
/** `name=value` pairs as OpenTelemetry writes them: separated by commas, values percent-encoded. */
export const headerPairs = (value: string): Readonly<Record<string, string>> => {
  try {
    return Object.fromEntries(
      new Headers(
        list(value).map((pair): [string, string] => {
          const at = pair.indexOf("=");
          return at < 1
            ? refuseValue("must be NAME=VALUE pairs, separated by commas")
            : [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
        }),
      ),
    );
  } catch (error) {
    if (error instanceof Malformed) throw error;
    return refuseValue("must be headers that HTTP takes, their values percent-encoded");
  }
};
