/** Goal: a recipient's endpoint is believed only when an SMP of the network signed it for exactly this question. S-08 of the fault catalogue. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createSmpRecipients } from "../../../engine/peppol/discovery/smp-recipients.js";
import { ROUTING_STATUSES } from "../../../engine/peppol/discovery/routing.js";
import type { SmpAnswer, SmpLookup } from "../../../engine/peppol/discovery/smp.js";
import { SMP_NS } from "../../../engine/peppol/discovery/smp-document.js";
import { parseStaticRoutes, createStaticLookup } from "../../../engine/peppol/discovery/smp-static.js";
import { pemOf } from "../../../engine/peppol/pki/certificate.js";
import { createPki } from "../../../engine/peppol/pki/pki.js";
import { smpRecord, startDnsServer } from "../../support/peppol/dns-server.js";
import type { TestDnsServer } from "../../support/peppol/dns-server.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import { Random, seedFrom } from "../../support/random.js";
import {
  INVOICE,
  networkLookup,
  question,
  RECEIVER,
  signedMetadata,
  startFakeSmp,
  trustOf,
} from "../../support/peppol/smp.js";
import type { FakeSmp } from "../../support/peppol/smp.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import type { Leaf, TestPki } from "../../support/peppol/test-pki.js";

let pki: TestPki;
let dns: TestDnsServer;
let smp: FakeSmp;
let second: FakeSmp;
let signer: Leaf;
let accessPoint: Leaf;
let clock: FakeClock;
let lookup: SmpLookup;

beforeAll(async () => {
  [pki, dns, smp, second] = await Promise.all([
    makeTestPki(),
    startDnsServer(() => ({})),
    startFakeSmp(),
    startFakeSmp(),
  ]);
  signer = pki.leaf("smp", "PSK000010");
  accessPoint = pki.leaf("ap", "PSK000002");
});
afterAll(() => Promise.all([dns.close(), smp.close(), second.close()]));
beforeEach(() => {
  clock = fakeClock();
  lookup = networkLookup(dns, pki, clock);
  dns.answer = () => ({ naptr: [smpRecord(`${smp.url}/`)] });
  smp.answer = () => ({ body: signedMetadata(signer, accessPoint) });
  for (const list of [dns.asked, smp.asked, second.asked]) list.length = 0;
});

const as2 = (endpoint: string): string => endpoint.replace("peppol-transport-as4-v2_0", "busdox-transport-as2-ver1p0");
const without = (name: string, endpoint: string): string =>
  endpoint.replace(new RegExp(`<${name}>.*?</${name}>`, "u"), "");
const outcome = (answer: SmpAnswer): string =>
  answer.status === "ready" ? "ready" : `${answer.status}: ${answer.reason}`;
const GROUP =
  `<ServiceGroup xmlns="${SMP_NS}" xmlns:id="http://busdox.org/transport/identifiers/1.0/"><id:ParticipantIdentifier scheme="iso6523-actorid-upis">${RECEIVER}</id:ParticipantIdentifier>` +
  '<ServiceMetadataReferenceCollection><ServiceMetadataReference href="https://smp.example/x/services/busdox-docid-qns%3A%3Aurn%3Aa%23b"/><ServiceMetadataReference href="nonsense"/></ServiceMetadataReferenceCollection></ServiceGroup>';

test("a recipient of another provider is found through DNS and its SMP, with everything that proves it", async () => {
  expect(await lookup.lookup(question())).toMatchObject({
    status: "ready",
    endpoint: {
      url: "http://127.0.0.1:1/as4",
      certificate: accessPoint.certificate,
      seat: "PSK000002",
      process: INVOICE.processId,
      processScheme: "cenbii-procid-ubl",
      transportProfile: "peppol-transport-as4-v2_0",
      chain: [pki.ap.certificate, pki.root.certificate],
      target: { loopback: true },
    },
    evidence: {
      document: signedMetadata(signer, accessPoint),
      signer: signer.certificate,
      fetchedAt: clock.now(),
      dnsName: dns.asked[0],
    },
  });
  expect(smp.asked).toEqual([
    `/${encodeURIComponent(`iso6523-actorid-upis::${RECEIVER}`)}/services/${encodeURIComponent(`busdox-docid-qns::${INVOICE.documentTypeId}`)}`,
  ]);
});

describe("a recipient is not found", () => {
  const cases: readonly (readonly [string, () => void, string])[] = [
    [
      "when DNS has no such name",
      () => {
        dns.answer = () => ({ rcode: 3 });
      },
      "participant_not_found: NXDOMAIN",
    ],
    [
      "when its SMP does not know it",
      () => {
        smp.answer = () => ({ status: 404 });
      },
      "participant_not_found: not_at_smp",
    ],
    [
      "for a type that its SMP does not list",
      () => {
        smp.answer = (path) => (path.includes("/services/") ? { status: 404 } : { body: GROUP });
      },
      "document_type_not_supported: not_published",
    ],
    [
      "when DNS fails",
      () => {
        dns.answer = () => ({ rcode: 2 });
      },
      "lookup_failed: dns_SERVFAIL",
    ],
    [
      "when DNS leads in a circle",
      () => {
        dns.answer = (name) => ({ naptr: [{ flags: "", regexp: "", replacement: name }] });
      },
      "lookup_failed: dns_NO_METADATA_RECORD",
    ],
    [
      "when its SMP is down",
      () => {
        dns.answer = () => ({ naptr: [smpRecord("http://127.0.0.1:1")] });
      },
      "lookup_failed: connect_refused_ECONNREFUSED",
    ],
    [
      "when its SMP lies in a private network",
      () => {
        dns.answer = () => ({ naptr: [smpRecord("https://10.0.0.1")] });
      },
      "lookup_failed: address_refused_address",
    ],
    [
      "when its SMP is no web address",
      () => {
        dns.answer = () => ({ naptr: [smpRecord("file:///etc/passwd")] });
      },
      "lookup_failed: bad_url_scheme",
    ],
    [
      "when its SMP fails",
      () => {
        smp.answer = () => ({ status: 500 });
      },
      "lookup_failed: http_500",
    ],
    [
      "when its SMP redirects by HTTP",
      () => {
        smp.answer = () => ({ status: 302, headers: { location: second.url } });
      },
      "lookup_failed: http_302",
    ],
    [
      "when the group of its SMP is garbage",
      () => {
        smp.answer = (path) => (path.includes("/services/") ? { status: 404 } : { body: "<x/>" });
      },
      "lookup_failed: malformed_group",
    ],
    [
      "when the answer is huge",
      () => {
        smp.answer = () => ({ body: Buffer.alloc(LIMITS.smp_answer_bytes_max + 1, 0x20) });
      },
      "lookup_failed: too_large_TOO_LARGE",
    ],
    [
      "when the answer is no XML",
      () => {
        smp.answer = () => ({ body: "no" });
      },
      "lookup_failed: signature_malformed",
    ],
    [
      "when the answer has a DOCTYPE",
      () => {
        smp.answer = () => ({
          body: `<!DOCTYPE a [<!ENTITY b "c">]>${signedMetadata(signer, accessPoint)
            .toString()
            .replace(/^<\?.*?\?>/, "")}`,
        });
      },
      "lookup_failed: signature_malformed",
    ],
    [
      "when the answer is not signed",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint)
            .toString()
            .replace(/<Signature.*<\/Signature>/s, ""),
        });
      },
      "lookup_failed: signature_signature_missing",
    ],
    [
      "when the endpoint was changed after signing",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint).toString().replace("127.0.0.1:1/as4", "127.0.0.1:2/as4"),
        });
      },
      "lookup_failed: signature_digest_mismatch",
    ],
    [
      "when an access point has signed",
      () => {
        smp.answer = () => ({ body: signedMetadata(accessPoint, accessPoint) });
      },
      "lookup_failed: signer_wrong_ca",
    ],
    [
      "when the signer's certificate has ended",
      () => {
        smp.answer = () => ({
          body: signedMetadata(pki.leaf("smp", "PSK000010", { notAfter: clock.now() - 1_000 }), accessPoint),
        });
      },
      "lookup_failed: signer_expired",
    ],
    [
      "when the answer is about another participant",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) => text.replace(RECEIVER, "0245:9999999999")),
        });
      },
      "lookup_failed: other_participant",
    ],
    [
      "when the answer is about another scheme",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) => text.replace("iso6523-actorid-upis", "other")),
        });
      },
      "lookup_failed: other_participant",
    ],
    [
      "when the answer is about another document type",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) =>
            text.replace("Invoice-2::Invoice", "Invoice-2::CreditNote"),
          ),
        });
      },
      "lookup_failed: other_document_type",
    ],
    [
      "when the answer is another document",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) => text.replaceAll("SignedServiceMetadata", "Other")),
        });
      },
      "lookup_failed: malformed_metadata",
    ],
    [
      "for a process that is not listed",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) => text.replace(INVOICE.processId, "urn:other")),
        });
      },
      "process_not_supported: not_published",
    ],
    [
      "when it takes only AS2",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) =>
            text.replace("peppol-transport-as4-v2_0", "busdox-transport-as2-ver1p0"),
          ),
        });
      },
      "endpoint_not_found: no_as4",
    ],
    [
      "before its service begins",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) =>
            text.replace("2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00+01:00"),
          ),
        });
      },
      "endpoint_not_found: not_active",
    ],
    [
      "after its service ended",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) => text.replace("2028-01-01T00:00:00.000Z", "2026-11-19")),
        });
      },
      "endpoint_not_found: not_active",
    ],
    [
      "when a date is none",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) => text.replace("2028-01-01T00:00:00.000Z", "soon")),
        });
      },
      "lookup_failed: malformed_metadata",
    ],
    [
      "when its access point lies in a private network",
      () => {
        smp.answer = () => ({ body: signedMetadata(signer, accessPoint, undefined, "https://192.168.1.10/as4") });
      },
      "endpoint_not_found: address_address",
    ],
    [
      "when its access point has a port of another service",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, undefined, "https://ap.example.com:5432/as4"),
        });
      },
      "endpoint_not_found: address_port",
    ],
    [
      "when its certificate is an SMP's",
      () => {
        smp.answer = () => ({ body: signedMetadata(signer, pki.leaf("smp", "PSK000002")) });
      },
      "certificate_invalid: certificate_wrong_ca",
    ],
    [
      "when its certificate is no base64",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) =>
            text.replace(/<Certificate>.*<\/Certificate>/, "<Certificate>?</Certificate>"),
          ),
        });
      },
      "certificate_invalid: certificate_malformed",
    ],
    [
      "when its certificate is no certificate",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, accessPoint, (text) =>
            text.replace(/<Certificate>.*<\/Certificate>/, "<Certificate>AAAA</Certificate>"),
          ),
        });
      },
      "certificate_invalid: certificate_malformed",
    ],
    [
      "when its certificate has ended",
      () => {
        smp.answer = () => ({
          body: signedMetadata(signer, pki.leaf("ap", "PSK000002", { notAfter: clock.now() - 1_000 })),
        });
      },
      "certificate_expired: certificate_expired",
    ],
  ];
  test.each(cases)("a recipient is not found: %s", async (_, arrange, expected) => {
    arrange();
    expect(outcome(await lookup.lookup(question()))).toBe(expected);
  });

  test("a recipient is not found when DNS or its SMP stay silent, after the timeout", async () => {
    const impatient = networkLookup(dns, pki, clock, { timeout_ms: 30 });
    smp.answer = () => undefined;
    expect(outcome(await impatient.lookup(question()))).toBe("lookup_failed: timeout_TIMEOUT");
    dns.answer = () => undefined;
    impatient.forget(RECEIVER);
    expect(outcome(await impatient.lookup(question()))).toBe("lookup_failed: dns_TIMEOUT");
  });
});

test("certificates with line breaks and the lines of PEM, missing dates, and any letter case of the participant are read", async () => {
  const pem = pemOf(accessPoint.certificate).replaceAll("\n", "\n      ");
  smp.answer = () => ({
    body: signedMetadata(signer, accessPoint, (text) =>
      text
        .replace(/<Certificate>.*<\/Certificate>/, `<Certificate>${pem}</Certificate>`)
        .replace(/<Service(Activation|Expiration)Date>[^/]*<\/Service\1Date>/g, "")
        .replace(RECEIVER, "9915:TEST"),
    ),
  });
  expect(outcome(await lookup.lookup(question({ participant: "9915:Test" as ParticipantId })))).toBe("ready");
  expect(smp.asked[0]).toContain("9915%3Atest");
});

test("without a process any process will do, and of several endpoints the first that can be used", async () => {
  const old = pki.leaf("ap", "PSK000003", { notAfter: clock.now() - 1_000 });
  smp.answer = () => ({
    body: signedMetadata(signer, accessPoint, (text) =>
      text.replace(
        /<Endpoint .*?<\/Endpoint>/,
        (endpoint) =>
          endpoint.replace(
            /<Certificate>.*<\/Certificate>/,
            `<Certificate>${old.certificate.toString("base64")}</Certificate>`,
          ) + endpoint,
      ),
    ),
  });
  const { process: _, ...anyProcess } = question();
  expect(await lookup.lookup(anyProcess)).toMatchObject({ status: "ready", endpoint: { seat: "PSK000002" } });
});

test.each<readonly [string, (endpoint: string) => string]>([
  ["another transport profile without a certificate", (text) => without("Certificate", as2(text))],
  ["another transport profile whose date is none", (text) => as2(text).replace("2028-01-01T00:00:00.000Z", "soon")],
  ["AS4 without an address", (text) => without("wsa:EndpointReference", text)],
  ["AS4 whose date is none", (text) => text.replace("2026-01-01T00:00:00.000Z", "01.01.2026")],
])("an endpoint that can be used is found beside one that cannot be read: %s", async (_, change) => {
  for (const both of [(one: string) => change(one) + one, (one: string) => one + change(one)]) {
    smp.answer = () => ({
      body: signedMetadata(signer, accessPoint, (text) => text.replace(/<Endpoint .*?<\/Endpoint>/, both)),
    });
    expect(outcome(await lookup.lookup(question(), { fresh: true }))).toBe("ready");
  }
});

test("an endpoint that cannot be read beside one that has ended leaves open whether there is one", async () => {
  smp.answer = () => ({
    body: signedMetadata(signer, accessPoint, (text) =>
      text.replace(
        /<Endpoint .*?<\/Endpoint>/,
        (one) => one.replace("2028-01-01T00:00:00.000Z", "2026-11-19") + without("Certificate", one),
      ),
    ),
  });
  expect(outcome(await lookup.lookup(question()))).toBe("lookup_failed: malformed_metadata");
});

describe("several endpoints of which none can be used", () => {
  type Offer = readonly [url: string, leaf: Leaf];
  const AP_URL = "http://127.0.0.1:1/as4";
  const UNKNOWN = "PSK000008";
  const certified = (text: string, { certificate }: Leaf): string =>
    text.replace(/<Certificate>.*<\/Certificate>/, `<Certificate>${certificate.toString("base64")}</Certificate>`);
  const offering = (offers: readonly Offer[]): Buffer =>
    signedMetadata(signer, accessPoint, (text) =>
      text.replace(/<Endpoint .*?<\/Endpoint>/, (endpoint) =>
        offers.map(([url, leaf]) => certified(endpoint.replace(AP_URL, url), leaf)).join(""),
      ),
    );
  const OFFERS = {
    "an address that is refused": (): Offer => ["https://192.168.1.10/as4", accessPoint],
    "another port": (): Offer => ["https://ap.example.com:5432/as4", accessPoint],
    "an SMP's certificate": (): Offer => [AP_URL, pki.leaf("smp", "PSK000003")],
    "a certificate that has ended": (): Offer => [
      AP_URL,
      pki.leaf("ap", "PSK000003", { notAfter: clock.now() - 1_000 }),
    ],
    "a certificate of which nobody says whether it is revoked": (): Offer => [AP_URL, pki.leaf("ap", UNKNOWN)],
  };
  beforeEach(() => {
    const trust = createPki({
      store: pki.store,
      mode: "hard",
      clock,
      log: silentLog,
      revocation: {
        ask: ({ commonName }) =>
          Promise.resolve({
            status: commonName === UNKNOWN ? "unknown" : "good",
            source: "ocsp",
            checkedAt: clock.now(),
          }),
      },
    });
    lookup = networkLookup(dns, pki, clock, { trust });
  });

  const REVOCATION = "a certificate of which nobody says whether it is revoked";
  test.each<readonly [keyof typeof OFFERS, keyof typeof OFFERS, string]>([
    ["an address that is refused", REVOCATION, "lookup_failed: certificate_revocation_unknown"],
    ["an SMP's certificate", REVOCATION, "lookup_failed: certificate_revocation_unknown"],
    ["a certificate that has ended", REVOCATION, "lookup_failed: certificate_revocation_unknown"],
    ["an SMP's certificate", "a certificate that has ended", "certificate_expired: certificate_expired"],
    ["an address that is refused", "a certificate that has ended", "certificate_expired: certificate_expired"],
    ["an address that is refused", "an SMP's certificate", "certificate_invalid: certificate_wrong_ca"],
  ])("what may pass sooner is told of %s and %s, in either order", async (one, other, expected) => {
    const offers = [OFFERS[one](), OFFERS[other]()];
    for (const order of [offers, offers.toReversed()]) {
      smp.answer = () => ({ body: offering(order) });
      expect(outcome(await lookup.lookup(question(), { fresh: true }))).toBe(expected);
    }
  });

  test("the first of two faults that stand alike is told", async () => {
    smp.answer = () => ({ body: offering([OFFERS["another port"](), OFFERS["an address that is refused"]()]) });
    expect(outcome(await lookup.lookup(question()))).toBe("endpoint_not_found: address_port");
  });
});

describe("a redirect", () => {
  const redirect = (uid: string, href = second.url): Buffer =>
    signedMetadata(signer, accessPoint, (text) =>
      text.replace(
        /<ServiceInformation>.*<\/ServiceInformation>/s,
        `<Redirect href="${href}/elsewhere"><CertificateUID>${uid}</CertificateUID></Redirect>`,
      ),
    );
  let target: Leaf;
  beforeAll(() => {
    target = pki.leaf("smp", "PSK000020");
  });
  beforeEach(() => {
    second.answer = () => ({ body: signedMetadata(target, accessPoint) });
  });

  test.each([
    "PSK000020",
    "CN=PSK000020",
    "CN=PSK000020, OU=PEPPOL TEST SMP,O=Kurier, C=SK",
    "C=SK,O=Kurier,OU=PEPPOL TEST SMP,CN=PSK000020",
  ])("a redirect to an SMP that %j names is followed", async (uid) => {
    smp.answer = () => ({ body: redirect(uid) });
    expect(outcome(await lookup.lookup(question()))).toBe("ready");
    expect(second.asked).toEqual(["/elsewhere"]);
  });

  test.each<readonly [string, () => void, string]>([
    [
      "to an SMP of another name is not",
      () => {
        smp.answer = () => ({ body: redirect("PSK000021") });
      },
      "lookup_failed: redirect_certificate",
    ],
    [
      "without a name is not",
      () => {
        smp.answer = () => ({ body: redirect("") });
      },
      "lookup_failed: malformed_metadata",
    ],
    [
      "to another redirect is not",
      () => {
        smp.answer = () => ({ body: redirect("PSK000020") });
        second.answer = () => ({ body: redirect("PSK000020") });
      },
      "lookup_failed: second_redirect",
    ],
    [
      "to an answer about somebody else is not",
      () => {
        smp.answer = () => ({ body: redirect("PSK000020") });
        second.answer = () => ({
          body: signedMetadata(target, accessPoint, (text) => text.replace(RECEIVER, "0245:9")),
        });
      },
      "lookup_failed: other_participant",
    ],
    [
      "to an unsigned answer is not",
      () => {
        smp.answer = () => ({ body: redirect("PSK000020") });
        second.answer = () => ({ body: "<x/>" });
      },
      "lookup_failed: signature_signature_missing",
    ],
    [
      "into a private network is not",
      () => {
        smp.answer = () => ({ body: redirect("PSK000020", "https://10.0.0.1") });
      },
      "lookup_failed: address_refused_address",
    ],
    [
      "to nothing is not",
      () => {
        smp.answer = () => ({ body: redirect("PSK000020") });
        second.answer = () => ({ status: 404 });
      },
      "document_type_not_supported: not_published",
    ],
  ])("a redirect %s followed: %3$s", async (_, arrange, expected) => {
    arrange();
    expect(outcome(await lookup.lookup(question()))).toBe(expected);
  });

  test("an SMP's answer that holds a redirect beside information is neither", async () => {
    smp.answer = () => ({
      body: signedMetadata(signer, accessPoint, (text) =>
        text.replace(
          "<ServiceMetadata>",
          `<ServiceMetadata><Redirect href="${second.url}"><CertificateUID>PSK000020</CertificateUID></Redirect>`,
        ),
      ),
    });
    expect(outcome(await lookup.lookup(question()))).toBe("lookup_failed: malformed_metadata");
  });
});

describe("what is known", () => {
  test("what is known of a recipient is asked for once while it may be believed, however many ask at once", async () => {
    await Promise.all(Array.from({ length: 50 }, () => lookup.lookup(question())));
    expect(smp.asked).toHaveLength(1);
    clock.advance(LIMITS.smp_cache_ms - 1);
    await lookup.lookup(question());
    expect(smp.asked).toHaveLength(1);
    clock.advance(1);
    await lookup.lookup(question());
    expect(smp.asked).toHaveLength(2);
  });

  test.each([
    ["back", -1],
    ["forward by more than an answer is believed", LIMITS.smp_cache_ms + 1],
  ])("what is known of a recipient is asked again when the wall clock was set %s", async (_, step_ms) => {
    await lookup.lookup(question());
    clock.setNow(clock.now() + step_ms);
    const { evidence } = await lookup.lookup(question());
    expect(evidence?.fetchedAt).toBe(clock.now());
    await lookup.lookup(question());
    expect(smp.asked).toHaveLength(2);
  });

  test("what is known of a recipient is judged anew each time: an endpoint ends while it is remembered", async () => {
    const brief = pki.leaf("ap", "PSK000002", { notAfter: clock.now() + 30_000 });
    smp.answer = () => ({ body: signedMetadata(signer, brief) });
    expect(outcome(await lookup.lookup(question()))).toBe("ready");
    clock.advance(31_000);
    expect(outcome(await lookup.lookup(question()))).toBe("certificate_expired: certificate_expired");
    expect(smp.asked).toHaveLength(1);
  });

  const outdated: readonly (readonly [string, (text: string) => string, string])[] = [
    [
      "whose endpoint has ended",
      (text) => text.replace("2028-01-01T00:00:00.000Z", new Date(clock.now() + 30_000).toISOString()),
      "endpoint_not_found: not_active",
    ],
    [
      "that do not name the process",
      (text) => text.replace(INVOICE.processId, "urn:another:process"),
      "process_not_supported: not_published",
    ],
  ];
  test.each(outdated)(
    "remembered metadata %s are believed for a minute, then the SMP is asked what it publishes now",
    async (_, change, refused) => {
      const { process: __, ...anyProcess } = question();
      smp.answer = () => ({ body: signedMetadata(signer, accessPoint, change) });
      expect(outcome(await lookup.lookup(anyProcess))).toBe("ready");
      smp.answer = () => ({ body: signedMetadata(signer, accessPoint) });
      clock.advance(LIMITS.smp_cache_negative_ms - 1);
      expect(outcome(await lookup.lookup(question()))).toBe(refused);
      expect(smp.asked).toHaveLength(1);
      clock.advance(1);
      expect(outcome(await lookup.lookup(question(), { mayAsk: () => false }))).toBe(refused);
      expect(outcome(await lookup.lookup(question()))).toBe("ready");
      expect(smp.asked).toHaveLength(2);
    },
  );

  test("a question that finds the SMP down takes nothing of what is remembered from those who ask for the rest of it", async () => {
    smp.answer = () => ({ body: signedMetadata(signer, accessPoint) });
    const other = question({ process: "urn:another:process" });
    expect(outcome(await lookup.lookup(question()))).toBe("ready");
    clock.advance(LIMITS.smp_cache_negative_ms);
    smp.answer = () => ({ status: 503, body: Buffer.alloc(0) });
    for (let round = 0; round < 3; round += 1) {
      expect(outcome(await lookup.lookup(other))).toBe("lookup_failed: http_503");
      expect(outcome(await lookup.lookup(question()))).toBe("ready");
    }
    expect(smp.asked).toHaveLength(2);
    clock.advance(LIMITS.smp_cache_failed_ms);
    smp.answer = () => ({ body: signedMetadata(signer, accessPoint) });
    expect(outcome(await lookup.lookup(other))).toBe("process_not_supported: not_published");
    expect(smp.asked).toHaveLength(3);
  });

  test("metadata whose only endpoint cannot be read are believed for a minute, then the SMP is asked again", async () => {
    smp.answer = () => ({
      body: signedMetadata(signer, accessPoint, (text) => text.replace("2028-01-01T00:00:00.000Z", "soon")),
    });
    expect(outcome(await lookup.lookup(question()))).toBe("lookup_failed: malformed_metadata");
    smp.answer = () => ({ body: signedMetadata(signer, accessPoint) });
    clock.advance(LIMITS.smp_cache_negative_ms - 1);
    expect(outcome(await lookup.lookup(question()))).toBe("lookup_failed: malformed_metadata");
    clock.advance(1);
    expect(outcome(await lookup.lookup(question()))).toBe("ready");
  });

  test("an SMP that still publishes no usable endpoint is asked once a minute, however often it is wanted", async () => {
    smp.answer = () => ({ body: signedMetadata(signer, accessPoint) });
    const other = question({ process: "urn:another:process" });
    expect(outcome(await lookup.lookup(other))).toBe("process_not_supported: not_published");
    clock.advance(LIMITS.smp_cache_negative_ms);
    for (let round = 0; round < 3; round += 1)
      expect(outcome(await lookup.lookup(other))).toBe("process_not_supported: not_published");
    expect(smp.asked).toHaveLength(2);
  });

  test("an answer that somebody is not there is believed for a minute, a failure for seconds", async () => {
    smp.answer = () => ({ status: 404 });
    await lookup.lookup(question());
    clock.advance(LIMITS.smp_cache_negative_ms - 1);
    await lookup.lookup(question());
    expect(smp.asked).toHaveLength(2);
    clock.advance(1);
    smp.answer = () => ({ status: 503 });
    expect(outcome(await lookup.lookup(question()))).toBe("lookup_failed: http_503");
    smp.answer = () => ({ body: signedMetadata(signer, accessPoint) });
    expect(outcome(await lookup.lookup(question()))).toBe("lookup_failed: http_503");
    clock.advance(LIMITS.smp_cache_failed_ms);
    expect(outcome(await lookup.lookup(question()))).toBe("ready");
  });

  test("what is known of a recipient is asked again when somebody wants it fresh, and when it was forgotten", async () => {
    await lookup.lookup(question());
    await lookup.lookup(question(), { fresh: true });
    expect([smp.asked.length, dns.asked.length]).toEqual([2, 2]);
    lookup.forget(RECEIVER);
    await lookup.lookup(question());
    expect(smp.asked).toHaveLength(3);
  });

  test("what is known of recipients does not grow beyond its bounds, and too many look-ups at once are turned away", async () => {
    smp.answer = () => undefined;
    const impatient = networkLookup(dns, pki, clock, { timeout_ms: 200 });
    const answers = await Promise.all(
      Array.from({ length: LIMITS.smp_lookups_max + 10 }, (_, i) =>
        impatient.lookup(question({ participant: `0245:${i}` as ParticipantId })),
      ),
    );
    expect(answers.filter((answer) => outcome(answer) === "lookup_failed: busy")).toHaveLength(10);
  });
});

test("the document types of a participant are those of its group", async () => {
  smp.answer = () => ({ body: GROUP });
  expect(await lookup.documentTypes(RECEIVER)).toEqual({ kind: "types", documentTypes: ["busdox-docid-qns::urn:a#b"] });
  expect(await lookup.documentTypes("0245:1" as ParticipantId)).toEqual({ kind: "failed", reason: "malformed_group" });
  smp.answer = () => ({ status: 404 });
  lookup.forget(RECEIVER);
  expect(await lookup.documentTypes(RECEIVER)).toEqual({ kind: "no_participant" });
});

test("the document types of a participant are remembered, and are asked for once by many at a time", async () => {
  smp.answer = () => ({ body: GROUP });
  const asked = smp.asked.length;
  const types = await Promise.all(Array.from({ length: 20 }, () => lookup.documentTypes(RECEIVER)));
  types.push(await lookup.documentTypes(RECEIVER));
  expect(smp.asked.length - asked).toBe(1);
  expect(new Set(types.map((type) => JSON.stringify(type))).size).toBe(1);
});

test("whoever may not ask gets what is remembered, and nothing that must be asked for", async () => {
  const no = { mayAsk: () => false };
  const asked = smp.asked.length;
  expect(outcome(await lookup.lookup(question(), no))).toBe("lookup_failed: not_allowed");
  expect(await lookup.documentTypes(RECEIVER, no)).toEqual({ kind: "failed", reason: "not_allowed" });
  expect(smp.asked.length).toBe(asked);
  expect((await lookup.lookup(question())).status).toBe("ready");
  expect((await lookup.lookup(question(), no)).status).toBe("ready");
});

describe("types with an asterisk", () => {
  const OWN = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:peppol:pint:billing-1@jp-1::2.1";
  const OPEN = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:peppol:pint:billing-1*::2.1";

  /** An SMP that publishes one PINT type with an asterisk, signed by its scheme and value. */
  const publishes = (scheme = "peppol-doctype-wildcard", value = OPEN): void => {
    const segment = encodeURIComponent(`${scheme}::${value}`);
    const group = GROUP.replace(/services\/[^"]+"/, `services/${segment}"`);
    const metadata = signedMetadata(signer, accessPoint, (text) =>
      text
        .replace(`scheme="busdox-docid-qns">${INVOICE.documentTypeId}`, `scheme="${scheme}">${value}`)
        .replace(INVOICE.processId, "urn:peppol:bis:billing"),
    );
    smp.answer = (path) => {
      if (!path.includes("/services/")) return { body: group };
      return path.endsWith(segment) ? { body: metadata } : { status: 404 };
    };
  };

  test("a document of PINT goes where a more general type with an asterisk is published", async () => {
    publishes();
    lookup.forget(RECEIVER);
    expect(await lookup.lookup(question({ documentType: OWN, process: "urn:peppol:bis:billing" }))).toMatchObject({
      status: "ready",
      endpoint: { url: "http://127.0.0.1:1/as4" },
    });
  });

  test("an asterisk under the scheme of exact types takes nothing but itself", async () => {
    publishes("busdox-docid-qns");
    lookup.forget(RECEIVER);
    expect(outcome(await lookup.lookup(question({ documentType: OWN, process: "urn:peppol:bis:billing" })))).toBe(
      "document_type_not_supported: not_published",
    );
  });
});

