/** Goal: a certificate is trusted for one use, at one time, under one name, and not after it was revoked. X-08 of the fault catalogue. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { REVOCATION_MODES } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { commonName } from "../../../engine/peppol/as4/messages.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import { createPki } from "../../../engine/peppol/pki/pki.js";
import type { Pki, Verdict } from "../../../engine/peppol/pki/pki.js";
import { pemOf, readPemCertificates } from "../../../engine/peppol/pki/certificate.js";
import { readCrl, statusInList } from "../../../engine/peppol/pki/crl.js";
import { contextTag, TAG } from "../../../engine/peppol/pki/der.js";
import { der, octetString, oid, sequence, TRUE } from "../../../engine/peppol/pki/der-writer.js";
import { issueCertificate, newKeyPair } from "../../../engine/peppol/pki/issue.js";
import { ocspQuestion, readOcspAnswer } from "../../../engine/peppol/pki/ocsp.js";
import { createRevocation } from "../../../engine/peppol/pki/revocation.js";
import { authoritiesOf, senderFault } from "../../../engine/peppol/pki/paths.js";
import { findPath, loadTrustStore, makeTrustStore } from "../../../engine/peppol/pki/trust.js";
import type { TrustStore } from "../../../engine/peppol/pki/trust.js";
import { conformance, conformanceBytes, describeConformance } from "../../support/conformance.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import { Random, seedFrom } from "../../support/random.js";
import {
  certIdIn,
  makeCrl,
  makeOcspAnswer,
  makeResponder,
  makeTestPki,
  parsed,
  PKI_END,
  startRevocationServer,
} from "../../support/peppol/test-pki.js";
import type { Authority, Leaf, OcspReply, RevocationServer, TestPki } from "../../support/peppol/test-pki.js";

const HOUR = 3_600_000;
let pki: TestPki;
let other: TestPki;
let server: RevocationServer;
let clock: FakeClock;
let folder: string;

beforeAll(async () => {
  [pki, other, server] = await Promise.all([makeTestPki("OURS"), makeTestPki("OTHER"), startRevocationServer()]);
  folder = mkdtempSync(join(tmpdir(), "kurier-pki-"));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  clock = fakeClock();
  server.ocsp = () => undefined;
  server.crl = () => undefined;
  Object.assign(server.asked, { ocsp: 0, crl: 0 });
});

const open = (mode: (typeof REVOCATION_MODES)[number] = "off", store = pki.store): Pki =>
  createPki({
    store,
    mode,
    clock,
    log: silentLog,
    revocation: createRevocation({
      clock,
      http: (call) =>
        createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] } }).request({ ...call, timeout_ms: 200 }),
    }),
  });
const reasonOf = (verdict: Verdict): string => (verdict.kind === "refused" ? verdict.reason : "trusted");

describe("without revocation", () => {
  test("a leaf of the AP authority is trusted for access points, with its chain up to the root", async () => {
    const leaf = pki.leaf("ap", "PSK000001");
    const verdict = await open().check(leaf.certificate, { usage: "ap", seat: "PSK000001" });
    expect(verdict).toMatchObject({
      kind: "trusted",
      seat: "PSK000001",
      chain: [pki.ap.certificate, pki.root.certificate],
      revocation: { status: "unknown", source: "off" },
    });
  });

  const cases: readonly (readonly [string, () => Promise<Verdict> | Verdict, string])[] = [
    [
      "an SMP's certificate for an access point",
      () => open().check(pki.leaf("smp", "PSK000001").certificate, { usage: "ap" }),
      "wrong_ca",
    ],
    [
      "an access point's certificate for an SMP",
      () => open().check(pki.leaf("ap", "PSK000001").certificate, { usage: "smp" }),
      "wrong_ca",
    ],
    [
      "another root's certificate",
      () => open().check(other.leaf("ap", "PSK000001").certificate, { usage: "ap" }),
      "unknown_issuer",
    ],
    [
      "another root's authority under our authority's name",
      async () => {
        const evil = await newKeyPair();
        return open().check(pki.leaf("ap", "PSK000001", { key: evil.privateKey }).certificate, { usage: "ap" });
      },
      "signature",
    ],
    [
      "the common name of another seat",
      () => open().check(pki.leaf("ap", "PSK000002").certificate, { usage: "ap", seat: "PSK000001" }),
      "name_mismatch",
    ],
    [
      "a common name that is no seat",
      () => open().check(pki.leaf("ap", "Kurier").certificate, { usage: "ap" }),
      "seat_id",
    ],
    [
      "a certificate that begins tomorrow",
      () =>
        open().check(pki.leaf("ap", "PSK000001", { notBefore: clock.now() + 24 * HOUR }).certificate, { usage: "ap" }),
      "not_yet_valid",
    ],
    [
      "a certificate that ended yesterday",
      () =>
        open().check(pki.leaf("ap", "PSK000001", { notAfter: clock.now() - 24 * HOUR }).certificate, { usage: "ap" }),
      "expired",
    ],
    [
      "a key of 1024 bits",
      async () =>
        open().check(pki.leaf("ap", "PSK000001", { publicKey: (await newKeyPair(1_024)).publicKey }).certificate, {
          usage: "ap",
        }),
      "key_too_small",
    ],
    [
      "a key that may not encipher",
      () => open().check(pki.leaf("ap", "PSK000001", { keyUsage: ["digitalSignature"] }).certificate, { usage: "ap" }),
      "key_usage",
    ],
    [
      "a key that may not sign",
      () => open().check(pki.leaf("smp", "PSK000001", { keyUsage: ["keyEncipherment"] }).certificate, { usage: "smp" }),
      "key_usage",
    ],
    [
      "an authority as a leaf",
      () => open().check(pki.leaf("ap", "PSK000001", { isCa: true }).certificate, { usage: "ap" }),
      "not_an_end_entity",
    ],
    [
      "a leaf that may sign certificates",
      () =>
        open().check(
          pki.leaf("ap", "PSK000001", { keyUsage: ["digitalSignature", "keyEncipherment", "keyCertSign"] }).certificate,
          { usage: "ap" },
        ),
      "not_an_end_entity",
    ],
    [
      "a critical extension that nobody knows",
      () => open().check(pki.leaf("ap", "PSK000001", { criticalExtension: "1.2.3.4" }).certificate, { usage: "ap" }),
      "critical_extension",
    ],
    ["the authority itself", () => open().check(pki.ap.certificate, { usage: "ap" }), "unknown_issuer"],
    ["the root itself", () => open().check(pki.root.certificate, { usage: "ap" }), "unknown_issuer"],
    [
      "a leaf that has issued a leaf",
      () => {
        const leaf = pki.leaf("ap", "PSK000001");
        return open().check(
          pki.leaf("ap", "PSK000002", {
            issuer: {
              subject: { C: "SK", O: "Kurier", OU: "PEPPOL TEST AP", CN: "PSK000001" },
              publicKey: pki.ap.publicKey,
            },
            key: leaf.privateKey,
          }).certificate,
          { usage: "ap" },
        );
      },
      "unknown_issuer",
    ],
    [
      "bytes behind the certificate",
      () => open().check(Buffer.concat([pki.leaf("ap", "PSK000001").certificate, Buffer.from([0])]), { usage: "ap" }),
      "malformed",
    ],
    ["nothing", () => open().check(Buffer.alloc(0), { usage: "ap" }), "malformed"],
    ["a megabyte", () => open().check(Buffer.alloc(1_000_000, 0x30), { usage: "ap" }), "malformed"],
  ];
  test.each(cases)("%s is refused: %3$s", async (_, check, reason) => {
    expect(reasonOf(await check())).toBe(reason);
  });

  test("time is asked each time, also of a certificate that is known", async () => {
    const leaf = pki.leaf("ap", "PSK000001", { notAfter: clock.now() + HOUR });
    const trust = open();
    expect(reasonOf(await trust.check(leaf.certificate, { usage: "ap" }))).toBe("trusted");
    expect(reasonOf(await trust.check(leaf.certificate, { usage: "ap", at: clock.now() + 2 * HOUR }))).toBe("expired");
    clock.advance(HOUR + 1);
    expect(reasonOf(await trust.check(leaf.certificate, { usage: "ap" }))).toBe("expired");
  });

  describe("an authority or a root that was renewed with its key", () => {
    const [first, second] = [Date.parse("2026-01-01T00:00:00Z"), Date.parse("2026-07-01T00:00:00Z")];
    const renewed = (of: Authority, issuer: Authority, notBefore: number, notAfter: number): Buffer =>
      issueCertificate({
        subject: of.subject,
        publicKey: of.publicKey,
        ...(issuer === of ? {} : { issuer }),
        key: issuer.privateKey,
        notBefore,
        notAfter,
        isCa: true,
        keyUsage: ["keyCertSign", "cRLSign"],
      });
    const storeOf = (...certificates: readonly Buffer[]): TrustStore =>
      makeTrustStore(certificates.map((certificate) => ({ certificate: parsed(certificate) })));
    const ended = Date.parse("2026-10-01T00:00:00Z");
    const folders: readonly (readonly [string, () => readonly [Buffer, Buffer, Buffer, Buffer]])[] = [
      [
        "the authority's first certificate ended",
        () => [
          renewed(pki.ap, pki.root, first, ended),
          renewed(pki.ap, pki.root, second, PKI_END),
          pki.root.certificate,
          pki.smp.certificate,
        ],
      ],
      [
        "the root's first certificate ended",
        () => [
          renewed(pki.root, pki.root, first, ended),
          renewed(pki.root, pki.root, second, PKI_END),
          pki.ap.certificate,
          pki.smp.certificate,
        ],
      ],
    ];
    test.each(folders)("%s: what it has issued is trusted for as long as one of both is valid", async (_, make) => {
      const leaf = pki.leaf("ap", "PSK000001").certificate;
      const [old, young, ...others] = make();
      for (const store of [storeOf(old, young, ...others), storeOf(young, old, ...others)]) {
        const trust = open("off", store);
        const at = async (instant: number): Promise<string> =>
          reasonOf(await trust.check(leaf, { usage: "ap", at: instant }));
        expect(await at(first + HOUR)).toBe("trusted");
        expect(await at(second + HOUR)).toBe("trusted");
        expect(await at(ended + HOUR)).toBe("trusted");
        expect(senderFault(leaf, authoritiesOf(store), ended + HOUR)).toBeUndefined();
        const path = findPath(leaf, "ap", store, ended + HOUR);
        expect(typeof path !== "string" && path.some(({ der }) => der.equals(young))).toBe(true);
      }
      expect(reasonOf(await open("off", storeOf(old, ...others)).check(leaf, { usage: "ap" }))).toBe("expired");
    });
  });

  test("every flipped bit makes a certificate untrusted", async () => {
    const seed = seedFrom(20261120);
    const random = new Random(seed);
    const { certificate } = pki.leaf("ap", "PSK000001");
    const trust = open();
    for (let round = 0; round < 1_500; round += 1) {
      const bytes = Buffer.from(certificate);
      const at = random.int(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.int(8));
      expect(reasonOf(await trust.check(bytes, { usage: "ap" })), `SEED=${seed} byte ${at}`).not.toBe("trusted");
    }
  });

  test("a certificate that was cut, patched together or given lengths of its own is refused, whatever it becomes, and nothing throws", async () => {
    const seed = seedFrom(20261120);
    const random = new Random(seed);
    const leaves = [
      pki.leaf("ap", "PSK000001").certificate,
      pki.leaf("smp", "PSK000001").certificate,
      pki.ap.certificate,
      pki.root.certificate,
    ];
    const trust = open();
    const trusted = new Set(leaves.slice(0, 1).map((certificate) => certificate.toString("hex")));
    for (let round = 0; round < 3_000; round += 1) {
      let bytes = Buffer.from(random.pick(leaves));
      for (let i = 0; i <= random.int(3); i += 1) {
        const [at, other] = [random.int(bytes.length), random.pick(leaves)];
        const from = random.int(other.length);
        bytes = Buffer.concat(
          random.pick([
            () => [bytes.subarray(0, at), bytes.subarray(at + random.int(40))],
            () => [bytes.subarray(0, at), other.subarray(from, from + random.int(80)), bytes.subarray(at)],
            () => [
              bytes.subarray(0, at),
              Buffer.from([random.pick([0x30, 0x31, 0x02, 0x03, 0x04, 0x80, 0x81, 0x84, 0xa3, 0xff]), random.int(256)]),
              bytes.subarray(at + 2),
            ],
            () => [bytes.subarray(0, at), Buffer.from("84ffffffff", "hex"), bytes.subarray(at)],
            () => [bytes, Buffer.alloc(random.int(30))],
          ])(),
        );
        if (bytes.length === 0) bytes = Buffer.alloc(1);
      }
      if (trusted.has(bytes.toString("hex"))) continue;
      expect(reasonOf(await trust.check(bytes, { usage: "ap" })), `SEED=${seed} round ${round}`).not.toBe("trusted");
    }
  });
});

describe("revocation", () => {
  let urls: { readonly ocspUrl: string; readonly crlUrl: string };
  let leaf: Leaf;
  let both: Leaf;
  beforeAll(() => {
    urls = { ocspUrl: `${server.url}/ocsp`, crlUrl: `${server.url}/crl` };
    leaf = pki.leaf("ap", "PSK000001", { ocspUrl: urls.ocspUrl });
    both = pki.leaf("ap", "PSK000002", urls);
  });
  const reply = (status: OcspReply["status"], changes: Partial<OcspReply> = {}): OcspReply => ({
    status,
    thisUpdate: clock.now() - HOUR,
    nextUpdate: clock.now() + HOUR,
    ...changes,
  });
  const answerOcsp = (given: OcspReply, issuer = pki.ap): void => {
    server.ocsp = (question) => ({ body: makeOcspAnswer(issuer, certIdIn(question), given) });
  };
  const answerCrl = (serials: readonly string[], issuer = pki.ap, extension?: Buffer): void => {
    server.crl = () => ({ body: makeCrl(issuer, serials, clock.now() - HOUR, clock.now() + HOUR, extension) });
  };
  const check = (certificate: Buffer, mode: (typeof REVOCATION_MODES)[number]): Promise<Verdict> =>
    open(mode).check(certificate, { usage: "ap" });

  test.each(["soft", "hard"] as const)(
    "%s: good is trusted with the answer as evidence, revoked is refused",
    async (mode) => {
      answerOcsp(reply("good"));
      const verdict = await check(leaf.certificate, mode);
      expect(verdict).toMatchObject({
        kind: "trusted",
        revocation: { status: "good", source: "ocsp", url: urls.ocspUrl, checkedAt: clock.now() },
      });
      expect(
        verdict.kind === "trusted" &&
          readOcspAnswer(
            verdict.revocation.answer ?? Buffer.alloc(0),
            parsed(leaf.certificate),
            parsed(pki.ap.certificate),
            clock.now(),
          ),
      ).toMatchObject({ status: "good" });
      answerOcsp(reply("revoked"));
      expect(reasonOf(await check(leaf.certificate, mode))).toBe("revoked");
      server.ocsp = () => undefined;
      answerCrl([parsed(both.certificate).serial]);
      expect(reasonOf(await check(both.certificate, mode))).toBe("revoked");
    },
  );

  const unknowns: readonly (readonly [string, () => void])[] = [
    [
      "a responder that does not know it",
      () => {
        answerOcsp(reply("unknown"));
      },
    ],
    [
      "a responder that is down",
      () => {
        server.ocsp = () => undefined;
      },
    ],
    [
      "a responder that fails",
      () => {
        server.ocsp = () => ({ status: 500, body: Buffer.alloc(0) });
      },
    ],
    [
      "a responder that answers garbage",
      () => {
        server.ocsp = () => ({ body: Buffer.from("garbage") });
      },
    ],
    [
      "a responder that says try later",
      () => {
        server.ocsp = () => ({ body: sequence(der(TAG.enumerated, Buffer.from([3]))) });
      },
    ],
    [
      "an answer of last week",
      () => {
        answerOcsp(reply("good", { thisUpdate: clock.now() - 200 * HOUR, nextUpdate: clock.now() - 100 * HOUR }));
      },
    ],
    [
      "an old answer that names no end",
      () => {
        answerOcsp({ status: "good", thisUpdate: clock.now() - 100 * HOUR });
      },
    ],
    [
      "an answer of tomorrow",
      () => {
        answerOcsp(reply("good", { thisUpdate: clock.now() + 24 * HOUR, nextUpdate: clock.now() + 48 * HOUR }));
      },
    ],
    [
      "an answer about another certificate",
      () => {
        server.ocsp = () => ({
          body: makeOcspAnswer(
            pki.ap,
            certIdIn(ocspQuestion(parsed(both.certificate), parsed(pki.ap.certificate))),
            reply("good"),
          ),
        });
      },
    ],
    [
      "an answer signed by another authority",
      () => {
        answerOcsp(reply("good"), { ...pki.ap, privateKey: pki.smp.privateKey });
      },
    ],
    [
      "an answer that is too long",
      () => {
        server.ocsp = () => ({ body: Buffer.alloc(LIMITS.ocsp_answer_bytes_max + 1) });
      },
    ],
  ];
  test.each(unknowns)("%s leaves it unknown: soft believes, hard refuses, off does not ask", async (_, arrange) => {
    arrange();
    expect(await check(leaf.certificate, "soft")).toMatchObject({
      kind: "trusted",
      revocation: { status: "unknown", source: "ocsp" },
    });
    expect(reasonOf(await check(leaf.certificate, "hard"))).toBe("revocation_unknown");
    const asked = server.asked.ocsp;
    expect(reasonOf(await check(leaf.certificate, "off"))).toBe("trusted");
    expect(server.asked.ocsp).toBe(asked);
  });

  test("a responder is believed when the issuer has appointed it, and only then", async () => {
    const at = (responder: OcspReply["responder"]): Promise<Verdict> => {
      answerOcsp(reply("good", responder === undefined ? {} : { responder }));
      return check(leaf.certificate, "hard");
    };
    expect(reasonOf(await at(await makeResponder(pki.ap)))).toBe("trusted");
    expect(reasonOf(await at(await makeResponder(pki.ap, { extendedKeyUsage: ["1.3.6.1.5.5.7.3.2"] })))).toBe(
      "revocation_unknown",
    );
    expect(reasonOf(await at(await makeResponder(pki.smp)))).toBe("revocation_unknown");
    expect(reasonOf(await at(await makeResponder(pki.ap, { notAfter: clock.now() - HOUR })))).toBe(
      "revocation_unknown",
    );
    expect(reasonOf(await at({ certificate: leaf.certificate, privateKey: leaf.privateKey }))).toBe(
      "revocation_unknown",
    );
  });

  test("when OCSP does not know, the list decides", async () => {
    answerOcsp(reply("unknown"));
    answerCrl(["0102"]);
    expect(await check(both.certificate, "hard")).toMatchObject({
      kind: "trusted",
      revocation: { status: "good", source: "crl" },
    });
    answerCrl(["0102", parsed(both.certificate).serial]);
    expect(reasonOf(await check(both.certificate, "hard"))).toBe("revoked");
  });

  test.each<readonly [string, () => void]>([
    [
      "is of another authority",
      () => {
        answerCrl([], pki.smp);
      },
    ],
    [
      "is signed by another key",
      () => {
        answerCrl([], { ...pki.ap, privateKey: pki.smp.privateKey });
      },
    ],
    [
      "covers only a part",
      () => {
        answerCrl([], pki.ap, sequence(oid("2.5.29.28"), TRUE, octetString(sequence())));
      },
    ],
    [
      "is too old",
      () => {
        server.crl = () => ({ body: makeCrl(pki.ap, [], clock.now() - 100 * HOUR, clock.now() - 50 * HOUR) });
      },
    ],
    [
      "is garbage",
      () => {
        server.crl = () => ({ body: Buffer.from("0") });
      },
    ],
    [
      "is not there",
      () => {
        server.crl = () => ({ status: 404, body: Buffer.alloc(0) });
      },
    ],
  ])("a list that %s says nothing", async (_, arrange) => {
    arrange();
    expect(reasonOf(await check(both.certificate, "hard"))).toBe("revocation_unknown");
  });

  /** DER of the members of an IssuingDistributionPoint. @source RFC 5280 section 5.2.5 */
  const named = (url: string): Buffer =>
    der(contextTag(0), der(contextTag(0), der(contextTag(6, false), Buffer.from(url))));
  const flag = (n: number): Buffer => der(contextTag(n, false), Buffer.from([0xff]));
  const part = (...fields: readonly Buffer[]): Buffer =>
    sequence(oid("2.5.29.28"), TRUE, octetString(sequence(...fields)));

  test.each<readonly [string, () => readonly Buffer[]]>([
    ["names the address at which the certificate says it is", () => [named(urls.crlUrl)]],
    ["tells of users' certificates alone", () => [flag(1)]],
    ["does both", () => [named(urls.crlUrl), flag(1)]],
  ])("a list that %s is believed of it", async (_, fields) => {
    answerOcsp(reply("unknown"));
    answerCrl(["0102"], pki.ap, part(...fields()));
    expect(await check(both.certificate, "hard")).toMatchObject({
      kind: "trusted",
      revocation: { status: "good", source: "crl" },
    });
    answerCrl(["0102", parsed(both.certificate).serial], pki.ap, part(...fields()));
    expect(reasonOf(await check(both.certificate, "hard"))).toBe("revoked");
  });

  test("a list that is divided without saying that this is critical is still for its own certificates alone", async () => {
    answerOcsp(reply("unknown"));
    const uncritical = (url: string): Buffer => sequence(oid("2.5.29.28"), octetString(sequence(named(url))));
    answerCrl([], pki.ap, uncritical(`${urls.crlUrl}/2`));
    expect(reasonOf(await check(both.certificate, "hard"))).toBe("revocation_unknown");
    answerCrl([], pki.ap, uncritical(urls.crlUrl));
    expect(reasonOf(await check(both.certificate, "hard"))).toBe("trusted");
  });

  test.each<readonly [string, () => readonly Buffer[]]>([
    ["is for another address", () => [named(`${urls.crlUrl}/2`)]],
    ["tells of authorities alone", () => [named(urls.crlUrl), flag(2)]],
    ["tells of some reasons alone", () => [named(urls.crlUrl), der(contextTag(3, false), Buffer.from([7, 0x80]))]],
    ["tells of others' certificates", () => [named(urls.crlUrl), flag(4)]],
    ["tells of attribute certificates", () => [flag(5)]],
    ["has a relative name", () => [der(contextTag(0), der(contextTag(1), sequence()))]],
  ])("a list that %s says nothing of a certificate", async (_, fields) => {
    answerOcsp(reply("unknown"));
    answerCrl([], pki.ap, part(...fields()));
    expect(reasonOf(await check(both.certificate, "hard"))).toBe("revocation_unknown");
  });

  test.each<readonly [string, () => readonly Buffer[]]>([
    ["another address", () => [named(`${urls.crlUrl}/2`)]],
    ["authorities", () => [flag(2)]],
    ["some reasons", () => [named(urls.crlUrl), der(contextTag(3, false), Buffer.from([7, 0x80]))]],
    ["a relative name", () => [der(contextTag(0), der(contextTag(1), sequence()))]],
  ])("a certificate is revoked where a list of its own issuer has its number, also one for %s", async (_, fields) => {
    answerOcsp(reply("unknown"));
    for (const critical of [[TRUE], []]) {
      answerCrl(
        ["0102", parsed(both.certificate).serial],
        pki.ap,
        sequence(oid("2.5.29.28"), ...critical, octetString(sequence(...fields()))),
      );
      expect(reasonOf(await check(both.certificate, "soft"))).toBe("revoked");
    }
  });

  test("a list of what has changed says nothing of a certificate, also where that is not marked critical", async () => {
    answerOcsp(reply("unknown"));
    for (const critical of [[TRUE], []]) {
      answerCrl([], pki.ap, sequence(oid("2.5.29.27"), ...critical, octetString(der(TAG.integer, Buffer.from([1])))));
      expect(reasonOf(await check(both.certificate, "hard"))).toBe("revocation_unknown");
    }
  });

  test("an authority that is on the root's list takes its leaves with it", async () => {
    const listed = {
      ...pki.ap,
      certificate: issueCertificate({
        subject: pki.ap.subject,
        publicKey: pki.ap.publicKey,
        issuer: pki.root,
        key: pki.root.privateKey,
        notBefore: clock.now(),
        notAfter: clock.now() + 9e9,
        isCa: true,
        crlUrl: urls.crlUrl,
      }),
    };
    const store = { issuers: { ap: [parsed(listed.certificate)], smp: [] }, roots: [parsed(pki.root.certificate)] };
    answerOcsp(reply("good"));
    answerCrl([], pki.root);
    expect(reasonOf(await open("hard", store).check(leaf.certificate, { usage: "ap" }))).toBe("trusted");
    answerCrl([parsed(listed.certificate).serial], pki.root);
    expect(reasonOf(await open("hard", store).check(leaf.certificate, { usage: "ap" }))).toBe("revoked");
  });

  test("an answer is asked for once while it may be believed, however many ask at once", async () => {
    answerOcsp(reply("good"));
    const trust = open("hard");
    await Promise.all(Array.from({ length: 20 }, () => trust.check(leaf.certificate, { usage: "ap" })));
    expect(server.asked.ocsp).toBe(1);
    clock.advance(HOUR - 1);
    await trust.check(leaf.certificate, { usage: "ap" });
    expect(server.asked.ocsp).toBe(1);
    clock.advance(1);
    answerOcsp(reply("revoked"));
    expect(reasonOf(await trust.check(leaf.certificate, { usage: "ap" }))).toBe("revoked");
    expect(server.asked.ocsp).toBe(2);
  });

  // Evidence says by the wall clock when a message left, and `evidence verify` holds the answer against it.
  const [TERM, SKEW] = [LIMITS.revocation_cache_ms, LIMITS.revocation_clock_skew_ms];
  test.each([
    ["back by their whole term", { step: -TERM, status: "unknown", asked: 3 }],
    ["back by less than clocks may differ", { step: -SKEW / 2, status: "good", asked: 2 }],
    ["on beyond their end", { step: TERM + SKEW + 1, status: "unknown", asked: 3 }],
  ])("an answer and a list from before the clock was set %s are asked for again, and judged by it", async (_, set) => {
    const listed = pki.leaf("ap", "PSK000006", { crlUrl: urls.crlUrl });
    const now = clock.now();
    answerOcsp(reply("good", { thisUpdate: now, nextUpdate: now + TERM }));
    server.crl = () => ({ body: makeCrl(pki.ap, [], now, now + TERM) });
    const trust = open("soft");
    const both = () => Promise.all([leaf, listed].map(({ certificate }) => trust.check(certificate, { usage: "ap" })));
    const good = { kind: "trusted", revocation: { status: "good" } };
    expect(await both()).toMatchObject([good, good]);
    clock.setNow(now + set.step);
    const judged = { kind: "trusted", revocation: { status: set.status, checkedAt: now + set.step } };
    expect(await both()).toMatchObject([judged, judged]);
    expect(server.asked).toEqual({ ocsp: 2, crl: 2 });
    // Where the clock is set right, an answer that does not hold at that time is asked for once more.
    clock.setNow(now);
    expect(await both()).toMatchObject([good, good]);
    expect(server.asked).toEqual({ ocsp: set.asked, crl: set.asked });
  });

  test("a responder that is down is not asked again at once, and a list is fetched once for all its certificates", async () => {
    const trust = open("soft");
    server.ocsp = () => ({ status: 503, body: Buffer.alloc(0) });
    for (let i = 0; i < 3; i += 1) await trust.check(leaf.certificate, { usage: "ap" });
    expect(server.asked.ocsp).toBe(1);
    clock.advance(LIMITS.revocation_unknown_cache_ms);
    await trust.check(leaf.certificate, { usage: "ap" });
    expect(server.asked.ocsp).toBe(2);
    answerCrl([]);
    const leaves = ["PSK000003", "PSK000004", "PSK000005"].map((seat) => pki.leaf("ap", seat, { crlUrl: urls.crlUrl }));
    await Promise.all(leaves.map(({ certificate }) => trust.check(certificate, { usage: "ap" })));
    expect(server.asked.crl).toBe(1);
  });

  test("services outside the open network are not asked in production", async () => {
    answerOcsp(reply("good"));
    const strict = createPki({
      store: pki.store,
      mode: "hard",
      clock,
      log: silentLog,
      revocation: createRevocation({
        clock,
        http: createHttpClient({ policy: { allowLoopback: false, ownOrigins: [] } }).request,
      }),
    });
    expect(reasonOf(await strict.check(leaf.certificate, { usage: "ap" }))).toBe("revocation_unknown");
    expect(server.asked.ocsp).toBe(0);
  });

  test("damaged answers are read or refused, never a crash, and never turn revoked into good", () => {
    const seed = seedFrom(20261120);
    const random = new Random(seed);
    const [certificate, issuer] = [parsed(leaf.certificate), parsed(pki.ap.certificate)];
    const ocsp = makeOcspAnswer(pki.ap, certIdIn(ocspQuestion(certificate, issuer)), reply("revoked"));
    const crl = makeCrl(pki.ap, [certificate.serial], clock.now() - HOUR, clock.now() + HOUR);
    for (let round = 0; round < 4_000; round += 1) {
      const source = round % 2 === 0 ? ocsp : crl;
      const bytes = Buffer.from(source);
      for (let i = 0; i <= random.int(3); i += 1) bytes[random.int(bytes.length)] = random.int(256);
      const damaged = random.int(4) === 0 ? bytes.subarray(0, random.int(bytes.length)) : bytes;
      const result =
        source === ocsp
          ? readOcspAnswer(damaged, certificate, issuer, clock.now())
          : readCrl(damaged, issuer, clock.now());
      const isGood =
        typeof result !== "string" &&
        ("status" in result ? result.status === "good" : !result.revoked.has(certificate.serial));
      expect(isGood, `SEED=${seed} round ${round}`).toBe(false);
    }
  });
});

