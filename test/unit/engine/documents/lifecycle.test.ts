/** The lifecycle tables against the rows of the specification and the checks in the database. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { decideAttempt, nextAttemptAt } from "../../../../engine/documents/delivery/dispatch.js";
import {
  EVENT_KINDS,
  OUTBOUND_STATES,
  OUTBOUND_TRIGGERS,
  outboundLifecycle,
  outboundMove,
} from "../../../../engine/lifecycle/document.js";
import type { OutboundState } from "../../../../engine/lifecycle/document.js";
import { BOX_STATES, BOX_TRIGGERS, boxLifecycle, boxMove } from "../../../../engine/lifecycle/box.js";
import type { BoxState, BoxTrigger } from "../../../../engine/lifecycle/box.js";
import { mermaid, moveOf } from "../../../../engine/lifecycle/machine.js";
import {
  INBOUND_STATES,
  INBOUND_TRIGGERS,
  RECEIVED_STATES,
  receivedLifecycle,
} from "../../../../engine/lifecycle/received.js";
import {
  ONBOARDING_STATES,
  ONBOARDING_TRIGGERS,
  onboardingLifecycle,
} from "../../../../engine/lifecycle/onboarding.js";
import type { OnboardingState, OnboardingTrigger } from "../../../../engine/lifecycle/onboarding.js";
import type { InboundState, InboundTrigger } from "../../../../engine/lifecycle/received.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { ATTEMPT_OUTCOMES } from "../../../../engine/lifecycle/attempt.js";

/** spec/rulings.md, section 5, one row a line: from | trigger | to | events. */
const RULINGS: readonly [
  from: OutboundState,
  trigger: (typeof OUTBOUND_TRIGGERS)[number],
  to: OutboundState,
  events: readonly string[],
][] = [
  ["queued", "transmitted", "sent", ["document.sent"]],
  ["queued", "receipt_confirmed", "delivered", ["document.sent", "document.delivered"]],
  ["sent", "receipt_confirmed", "delivered", ["document.delivered"]],
  ["queued", "rules_refused", "validation_failed", ["document.rejected"]],
  ["queued", "attempts_exhausted", "send_failed", ["document.delivery_failed"]],
  ["sent", "attempts_exhausted", "delivery_failed", ["document.delivery_failed"]],
  ["queued", "peer_refused", "rejected", ["document.rejected"]],
  // Section 7: an item of the Box whose document waits for its next attempt can be cancelled.
  ["queued", "cancelled", "send_failed", ["document.delivery_failed"]],
  ["sent", "peer_refused", "rejected", ["document.rejected"]],
  ["sent", "mls_re", "rejected", ["document.mls_received", "document.rejected"]],
  ["delivered", "mls_re", "rejected", ["document.mls_received", "document.rejected"]],
  ["sent", "mls_ab", "sent", ["document.mls_received"]],
  ["sent", "mls_ap", "delivered", ["document.mls_received", "document.delivered"]],
  ["delivered", "mls_ap", "delivered", ["document.mls_received"]],
  ["delivered", "mls_ab", "delivered", ["document.mls_received"]],
  ["delivered", "invoice_response", "delivered", ["document.response_received"]],
];

/** What no row of the rulings leaves. */
const FINAL: ReadonlySet<OutboundState> = new Set(
  OUTBOUND_STATES.filter((state) => RULINGS.every(([from, , to]) => from !== state || to === state)),
);

