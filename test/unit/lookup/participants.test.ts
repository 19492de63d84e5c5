/** Look-ups for clients over a network that a test decides: budgets, time, types, and what a failure means. */
import { describe, expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import type { KeyId, ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createLookupBudget } from "../../../engine/lookup/budget.js";
import type { Network, NetworkAnswer } from "../../../engine/lookup/network.js";
import { createParticipantLookups } from "../../../engine/lookup/participants.js";
import type { ParticipantLookups } from "../../../engine/lookup/participants.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { fakeClock } from "../../support/fake-clock.js";

const KEY = "018f6a3e-0000-7000-8000-0000000000aa" as KeyId;
const OTHER_KEY = "018f6a3e-0000-7000-8000-0000000000bb" as KeyId;
const participant = (n: number): ParticipantId => `0245:${n}` as ParticipantId;
const [INVOICE = { documentTypeId: "", processId: "" }, CREDIT_NOTE = { documentTypeId: "", processId: "" }] =
  BILLING_CAPABILITIES;

const READY: NetworkAnswer = { status: "ready", reason: "", accessPoint: undefined, process: INVOICE.processId };

/** A network whose participants all take invoices; every question costs one. */
const network = (changes: Partial<Network> = {}): Network => ({
  source: "smp",
  documentTypes: async (_, mayAsk) =>
    mayAsk()
      ? { kind: "types", documentTypes: [`busdox-docid-qns::${INVOICE.documentTypeId}`] }
      : { kind: "failed", reason: "not_allowed" },
  endpoint: async () => READY,
  ...changes,
});

const lookups = (over: Partial<Network> = {}, clock = fakeClock("2027-01-15T09:00:00Z")): ParticipantLookups =>
  createParticipantLookups({
    network: network(over),
    isOwn: async (key) => key === "0245:1",
    budget: createLookupBudget(clock),
    clock,
  });

const reasonOf = async (answer: Promise<unknown>): Promise<string | undefined> => {
  try {
    await answer;
    return undefined;
  } catch (error) {
    return error instanceof Refusal ? error.reason : "no refusal";
  }
};

describe("a key's budget", () => {
  test("a key that has asked for as much as it may is told when to come again, and other keys ask on", async () => {
    const clock = fakeClock("2027-01-15T09:00:00Z");
    const asks = lookups({}, clock);
    for (let n = 0; n < LIMITS.lookup_budget; n += 1) await asks.one(KEY, { participant: participant(n) });
    expect(await reasonOf(asks.one(KEY, { participant: participant(0) }))).toBe("RATE_LIMITED");
    expect((await asks.one(OTHER_KEY, { participant: participant(0) })).accepts).toBe(true);
    clock.advance(1_000);
    expect((await asks.one(KEY, { participant: participant(0) })).accepts).toBe(true);
  });

  test("a budget fills evenly to its full and no further", () => {
    const clock = fakeClock("2027-01-15T09:00:00Z");
    const budget = createLookupBudget(clock);
    const takeAll = (): number => {
      let taken = 0;
      while (budget.take(KEY)) taken += 1;
      return taken;
    };
    expect(takeAll()).toBe(LIMITS.lookup_budget);
    expect(budget.wait_s(KEY)).toBe(1);
    clock.advance(LIMITS.rate_window_ms / 2);
    expect(takeAll()).toBe(LIMITS.lookup_budget / 2);
    clock.advance(LIMITS.rate_window_ms * 100);
    expect(takeAll()).toBe(LIMITS.lookup_budget);
  });

  test("in a batch, what is beyond the budget has failed for a time and the rest is answered, in order", async () => {
    const asks = lookups();
    for (let n = 0; n < LIMITS.lookup_budget - 3; n += 1) await asks.one(KEY, { participant: participant(n) });
    const answers = await asks.many(
      KEY,
      Array.from({ length: 10 }, (_, n) => ({ participant: participant(n) })),
    );
    expect(answers.map((answer) => answer.participantId)).toEqual(Array.from({ length: 10 }, (_, n) => participant(n)));
    expect(answers.filter(({ accepts }) => accepts)).toHaveLength(3);
    expect(answers.filter(({ temporaryFailure }) => temporaryFailure)).toHaveLength(7);
  });
});

describe("what is asked", () => {
  test("without a type the question is about an invoice of Peppol BIS Billing", async () => {
    expect(await lookups().one(KEY, { participant: participant(1) })).toEqual({
      found: true,
      accepts: true,
      routingStatus: "ready",
      participantId: "0245:1",
      accessPoint: null,
      supportedDocumentTypes: [`busdox-docid-qns::${INVOICE.documentTypeId}`],
      matchedDocumentType: `busdox-docid-qns::${INVOICE.documentTypeId}`,
      documentTypeId: INVOICE.documentTypeId,
      processId: INVOICE.processId,
      internal: true,
      source: "smp",
      temporaryFailure: false,
    });
  });

  test("the first of several types that is taken counts, with or without its scheme", async () => {
    const documentTypes = [
      { documentTypeId: "urn:none" },
      { documentTypeId: `busdox-docid-qns::${INVOICE.documentTypeId}` },
    ];
    const found = await lookups().one(KEY, { participant: participant(2), documentTypes });
    expect([found.accepts, found.documentTypeId, found.internal]).toEqual([true, INVOICE.documentTypeId, false]);
  });

  test("where none is taken, the one that is published says why", async () => {
    const endpoint = async (): Promise<NetworkAnswer> => ({ ...READY, status: "process_not_supported" });
    const found = await lookups({ endpoint }).one(KEY, {
      participant: participant(2),
      documentTypes: [CREDIT_NOTE, INVOICE],
    });
    expect([found.found, found.accepts, found.routingStatus, found.documentTypeId, found.matchedDocumentType]).toEqual([
      true,
      false,
      "process_not_supported",
      INVOICE.documentTypeId,
      null,
    ]);
  });

  test("a type that is not published is not asked for", async () => {
    let asked = 0;
    const endpoint = async (): Promise<NetworkAnswer> => {
      asked += 1;
      return READY;
    };
    const found = await lookups({ endpoint }).one(KEY, {
      participant: participant(2),
      documentTypes: [CREDIT_NOTE],
    });
    expect([found.found, found.routingStatus, asked]).toEqual([true, "document_type_not_supported", 0]);
  });
});

describe("what a failure means", () => {
  test.each([
    ["no_participant", false, "participant_not_found", false],
    ["failed", false, "lookup_failed", true],
  ] as const)(
    "a group that is %s says whether a repeat may answer otherwise",
    async (kind, found, routingStatus, temporaryFailure) => {
      const documentTypes = async () => ({ kind, reason: "x" });
      expect(await lookups({ documentTypes }).one(KEY, { participant: participant(3) })).toMatchObject({
        found,
        accepts: false,
        routingStatus,
        temporaryFailure,
        supportedDocumentTypes: [],
        accessPoint: null,
      });
    },
  );

  test("a participant whose metadata have gone since its group was read is not found", async () => {
    const endpoint = async (): Promise<NetworkAnswer> => ({ ...READY, status: "participant_not_found" });
    const answer = await lookups({ endpoint }).one(KEY, { participant: participant(3) });
    expect([answer.found, answer.routingStatus]).toEqual([false, "participant_not_found"]);
  });
});
