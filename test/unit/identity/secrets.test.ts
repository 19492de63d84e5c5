import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";

import {
  digestsEqual,
  newRefreshToken,
  newSecret,
  parseRefreshToken,
  randomBase62,
  secretEnvironment,
  shownPrefix,
} from "../../../engine/identity/tokens/secrets.js";

describe("secrets", () => {
  // spec/rulings.md §1: `sk_live_test_<40 base62>` and `sk_int_test_<40 base62>` in sandbox, `sk_live_<40 base62>` and `sk_int_<40 base62>` in production
  test.each([
    ["sk_live", "sandbox", /^sk_live_test_[0-9A-Za-z]{40}$/],
    ["sk_int", "sandbox", /^sk_int_test_[0-9A-Za-z]{40}$/],
    ["sk_live", "production", /^sk_live_[0-9A-Za-z]{40}$/],
    ["sk_int", "production", /^sk_int_[0-9A-Za-z]{40}$/],
  ] as const)("a %s secret of the %s names its environment", (keyType, environment, form) => {
    const secret = newSecret(keyType, environment);
    expect(secret).toMatch(form);
    expect(secretEnvironment(secret)).toBe(environment);
  });

  test.each([
    "",
    "sk_live_",
    "sk_test_abc",
    `sk_live_test_${"a".repeat(39)}`,
    `sk_live_${"a".repeat(41)}`,
    `xsk_live_${"a".repeat(40)}`,
    `sk_live_${"a".repeat(40)}\n`,
  ])("%j has not the form of a secret", (text) => {
    expect(secretEnvironment(text)).toBeUndefined();
  });

  // spec/enterprise.md, Integrator API key: masked prefix of the form sk_int_xxxxx...<last4>
  test("the displayed prefix shows five letters and the last four", () => {
    expect(shownPrefix(`sk_int_${"ABCDE"}${"0".repeat(31)}wxyz`)).toBe("sk_int_ABCDE...wxyz");
    expect(shownPrefix(`sk_live_test_${"ABCDE"}${"0".repeat(31)}wxyz`)).toBe("sk_live_test_ABCDE...wxyz");
  });

  test("every letter of base 62 comes up equally often", () => {
    const counts = new Map<string, number>();
    const total = 124_000;
    for (const letter of randomBase62(total)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    expect(counts.size).toBe(62);
    // 2,000 expected each; 6 standard deviations are 270. A letter favoured by the remainder of 256 / 62 would have 2,420.
    for (const count of counts.values()) expect(Math.abs(count - total / 62)).toBeLessThan(270);
  });

  test("digests are equal only byte for byte", () => {
    const digest = createHash("sha256").update("a").digest();
    expect(digestsEqual(digest, Buffer.from(digest))).toBe(true);
    expect(digestsEqual(digest, createHash("sha256").update("b").digest())).toBe(false);
    expect(digestsEqual(digest, digest.subarray(1))).toBe(false);
  });
});

describe("refresh tokens", () => {
  test("a successor belongs to the family of its predecessor and is another token", () => {
    const first = newRefreshToken();
    const parsed = parseRefreshToken(first.token);
    expect(first.token).toMatch(/^rt_[0-9A-Za-z]{65}$/);
    expect(parsed?.digests).toEqual(first.digests);
    const second = newRefreshToken(parsed?.family);
    expect(second.digests.familySha256).toEqual(first.digests.familySha256);
    expect(second.digests.tokenSha256).not.toEqual(first.digests.tokenSha256);
  });

  test.each([
    "",
    "rt_",
    "eyJhbGciOiJub25lIn0.e30.",
    `rt_${"a".repeat(64)}`,
    `rt_${"a".repeat(66)}`,
    `RT_${"a".repeat(65)}`,
    `rt_${"a".repeat(64)}-`,
  ])("%j is no refresh token", (text) => {
    expect(parseRefreshToken(text)).toBeUndefined();
  });
});
