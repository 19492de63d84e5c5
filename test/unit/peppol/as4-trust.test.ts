/** What the PKI and the look-up say, in the words of an exchange and of its evidence. */
import { describe, expect, test } from "vitest";

import { peerTrust, smpEndpoints, trustEvidence } from "../../../engine/peppol/as4/trust.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import type { Pki, RevocationAnswer } from "../../../engine/peppol/pki/pki.js";
import { readCertificate } from "../../../engine/peppol/pki/certificate.js";
import { outcomeOfRouting, ROUTING_STATUSES } from "../../../engine/peppol/discovery/routing.js";
import type { RoutingFailure } from "../../../engine/peppol/discovery/routing.js";
import type { SmpAnswer } from "../../../engine/peppol/discovery/smp.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import { memoryArchive } from "../../support/as4/evidence.js";

const wanted = { receiver: "0245:1" as ParticipantId, documentTypeId: "type", processId: "process" };
const never = new AbortController().signal;

type Verdict = Awaited<ReturnType<Pki["check"]>>;
const pki = (verdict: Verdict): Pick<Pki, "check" | "mode"> => ({ mode: "soft", check: async () => verdict });

describe("a refusal of the PKI", () => {
  test.each([
    ["revoked", false],
    ["expired", false],
    ["wrong_ca", false],
    ["revocation_unknown", true],
  ] as const)("a refusal of the PKI is passing or final: %s passes: %s", async (reason, passing) => {
    expect(await peerTrust(pki({ kind: "refused", reason })).judge(Buffer.alloc(1))).toEqual({
      kind: "refused",
      fault: reason,
      passing,
    });
  });
});

describe("a look-up", () => {
  const MEANS = {
    participant_not_found: { kind: "recipient_unregistered", code: "participant_not_found why" },
    document_type_not_supported: { kind: "recipient_capability", code: "document_type_not_supported why" },
    process_not_supported: { kind: "recipient_capability", code: "process_not_supported why" },
    endpoint_not_found: { kind: "recipient_capability", code: "endpoint_not_found why" },
    certificate_invalid: { kind: "certificate_rejected", code: "certificate_invalid why" },
    certificate_expired: { kind: "certificate_rejected", code: "certificate_expired why" },
    lookup_failed: { kind: "lookup_failed", code: "lookup_failed why" },
  } as const satisfies Record<RoutingFailure, object>;
  test.each(ROUTING_STATUSES.filter((status) => status !== "ready"))(
    "an attempt that looks its recipient up and finds %s ends with one outcome and its code",
    async (status) => {
      const answer: SmpAnswer = { status, reason: "why" };
      const found = await smpEndpoints({ lookup: async () => answer, forget: () => undefined }, "soft").find(
        wanted,
        never,
      );
      expect(found).toEqual({ kind: "none", status, reason: "why" });
      expect(outcomeOfRouting(status, "why")).toMatchObject(MEANS[status]);
    },
  );

  test("a look-up forgets what an exchange has found out of date", () => {
    const forgotten: string[] = [];
    smpEndpoints(
      {
        lookup: async () => ({ status: "lookup_failed", reason: "x" }),
        forget: (participant) => {
          forgotten.push(participant);
        },
      },
      "soft",
    ).forget(wanted.receiver);
    expect(forgotten).toEqual(["0245:1"]);
  });
});

describe("the evidence of a judgement", () => {
  const judged = {
    kind: "trusted",
    revocation: "good",
    policy: "soft",
    issuers: [Buffer.from("issuer"), Buffer.from("root")],
  } as const;

  test("the evidence of a judgement holds the issuers and a short answer of the authority in the record", async () => {
    const { facts, parts } = await trustEvidence(memoryArchive(), { ...judged, revocationAnswer: Buffer.from("ocsp") });
    expect(facts).toEqual({ revocation: "good", revocationPolicy: "soft" });
    expect(parts.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([
      ["issuers", "issuerroot"],
      ["revocation", "ocsp"],
    ]);
  });

  test("the evidence of a judgement refers to a long list, which many records share", async () => {
    const { facts, parts } = await trustEvidence(memoryArchive(), {
      ...judged,
      revocationAnswer: Buffer.alloc(100_000),
    });
    expect(facts.revocationObject).toMatch(/^[0-9a-f]{64}$/);
    expect(parts.map(({ name }) => name)).toEqual(["issuers"]);
  });
});

test.each([
  ["good", "ocsp", "good"],
  ["unknown", "ocsp", "unknown"],
  ["unknown", "off", "not_checked"],
  ["unknown", "none", "not_checked"],
] as const)("%s from %s is kept as %s", async (status, source, kept) => {
  const revocation: RevocationAnswer = { status, source, checkedAt: 0 };
  const point = accessPoint("PSK000001");
  const certificate = readCertificate(point.certificate);
  if (certificate === undefined) throw new Error("not a certificate");
  const verdict = await peerTrust(
    pki({ kind: "trusted", seat: "PSK000001", certificate, chain: [], revocation }),
  ).judge(point.certificate);
  expect(verdict).toMatchObject({ kind: "trusted", revocation: kept, policy: "soft" });
});
