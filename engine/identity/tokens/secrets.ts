/** Secrets: how they are made, what their form tells, and what is kept of them. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

import type { KeyType } from "../caller.js";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** The largest multiple of 62 in a byte: bytes from here on would favour the first letters. */
const FAIR_BYTES = 248;

/** `length` letters of base 62, each as likely as any other: 5.95 bits a letter. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < FAIR_BYTES && text.length < length) text += BASE62[byte % 62] ?? "";
    }
  }
  return text;
}

/** The digest of a text, and what is stored of a secret: ours are random, and need no salt and no slow hash. */
export const sha256 = (text: string): Buffer => createHash("sha256").update(text, "utf8").digest();

/** Compares two digests in a time that does not depend on where they differ. */
export const digestsEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);

/** Where a secret is valid; it is written into the secret, so that a mix-up is noticed. */
export type SecretEnvironment = "sandbox" | "production";

const SECRET_CHARS = 40;
const SECRET = /^(sk_live|sk_int)_(test_)?([0-9A-Za-z]{40})$/;

/**
 * A new secret. @source spec/rulings.md, section 1: sk_live_test_ and sk_int_test_ in sandbox, sk_live_ and sk_int_ in
 * production
 */
export const newSecret = (keyType: KeyType, environment: SecretEnvironment): string =>
  `${keyType}_${environment === "sandbox" ? "test_" : ""}${randomBase62(SECRET_CHARS)}`;

/** The environment that a secret's form names; undefined when it has not the form of a secret. */
export function secretEnvironment(secret: string): SecretEnvironment | undefined {
  const match = SECRET.exec(secret);
  if (match === null) return undefined;
  return match[2] === undefined ? "production" : "sandbox";
}

const SHOWN_HEAD_CHARS = 5;
const SHOWN_TAIL_CHARS = 4;

/**
 * What people see of a secret: its kind, five letters and the last four. 31 letters stay unknown, 184 bits.
 * @source spec/enterprise.md, Integrator API key: sk_int_xxxxx...<last4>
 */
export function shownPrefix(secret: string): string {
  const random = secret.slice(-SECRET_CHARS);
  const kind = secret.slice(0, -SECRET_CHARS);
  return `${kind}${random.slice(0, SHOWN_HEAD_CHARS)}...${random.slice(-SHOWN_TAIL_CHARS)}`;
}

const REFRESH_FAMILY_CHARS = 22;
const REFRESH_SECRET_CHARS = 43;
const REFRESH = /^rt_([0-9A-Za-z]{22})[0-9A-Za-z]{43}$/;

/** The parts of a refresh token that Postgres keeps: hashes of its family and of the whole. */
interface RefreshDigests {
  readonly familySha256: Buffer;
  readonly tokenSha256: Buffer;
}

const digestsOf = (family: string, token: string): RefreshDigests => ({
  familySha256: sha256(`family:${family}`),
  tokenSha256: sha256(token),
});

/** A refresh token: `rt_`, the name of its family (131 bits), a secret of its own (256 bits). */
export function newRefreshToken(family: string = randomBase62(REFRESH_FAMILY_CHARS)): {
  readonly token: string;
  readonly digests: RefreshDigests;
} {
  const token = `rt_${family}${randomBase62(REFRESH_SECRET_CHARS)}`;
  return { token, digests: digestsOf(family, token) };
}

/** @returns undefined when the text cannot be one of our refresh tokens */
export function parseRefreshToken(
  text: string,
): { readonly family: string; readonly digests: RefreshDigests } | undefined {
  const family = REFRESH.exec(text)?.[1];
  return family === undefined ? undefined : { family, digests: digestsOf(family, text) };
}
