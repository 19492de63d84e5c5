/** Goal: what a worker says of a status or a response is all that its judgement needs, and never more than its bounds. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../../../deploy/build.mjs";
import { createMetrics } from "../../../../engine/base/metrics.js";
import { createValidators } from "../../../../engine/documents/accept/validators.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { buildMls } from "../../../../engine/peppol/responses/mls-builder.js";
import type { MlsIssue } from "../../../../engine/peppol/responses/mls.js";
import { createPool } from "../../../../validators/pool.js";
import type { ValidatorPool } from "../../../../validators/pool.js";
import { factsIn, mlsIn } from "../../../support/as4/responses.js";

const ISSUE: MlsIssue = { location: "NA", reason: "BV", description: "The total is wrong." };
const rejection = buildMls({
  id: "1",
  issuedAt: Date.parse("2026-11-20T12:00:00Z"),
  sender: "123456",
  receiver: "987654",
  code: "RE",
  description: "Rejected.",
  reference: "90f14eff-3705-4869-ad3c-caae270a234e",
  issues: [ISSUE],
}).toString();
const LINE = /<cac:LineResponse>.*<\/cac:LineResponse>/.exec(rejection)?.[0] ?? "";
/** The rejection with these lines in the place of its own. */
const withLines = (...lines: readonly string[]): Buffer => Buffer.from(rejection.replace(LINE, lines.join("")));
const many = (count: number): readonly string[] => Array.from({ length: count }, () => LINE);

let pool: ValidatorPool;

beforeAll(async () => {
  await buildIfNeeded();
  pool = createPool({ threads: { small: 1, large: 1 }, queueMax: 10, queueBytesMax: 1_000_000, jobTimeoutMs: 20_000 });
});
afterAll(() => pool.stop());

test("a worker reads of a status what is read of it in this thread", async () => {
  const validators = createValidators(pool, createMetrics());
  const bytes = Buffer.from(rejection);
  expect(factsIn(bytes)?.answer?.issues).toEqual([ISSUE]);
  expect(await validators.response(bytes)).toEqual(factsIn(bytes));
  expect(await validators.response(Buffer.from("<Invoice/>"))).toBeUndefined();
});

test("a status that is larger than any may be is given to no worker", async () => {
  const asked: unknown[] = [];
  const counting = { ...pool, run: (kind: unknown) => Promise.reject(new Error(String(asked.push(kind)))) };
  const validators = createValidators(counting, createMetrics());
  expect(await validators.response(Buffer.alloc(LIMITS.status_bytes_max + 1, " "))).toBeUndefined();
  expect(asked).toEqual([]);
});

test("a status with more issues than are kept is read, with the first of them", () => {
  const read = mlsIn(withLines(...many(LIMITS.mls_issues_max + 7)));
  expect(typeof read === "string" ? read : read.issues.length).toBe(LIMITS.mls_issues_max);
});

test.each([
  ["a reason that nobody knows", LINE.replace(">BV<", ">XX<")],
  ["no reason", LINE.replace(/<cac:Status>.*<\/cac:Status>/, "")],
  ["no place", LINE.replace(/<cac:LineReference>.*<\/cac:LineReference>/, "")],
  ["two descriptions", LINE.replace(/<cbc:Description>.*<\/cbc:Description>/, "$&$&")],
])("an issue with %s makes its status unreadable, also behind those that are kept", (_, line) => {
  expect(mlsIn(withLines(...many(LIMITS.mls_issues_max), line))).toBe("issues");
});

test("a failure behind the issues that are kept still makes a status a rejection", () => {
  const warning = LINE.replace(">BV<", ">BW<");
  const warnings = Array.from({ length: LIMITS.mls_issues_max }, () => warning);
  expect(mlsIn(withLines(...warnings, LINE))).toMatchObject({ code: "RE" });
  expect(mlsIn(withLines(...warnings))).toBe("reasons");
});

test("a status names one document: with a second reference, with or without a number, it is unreadable", () => {
  for (const id of ["<cbc:ID>other</cbc:ID>", ""])
    expect(
      mlsIn(
        Buffer.from(
          rejection.replace(
            "</cac:DocumentReference>",
            `$&<cac:DocumentReference>${id}<cbc:DocumentTypeCode>380</cbc:DocumentTypeCode></cac:DocumentReference>`,
          ),
        ),
      ),
    ).toBe("references");
});

test("an element that stands twice where one may stand is as good as none", () => {
  const twice = (name: string): Buffer =>
    Buffer.from(rejection.replace(new RegExp(`<(c[ab]c:${name})>.*?</\\1>`), "$&$&"));
  expect(["IssueDate", "SenderParty", "DocumentResponse", "ResponseCode"].map((name) => mlsIn(twice(name)))).toEqual([
    "issued",
    "sender",
    "responses",
    "code",
  ]);
});
