/** The heartbeat in words and columns, as a page and as lines of a terminal, and what a node says of itself. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { LIMITS } from "../../../../engine/base/limits.js";
import { createMetrics } from "../../../../engine/base/metrics.js";
import { createPulse } from "../../../../engine/identity/nodes/pulse.js";
import { heartbeatLines } from "../../../../gateway/commands/operating/heartbeat-lines.js";
import { VERSION } from "../../../../gateway/start/console/version.js";
import { ageOf, figuresOf, sectionsOf } from "../../../../gateway/web/console/heartbeat.js";
import type { Heartbeat } from "../../../../gateway/web/console/heartbeat.js";
import { overviewBody } from "../../../../gateway/web/console/overview.js";
import { fakeClock } from "../../../support/fake-clock.js";

const QUIET = { requests: 0, accepted: 0, received: 0, attempts: 0, delivered: 0, events: 0 };
const BEAT: Heartbeat = {
  at: "2026-11-22T12:00:00.000Z",
  environment: "production",
  nodes: [{ name: "one", version: "0.1.0", role: "all", startedAt: "2026-11-22T11:00:00.000Z", perSecond: QUIET }],
  perSecond: { ...QUIET, accepted: 12.34, delivered: 0.05 },
  documents: [
    { state: "queued", count: 1_000 },
    { state: "sent", count: 2 },
    { state: "send_failed", count: 3 },
  ],
  oldestDue_s: 0,
  streams: [{ stream: "dispatch", pending: 0, oldestAge_s: 0 }],
  receivers: [],
  webhooks: [],
  evidence: { index: 7, hash: "ab".repeat(32), storedAt: "2026-11-22T11:59:59.000Z" },
  certificates: [],
  reviews: { registrations: 0, whiteLabel: 0, onboarding: 0, held: 0 },
};

const figure = (beat: Heartbeat, name: string) => figuresOf(beat).find((one) => one.name === name);
const section = (beat: Heartbeat, id: string) => sectionsOf(beat).find((one) => one.id === id);

test("the figures count documents under way, and keep a digit of slow paces", () => {
  expect(figure(BEAT, "documents under way")?.text).toBe("1,002");
  expect(figure(BEAT, "accepted a second")?.text).toBe("12");
  expect(figure(BEAT, "delivered a second")?.text).toBe("0.05");
});

test("what could not be sent needs a look, and what its firm has cancelled does not", () => {
  const documents = [
    { state: "send_failed", count: 1 },
    { state: "delivery_failed", count: 1 },
    { state: "cancelled", count: 1 },
  ];
  const rows = section({ ...BEAT, documents }, "documents")?.rows ?? [];
  expect(rows.map(([state, count]) => [state?.text, count?.tone])).toEqual([
    ["send failed", "late"],
    ["delivery failed", "late"],
    ["cancelled", "well"],
  ]);
});

test.each([
  [LIMITS.heartbeat_late_s, "well"],
  [LIMITS.heartbeat_late_s + 1, "late"],
  [LIMITS.heartbeat_stuck_s + 1, "bad"],
])("a dispatch that has been due for %d seconds is %s", (seconds, tone) => {
  expect(figure({ ...BEAT, oldestDue_s: seconds }, "oldest due dispatch")?.tone).toBe(tone);
});

test.each([
  [31, "well"],
  [30, "late"],
  [5, "bad"],
  [-1, "bad"],
])("a certificate with %d days left is %s", (days, tone) => {
  const certificates = [{ usage: "ap", name: "PSK1", notAfter: "2026-12-01T00:00:00.000Z", days }];
  expect(section({ ...BEAT, certificates }, "certificates")?.rows[0]?.at(-1)?.tone).toBe(tone);
});

test("a stream of which its broker tells nothing needs a look", () => {
  const streams = [{ stream: "dispatch", pending: null, oldestAge_s: null }];
  expect(section({ ...BEAT, streams }, "streams")?.rows).toEqual([
    [
      { text: "dispatch" },
      { text: "unknown", tone: "late", isNumber: true },
      { text: "unknown", tone: "late", isNumber: true },
    ],
  ]);
});

test("what waits for a person stands in the figures and in its table", () => {
  const beat = { ...BEAT, reviews: { ...BEAT.reviews, onboarding: 2, held: 1 } };
  expect(figure(beat, "wait for a person")).toMatchObject({ text: "3", tone: "late" });
  expect(section(beat, "reviews")?.rows.map(([, count]) => count?.text)).toEqual(["0", "0", "2", "1"]);
});

test.each([
  [0.4, "0 s"],
  [59, "59 s"],
  [61, "1 min"],
  [7_200, "2 h"],
  [200_000, "2 d"],
])("%d seconds are read as %s", (seconds, text) => {
  expect(ageOf(seconds)).toBe(text);
});

test("the page and the lines say the same, and tell without colour what needs a look", () => {
  const beat: Heartbeat = {
    ...BEAT,
    webhooks: [{ origin: "https://erp.example", failures: 9, restUntil: "2026-11-22T12:10:00.000Z" }],
    receivers: [{ receiver: "0245:1", waiting: 4, attempts: 2, oldest_s: 90 }],
  };
  const page = overviewBody(beat).text;
  const lines = heartbeatLines(beat).join("\n");
  for (const { title, rows } of sectionsOf(beat)) {
    expect([title, page.includes(title), lines.includes(title)]).toEqual([title, true, true]);
    for (const { text } of rows.flat())
      expect([text, page.includes(text), lines.includes(text)]).toEqual([text, true, true]);
  }
  expect(page).toContain(`<span class="tone-word">needs a hand</span>`);
  expect(lines).toContain("9 !");
});

test("a name that another access point chose is text: it makes no markup, and moves no cursor", () => {
  const receivers = [{ receiver: "<b>\u001b[2J\u009b1m", waiting: 1, attempts: 1, oldest_s: 1 }];
  expect(overviewBody({ ...BEAT, receivers }).text).not.toContain("<b>");
  expect(heartbeatLines({ ...BEAT, receivers }).join("")).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
});

test("a node says what it does in the second, over the last minute", async () => {
  const clock = fakeClock();
  const metrics = createMetrics();
  const pulse = createPulse({ metrics, clock }, { name: "one", version: VERSION, role: "all" });
  await pulse();
  metrics.count("documents_accepted_total", {}, 30);
  metrics.count("dispatch_attempts_total", { result: "receipt" }, 20);
  metrics.count("dispatch_attempts_total", { result: "peer_busy" }, 10);
  clock.advance(10_000);
  expect((await pulse()).perSecond).toMatchObject({ accepted: 3, attempts: 3, delivered: 2, received: 0 });
  for (let at = 0; at < 60; at += 2) {
    clock.advance(2_000);
    await pulse();
  }
  expect((await pulse()).perSecond).toMatchObject({ accepted: 0, attempts: 0, delivered: 0 });
});

test("the release that nodes tell is that of package.json", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8")) as unknown;
  expect(manifest).toMatchObject({ version: VERSION });
});
