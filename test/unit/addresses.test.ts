import fc from "fast-check";
import { isIP, SocketAddress } from "node:net";
import { expect, test } from "vitest";

import {
  addressGroup,
  addressOfBytes,
  addressOfSocket,
  formatAddress,
  hostsMeet,
  inCidr,
  parseAddress,
  parseCidr,
} from "../../engine/base/addresses.js";

const seed = Number(process.env["SEED"] ?? 20261120);
const text = (input: string): string | undefined => {
  const a = parseAddress(input);
  return a && formatAddress(a);
};
const matches = (address: string, network: string): boolean | undefined => {
  const a = parseAddress(address);
  const n = parseCidr(network);
  return a && n && inCidr(a, n);
};

test.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:c000:0201", "192.0.2.1"],
  ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
  ["2001:DB8::1", "2001:db8::1"],
  ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
  ["::", "::"],
  ["::1", "::1"],
  ["1::", "1::"],
  ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
])("%s is the address %s", (input, expected) => expect(text(input)).toBe(expected));

test.each([
  "",
  " 1.2.3.4",
  "1.2.3.4 ",
  "1.2.3",
  "1.2.3.4.5",
  "1.2.3.4.",
  "01.2.3.4",
  "0x1.2.3.4",
  "1.2.3.256",
  "3232235777",
  "1.2.3.4:80",
  "fe80::1%eth0",
  "[::1]",
  ":::",
  "1:2:3:4:5:6:7:8:9",
  "1:2:3:4:5:6:7",
  "1::2::3",
  "12345::",
  "g::",
  "::1.2.3.4",
  "64:ff9b::1.2.3.4",
  "::ffff:01.2.3.4",
  ":1",
  "1:",
  "localhost",
  "1:2:3:4:5:6:7:8::",
])("%j is refused as an address", (input) => expect(parseAddress(input)).toBeUndefined());

test.each([
  "10.0.0.0/33",
  "10.0.0.0/-1",
  "10.0.0.0/",
  "10.0.0.0/08",
  "10.0.0.0/8/8",
  "2001:db8::/129",
  "::ffff:10.0.0.0/95",
  "10.0.0.0/1e1",
  "10/8",
  "/8",
])("%j is refused as a network", (input) => expect(parseCidr(input)).toBeUndefined());

test("a network holds its own addresses and no others, in every spelling", () => {
  expect(matches("10.1.2.3", "10.0.0.0/8")).toBe(true);
  expect(matches("11.1.2.3", "10.0.0.0/8")).toBe(false);
  expect(matches("::ffff:10.1.2.3", "10.0.0.0/8")).toBe(true);
  expect(matches("10.1.2.3", "::ffff:10.0.0.0/104")).toBe(true);
  expect(matches("10.1.2.3", "10.9.9.9/8")).toBe(true);
  expect(matches("255.255.255.255", "0.0.0.0/0")).toBe(true);
  expect(matches("::1", "0.0.0.0/0")).toBe(false);
  expect(matches("10.1.2.3", "::/0")).toBe(false);
  expect(matches("10.0.0.129", "10.0.0.128/25")).toBe(true);
  expect(matches("10.0.0.127", "10.0.0.128/25")).toBe(false);
  expect(matches("2001:db8:1::5", "2001:db8::/32")).toBe(true);
  expect(matches("10.0.0.1", "10.0.0.1")).toBe(true);
});

test("what is accepted as an IPv6 address is one for the system too, and keeps its value through text", () => {
  fc.assert(
    fc.property(fc.ipV6(), (input) => {
      const bytes = parseAddress(input);
      if (bytes === undefined) {
        expect(input).toContain(".");
        return;
      }
      const canonical = formatAddress(bytes);
      expect(isIP(canonical)).not.toBe(0);
      expect(parseAddress(canonical)).toEqual(bytes);
      if (bytes.length === 16 && !canonical.startsWith("::"))
        expect(new SocketAddress({ address: input, family: "ipv6" }).address).toBe(canonical);
    }),
    { seed, numRuns: 2_000 },
  );
});

test("an IPv6 client is counted with its /64, an IPv4 client alone, however the socket spells it", () => {
  const group = (input: string): string => addressGroup(parseAddress(input) ?? new Uint8Array(4));
  expect(group("2001:db8:1:2:3:4:5:6")).toBe(group("2001:db8:1:2:ffff::1"));
  expect(group("2001:db8:1:2::1")).not.toBe(group("2001:db8:1:3::1"));
  expect(group("::ffff:10.0.0.1")).toBe("10.0.0.1");
  expect(formatAddress(addressOfBytes(Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1])))).toBe(
    "10.0.0.1",
  );
});

test.each([
  ["127.0.0.1", "127.0.0.1", true],
  ["127.0.0.1", "::ffff:127.0.0.1", true],
  ["::1", "0:0:0:0:0:0:0:1", true],
  ["0.0.0.0", "10.0.0.5", true],
  ["::", "10.0.0.5", true],
  ["::", "::1", true],
  ["::", "localhost", true],
  ["::", "0.0.0.0", true],
  ["LocalHost", "localhost", true],
  ["localhost", "127.0.0.1", true],
  ["localhost", "::1", true],
  ["LOCALHOST", "0.0.0.0", true],
  ["127.0.0.1", "10.0.0.5", false],
  ["127.0.0.1", "::1", false],
  ["0.0.0.0", "::1", false],
  ["0.0.0.0", "kurier.internal", false],
  ["10.0.0.5", "localhost", false],
  ["localhost", "localhost.example", false],
  ["a.example", "b.example", false],
])("listeners on %s and %s meet on one port, in either order: %s", (a, b, meet) => {
  expect([hostsMeet(a, b), hostsMeet(b, a)]).toEqual([meet, meet]);
});

test.each([
  ["fe80::1%eth0", "fe80::1"],
  ["fe80::fc:ff:fe00:1%2", "fe80::fc:ff:fe00:1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8::1", "2001:db8::1"],
  ["", undefined],
])("the address of a socket that Node.js calls %s is %s: an interface is no part of it", (said, is) => {
  const address = addressOfSocket(said);
  expect(address && formatAddress(address)).toBe(is);
});