describe("beside OpenSSL", () => {
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): string =>
    execFileSync("openssl", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

  test("OpenSSL verifies the chains that we make, and its responder and lists say what we read", async () => {
    const good = pki.leaf("ap", "PSK000001");
    const bad = pki.leaf("ap", "PSK000002");
    for (const [name, bytes] of [
      ["root", pki.root.certificate],
      ["ap", pki.ap.certificate],
      ["good", good.certificate],
      ["bad", bad.certificate],
    ] as const)
      writeFileSync(file(`${name}.pem`), pemOf(bytes));
    expect(openssl("verify", "-x509_strict", "-CAfile", "root.pem", "-untrusted", "ap.pem", "good.pem")).toContain(
      "OK",
    );
    writeFileSync(file("ap.key"), pki.ap.privateKey.export({ type: "pkcs8", format: "pem" }));
    const line = (status: string, leaf: Leaf): string =>
      `${status}\t360101000000Z\t${status === "R" ? "261101000000Z" : ""}\t${parsed(leaf.certificate).serial.toUpperCase()}\tunknown\t/CN=${leaf.seat}\n`;
    writeFileSync(file("index.txt"), line("V", good) + line("R", bad));
    writeFileSync(file("index.txt.attr"), "unique_subject = no\n");
    writeFileSync(file("crlnumber"), "01\n");
    writeFileSync(
      file("ca.cnf"),
      `[ca]\ndefault_ca=d\n[d]\ndatabase=${file("index.txt")}\ncrlnumber=${file("crlnumber")}\ndefault_md=sha256\ndefault_crl_days=30\n`,
    );
    openssl("ca", "-gencrl", "-config", "ca.cnf", "-cert", "ap.pem", "-keyfile", "ap.key", "-out", "list.pem");
    openssl("crl", "-in", "list.pem", "-outform", "DER", "-out", "list.der");
    const now = Date.now();
    const list = readCrl(execFileSync("cat", [file("list.der")]), parsed(pki.ap.certificate), now);
    expect(typeof list !== "string" && [...list.revoked]).toEqual([parsed(bad.certificate).serial]);
    // A list that tells of one distribution point alone: OpenSSL believes it of the same certificates.
    writeFileSync(
      file("part.cnf"),
      `${readFileSync(file("ca.cnf"), "utf8")}[e]\nissuingDistributionPoint=critical,@p\n[p]\nfullname=URI:http://lists.example/a.crl\nonlyuser=TRUE\n`,
    );
    openssl(
      ...["ca", "-gencrl", "-config", "part.cnf", "-crlexts", "e", "-cert", "ap.pem", "-keyfile", "ap.key"],
      ...["-out", "part.pem"],
    );
    openssl("crl", "-in", "part.pem", "-outform", "DER", "-out", "part.der");
    const partial = readCrl(readFileSync(file("part.der")), parsed(pki.ap.certificate), now);
    for (const [crlUrl, status, told] of [
      ["http://lists.example/a.crl", "good", "OK"],
      ["http://lists.example/b.crl", "scope", "ifferent CRL scope"],
    ] as const) {
      const leaf = pki.leaf("ap", "PSK000003", { crlUrl });
      writeFileSync(file("leaf.pem"), pemOf(leaf.certificate));
      const verified = spawnSync(
        "openssl",
        ["verify", "-crl_check", "-CRLfile", "part.pem", "-CAfile", "root.pem", "-untrusted", "ap.pem", "leaf.pem"],
        { cwd: folder, encoding: "utf8" },
      );
      expect(verified.stdout + verified.stderr).toContain(told);
      expect(typeof partial !== "string" && statusInList(partial, parsed(leaf.certificate))).toBe(status);
    }
    for (const [leaf, status] of [
      [good, "good"],
      [bad, "revoked"],
    ] as const) {
      writeFileSync(file("question.der"), ocspQuestion(parsed(leaf.certificate), parsed(pki.ap.certificate)));
      openssl(
        "ocsp",
        "-index",
        "index.txt",
        "-rsigner",
        "ap.pem",
        "-rkey",
        "ap.key",
        "-CA",
        "ap.pem",
        "-reqin",
        "question.der",
        "-respout",
        "answer.der",
        "-ndays",
        "1",
      );
      expect(
        readOcspAnswer(
          execFileSync("cat", [file("answer.der")]),
          parsed(leaf.certificate),
          parsed(pki.ap.certificate),
          now,
        ),
      ).toMatchObject({ status });
    }
  });

  test.each(["5", "-5", "-128", "0x80", "-0x8000000000000001"])(
    "a responder is asked about the very serial number that a certificate has: %s",
    (serial) => {
      openssl(
        ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "numbered.key"],
        ...["-outform", "DER", "-out", "numbered.der", "-subj", "/CN=PSK000001", "-set_serial", serial],
      );
      const numbered = parsed(readFileSync(file("numbered.der")));
      writeFileSync(file("numbered.question"), ocspQuestion(numbered, parsed(pki.ap.certificate)));
      const asked = openssl("ocsp", "-reqin", "numbered.question", "-req_text", "-noverify");
      const [, number] = /Serial Number: (\S+)/u.exec(asked) ?? [];
      const [, own] =
        /serial=(\S+)/u.exec(openssl("x509", "-inform", "DER", "-in", "numbered.der", "-noout", "-serial")) ?? [];
      expect(number).toBe(own);
    },
  );

  test.each([
    ["/C=SK/O=Kurier/OU=PEPPOL TEST AP/CN=PSK000001", "PSK000001"],
    ["/C=SK/O=Kurier/OU=PEPPOL TEST AP+CN=PSK000001", "PSK000001"],
    ["/C=SK/O=Kurier, CN=PSK000009/CN=PSK000001", "PSK000001"],
    ["/C=SK/OU=PEPPOL TEST AP+CN=PSK000002/CN=PSK000001", undefined],
    ["/C=SK/CN=PSK000001/CN=PSK000001", undefined],
    ["/C=SK/O=Kurier", undefined],
  ])("the seat in %s is the same for the trust decision and for the message: %s", (subject, seat) => {
    openssl(
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "named.key"],
      ...["-outform", "DER", "-out", "named.der", "-subj", subject, "-multivalue-rdn"],
    );
    const named = readFileSync(file("named.der"));
    expect([parsed(named).commonName, commonName(named)]).toEqual([seat, seat]);
  });
});

