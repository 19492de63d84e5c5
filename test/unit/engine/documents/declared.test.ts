/**
 * The declared type decides: a document that says of itself another specification or another process than was declared is
 * refused, whichever it is. Every identifier that we know, and extensions of them, under every declared type and process.
 */
import { describe, expect, test } from "vitest";

import { refuseSend } from "../../../../engine/documents/accept/send-checks.js";
import { contradictionsOf, countryOfSender, senderRole } from "../../../../engine/documents/declared.js";
import type { Inspection } from "../../../../engine/documents/accept/facts.js";
import { bratislavaDay } from "../../../../engine/base/clock.js";
import type { ParticipantId } from "../../../../engine/base/ids.js";
import { sampleInvoice } from "../../../../engine/invoices/sample-invoice.js";
import {
  BILLING_CUSTOMIZATION,
  BILLING_PROCESS,
  documentTypeId,
  SELF_BILLING_CUSTOMIZATION,
  SELF_BILLING_PROCESS,
  UBL_INVOICE,
} from "../../../../engine/peppol/envelope/identifiers.js";
import { CUSTOMIZATION } from "../../../../validators/selection/builtin.js";
import { validateDocument } from "../../../../validators/validate.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { INVOICE_RESPONSE_PROFILE } from "../../../../engine/peppol/responses/invoice-response.js";
import { MLS_PROCESS } from "../../../../engine/peppol/responses/mls.js";
import {
  documentSaying,
  KNOWN_PROCESSES,
  KNOWN_ROOTS,
  KNOWN_TYPES,
  typeIdOf,
} from "../../../support/documents/declared-types.js";
import type { Saying } from "../../../support/documents/declared-types.js";

const [SENDER, RECEIVER] = ["0245:1111111111", "0245:2222222222"] as ParticipantId[] as [ParticipantId, ParticipantId];
const NOW = Date.parse("2026-11-20T10:00:00Z");

const CUSTOMIZATIONS: readonly string[] = Object.values(CUSTOMIZATION).flatMap((id) => [id, `${id}#conformant#urn:x`]);
const PROCESSES = [
  BILLING_PROCESS,
  SELF_BILLING_PROCESS,
  "urn:fdc:peppol.eu:2017:poacc:billing:02:1.0",
  "urn:peppol:bis:billing_with_response",
  INVOICE_RESPONSE_PROFILE,
  MLS_PROCESS,
];
const typeOf = (customizationId: string): string =>
  documentTypeId({ rootNamespace: UBL_INVOICE, rootLocal: "Invoice", customizationId, version: "2.1" });

const sample = sampleInvoice({
  sender: SENDER,
  receiver: RECEIVER,
  senderName: "S",
  receiverName: "R",
  number: "1",
  issueDate: bratislavaDay(NOW),
  lines: 1,
});

/** The sample with these identifiers and, for a self-billing document, the parties in each other's place. */
function inspected(customization: string, process: string): Inspection {
  const named = sample
    .replace(`>${BILLING_CUSTOMIZATION}<`, `>${customization}<`)
    .replace(`>${BILLING_PROCESS}<`, `>${process}<`);
  const report = validateDocument(Buffer.from(named), { day: bratislavaDay(NOW), limits: SCAN_LIMITS });
  return { ...report, ruleSet: "test" };
}

describe("every known CustomizationID and ProfileID under every declared type and process", () => {
  const payloads = CUSTOMIZATIONS.flatMap((customization) =>
    PROCESSES.map((process) => ({ customization, process, inspection: inspected(customization, process) })),
  );

  test.each(CUSTOMIZATIONS)("declared as %s: the payload must name it to the letter, and its process", (declared) => {
    for (const process of PROCESSES)
      for (const payload of payloads) {
        const refusal = refuseSend(
          { documentTypeId: typeOf(declared), processId: process, sender: SENDER, receiver: RECEIVER, receivedAt: NOW },
          payload.inspection,
        );
        const field =
          payload.customization !== declared
            ? "metadata.documentTypeId"
            : payload.process !== process
              ? "metadata.processId"
              : undefined;
        const said = refusal?.reason === "DOCUMENT_TYPE_MISMATCH" ? refusal.details[0]?.field : undefined;
        expect(said, `${payload.customization} ${payload.process} as ${declared} ${process}`).toBe(field);
      }
  });

  test("what is accepted at all is judged by the rules of its declared type, and sent by the party that the type names", () => {
    const accepted = payloads
      .filter(
        ({ customization, process, inspection }) =>
          refuseSend(
            {
              documentTypeId: typeOf(customization),
              processId: process,
              sender: SENDER,
              receiver: RECEIVER,
              receivedAt: NOW,
            },
            inspection,
          ) === undefined,
      )
      .map(({ customization, process, inspection: { ruleSet: _, ...report } }) => [
        customization,
        process,
        (report as unknown as { readonly profile: string }).profile,
      ]);
    expect(accepted).toEqual([
      ...PROCESSES.map((process) => [CUSTOMIZATION.en16931, process, "en16931"]),
      [CUSTOMIZATION.billing, BILLING_PROCESS, "peppol-billing"],
      [CUSTOMIZATION.billing, "urn:peppol:bis:billing_with_response", "peppol-billing"],
      [`${CUSTOMIZATION.billing}#conformant#urn:x`, BILLING_PROCESS, "peppol-billing"],
      [`${CUSTOMIZATION.billing}#conformant#urn:x`, "urn:peppol:bis:billing_with_response", "peppol-billing"],
    ]);
  });
});

