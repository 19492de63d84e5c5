/** Goal: answers of real SMPs are read, their signatures judged as design/as4.md section 19 says, and SHA-1 is refused in production. */
import { expect, test } from "vitest";

import { readCertificate } from "../../engine/peppol/pki/certificate.js";
import { readServiceMetadata } from "../../engine/peppol/discovery/smp-document.js";
import { verifyEnveloped } from "../../validators/wss/enveloped.js";
import { ALG, NS, PEPPOL_ENVELOPED } from "../../validators/wss/names.js";
import type { SignaturePolicy } from "../../validators/wss/names.js";
import { parseXml } from "../../validators/xml/tree.js";
import { conformanceBytes, describeConformance } from "../support/conformance.js";

/** What was allowed before SMP 1.3.0; for tests alone. */
const WITH_SHA1: SignaturePolicy = {
  ...PEPPOL_ENVELOPED,
  signatureMethods: { ...PEPPOL_ENVELOPED.signatureMethods, [`${NS.ds}rsa-sha1`]: "sha1" },
  digestMethods: { ...PEPPOL_ENVELOPED.digestMethods, [`${NS.ds}sha1`]: "sha1" },
};
const bytes = (name: string): Buffer => conformanceBytes("as4", "smp", name);

describeConformance("answers of real SMPs", "as4/smp", () => {
  test.each([
    ["signed-service-metadata2.xml", "verified"],
    ["signed-service-metadata3-c14n-inclusive.xml", "verified"],
    ["signed-service-metadata1.xml", "refused"],
    ["oxalis-smp-response-with-as4.xml", "refused"],
  ])("the signature of %s is %s by mathematics alone", (name, kind) => {
    expect(verifyEnveloped(bytes(name), WITH_SHA1).kind).toBe(kind);
  });

  test.each([
    "signed-service-metadata1.xml",
    "signed-service-metadata2.xml",
    "signed-service-metadata3-c14n-inclusive.xml",
    "oxalis-smp-response-with-as4.xml",
  ])("%s is refused in production for its SHA-1", (name) => {
    expect(verifyEnveloped(bytes(name))).toEqual({ kind: "refused", reason: "algorithm_not_allowed" });
  });

  test.each([
    [
      "signed-service-metadata1.xml",
      "0088:5026744000002",
      [["busdox-transport-as2-ver1p0", "https://peppol.netedi.com/receive.aspx"]],
    ],
    [
      "signed-service-metadata2.xml",
      "0088:5060482240009",
      [["busdox-transport-as2-ver1p0", "https://peppol.netedi.com/receive.aspx"]],
    ],
    [
      "signed-service-metadata3-c14n-inclusive.xml",
      "0106:55872255",
      [
        ["busdox-transport-as2-ver1p0", "https://peppolap.everbinding.nl/as2"],
        ["peppol-transport-as4-v2_0", "https://ap.econnect.eu/as4/v1"],
      ],
    ],
    [
      "oxalis-smp-response-with-as4.xml",
      "9908:991825827",
      [["peppol-transport-as4-v2_0", "https://ap.ergogroup.no/oxalis-ng/as4"]],
    ],
  ])("%s is read: participant, endpoints and certificates", (name, participant, endpoints) => {
    const tree = parseXml(bytes(name));
    const metadata = tree.kind === "refused" ? undefined : readServiceMetadata(tree.root);
    if (metadata?.kind !== "information") throw new Error("no information");
    expect(metadata.participant).toBe(participant);
    const published = metadata.processes.flatMap((process) => process.endpoints);
    expect(published.map(({ transportProfile, url }) => [transportProfile, url])).toEqual(endpoints);
    for (const { certificate, activation, expiration } of published) {
      expect(readCertificate(certificate ?? Buffer.alloc(0))?.ocspUrls).toHaveLength(1);
      expect((activation ?? 0) < (expiration ?? 0)).toBe(true);
    }
  });

  test("the canonical form of SignedInfo may be the inclusive or the exclusive one", () => {
    expect(PEPPOL_ENVELOPED.canonicalization).toEqual([ALG.inclusiveC14n, ALG.exclusiveC14n]);
  });
});