describe("a trust folder", () => {
  const write = (name: string, files: Readonly<Record<string, Buffer | string>>): string => {
    const place = join(folder, name);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(join(place, path, ".."), { recursive: true });
      writeFileSync(join(place, path), typeof content === "string" ? content : pemOf(content));
    }
    return place;
  };
  const sentencesOf = (place: string): string => {
    try {
      loadTrustStore(place);
      return "";
    } catch (error) {
      return error instanceof Error ? error.message : "";
    }
  };

  test("a trust folder knows authorities by their names, or by their subfolder", async () => {
    const byName = loadTrustStore(
      write("names", {
        "root.pem": pki.root.certificate,
        "both.pem": pemOf(pki.ap.certificate) + pemOf(pki.smp.certificate),
        "readme.txt": "x",
      }),
    );
    expect(reasonOf(await open("off", byName).check(pki.leaf("ap", "PSK000001").certificate, { usage: "ap" }))).toBe(
      "trusted",
    );
    expect(reasonOf(await open("off", byName).check(pki.leaf("smp", "PSK000001").certificate, { usage: "smp" }))).toBe(
      "trusted",
    );
    const selfSigned = loadTrustStore(
      write("subfolders", {
        "ap/ca.pem": other.root.certificate,
        "smp/ca.pem": pki.smp.certificate,
        "root.pem": pki.root.certificate,
      }),
    );
    expect(selfSigned.issuers.ap.map(({ fingerprint }) => fingerprint)).toEqual([
      parsed(other.root.certificate).fingerprint,
    ]);
  });

  test("a trust folder that lacks an authority or a root, or holds something else, stops the start with a sentence", () => {
    expect(sentencesOf(write("no-smp", { "root.pem": pki.root.certificate, "ap.pem": pki.ap.certificate }))).toBe(
      "PEPPOL_TRUST_DIR has no SMP certification authority; one whose name does not say so, or that is its own root, lies in the subfolder smp.",
    );
    expect(sentencesOf(write("no-root", { "ap.pem": pki.ap.certificate, "smp.pem": pki.smp.certificate }))).toContain(
      "lacks the root of OURS ACCESS POINT CA",
    );
    expect(sentencesOf(write("no-pem", { "x.pem": "nothing" }))).toContain(
      "x.pem of PEPPOL_TRUST_DIR holds no certificates",
    );
    expect(sentencesOf(join(folder, "absent"))).toContain("must be a folder");
  });
});