test("the tests' table of document types is complete: it has every specification that there are rules for, and the processes", () => {
  expect(KNOWN_TYPES.filter(({ isExtended }) => !isExtended).map(({ customization }) => customization)).toEqual(
    Object.values(CUSTOMIZATION),
  );
  expect([...KNOWN_PROCESSES].sort()).toEqual([...PROCESSES].sort());
});

describe("every known root, CustomizationID and ProfileID that arrives under every declared type and process", () => {
  const people = { sender: SENDER, receiver: RECEIVER };
  const sayings = KNOWN_ROOTS.flatMap((root) =>
    KNOWN_TYPES.flatMap(({ customization }) =>
      KNOWN_PROCESSES.flatMap((process) =>
        (["supplier", "customer"] as const).map((sends): Saying => ({ root, customization, process, sends })),
      ),
    ),
  );
  const arrivals = sayings.map((said) => {
    const options = { day: bratislavaDay(NOW), limits: SCAN_LIMITS };
    const { facts } = validateDocument(documentSaying(said, people, "1"), options);
    if (facts === undefined) throw new Error("a document of the table cannot be read");
    return { said, facts };
  });
  const cases = KNOWN_TYPES.flatMap(({ customization, roots, sends }) =>
    roots.map((root) => [root, customization, sends] as const),
  );

  test.each(cases)(
    "an envelope that declares %s of %s: each thing that the document says otherwise is found",
    (root, customization, sends) => {
      const met = new Map<number, number>();
      for (const process of KNOWN_PROCESSES)
        for (const { said, facts } of arrivals) {
          const expected = [
            ...(said.root === root ? [] : ["ENGINE-DOCUMENT-TYPE"]),
            ...(said.customization === customization ? [] : ["ENGINE-CUSTOMIZATION"]),
            ...(said.process === process ? [] : ["ENGINE-PROCESS"]),
            ...(said.sends === sends ? [] : ["ENGINE-SENDER", "ENGINE-RECEIVER"]),
          ];
          const declared = { documentTypeId: typeIdOf(root, customization), processId: process, ...people };
          const found = contradictionsOf(declared, facts).map(({ ruleId }) => ruleId);
          if (found.join() !== expected.join())
            expect(found, `${JSON.stringify(said)} as ${root} ${customization} ${process}`).toEqual(expected);
          met.set(found.length, (met.get(found.length) ?? 0) + 1);
        }
      // One document for each process agrees with its envelope in everything.
      expect(met.get(0)).toBe(KNOWN_PROCESSES.length);
    },
  );
});

test("a payload of EN 16931 alone that is declared as Peppol billing is refused", () => {
  const refusal = refuseSend(
    {
      documentTypeId: typeOf(BILLING_CUSTOMIZATION),
      processId: BILLING_PROCESS,
      sender: SENDER,
      receiver: RECEIVER,
      receivedAt: NOW,
    },
    inspected(CUSTOMIZATION.en16931, BILLING_PROCESS),
  );
  expect([refusal?.reason, refusal?.details[0]?.field]).toEqual(["DOCUMENT_TYPE_MISMATCH", "metadata.documentTypeId"]);
});

test.each([
  [BILLING_CUSTOMIZATION, "supplier", "AT"],
  [SELF_BILLING_CUSTOMIZATION, "customer", "SK"],
  [`${SELF_BILLING_CUSTOMIZATION}#conformant#urn:x`, "customer", "SK"],
] as const)("COUNTRY_C1 of %s is the country of the %s: the party that sends", (customization, role, country) => {
  expect(senderRole(typeOf(customization))).toBe(role);
  expect(countryOfSender(typeOf(customization), { supplierCountry: "AT", customerCountry: "SK" })).toBe(country);
});
