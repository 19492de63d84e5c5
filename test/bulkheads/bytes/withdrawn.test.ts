/**
 * Who waits for room for an answer and goes meanwhile, or is told to come again, waits no longer: nobody stands behind
 * a reader that there is no more; and whose rights end meanwhile is shown nothing. Method: a reader that takes nothing
 * holds room, and of those that wait one goes.
 */
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { parseKeyId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createJudge } from "../../../engine/documents/inbound/mls-duties.js";
import type { DutyPorts, TakenDuty } from "../../../engine/documents/inbound/mls-duties.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { route } from "../../../gateway/contract/route.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway, testCaller, WireClient } from "../../support/engines/gateway.js";

const MB = 1_000_000;
const SIZES = { slow: 32 * MB, large: 10 * MB, middle: MB } as const;
const IDS = {
  slow: "018f6a3e-0000-7000-8000-000000000001",
  large: "018f6a3e-0000-7000-8000-000000000002",
  middle: "018f6a3e-0000-7000-8000-000000000003",
} as const;
const DOCUMENTS: ReadonlyMap<string, number> = new Map(
  Object.entries(IDS).map(([name, id]) => [id, SIZES[name as keyof typeof SIZES]]),
);

const reading = route({
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "bearer",
  errors: [],
  operation: "read",
  method: "GET",
  path: "/read/{id}",
  summary: "A document",
  showsDocument: true,
  request: { params: z.object({ id: z.uuid() }) },
  responses: { 200: { description: "it" } },
  handler: async ({ params }) => {
    await Promise.resolve();
    return { status: 200, body: { raw: Buffer.alloc(DOCUMENTS.get((params as { id: string }).id) ?? 0, "d") } };
  },
});

const ask = (key: string, document: keyof typeof IDS): string =>
  `GET /api/v1/read/${IDS[document]} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** A gateway whose room a reader who takes nothing holds, while one of a large document waits for it. */
async function fullGateway(form: (typeof serverForms)[number], limits: { readonly request_timeout_ms?: number } = {}) {
  const clock = fakeClock();
  const revoked = new Set<string>(); // Bounded by the keys of a test.
  const gateway = await startGateway(form, [reading], {
    ports: {
      clock,
      authenticate: (token) => {
        if (revoked.has(token)) throw new Refusal("TOKEN_INVALID");
        const keyId = parseKeyId(`018f6a3e-0000-7000-8000-0000000000${token}`);
        return keyId === undefined ? testCaller() : testCaller({ keyId });
      },
      documentBytes: (id) => Promise.resolve(DOCUMENTS.get(id) ?? 0),
    },
    // The slow reader goes alone; the large one has no room beside it, the middle one has.
    limits: { responses_bytes_max: SIZES.slow + LIMITS.response_copies * 2 * SIZES.middle, ...limits },
  });
  const slow = new WireClient(gateway.port);
  slow.socket.pause();
  slow.send(ask("aa", "slow"));
  await eventually("the slow one is written to", () => (slow.socket.read() as Buffer | null) !== null);
  const large = new WireClient(gateway.port).send(ask("bb", "large"));
  await eventually("the large one waits", () => gateway.inFlight() === 2);
  const stop = async (): Promise<void> => {
    for (const { socket } of [slow, large]) socket.destroy();
    await gateway.stop();
  };
  return { clock, revoked, gateway, slow, large, stop };
}

describe.each(serverForms)("answers over %s", (form) => {
  test.each(["goes", "is told to come again"])(
    "a reader of a large document that waits for room and %s keeps none behind it that there is room for",
    async (end) => {
      const limits = end === "goes" ? {} : { request_timeout_ms: 5_000 };
      const { clock, gateway, large, stop } = await fullGateway(form, limits);
      if (end === "goes") large.socket.destroy();
      else {
        clock.advance(5_001);
        expect((await large.answer())?.status).toBe(503);
      }
      await eventually("only the slow one is under way", () => gateway.inFlight() === 1);
      const middle = await new WireClient(gateway.port).send(ask("cc", "middle")).answer();
      expect([middle?.status, middle?.body.length]).toEqual([200, SIZES.middle]);
      await stop();
    },
  );

  test.each([
    ["for long", LIMITS.authority_believed_ms + 1, 401],
    ["for a moment", LIMITS.authority_believed_ms, 200],
  ])("a large document is shown by the rights of the moment to who has waited %s for room", async (_, ms, status) => {
    const { clock, revoked, slow, large, stop } = await fullGateway(form);
    revoked.add("bb");
    clock.advance(ms);
    slow.socket.destroy();
    expect((await large.answer())?.status).toBe(status);
    await stop();
  });
});

describe("verdicts on what was received", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const [{ documentTypeId, processId } = { documentTypeId: "", processId: "" }] = BILLING_CAPABILITIES;
  const dutyOf = (name: string, bytes: number): TakenDuty => ({
    id: name,
    firmId: name as FirmId,
    sbdhInstanceId: name,
    declared: {
      ...{ documentTypeId, processId },
      sender: "0245:1111111111" as ParticipantId,
      receiver: "0245:2222222222" as ParticipantId,
    },
    receiver: "0245:3333333333" as ParticipantId,
    always: false,
    receivedAt: 0,
    acknowledged: false,
    kind: "business",
    held: true,
    payload: { bytes, sealedBytes: 0 },
  });

  test("a document whose verdict waited for room until its time was over keeps none behind it that there is room for", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    // Bounded by the documents of this test.
    const read: unknown[] = [];
    // A database that never answers: who has room keeps it.
    const sql = (_: unknown, ...values: readonly unknown[]): Promise<never> => {
      read.push(...values.flat());
      return new Promise<never>(() => undefined);
    };
    const judge = createJudge({ sql, clock: fakeClock(), judged_bytes_max: 5 * MB } as unknown as DutyPorts);
    void judge(dutyOf("the first", 2 * MB));
    void judge(dutyOf("the large one", 4 * MB));
    await vi.advanceTimersByTimeAsync(LIMITS.status_validation_ms / 2);
    void judge(dutyOf("the small one", MB));
    await vi.advanceTimersByTimeAsync(LIMITS.status_validation_ms / 2 - 1);
    expect([read.includes("the first"), read.includes("the small one")]).toEqual([true, false]);
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers();
    await eventually("the small one is read", () => read.includes("the small one"));
  });
});
