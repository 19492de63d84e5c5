/** Goal: a participant is found through a real DNS server, and whatever a server does, the answer is the right one of three. */
import { Resolver } from "node:dns/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { createResolveNaptr, parseDnsServer } from "../../../engine/peppol/network/dns.js";
import type { NaptrResult } from "../../../engine/peppol/network/dns.js";
import { naptrQuestion, readNaptrAnswer } from "../../../engine/peppol/network/dns-message.js";
import { createSml, metadataUrl, smlLabel, smlName, SML_ZONES } from "../../../engine/peppol/discovery/sml.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import { Random, seedFrom } from "../../support/random.js";
import { smpRecord, startDnsServer } from "../../support/peppol/dns-server.js";
import type { DnsBehaviour, TestDnsServer } from "../../support/peppol/dns-server.js";

const ZONE = "participant.test";
const SMP = "https://smp.example.com";
const found = { naptr: [smpRecord(SMP)] };

let server: TestDnsServer;
let clock: FakeClock;
beforeAll(async () => {
  server = await startDnsServer(() => found);
});
afterAll(() => server.close());
beforeEach(() => {
  server.asked.length = 0;
  clock = fakeClock();
});

const resolver = (timeout_ms = 1_000) => createResolveNaptr({ servers: [server], timeout_ms });
const resolve = (answer: DnsBehaviour, timeout_ms?: number): Promise<NaptrResult> => {
  server.answer = answer;
  return resolver(timeout_ms)("a.example");
};

test.each([
  ["0088:123abc", "y7dzfxaf3d4cjz4kcgrxtec6twvcga4ky7zwa5boif6mswd4tdrq"],
  ["0088:123ABC", "y7dzfxaf3d4cjz4kcgrxtec6twvcga4ky7zwa5boif6mswd4tdrq"],
  ["0010:5798000000001", "xukhfqabqziki3ykvr2fhr4snfa3pf5vpq6k4tonv3lmvsy5arvq"],
  ["0088:1234567890123", "sjsyvccmqyjxk3weuapffq4x3umcrf4qryherj4vovhmonh7gccq"],
  ["9915:test", "eh5boavaktmbgzyh2a63dz4qov33fvp5nsdvqklucfraayoodw6a"],
])("the label of %s is %s", (participant, label) => {
  expect(smlLabel(participant)).toBe(label);
  expect(smlName(participant, SML_ZONES.test)).toBe(
    `${label}.iso6523-actorid-upis.participant.sml.test.tech.peppol.org`,
  );
});

