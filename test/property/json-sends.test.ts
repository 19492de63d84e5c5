/**
 * Goal: whatever invoice comes as JSON, it is sent as UBL that passes every rule layer and is right to the cent, or each
 * thing that is wrong is named by its member; a preflight says beforehand which of the two it will be.
 * Method: generated invoices through POST /documents/preflight and /documents/send of a whole engine; the UBL is read back
 * and judged and added up here (`SEED=7 RUNS=500` repeats or extends a run).
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import { validateDocument } from "../../validators/validate.js";
import { SCAN_LIMITS } from "../../validators/xml/limits.js";
import { anyInvoice, anySums, exactSums, SUMMED, sumsIn } from "../support/documents/any-invoices.js";
import { accessToken, startTestEngine } from "../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../support/engines/engine.js";
import { api } from "../support/callers/partners.js";

const seed = Number(process.env["SEED"] ?? 20_261_122);
const numRuns = Number(process.env["RUNS"] ?? 60);

let t: TestEngine;
let token: string;
beforeAll(async () => {
  t = await startTestEngine();
  token = await accessToken(t.sandbox, t.sandbox.sender);
});
afterAll(() => t.stop());

const post = (path: string, body: unknown): Promise<HttpAnswer> => api(t, token, `POST ${path}`, { body });
const ublOf = async ({ json }: HttpAnswer): Promise<Buffer> =>
  Buffer.from((await api(t, token, `GET /documents/${String(json["documentId"])}/ubl`)).text);
const day = bratislavaDay(systemClock.now());

test(`a generated invoice is sent as valid UBL, or 422 names each member, as the preflight has said (SEED=${seed})`, async () => {
  let sent = 0;
  await fc.assert(
    fc.asyncProperty(anyInvoice, async (value) => {
      const body = { ...value, invoiceNumber: randomUUID() };
      const { ready, validation } = (await post("/documents/preflight", body)).json as {
        readonly ready: boolean;
        readonly validation: { readonly valid: boolean; readonly errors: readonly { readonly field?: string }[] };
      };
      const answer = await post("/documents/send", body);
      expect([answer.status, answer.text]).toEqual([ready ? 201 : 422, answer.text]);
      expect(validation.valid).toBe(ready);
      if (answer.status === 201) {
        sent += 1;
        expect(validateDocument(await ublOf(answer), { limits: SCAN_LIMITS, day })).toMatchObject({ valid: true });
        return;
      }
      const { code, details } = answer.json["error"] as {
        readonly code: string;
        readonly details: readonly { readonly field?: string; readonly severity: string }[];
      };
      expect(code).toBe("VALIDATION_FAILED");
      const faults = details.filter(({ severity }) => severity !== "warning");
      expect(faults.map(({ field }) => field)).toEqual(validation.errors.map(({ field }) => field));
      expect(faults).not.toEqual([]);
      for (const { field } of faults) expect(field).toMatch(/^[a-zA-Z]+(\[\d+\](\.[a-zA-Z]+)?)?$/);
      expect(answer.text).not.toContain(`"location"`);
    }),
    { seed, numRuns },
  );
  // Who refuses everything keeps the promise and helps nobody.
  expect(sent).toBeGreaterThan(numRuns / 50);
});

test(`every sum of what was sent equals one that is computed with BigInt fractions, to the cent (SEED=${seed})`, async () => {
  const receiverPeppolId = t.sandbox.receiver.participantId;
  await fc.assert(
    fc.asyncProperty(anySums, async (value) => {
      const answer = await post("/documents/send", {
        ...value,
        ...SUMMED,
        receiverPeppolId,
        invoiceNumber: randomUUID(),
      });
      expect([answer.status, answer.text]).toEqual([201, answer.text]);
      expect(sumsIn(await ublOf(answer))).toEqual(exactSums(value));
    }),
    { seed, numRuns: Math.ceil(numRuns / 4) },
  );
});
