/** What a receiver's Retry-After asks for, in each form of a date that HTTP has, wherever the engine runs. */
import { afterEach, expect, test } from "vitest";

import { LIMITS } from "../../../../engine/base/limits.js";
import { verdictOf } from "../../../../engine/events/webhooks/verdict.js";

const zone = process.env["TZ"];
afterEach(() => {
  if (zone === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zone;
});

const connection = { address: undefined, tlsVersion: undefined, tlsCertificateSha256: undefined };
const NOW = Date.parse("2026-11-29T17:00:00Z");
const asked = (retryAfter: string): number | undefined =>
  verdictOf({ kind: "response", status: 503, contentType: "", retryAfter, body: Buffer.alloc(0), connection }, NOW)
    .retryAfter_ms;

// RFC 9110, section 5.6.7: "A recipient that parses a timestamp value in an HTTP field MUST accept all three HTTP-date formats."
const FORMS = ["Sun, 29 Nov 2026 17:05:00 GMT", "Sunday, 29-Nov-26 17:05:00 GMT", "Sun Nov 29 17:05:00 2026"];
/** What frameworks write instead. */
const OTHERS = [
  "2026-11-29T17:05:00Z",
  "2026-11-29T17:05:00",
  "2026-11-29T17:05:00.000",
  "2026-11-29T18:05:00+01:00",
  "2026-11-29T12:05:00-05:00",
];

test.each(["UTC", "Pacific/Kiritimati", "America/New_York"])(
  "a date in Retry-After is read in UTC where the clock of the machine shows %s",
  (name) => {
    process.env["TZ"] = name;
    const written = [...FORMS, ...OTHERS];
    expect(written.map(asked)).toEqual(written.map(() => 300_000));
  },
);

test("seconds in Retry-After that are more than a day are a day, however many digits they have", () => {
  const written = ["86401", "4294967296", "9999999999", "9".repeat(400)];
  expect(written.map(asked)).toEqual(written.map(() => LIMITS.webhook_retry_after_max_ms));
  expect(["0", "0000000000120"].map(asked)).toEqual([0, 120_000]);
});

test("a Retry-After of the past asks for nothing more, a far one for a day, and what is no date for nothing at all", () => {
  expect(asked("Sun, 29 Nov 2026 16:00:00 GMT")).toBe(0);
  expect(asked("Sun, 29 Nov 2036 16:00:00 GMT")).toBe(LIMITS.webhook_retry_after_max_ms);
  expect(["tomorrow", "", "1e3", "5 minutes:30"].map(asked)).toEqual(Array.from({ length: 4 }));
});