describe("outbound lifecycle", () => {
  test.each(RULINGS)("a document that is %s and meets %s becomes %s, telling %j", (from, trigger, to, events) => {
    expect(outboundMove(from, trigger)).toEqual({ to, emits: events });
  });

  test("every other pair of state and trigger is refused", () => {
    const allowed = new Set(RULINGS.map(([from, trigger]) => `${from} ${trigger}`));
    for (const state of OUTBOUND_STATES) {
      for (const trigger of OUTBOUND_TRIGGERS) {
        if (!allowed.has(`${state} ${trigger}`))
          expect([state, trigger, outboundMove(state, trigger)]).toEqual([state, trigger, undefined]);
      }
    }
  });

  test("a final state accepts no trigger, whatever the order of arrivals", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...OUTBOUND_TRIGGERS)), (arrivals) => {
        let state: OutboundState = "queued";
        for (const trigger of arrivals) {
          const next: OutboundState = outboundMove(state, trigger)?.to ?? state;
          if (FINAL.has(state)) expect(next).toBe(state);
          state = next;
        }
      }),
    );
  });

  test("the database knows the same states", () => {
    const sql = readFileSync(
      new URL("../../../../engine/storage/migrations/0004_documents.sql", import.meta.url),
      "utf8",
    );
    const list = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(", ");
    expect(sql).toContain(`status in (${list(OUTBOUND_STATES)})`);
    const held = readFileSync(
      new URL("../../../../engine/storage/migrations/0010_verdicts.sql", import.meta.url),
      "utf8",
    );
    expect(held).toContain(`status in (${list(INBOUND_STATES)})`);
    expect(held).toContain(`status in (${list(RECEIVED_STATES)})`);
  });

  test("the diagram in the documentation is drawn from the table", () => {
    const readme = readFileSync(new URL("../../../../engine/lifecycle/README.md", import.meta.url), "utf8");
    expect(readme).toContain(mermaid(outboundLifecycle, "queued"));
  });

  test("every event that a move tells is one of the six kinds", () => {
    expect(
      RULINGS.flatMap(([, , , events]) => events).every((event) => EVENT_KINDS.some((kind) => kind === event)),
    ).toBe(true);
  });
});

describe("the life of a received document", () => {
  test("what its firm has seen is never refused, and what was refused is never seen", () => {
    const seen: ReadonlySet<string> = new Set(RECEIVED_STATES);
    for (const from of INBOUND_STATES) {
      for (const trigger of INBOUND_TRIGGERS) {
        const to = moveOf<InboundState, InboundTrigger, never>(receivedLifecycle, from, trigger)?.to;
        if (to !== undefined && seen.has(from)) expect(seen).toContain(to);
        if (from === "REFUSED") expect(to).toBeUndefined();
      }
    }
  });

  test("the diagram in the documentation is drawn from the table", () => {
    const readme = readFileSync(new URL("../../../../engine/lifecycle/README.md", import.meta.url), "utf8");
    expect(readme).toContain(mermaid(receivedLifecycle, "HELD"));
  });
});

describe("the life of an onboarding request", () => {
  /** spec/rulings.md, section 8, Onboarding transitions: from → the states that it may become. */
  const RULING: Readonly<Record<OnboardingState, readonly OnboardingState[]>> = {
    awaiting_pfs: ["activating", "action_required", "blocked", "revoked"],
    action_required: ["awaiting_pfs", "revoked"],
    activating: ["active", "blocked", "revoked"],
    active: ["revoked"],
    blocked: ["revoked"],
    revoked: [],
  };

  test("a request moves as the ruling says and in no other way", () => {
    for (const from of ONBOARDING_STATES) {
      const reached = ONBOARDING_TRIGGERS.flatMap(
        (trigger) => moveOf<OnboardingState, OnboardingTrigger, never>(onboardingLifecycle, from, trigger)?.to ?? [],
      ).filter((to) => to !== from);
      expect([from, [...new Set(reached)].sort()]).toEqual([from, [...RULING[from]].sort()]);
    }
  });

  test("the diagram of an onboarding request in the documentation is drawn from its table", () => {
    const readme = readFileSync(new URL("../../../../engine/lifecycle/README.md", import.meta.url), "utf8");
    expect(readme).toContain(mermaid(onboardingLifecycle, "awaiting_pfs"));
  });
});

