/**
 * Goal: whatever invoice an integrator's program creates, it is sent as UBL that passes every rule layer and is right to
 * the cent, or each thing that is wrong is named by a member of the create body.
 * Method: generated invoices in the Connector's words through POST /connector/documents of a whole engine; the UBL is read
 * back, judged and added up here (`SEED=7 RUNS=500` repeats or extends a run).
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import { connectorCreateBody } from "../../engine/invoices/connector/create-body.js";
import { validateDocument } from "../../validators/validate.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { anyInvoice, anySums, exactSums, sumsIn } from "../support/documents/any-invoices.js";
import { accessToken, startTestEngine } from "../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../support/engines/engine.js";
import { api } from "../support/callers/partners.js";

const seed = Number(process.env["SEED"] ?? 20_261_122);
const numRuns = Number(process.env["RUNS"] ?? 60);

let t: TestEngine;
let token: string;
beforeAll(async () => {
  t = await startTestEngine();
  token = await accessToken(t.sandbox, t.sandbox.integrator);
});
afterAll(() => t.stop());

type Members = Readonly<Record<string, unknown>>;
const CUSTOMER = "customerRef=demo-sender";
const TYPES: Members = {
  invoice: "invoice",
  credit_note: "credit_note",
  self_billing: "self_billing_invoice",
  self_billing_credit_note: "self_billing_credit_note",
};
const TREATMENTS: Members = {
  Z: "zero_rated",
  E: "exempt",
  K: "intra_community_supply",
  O: "out_of_scope",
  S: "standard",
};

/** A line in the Connector's words: a category is a treatment, and a rate is always there. */
const lineOf = ({ vatCategoryCode, vatRate = 0, ...line }: Members): Members => {
  const treatment = TREATMENTS[String(vatCategoryCode)] ?? line["taxTreatment"];
  return { ...line, vatRate, ...(treatment === undefined ? {} : { taxTreatment: treatment }) };
};

/** An invoice of the JSON interface as a create body. */
function bodyOf(invoice: Members): Members {
  const { documentType, items, precedingInvoiceRef, paymentTerms: _, invoiceNumber: __, ...rest } = invoice;
  const name = (member: string): unknown => rest[`receiver${member}`];
  const others = Object.entries(rest).filter(([member]) => !member.startsWith("receiver"));
  const externalId = randomUUID();
  return {
    ...Object.fromEntries(others),
    customerRef: "demo-sender",
    externalId,
    number: externalId,
    type: TYPES[String(documentType)],
    precedingDocumentNumber: precedingInvoiceRef,
    recipient: {
      country: name("Country") ?? "SK",
      name: name("Name"),
      companyId: name("Ico"),
      taxId: name("Dic"),
      vatId: name("IcDph"),
      networkId: name("PeppolId"),
      address: { street: name("Street"), city: name("City"), postalCode: name("PostalCode") },
    },
    lines: (items as readonly Members[]).map(lineOf),
  };
}

const create = (body: Members): Promise<HttpAnswer> => api(t, token, "POST /connector/documents", { body });
const ublOf = async ({ json }: HttpAnswer): Promise<Buffer> =>
  Buffer.from((await api(t, token, `GET /connector/documents/${String(json["id"])}/ubl?${CUSTOMER}`)).text);
const day = bratislavaDay(systemClock.now());

const PLACE = /^([a-zA-Z]+)(?:\[\d+\])?(?:\.[a-zA-Z]+){0,2}$/u;
/** Whether a place is one of the create body. */
const isMember = (field: string): boolean => {
  const [, member = ""] = PLACE.exec(field) ?? [];
  return Object.hasOwn(connectorCreateBody.shape, member);
};

test(`a generated create body is sent as valid UBL, or each fault is named by its member (SEED=${seed})`, async () => {
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(anyInvoice, async (invoice) => {
      const answer = await create(bodyOf(invoice));
      if (answer.status === 201) {
        sent += 1;
        expect(validateDocument(await ublOf(answer), { limits: SCAN_LIMITS, day })).toMatchObject({ valid: true });
        return;
      }
      expect([answer.status, answer.text]).toEqual([expect.toSatisfy((n) => n === 400 || n === 422), answer.text]);
      const { details, nextAction } = answer.json["error"] as {
        readonly details: readonly { readonly field: string; readonly severity?: string }[];
        readonly nextAction?: string;
      };
      const faults = details.filter(({ severity }) => severity !== "warning");
      expect(faults).not.toEqual([]);
      expect(faults.filter(({ field }) => !isMember(field))).toEqual([]);
      if (answer.status === 422) expect(nextAction).toEqual(expect.any(String));
    }),
    { seed, numRuns },
  );
  // Who refuses everything keeps the promise and helps nobody.
  expect(sent).toBeGreaterThan(numRuns / 50);
});

test(`every sum of what was created equals one that is computed with BigInt fractions, to the cent (SEED=${seed})`, async () => {
  const networkId = t.sandbox.receiver.participantId;
  await fc.assert(
    fc.asyncProperty(anySums, async (value) => {
      const { items, documentDiscountPercent, prepayments, currency, documentType } = value;
      const number = randomUUID();
      const made = await create({
        ...{ documentDiscountPercent, prepayments, currency, number, type: documentType, lines: items },
        customerRef: "demo-sender",
        externalId: number,
        issueDate: "2026-11-20",
        recipient: { country: "SK", networkId },
      });
      expect([made.status, made.text]).toEqual([201, made.text]);
      expect(sumsIn(await ublOf(made))).toEqual(exactSums(value));
      const { totals } = exactSums(value);
      const hundredths = Object.values(made.json["amounts"] as Record<string, string>).map((amount) =>
        BigInt(amount.replace(".", "")),
      );
      expect(hundredths).toEqual(totals.filter((_, at) => at > 0));
    }),
    { seed, numRuns: Math.ceil(numRuns / 4) },
  );
});
