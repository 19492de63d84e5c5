/** Message Level Status: what we write passes the grammar and the rules, what others write is read strictly. */
import { expect, test } from "vitest";

import { buildMls } from "../../../engine/peppol/responses/mls-builder.js";
import { MLS_CODES, MLS_DOCUMENT_TYPE, MLS_REASONS } from "../../../engine/peppol/responses/mls.js";
import type { Mls } from "../../../engine/peppol/responses/mls.js";
import { providerDigits, providerOfSeat } from "../../../engine/peppol/seats.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { SCAN_LIMITS } from "../../../engine/documents/accept/validators.js";
import { validateDocument } from "../../../validators/validate.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../../support/conformance.js";
import { mlsIn } from "../../support/as4/responses.js";

const BASE: Mls = {
  id: "0197a000-0000-7000-8000-000000000001",
  issuedAt: Date.parse("2026-11-20T23:59:58.987Z"),
  sender: "123456",
  receiver: "987654",
  code: "AB",
  description: undefined,
  reference: "90f14eff-3705-4869-ad3c-caae270a234e",
  issues: [],
};
const rejection = (issues: Mls["issues"]): Mls => ({
  ...BASE,
  code: "RE",
  description: "The document breaks the rules.",
  issues,
});
const findings = (bytes: Buffer): string[] =>
  validateDocument(bytes, { day: "2026-11-20", limits: SCAN_LIMITS }).findings.map(({ ruleId }) => ruleId);

test.each(MLS_CODES.filter((code) => code !== "RE"))(
  "a status %s that we write is valid by the grammar and the rules, and is read back as it was",
  (code) => {
    const bytes = buildMls({ ...BASE, code });
    expect(findings(bytes)).toEqual([]);
    expect(mlsIn(bytes)).toEqual({ ...BASE, code, issuedAt: Date.parse("2026-11-20T23:59:58Z") });
  },
);

test.each(MLS_REASONS.filter((reason) => reason !== "BW"))(
  "a rejection with reason %s is valid, with and without a place, and keeps markup as text",
  (reason) => {
    const mls = rejection([
      { location: "/Invoice/cbc:ID[1]", reason, description: `<a> & "b" ]]> 'c' \u{0} ${"\u{1f600}"}` },
      { location: "NA", reason: "BW", description: "A warning." },
    ]);
    const bytes = buildMls(mls);
    expect(findings(bytes)).toEqual([]);
    const read = mlsIn(bytes);
    expect(typeof read === "string" ? read : read.issues.map(({ description }) => description)).toEqual([
      "<a> & \"b\" ]]> 'c' \u{fffd} \u{1f600}",
      "A warning.",
    ]);
  },
);

test("a rejection with thousands of issues and endless texts stays small, and no warning displaces a failure", () => {
  const warnings = Array.from({ length: 500 }, (_, i) => ({
    location: "NA",
    reason: "BW" as const,
    description: `${i}${"w".repeat(10_000)}`,
  }));
  const failures = Array.from({ length: LIMITS.mls_issues_max + 7 }, (_, i) => ({
    location: `/${"x".repeat(5_000)}`,
    reason: "BV" as const,
    description: `${i}${"f".repeat(10_000)}`,
  }));
  const bytes = buildMls(rejection([...warnings, ...failures]));
  expect(bytes.length).toBeLessThan(LIMITS.status_bytes_max);
  expect(findings(bytes)).toEqual([]);
  const read = mlsIn(bytes);
  expect(typeof read === "string" ? read : new Set(read.issues.map(({ reason }) => reason))).toEqual(new Set(["BV"]));
  expect(typeof read === "string" ? read : read.issues.length).toBe(LIMITS.mls_issues_max);
});

test("a status that contradicts itself is a bug and is not written", () => {
  expect(() => buildMls({ ...BASE, code: "RE", description: "x" })).toThrow("reasons");
  expect(() => buildMls({ ...BASE, issues: [{ location: "NA", reason: "FD", description: "x" }] })).toThrow("reasons");
  expect(() => buildMls({ ...BASE, sender: "POP000001" })).toThrow("sender");
});

test("the document type is the one of the specification", () => {
  expect(MLS_DOCUMENT_TYPE).toBe(
    "urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2::ApplicationResponse##urn:peppol:edec:mls:1.0::2.1",
  );
});

test("a service provider is reached under the digits of its seat", () => {
  expect(providerOfSeat("POP987654")).toBe("0242:987654");
  expect(providerOfSeat("POP98765")).toBeUndefined();
  expect(providerOfSeat("PSK000001")).toBe("0242:000001");
  expect(["POP987654", "0242:987654-UNIT_A.x-1", "987654", "0242:98765", "0245:987654"].map(providerDigits)).toEqual([
    "987654",
    "987654",
    "987654",
    undefined,
    undefined,
  ]);
});

describeConformance("published statuses", "as4/mls", () => {
  test("every good published status is read, padding and comments included", () => {
    const files = conformanceFiles("as4/mls/good", ".xml");
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const read = mlsIn(conformanceBytes("as4/mls/good", file));
      expect({ file, read: typeof read === "string" ? read : read.code }).toEqual({
        file,
        read: /_(A[BP]|RE)\d?\.xml$/.exec(file)?.[1],
      });
      expect(typeof read === "string" ? read : read.reference).toMatch(/^\S+$/);
    }
  });

  test("every bad published status is refused", () => {
    const files = conformanceFiles("as4/mls/bad", ".xml").filter((file) => /^mls-\d/.test(file));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((file) => typeof mlsIn(conformanceBytes("as4/mls/bad", file)) !== "string")).toEqual([]);
  });
});

test("what is no status, too large, or has a document type declaration is refused unread", () => {
  expect(mlsIn(Buffer.from("hello"))).toBe("not_readable");
  expect(mlsIn(Buffer.from("<a/>"))).toBe("not_readable");
  expect(mlsIn(Buffer.concat([Buffer.from("<!DOCTYPE a><"), buildMls(BASE)]))).toBe("not_readable");
  expect(mlsIn(Buffer.concat([buildMls(BASE), Buffer.alloc(LIMITS.status_bytes_max, " ")]))).toBe("not_readable");
});
