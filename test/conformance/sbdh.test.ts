/** Goal: the published standard business documents are accepted, and the damaged ones refused for the reason their name gives. */
import { expect, test } from "vitest";

import { readSbd } from "../../engine/peppol/envelope/read.js";
import type { SbdhFault, SbdhWarning } from "../../engine/peppol/envelope/read.js";
import { parseXml } from "../../validators/xml/tree.js";
import { scan } from "../../validators/xml/scanner.js";
import { conformanceBytes, conformanceFiles, describeConformance } from "../support/conformance.js";

const GOOD = ["as4", "sbdh", "good"] as const;
const BAD = ["as4", "sbdh", "bad"] as const;

/** File name → reason. */
const REASONS: Readonly<Record<string, SbdhFault>> = {
  "bad-invalid-business-message.xml": "business_message",
  "bad-invalid-creation-date-and-time.xml": "creation_date",
  "bad-invalid-document-type-identifier.xml": "document_type",
  "bad-invalid-instance-identifier.xml": "instance_identifier",
  "bad-invalid-process-identifier.xml": "process",
  "bad-invalid-receiver-authority.xml": "receiver_authority",
  "bad-invalid-receiver-value.xml": "receiver_value",
  "bad-invalid-sender-authority.xml": "sender_authority",
  "bad-invalid-sender-value.xml": "sender_value",
  "bad-invalid-standard.xml": "standard",
  "bad-invalid-type-version.xml": "type_version",
  "bad-mls-to-invalid-value.xml": "mls_to_value",
  "bad-mls-to-no-scheme.xml": "mls_to_scheme",
  "bad-mls-to-no-value.xml": "mls_to_value",
  "bad-mls-type-empty.xml": "mls_type",
  "bad-mls-type-invalid-value.xml": "mls_type",
  "bad-no-business-message.xml": "business_message",
  "bad-no-business-scope.xml": "scopes_missing",
  "bad-no-document-type-identifier.xml": "document_type",
  "bad-no-sbdh.xml": "header_missing",
  "bad-no-xml.txt": "not_xml",
  "bad-too-few-receivers.xml": "receivers",
  "bad-too-few-scopes.xml": "country_c1",
  "bad-too-few-senders.xml": "senders",
  "bad-too-many-senders.xml": "senders",
};

describeConformance("published standard business documents", "as4/sbdh", () => {
  const good = conformanceFiles("as4/sbdh/good");
  test("fourteen good envelopes and twenty-five bad ones are published", () => {
    expect(good).toHaveLength(14);
    expect(conformanceFiles("as4/sbdh/bad")).toEqual(Object.keys(REASONS).sort());
  });

  test.each([
    ...good.map((name) => [name, [...GOOD, name]] as const),
    ["base-sbdh.xml", ["as4", "phase4", "base-sbdh.xml"]] as const,
  ])("%s is accepted, and its payload is a document of its own with the exact bytes", (_, path) => {
    const bytes = conformanceBytes(...path);
    const read = readSbd(bytes, { mode: "strict" });
    expect(read).toMatchObject({ kind: "sbd" });
    if (read.kind === "refused") return;
    const { payload } = read;
    const exact = bytes.subarray(payload.start, payload.end);
    if (payload.inherited.length === 0) expect(payload.bytes.equals(exact)).toBe(true);
    else expect(scan(exact).kind).toBe("refused");
    expect(scan(payload.bytes).kind).not.toBe("refused");
    expect(readSbd(bytes, { mode: "inbound" })).toEqual(read);
  });

  const warned: Readonly<Record<string, readonly SbdhWarning[]>> = {
    "good-bis3-with-mls-to.xml": ["mls_to_outside_0242"],
    "good-bis3-full.xml": ["mls_to_outside_0242"],
  };
  test.each(good)("%s has the warnings that it should have", (name) => {
    const read = readSbd(conformanceBytes(...GOOD, name), { mode: "inbound" });
    expect(read.kind === "sbd" && read.warnings).toEqual(warned[name] ?? []);
  });

  test("only the sample that declares the payload's prefix on the envelope gets the declaration added", () => {
    const inherited = good.filter((name) => {
      const read = readSbd(conformanceBytes(...GOOD, name), { mode: "strict" });
      return read.kind === "sbd" && read.payload.inherited.length > 0;
    });
    expect(inherited).toEqual(["good-bis3.xml"]);
  });

  test("a PDF in its wrapper is told apart from a business document", () => {
    const read = readSbd(conformanceBytes(...GOOD, "good-hybrid-invoice.xml"), { mode: "strict" });
    expect(read).toMatchObject({ payload: { content: "binary", rootLocal: "BinaryContent" } });
  });

  test("a process scheme of its own and additional scopes are kept", () => {
    const read = readSbd(conformanceBytes(...GOOD, "good-v11.xml"), { mode: "strict" });
    expect(read).toMatchObject({
      header: {
        processScheme: "ptype",
        otherScopes: [{ type: "AddAttr1", value: "Value1" }, { type: "AddAttr2" }, { type: "AddAttr3" }],
      },
    });
  });

  test.each(Object.entries(REASONS))("%s is refused: %s", (name, fault) => {
    expect(readSbd(conformanceBytes(...BAD, name), { mode: "strict" })).toEqual({ kind: "refused", fault });
  });

  test.each(Object.entries(REASONS))(
    "inbound, %s: a bad MLS scope warns and falls back, everything else is refused",
    (name, fault) => {
      const read = readSbd(conformanceBytes(...BAD, name), { mode: "inbound" });
      if (!name.startsWith("bad-mls")) expect(read).toEqual({ kind: "refused", fault });
      else
        expect(read).toMatchObject({
          kind: "sbd",
          header: { mls: { type: "FAILURE_ONLY", to: undefined } },
          warnings: [name.includes("-to-") ? "mls_to_ignored" : "mls_type_ignored"],
        });
    },
  );

  test("the header is the one that a full parse of the document sees", () => {
    const bytes = conformanceBytes(...GOOD, "good.xml");
    const full = parseXml(bytes);
    const read = readSbd(bytes, { mode: "strict" });
    expect(
      full.kind === "document" &&
        read.kind === "sbd" &&
        full.root.children.some(
          (node) => node.kind === "element" && node.start === read.payload.start && node.end === read.payload.end,
        ),
    ).toBe(true);
  });
});