describe("attempts", () => {
  test("attempts are made at once, then after 10 s, 1, 5, 15 min, 1, 3, 6, 12, 24 h", () => {
    const minutes = (n: number): number => n * 60_000;
    expect(LIMITS.retry_plan_ms).toEqual([
      10_000,
      minutes(1),
      minutes(5),
      minutes(15),
      minutes(60),
      minutes(180),
      minutes(360),
      minutes(720),
      minutes(1440),
    ]);
    expect(nextAttemptAt(LIMITS.retry_plan_ms, LIMITS.retry_plan_ms.length + 1, 0, () => 0.5)).toBeUndefined();
  });

  test("jitter stays within ±20 %", () => {
    expect(nextAttemptAt([10_000], 1, 0, () => 0)).toBe(8_000);
    expect(nextAttemptAt([10_000], 1, 0, () => 0.5)).toBe(10_000);
    expect(nextAttemptAt([10_000], 1, 0, () => 1)).toBe(12_000);
  });

  test("an unregistered recipient is retried on the plan and ends in send_failed", () => {
    expect(decideAttempt("queued", { kind: "recipient_unregistered" }, 5)).toEqual({
      moves: [{ to: "queued", trigger: undefined, emits: [] }],
      nextAttemptAt: 5,
    });
    expect(decideAttempt("queued", { kind: "recipient_unregistered" }, undefined).moves.at(-1)).toMatchObject({
      to: "send_failed",
    });
  });

  test("the last attempt that was transmitted but not confirmed is first sent, then delivery_failed", () => {
    expect(decideAttempt("queued", { kind: "unconfirmed" }, undefined).moves.map((move) => move.to)).toEqual([
      "sent",
      "delivery_failed",
    ]);
  });

  test("after an attempt that was cut the last one, whatever it was, ends in delivery_failed: the document may have arrived", () => {
    for (const kind of ["transport_failed", "recipient_unregistered", "unconfirmed", "peer_busy"] as const)
      expect([kind, decideAttempt("queued", { kind }, undefined, true).moves.at(-1)?.to]).toEqual([
        kind,
        "delivery_failed",
      ]);
    expect(decideAttempt("queued", { kind: "transport_failed" }, 5, true).moves.map(({ to }) => to)).toEqual([
      "queued",
    ]);
  });

  test("every outcome leaves the document final or due again", () => {
    for (const kind of ATTEMPT_OUTCOMES) {
      for (const state of ["queued", "sent"] as const) {
        for (const next of [undefined, 1]) {
          const { moves, nextAttemptAt: due } = decideAttempt(state, { kind }, next);
          const end = moves.at(-1)?.to;
          expect([
            kind,
            state,
            next,
            end === "queued" || end === "sent" ? due !== undefined : due === undefined || due === next,
          ]).toEqual([kind, state, next, true]);
        }
      }
    }
  });
});

describe("the life of a Box item", () => {
  /** spec/rulings.md, section 7: an operation, the states that it is allowed in, the state that it leads to. */
  const OPERATIONS: readonly [trigger: BoxTrigger, from: readonly BoxState[], to: BoxState][] = [
    ["schedule", ["ready", "scheduled", "failed", "needs_repair"], "scheduled"],
    ["send_now", ["ready", "scheduled", "failed", "needs_repair"], "sending"],
    ["retry", ["failed", "needs_repair", "retrying"], "retrying"],
    ["cancel", ["ready", "scheduled", "retrying", "failed", "needs_repair"], "cancelled"],
  ];

  test.each(OPERATIONS)(
    "%s is allowed from %j, leads to %s, and is refused in every other state",
    (trigger, from, to) => {
      expect(BOX_STATES.map((state) => [state, boxMove(state, trigger)?.to])).toEqual(
        BOX_STATES.map((state) => [state, from.includes(state) ? to : undefined]),
      );
    },
  );

  test("a dispatch ends in sent, retrying, failed or needs_repair", () => {
    const ends = BOX_TRIGGERS.flatMap((trigger) => boxMove("sending", trigger)?.to ?? []);
    expect(ends.filter((to) => to !== "sending").sort()).toEqual(["failed", "needs_repair", "retrying", "sent"]);
  });

  test("cancelled, expired and received items are never sent", () => {
    for (const state of ["cancelled", "expired", "received"] as const)
      expect(
        BOX_TRIGGERS.flatMap((trigger) => boxMove(state, trigger)?.to ?? []).filter((to) => to !== "expired"),
      ).toEqual([]);
  });

  test("the diagram of a Box item in the documentation is drawn from its table", () => {
    const readme = readFileSync(new URL("../../../../engine/lifecycle/README.md", import.meta.url), "utf8");
    expect(readme).toContain(mermaid(boxLifecycle, "ready"));
  });
});