test("before a 202 the look-up says accepts, not accepted, not in this process, unregistered or unknown, and in time", async () => {
  const ask = async (timeout_ms = 1_000, processId = INVOICE.processId): Promise<string> => {
    lookup.forget(RECEIVER);
    const recipients = createSmpRecipients(lookup, { timeout_ms });
    const { status, capability } = await recipients.recipient(RECEIVER, { ...INVOICE, processId });
    return `${capability}: ${status}`;
  };
  expect(await ask()).toBe("accepts: ready");
  expect(await ask(1_000, "urn:other")).toBe("process_not_accepted: process_not_supported");
  smp.answer = (path) => (path.includes("/services/") ? { status: 404 } : { body: GROUP });
  expect(await ask()).toBe("not_accepted: document_type_not_supported");
  smp.answer = () => ({ status: 404 });
  expect(await ask()).toBe("unregistered: participant_not_found");
  smp.answer = () => ({ status: 500 });
  expect(await ask()).toBe("unknown: lookup_failed");
  smp.answer = () => ({ body: signedMetadata(signer, accessPoint, undefined, "https://10.0.0.1/as4") });
  expect(await ask()).toBe("unknown: endpoint_not_found");
  smp.answer = () => ({
    body: signedMetadata(signer, accessPoint, (text) => text.replace("peppol-transport-as4-v2_0", "x")),
  });
  expect(await ask()).toBe("not_accepted: endpoint_not_found");
  smp.answer = () => undefined;
  expect(await ask(20)).toBe("unknown: lookup_failed");
});

