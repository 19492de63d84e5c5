/** Goal: names that strangers chose are found, and hold up nobody, whatever their name servers do. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { dnsAddresses } from "../../../engine/peppol/network/dns-addresses.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { HttpResult } from "../../../engine/peppol/network/http.js";
import { startDnsServer } from "../../support/peppol/dns-server.js";
import type { DnsReply, TestDnsServer } from "../../support/peppol/dns-server.js";

const NO_SUCH_NAME = 3;
const SERVER_FAILURE = 2;
const NAMES: Readonly<Record<string, DnsReply>> = {
  "ap.example": { addresses: ["192.0.2.1", "192.0.2.2"] },
  "alias.example": { aliases: ["ap.example"], addresses: ["192.0.2.1"] },
  "inside.example": { addresses: ["10.1.2.3"] },
  "empty.example": {},
  "broken.example": { rcode: SERVER_FAILURE },
  "missing.example": { rcode: NO_SUCH_NAME },
  localhost: { rcode: NO_SUCH_NAME },
};

let dns: TestDnsServer;
let servers: readonly string[];
beforeAll(async () => {
  // A name that the table does not have is never answered.
  dns = await startDnsServer((name) => NAMES[name]);
  servers = [`${dns.host}:${dns.port}`];
});
afterAll(() => dns.close());

test.each([
  ["ap.example", ["192.0.2.1", "192.0.2.2"]],
  ["alias.example", ["192.0.2.1"]],
])("the addresses of %s are those that DNS has", async (name, addresses) => {
  expect(await dnsAddresses(servers)(name)).toEqual(addresses);
});

test.each([
  ["missing.example", "ENOTFOUND"],
  ["empty.example", "ENOTFOUND"],
  ["broken.example", "EAI_AGAIN"],
  ["silent.example", "EAI_AGAIN"],
])("no address is found of %s, with the code %s", async (name, code) => {
  await expect(dnsAddresses(servers)(name)).rejects.toMatchObject({ code });
});

test.each([
  ["refuses", 5],
  ["fails", SERVER_FAILURE],
])("a server that %s what it is asked is passed over for the next one", async (_, rcode) => {
  const inside = await startDnsServer(() => ({ rcode }));
  try {
    const both = [`${inside.host}:${inside.port}`, ...servers];
    expect(await dnsAddresses(both)("ap.example")).toEqual(["192.0.2.1", "192.0.2.2"]);
    await expect(dnsAddresses(both)("missing.example")).rejects.toMatchObject({ code: "ENOTFOUND" });
  } finally {
    await inside.close();
  }
});

test("a silent server between one that refuses and one that answers is passed over, too", async () => {
  const refusing = await startDnsServer(() => ({ rcode: 5 }));
  const silent = await startDnsServer(() => undefined);
  try {
    const three = [`${refusing.host}:${refusing.port}`, `${silent.host}:${silent.port}`, ...servers];
    expect(await dnsAddresses(three)("ap.example")).toEqual(["192.0.2.1", "192.0.2.2"]);
  } finally {
    await Promise.all([refusing.close(), silent.close()]);
  }
});

test("names whose servers are silent hold up no other: a stranger's, or the operator's own", async () => {
  const client = createHttpClient({
    policy: { allowLoopback: false, ownOrigins: ["https://localhost:1"] },
    dnsServers: servers,
  });
  const get = (url: string): Promise<HttpResult> => client.request({ method: "GET", use: "smp", url, bytes_max: 10 });
  const done: string[] = [];
  const silent = Array.from({ length: 8 }, async (_, i) => {
    await get(`https://silent-${i}.example/`);
    done.push("silent");
  });
  try {
    expect(await get("https://inside.example/")).toMatchObject({ kind: "failed", fault: "address_refused" });
    expect(await get("https://missing.example/")).toMatchObject({ kind: "failed", fault: "name_unknown" });
    // The server of strangers' names says that there is no localhost; the system knows it.
    expect(await get("https://localhost:1/")).toMatchObject({ kind: "failed", fault: "connect_refused" });
    expect(done).toEqual([]);
  } finally {
    await Promise.all(silent);
    client.close();
  }
});
