import { expect, test } from "vitest";

import { formatAddress, parseAddress, parseCidr } from "../../../engine/base/addresses.js";
import { clientAddress } from "../../../gateway/http/client-address.js";
import { HeaderList } from "../../../gateway/http/headers.js";

const trusted = ["10.0.0.0/8", "2001:db8:f::/48"].flatMap((text) => parseCidr(text) ?? []);
const seen = (peer: string, forwarded: readonly string[], networks = trusted): string => {
  const headers = new HeaderList();
  for (const value of forwarded) headers.add("x-forwarded-for", value);
  return formatAddress(clientAddress(parseAddress(peer) ?? new Uint8Array(4), headers, networks));
};

test("without configured proxies X-Forwarded-For is not looked at", () =>
  expect(seen("192.0.2.9", ["203.0.113.1"], [])).toBe("192.0.2.9"));
test("from a peer that is no configured proxy X-Forwarded-For is not looked at", () =>
  expect(seen("192.0.2.9", ["203.0.113.1"])).toBe("192.0.2.9"));
test("behind a proxy the client is the last entry that no proxy of ours has", () => {
  expect(seen("10.0.0.1", ["203.0.113.1"])).toBe("203.0.113.1");
  expect(seen("10.0.0.1", ["203.0.113.1, 10.0.0.2"])).toBe("203.0.113.1");
  expect(seen("2001:db8:f::1", ["2001:db8::5,10.0.0.2"])).toBe("2001:db8::5");
  expect(seen("10.0.0.1", ["::ffff:203.0.113.1"])).toBe("203.0.113.1");
});
test("a proxy may add the client's port, and write IPv6 in brackets", () => {
  expect(seen("10.0.0.1", ["203.0.113.1:4711"])).toBe("203.0.113.1");
  expect(seen("10.0.0.1", ["203.0.113.1:4711, 10.0.0.2:80"])).toBe("203.0.113.1");
  expect(seen("10.0.0.1", ["[2001:db8::5]:4711"])).toBe("2001:db8::5");
  expect(seen("10.0.0.1", ["[2001:db8::5], 10.0.0.2"])).toBe("2001:db8::5");
});
test("what a client writes to the left of its own address is not believed", () => {
  expect(seen("10.0.0.1", ["127.0.0.1, 198.51.100.7, 203.0.113.1"])).toBe("203.0.113.1");
  expect(seen("10.0.0.1", ["127.0.0.1", "203.0.113.1"])).toBe("203.0.113.1");
});
test("an entry that is no address ends the reading: the last proxy before it is the client", () => {
  expect(seen("10.0.0.1", ["203.0.113.1, unknown"])).toBe("10.0.0.1");
  expect(seen("10.0.0.1", ["203.0.113.1:x, 10.0.0.2"])).toBe("10.0.0.2");
  expect(seen("10.0.0.1", ["203.0.113.1:123456, 10.0.0.2"])).toBe("10.0.0.2");
  expect(seen("10.0.0.1", ["[2001:db8::5]x, 10.0.0.2"])).toBe("10.0.0.2");
  expect(seen("10.0.0.1", ["[], 10.0.0.2"])).toBe("10.0.0.2");
  expect(seen("10.0.0.1", [])).toBe("10.0.0.1");
  expect(seen("10.0.0.1", ["10.0.0.5,".repeat(10_000)])).toBe("10.0.0.1");
});