describe("a server's answer", () => {
  test("a server's answer is read as node's own resolver reads it, with its time to live", async () => {
    const records = [
      { regexp: "!^.*$!https://b.example!", order: 2, ttl_s: 900 },
      { regexp: "!^.*$!https://a.example!", ttl_s: 30, replacement: "" },
    ];
    server.answer = () => ({ naptr: records });
    const node = new Resolver();
    node.setServers([`127.0.0.1:${server.port}`]);
    const theirs = await node.resolveNaptr("a.example");
    const ours = await resolver()("a.example");
    expect(ours).toEqual({ kind: "records", records: theirs, ttl_s: 30 });
  });

  test("NXDOMAIN and a name without records mean: not there", async () => {
    expect(await resolve(() => ({ rcode: 3, soa: { ttl_s: 600, minimum_s: 120 } }))).toEqual({
      kind: "none",
      ttl_s: 120,
    });
    expect(await resolve(() => ({ rcode: 3 }))).toEqual({ kind: "none", ttl_s: undefined });
    expect(await resolve(() => ({}))).toEqual({ kind: "none", ttl_s: undefined });
  });

  test("SERVFAIL, REFUSED and silence mean: not known, after the allowed attempts", async () => {
    expect(await resolve(() => ({ rcode: 2 }))).toEqual({ kind: "failed", code: "SERVFAIL" });
    expect(server.asked).toHaveLength(LIMITS.dns_attempts);
    expect(await resolve(() => ({ rcode: 5 }))).toEqual({ kind: "failed", code: "RCODE" });
    expect(await resolve(() => undefined, 30)).toEqual({ kind: "failed", code: "TIMEOUT" });
  });

  test("one server that fails does not hide the next", async () => {
    server.answer = () => found;
    const silent = await startDnsServer(() => undefined);
    const two = createResolveNaptr({ servers: [silent, server], timeout_ms: 250 });
    expect(await two("a.example")).toMatchObject({ kind: "records" });
    await silent.close();
    const gone = createResolveNaptr({ servers: [silent, server], timeout_ms: 1_000 });
    expect(await gone("a.example")).toMatchObject({ kind: "records" });
    expect(await createResolveNaptr({ servers: [] })("a.example")).toEqual({ kind: "failed", code: "NO_SERVER" });
  });

  test("a server's answer that does not fit a datagram is fetched over TCP", async () => {
    const many = Array.from({ length: 60 }, (_, i) => smpRecord(`https://smp-${i}.example.com/${"x".repeat(60)}`));
    const result = await resolve(
      (_, transport) => (transport === "udp" ? { truncated: true } : { naptr: many }),
      1_000,
    );
    expect(result.kind === "records" && result.records).toHaveLength(60);
    expect(await resolve((_, transport) => (transport === "udp" ? { truncated: true } : undefined), 250)).toEqual({
      kind: "failed",
      code: "TIMEOUT",
    });
    const endless = await resolve(
      (_, transport) =>
        transport === "udp"
          ? { truncated: true }
          : { mangle: (m) => [Buffer.concat([m, Buffer.alloc(LIMITS.dns_answer_bytes_max)])] },
      1_000,
    );
    expect(endless).toEqual({ kind: "failed", code: "GARBAGE" });
  });

  test("a server's answer to another question, with another id, or that is garbage, is not believed; the right one behind it is", async () => {
    const flip =
      (at: number) =>
      (message: Buffer): Buffer => {
        const copy = Buffer.from(message);
        copy[at] = (copy[at] ?? 0) ^ 1;
        return copy;
      };
    for (const at of [0, 1, 13])
      expect(await resolve(() => ({ ...found, mangle: flip(at) }), 600)).toEqual({ kind: "failed", code: "GARBAGE" });
    expect(
      await resolve(() => ({
        ...found,
        mangle: (message) => [Buffer.from("garbage"), Buffer.alloc(0), flip(0)(message), message],
      })),
    ).toMatchObject({ kind: "records" });
  });

  test("a server's answer with aliases is followed to its records; a loop of aliases is garbage", async () => {
    expect(await resolve(() => ({ aliases: ["b.example", "c.example"], ...found }))).toMatchObject({
      kind: "records",
      ttl_s: 60,
    });
    expect(await resolve(() => ({ aliases: ["b.example", "a.example"], ...found }), 250)).toEqual({
      kind: "failed",
      code: "GARBAGE",
    });
  });

  test("a server's answer with a compression pointer to itself, forward, or in a circle is garbage", () => {
    const question = naptrQuestion(7, "a.example");
    const answer = Buffer.concat([Buffer.from([0, 7, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]), question.subarray(12, 27)]);
    for (const pointer of [
      [0xc0, answer.length],
      [0xc0, answer.length + 2, 0xc0, answer.length],
      [0xff, 0xff],
      [1, 0x61, 0xc0, answer.length],
    ]) {
      const message = Buffer.concat([answer, Buffer.from(pointer), Buffer.from([0, 35, 0, 1, 0, 0, 0, 1, 0, 0])]);
      expect(readNaptrAnswer(message, 7, "a.example")).toEqual({ kind: "garbage" });
    }
  });

  test("a server's answer with any damage is read or garbage, never a crash", () => {
    const seed = seedFrom(20261120);
    const random = new Random(seed);
    const head = Buffer.concat([
      Buffer.from([0, 7, 0x81, 0x80, 0, 1, 0, 2, 0, 1, 0, 0]),
      naptrQuestion(7, "a.example").subarray(12, 27),
    ]);
    const rdata = Buffer.from("\0\x64\0\x0a\x01U\x08Meta:SMP\x12!^.*$!https://a.b!\0", "latin1");
    const naptr = Buffer.concat([Buffer.from([0xc0, 12, 0, 35, 0, 1, 0, 0, 0, 60, 0, rdata.length]), rdata]);
    const good = Buffer.concat([
      head,
      naptr,
      naptr,
      Buffer.from([0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 60, 0, 24, 0xc0, 12, 0xc0, 12]),
      Buffer.alloc(20),
    ]);
    expect(readNaptrAnswer(good, 7, "a.example")).toMatchObject({
      kind: "answer",
      naptr: [{ service: "Meta:SMP" }, {}],
    });
    for (let round = 0; round < 20_000; round += 1) {
      const bytes = Buffer.from(good);
      for (let i = 0; i <= random.int(5); i += 1) bytes[random.int(bytes.length)] = random.int(256);
      const message = random.int(3) === 0 ? bytes.subarray(0, random.int(bytes.length)) : bytes;
      expect(["answer", "garbage"], `SEED=${seed} round ${round}`).toContain(
        readNaptrAnswer(message, 7, "a.example").kind,
      );
    }
  });
});

test.each(["", "a..b", ".", "a b.example", `${"x".repeat(64)}.example`, `${"x.".repeat(200)}example`, "č.example"])(
  "%j is no name to ask for",
  async (name) => {
    expect(await resolver()(name)).toEqual({ kind: "failed", code: "BAD_NAME" });
    expect(server.asked).toEqual([]);
  },
);

