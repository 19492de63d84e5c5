/** The allowlist of a key. @source design/reliability.md, A-10; spec/enterprise.md, IP allowlist */
import { describe, expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { isAddressAllowed, parseAllowlist } from "../../../engine/identity/allowlist.js";

const refused = (entries: readonly string[]): readonly string[] => {
  try {
    parseAllowlist(entries);
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    expect(error.reason).toBe("REQUEST_INVALID");
    return error.details.map((detail) => detail.field ?? "");
  }
};

describe("entries", () => {
  test("addresses and networks of both families are stored in canonical text", () => {
    expect(
      parseAllowlist([
        "192.0.2.1",
        "10.0.0.0/8",
        "2001:DB8::1",
        "2001:db8:0:0::/64",
        "::ffff:192.0.2.9",
        "::1",
        "0.0.0.0/0",
        "::/0",
      ]),
    ).toEqual(["192.0.2.1", "10.0.0.0/8", "2001:db8::1", "2001:db8::/64", "192.0.2.9", "::1", "0.0.0.0/0", "::/0"]);
  });

  test.each([
    "",
    " 192.0.2.1",
    "192.0.2.1 ",
    "192.0.2.1.",
    "192.0.2",
    "192.0.2.01",
    "0300.0.2.1",
    "0xc0.0.2.1",
    "3221225985",
    "192.0.2.256",
    "192.0.2.0/33",
    "192.0.2.0/",
    "192.0.2.0/-1",
    "192.0.2.0/08",
    "192.0.2.0/255.255.255.0",
    "2001:db8::/129",
    "fe80::1%eth0",
    "[2001:db8::1]",
    "::192.0.2.1",
    "::c000:201",
    "64:ff9b::c000:201",
    "64:ff9b::192.0.2.1",
    "2002:c000:201::",
    "2002:c000:201::/48",
    "2001:0:4136:e378::1",
    "localhost",
    "example.com",
    "*",
    "192.0.2.*",
  ])("%j is refused", (entry) => {
    expect(refused(["192.0.2.1", entry])).toEqual(["ip_allowlist[1]"]);
  });

  // spec/enterprise.md, Limits: "IP allowlist entries | max 50"
  test("fifty entries are accepted, fifty-one are not", () => {
    const entries = (count: number): string[] => Array.from({ length: count }, (_, i) => `192.0.2.${i}`);
    expect(parseAllowlist(entries(50))).toHaveLength(50);
    expect(refused(entries(51))).toEqual(["ip_allowlist"]);
  });
});

describe("use", () => {
  test("an empty list means no restriction", () => {
    expect(isAddressAllowed([], "192.0.2.1")).toBe(true);
    expect(isAddressAllowed([], "not an address")).toBe(true);
  });

  test.each([
    ["192.0.2.1", true],
    ["192.0.2.2", false],
    ["::ffff:192.0.2.1", true],
    ["::ffff:c000:201", true],
    ["::192.0.2.1", false],
    ["::c000:201", false],
    ["64:ff9b::c000:201", false],
    ["2002:c000:201::1", false],
    ["10.255.255.255", true],
    ["11.0.0.0", false],
    ["2001:db8::ffff", true],
    ["2001:db8:0:1::", false],
    ["", false],
    ["192.0.2.1.", false],
    ["fe80::1%eth0", false],
  ])("%s against 192.0.2.1, 10.0.0.0/8 and 2001:db8::/64 is %s", (address, expected) => {
    expect(isAddressAllowed(["192.0.2.1", "10.0.0.0/8", "2001:db8::/64"], address)).toBe(expected);
  });

  test("a network of every IPv4 address allows no IPv6 address", () => {
    expect(isAddressAllowed(["0.0.0.0/0"], "203.0.113.9")).toBe(true);
    expect(isAddressAllowed(["0.0.0.0/0"], "2001:db8::1")).toBe(false);
  });
});
