/** Goal: no address that somebody else wrote leads into the operator's own network. S-01, S-02 of the fault catalogue. */
import type { LookupAddress } from "node:dns";
import { describe, expect, test } from "vitest";

import { parseAddress } from "../../../engine/base/addresses.js";
import { guardedLookup, isPublicAddress, parseOutboundUrl } from "../../../engine/peppol/network/outbound-address.js";
import type { OutboundPolicy, OutboundUrl } from "../../../engine/peppol/network/outbound-address.js";

const PRODUCTION: OutboundPolicy = { allowLoopback: false, ownOrigins: [] };
const SANDBOX: OutboundPolicy = { allowLoopback: true, ownOrigins: ["http://kurier.internal:8080"] };

const faultOf = (url: string, policy = PRODUCTION, use: "as4" | "smp" | "revocation" = "as4"): string => {
  const result = parseOutboundUrl(url, use, policy);
  return result.kind === "refused" ? result.fault : "allowed";
};

test.each([
  "127.0.0.1",
  "127.255.255.254",
  "0.0.0.0",
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "::1",
  "::",
  "fc00::1",
  "fd12::1",
  "fe80::1",
  "ff02::1",
  "::ffff:10.0.0.1",
  "64:ff9b::a00:1",
  "2002:a00:1::1",
  "2001:db8::1",
  "2001::1",
])("%s is no address of the open network", (text) => {
  const address = parseAddress(text);
  expect(address !== undefined && isPublicAddress(address)).toBe(false);
});

test.each([
  "1.1.1.1",
  "172.32.0.1",
  "172.15.255.255",
  "11.0.0.1",
  "100.128.0.1",
  "192.169.0.1",
  "2606:4700::1111",
  "2a00:1450::1",
  "::ffff:1.1.1.1",
])("%s is an address of the open network", (text) => {
  const address = parseAddress(text);
  expect(address !== undefined && isPublicAddress(address)).toBe(true);
});

describe("production", () => {
  test.each([
    ["https://ap.example.com/as4", "allowed"],
    ["https://ap.example.com:443/as4?x=1", "allowed"],
    ["https://AP.Example.com/as4", "allowed"],
    ["https://1.1.1.1/as4", "allowed"],
    ["http://ap.example.com/as4", "scheme"],
    ["ftp://ap.example.com/", "scheme"],
    ["file:///etc/passwd", "scheme"],
    ["", "malformed"],
    ["ap.example.com", "malformed"],
    ["https://user@ap.example.com/", "userinfo"],
    ["https://user:pw@ap.example.com/", "userinfo"],
    ["https://@ap.example.com/", "userinfo"],
    ["https://ap.example.com\\@10.0.0.1/", "malformed"],
    ["https://ap.example.com:22/", "port"],
    ["https://ap.example.com:5432/", "port"],
    ["https://ap.example.com:4222/", "port"],
    ["https://ap.example.com:8443/", "port"],
    ["https://localhost/", "host"],
    ["https://localhost./", "host"],
    ["https://intranet/", "host"],
    ["https://ap.example.com./", "host"],
    ["https://čaj.sk/", "malformed"],
    ["https://127.0.0.1/", "address"],
    ["https://[::1]/", "address"],
    ["https://[::]/", "address"],
    ["https://10.0.0.1/", "address"],
    ["https://169.254.169.254/latest", "address"],
    ["https://2130706433/", "host"],
    ["https://0x7f.1/", "host"],
    ["https://0177.0.0.1/", "host"],
    ["https://127.1/", "host"],
    ["https://[::ffff:10.0.0.1]/", "host"],
    ["https://[64:ff9b::a00:1]/", "address"],
    ["https://[fe80::1]/", "address"],
    ["https://ap.example.com/ x", "malformed"],
    [`https://ap.example.com/${"x".repeat(3_000)}`, "malformed"],
  ])("a URL in production is judged by its use, %s: %s", (url, expected) => expect(faultOf(url)).toBe(expected));

  test("revocation services may be plain HTTP on port 80, nothing else", () => {
    expect(faultOf("http://ocsp.example.com/", PRODUCTION, "revocation")).toBe("allowed");
    expect(faultOf("http://ocsp.example.com:8080/", PRODUCTION, "revocation")).toBe("port");
    expect(faultOf("http://10.0.0.1/", PRODUCTION, "revocation")).toBe("address");
    expect(faultOf("ldap://ocsp.example.com/", PRODUCTION, "revocation")).toBe("scheme");
  });
});

describe("the sandbox", () => {
  test.each([
    ["http://127.0.0.1:8080/as4", "allowed"],
    ["http://localhost:8080/as4", "allowed"],
    ["http://[::1]:8080/as4", "allowed"],
    ["http://kurier.internal:8080/as4", "allowed"],
    ["http://kurier.internal:8081/as4", "scheme"],
    ["http://10.0.0.1:8080/", "scheme"],
    ["https://10.0.0.1/", "address"],
    ["http://2130706433/", "host"],
    ["http://localhost.evil.com/", "scheme"],
  ])("a URL in the sandbox is judged by its use, %s: %s", (url, expected) =>
    expect(faultOf(url, SANDBOX)).toBe(expected),
  );
});

describe("when the connection is made", () => {
  const target = (url: string, policy = PRODUCTION): OutboundUrl => {
    const result = parseOutboundUrl(url, "as4", policy);
    if (result.kind === "refused") throw new Error(result.fault);
    return result;
  };
  const lookup = (url: string, addresses: readonly string[], policy = PRODUCTION): Promise<string | LookupAddress[]> =>
    new Promise((resolve, reject) => {
      guardedLookup(target(url, policy), () => Promise.resolve(addresses))(
        "ap.example.com",
        { all: true },
        (error, found) => {
          if (error === null) resolve(found);
          else reject(error);
        },
      );
    });

  test("a name with public addresses is connected to at those", async () => {
    expect(await lookup("https://ap.example.com/", ["1.1.1.1", "2606:4700::1111"])).toEqual([
      { address: "1.1.1.1", family: 4 },
      { address: "2606:4700::1111", family: 6 },
    ]);
  });

  test.each([
    [["10.0.0.1"]],
    [["1.1.1.1", "127.0.0.1"]],
    [["1.1.1.1", "::1"]],
    [["::ffff:169.254.169.254"]],
    [[]],
    [["nonsense"]],
    [Array.from({ length: 17 }, () => "1.1.1.1")],
  ])("a name with the addresses %j is refused, also when only one of them is bad", async (addresses) => {
    await expect(lookup("https://ap.example.com/", addresses)).rejects.toMatchObject({ code: "EADDRESSREFUSED" });
  });

  test("in the sandbox, localhost that leads elsewhere is refused, and our own origin is believed", async () => {
    await expect(lookup("http://localhost:1/", ["10.0.0.1"], SANDBOX)).rejects.toMatchObject({
      code: "EADDRESSREFUSED",
    });
    expect(await lookup("http://localhost:1/", ["127.0.0.1"], SANDBOX)).toEqual([{ address: "127.0.0.1", family: 4 }]);
    expect(await lookup("http://kurier.internal:8080/", ["172.18.0.3"], SANDBOX)).toEqual([
      { address: "172.18.0.3", family: 4 },
    ]);
  });

  test("a resolver that fails fails the connection", async () => {
    const lost = new Promise((_, reject) => {
      guardedLookup(target("https://ap.example.com/"), () =>
        Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" })),
      )("h", {}, (error) => {
        reject(error ?? new Error("none"));
      });
    });
    await expect(lost).rejects.toMatchObject({ code: "ENOTFOUND" });
  });
});