test.each([
  ["192.0.2.1", { host: "192.0.2.1", port: 53 }],
  ["192.0.2.1:5353", { host: "192.0.2.1", port: 5353 }],
  ["2001:db8::1", { host: "2001:db8::1", port: 53 }],
  ["[2001:db8::1]:5353", { host: "2001:db8::1", port: 5353 }],
  ["dns.example", undefined],
  ["192.0.2.1:0", undefined],
  ["192.0.2.1:65536", undefined],
  ["", undefined],
])("the DNS server %j is %j", (text, expected) => {
  expect(parseDnsServer(text)).toEqual(expected);
});

describe("the record of an SMP", () => {
  const record = { order: 1, preference: 1, flags: "U", service: "Meta:SMP", regexp: `!^.*$!${SMP}!`, replacement: "" };
  test.each([
    ["as the network writes it", record, SMP],
    [
      "with another delimiter and without anchors",
      { ...record, regexp: `/.*/${SMP.replaceAll("/", "|")}/` },
      SMP.replaceAll("/", "|"),
    ],
    ["in small letters", { ...record, flags: "u", service: "meta:smp" }, SMP],
    ["of another service", { ...record, service: "E2U+sip" }, undefined],
    ["that leads to another name", { ...record, flags: "", regexp: "", replacement: "a.example" }, undefined],
    ["whose expression takes only some names", { ...record, regexp: `!^a.*$!${SMP}!` }, undefined],
    ["with a back reference", { ...record, regexp: "!^(.*)$!https://\\1!" }, undefined],
    ["without a target", { ...record, regexp: "!^.*$!!" }, undefined],
    ["with a delimiter in its target", { ...record, regexp: "!^.*$!https://a!b!" }, undefined],
    ["that is empty", { ...record, regexp: "" }, undefined],
  ])("the record of an SMP: %s", (_, given, url) => {
    expect(metadataUrl([given])).toBe(url);
  });

  test("the record of an SMP is the first by order and preference that can be used", () => {
    expect(
      metadataUrl([
        { ...record, order: 2 },
        { ...record, service: "x" },
        { ...record, preference: 2, regexp: "!^.*$!https://second!" },
        { ...record, order: 3, regexp: "!^.*$!https://third!" },
      ]),
    ).toBe("https://second");
  });
});

describe("the locator", () => {
  const sml = () => createSml({ zone: ZONE, resolveNaptr: resolver(), clock });
  const P = "0245:2020202020";

  test("the locator finds a participant whatever the case of its letters, and asks once while the record lives", async () => {
    const locator = sml();
    server.answer = () => ({ naptr: [smpRecord(SMP, 120)] });
    expect(await locator.locate("9915:Test")).toEqual({ kind: "found", url: SMP, name: smlName("9915:test", ZONE) });
    expect(await locator.locate("9915:TEST")).toMatchObject({ kind: "found" });
    expect(server.asked).toHaveLength(1);
    clock.advance(119_000);
    await locator.locate("9915:test");
    expect(server.asked).toHaveLength(1);
    clock.advance(2_000);
    await locator.locate("9915:test");
    expect(server.asked).toHaveLength(2);
  });

  test("the locator believes no record for less than the least, nor for longer than the most", async () => {
    const locator = sml();
    server.answer = () => ({ naptr: [smpRecord(SMP, 0)] });
    await locator.locate(P);
    clock.advance(LIMITS.dns_ttl_min_ms - 1);
    await locator.locate(P);
    expect(server.asked).toHaveLength(1);
    clock.advance(1);
    server.answer = () => ({ naptr: [smpRecord(SMP, 2_000_000_000)] });
    await locator.locate(P);
    clock.advance(LIMITS.dns_ttl_max_ms);
    await locator.locate(P);
    expect(server.asked).toHaveLength(3);
  });

  test("the locator remembers for a shorter time that somebody is not there, and a failure not at all", async () => {
    const locator = sml();
    server.answer = () => ({ rcode: 3, soa: { ttl_s: 86_400, minimum_s: 86_400 } });
    expect(await locator.locate(P)).toMatchObject({ kind: "unregistered" });
    clock.advance(LIMITS.dns_ttl_negative_max_ms - 1);
    expect(await locator.locate(P)).toMatchObject({ kind: "unregistered" });
    expect(server.asked).toHaveLength(1);
    clock.advance(1);
    server.answer = () => ({ rcode: 2 });
    expect(await locator.locate(P)).toMatchObject({ kind: "failed", code: "SERVFAIL" });
    server.answer = () => found;
    expect(await locator.locate(P)).toMatchObject({ kind: "found" });
    locator.forget(P);
    server.answer = () => ({ rcode: 3 });
    expect(await locator.locate(P)).toMatchObject({ kind: "unregistered" });
  });

  test("the locator does not follow records that lead in a circle", async () => {
    server.answer = (name) => ({ naptr: [{ flags: "", regexp: "", replacement: name }] });
    expect(await sml().locate(P)).toMatchObject({ kind: "failed", code: "NO_METADATA_RECORD" });
    expect(server.asked).toHaveLength(1);
  });
});