describeConformance("the network's authorities", "as4/peppol-ca", () => {
  const FINGERPRINTS: Readonly<Record<string, string>> = {
    "PEPPOL_Root_CA-G3.pem": "B6075B9F8655E756777F182D1407C0049442D3A2F57DFF9781523828F331F211",
    "PEPPOL_ACCESS_POINT_CA-G3.pem": "B65E375A5826ADA16517B2AA8A881B6FCAFF5E48E7559B9E96BBA5C64921F900",
    "PEPPOL_SERVICE_METADATA_PUBLISHER_CA-G3.pem": "D9E17467C69E51FC4F5C5263542FC68D2ABBA5DFAAE62E87FBD6829F1DE621C4",
    "PEPPOL_Root_TEST_CA-G3.pem": "8B4E0E5DC7C8208CBA88EDEBFAD31E064740D896AB6E18DE0B03386FD24BE734",
    "PEPPOL_ACCESS_POINT_TEST_CA-G3.pem": "D2445A0F115EE64CC141A849FE142927FE5701B7D9B58D3E6F53993162115CC0",
    "PEPPOL_SERVICE_METADATA_PUBLISHER_TEST_CA-G3.pem":
      "EB78DABB622BBC701592F085BC27AB817FE1C0D4753AE829682E8127B3B00CE7",
  };
  const copy = (name: string, files: readonly string[]): string => {
    const place = join(folder, name);
    mkdirSync(place);
    for (const path of files) writeFileSync(join(place, path), conformanceBytes("as4", "peppol-ca", path));
    return place;
  };
  const names = Object.keys(FINGERPRINTS);
  const tests = names.filter((name) => name.includes("TEST"));

  test.each(Object.entries(FINGERPRINTS))(
    "%s is read, with its fingerprint and the places to ask about revocation",
    (name, fingerprint) => {
      const [certificate] = readPemCertificates(conformanceBytes("as4", "peppol-ca", name).toString()) ?? [];
      expect(certificate?.fingerprint.toUpperCase()).toBe(fingerprint);
      expect(certificate?.isCa).toBe(true);
      expect((certificate?.crlUrls.length ?? 0) > 0).toBe(!name.includes("Root"));
    },
  );

  test("the authorities of the test network and those of production are trust stores; both together are refused", () => {
    expect(loadTrustStore(copy("test-network", tests)).issuers.ap).toHaveLength(1);
    expect(
      loadTrustStore(
        copy(
          "production",
          names.filter((name) => !tests.includes(name)),
        ),
      ).issuers.smp,
    ).toHaveLength(1);
    expect(() => loadTrustStore(conformance("as4", "peppol-ca"))).toThrow(
      "mixes authorities of the test and the production network",
    );
  });
});