describe("the static form", () => {
  const file = (changes: object = {}): string =>
    JSON.stringify({
      [RECEIVER]: {
        url: "https://10.1.2.3:8443/as4",
        certificate: pemOf(accessPoint.certificate),
        documentTypes: [`busdox-docid-qns::${INVOICE.documentTypeId}`],
        ...changes,
      },
    });
  const open = (text: string): SmpLookup =>
    createStaticLookup({ routes: parseStaticRoutes(text), pki: trustOf(pki, clock), clock });

  test("the static look-up finds what the operator wrote, also in a private network", async () => {
    expect(await open(file()).lookup(question())).toMatchObject({
      status: "ready",
      endpoint: {
        url: "https://10.1.2.3:8443/as4",
        seat: "PSK000002",
        process: INVOICE.processId,
        target: { own: true },
      },
    });
    expect(
      await open(file({ certificate: accessPoint.certificate.toString("base64") })).lookup(question()),
    ).toMatchObject({ status: "ready" });
    expect(await open(file()).documentTypes(RECEIVER)).toEqual({
      kind: "types",
      documentTypes: [`busdox-docid-qns::${INVOICE.documentTypeId}`],
    });
  });

  test("the static look-up checks certificates like every other form, and says what is not in the file", async () => {
    expect(outcome(await open(file({ certificate: signer.certificate.toString("base64") })).lookup(question()))).toBe(
      "certificate_invalid: certificate_wrong_ca",
    );
    expect(outcome(await open(file()).lookup(question({ participant: "0245:1" as ParticipantId })))).toBe(
      "participant_not_found: not_in_file",
    );
    expect(outcome(await open(file()).lookup(question({ documentType: "x" })))).toBe(
      "document_type_not_supported: not_in_file",
    );
    expect(outcome(await open(file({ processes: ["urn:other"] })).lookup(question()))).toBe(
      "process_not_supported: not_in_file",
    );
  });

  test.each<readonly [string, () => string, string]>([
    ["no JSON", () => "{", "wrong: the whole"],
    ["a list", () => "[]", "wrong: the whole"],
    ["a route without types", () => file({ documentTypes: [] }), "documentTypes"],
    ["an address that is none", () => file({ url: "ap.example" }), "url"],
    ["another scheme", () => file({ url: "ftp://ap.example/" }), "url"],
    ["an unknown member", () => file({ typo: 1 }), "wrong"],
    ["a name that is no participant", () => file().replace(RECEIVER, "x"), "no participant id"],
  ])("a file of static routes that is %s stops the start with a sentence", (_, text, sentence) => {
    expect(() => parseStaticRoutes(text())).toThrow(sentence);
  });
});

test("a damaged answer is never believed, and never crashes", async () => {
  const seed = seedFrom(20261120);
  const random = new Random(seed);
  const good = signedMetadata(signer, accessPoint);
  for (let round = 0; round < 600; round += 1) {
    const bytes = Buffer.from(good);
    for (let i = 0; i <= random.int(3); i += 1)
      bytes[random.int(bytes.length)] =
        random.int(3) === 0 ? random.int(256) : random.pick([...Buffer.from("<>/&\"'= ")]);
    const damaged = random.int(4) === 0 ? bytes.subarray(0, random.int(bytes.length)) : bytes;
    smp.answer = () => ({ body: damaged });
    lookup.forget(RECEIVER);
    const answer = await lookup.lookup(question());
    expect(ROUTING_STATUSES, `SEED=${seed} round ${round}`).toContain(answer.status);
    if (answer.status !== "ready") continue;
    // Damage outside the signed values: white space in the signature, or the certificate of KeyInfo's base64.
    expect(
      [answer.endpoint.url, answer.endpoint.certificate.equals(accessPoint.certificate)],
      `SEED=${seed} round ${round}`,
    ).toEqual(["http://127.0.0.1:1/as4", true]);
  }
});
