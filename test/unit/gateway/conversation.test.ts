/** Goal: a body that came in pieces is put together while others are served, and its room is given back whatever happens. */
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { Conversation } from "../../../gateway/http/conversation.js";
import type { Outgoing, PipelineRequest } from "../../../gateway/http/conversation.js";
import { Load } from "../../../gateway/http/load.js";
import { turnsDuring } from "../../support/turns.js";

const answer = (status: number): Outgoing => ({
  ...{ status, requestId: "r", contentType: undefined, headers: undefined, body: "" },
});

/** A conversation over no socket. */
class Spoken extends Conversation {
  readonly statuses: number[] = [];

  protected write({ status }: Outgoing): void {
    this.statuses.push(status);
    this.left();
  }

  protected written(): number | undefined {
    return 0;
  }

  protected destroy(): void {
    this.statuses.push(0);
  }

  halt(): void {
    this.pauses();
  }

  goOn(): void {
    this.readsOn();
  }
}

const PIECES = [0, 1, 2].map((value) => Buffer.alloc(LIMITS.payload_slice_bytes + value, value));

function speak(sent = PIECES.length, monotonic = () => 0, told?: number, onSmall = () => undefined) {
  const load = new Load({ ...LIMITS, connections_max: 10 }, monotonic, true, onSmall);
  const bodies: Buffer[] = [];
  let isAbandoned = false;
  const request: PipelineRequest = {
    ...{ share: "api", addressGroup: "a", holder: "k", bodyBytesMax: 10_000_000, readsBody: true },
    begin: () => undefined,
    finish: (body) => {
      bodies.push(body);
      return Promise.resolve(answer(200));
    },
    refuse: () => answer(503),
    abandon: () => {
      isAbandoned = true;
    },
  };
  const conversation = new Spoken(load, request);
  // A body whose length is not told is put together when its end has come.
  conversation.open(told);
  PIECES.slice(0, sent).forEach((piece, at) => {
    conversation.receive(piece, at === PIECES.length - 1);
  });
  return { load, bodies, conversation, isAbandoned: () => isAbandoned };
}

test("the pieces of a large body arrive as one, and the event loop turns while they are put together", async () => {
  const { load, bodies, conversation } = speak();
  const turns = await turnsDuring(() => load.drained());
  expect(bodies.map((body) => body.equals(Buffer.concat(PIECES)))).toEqual([true]);
  expect(turns).toBeGreaterThanOrEqual(PIECES.length - 1);
  expect([conversation.statuses, load.bodies.octets, load.inFlight]).toEqual([[200], 0, 0]);
});

test("who leaves while a body is put together is forgotten with all that it held, and nobody reads the body", async () => {
  const { load, bodies, conversation, isAbandoned } = speak();
  expect(load.bodies.octets).toBeGreaterThan(0);
  conversation.closed();
  expect(load.bodies.octets).toBeGreaterThan(0);
  expect(await load.drained()).toBe(true);
  expect([bodies, conversation.statuses, load.bodies.octets, isAbandoned()]).toEqual([[], [], 0, true]);
});

test("a body that we do not read on is not cut off for it; one whose client sends nothing is", () => {
  let now = 0;
  const { conversation } = speak(1, () => now);
  const cutOff = (at: number): boolean => {
    now = at;
    conversation.checkDeadline(now);
    return conversation.statuses.length > 0;
  };
  conversation.halt();
  const paused = 10 * LIMITS.request_idle_ms;
  expect(cutOff(paused)).toBe(false);
  conversation.goOn();
  expect(cutOff(paused + LIMITS.request_idle_ms)).toBe(false);
  expect(cutOff(paused + LIMITS.request_idle_ms + 1)).toBe(true);
});

test.each([
  ["a request without a body", 0, 1],
  ["a request with a small one", LIMITS.payload_slice_bytes, 1],
  ["a large one", LIMITS.payload_slice_bytes + 1, 0],
  ["one whose length nobody knows", undefined, 0],
])("large work gives way to small requests, and so it is told of %s: %s octets, %s times", (_, told, times) => {
  let small = 0;
  speak(0, undefined, told, () => {
    small += 1;
    return undefined;
  });
  expect(small).toBe(times);
});

const STRANGER: PipelineRequest = {
  ...{ share: "public", addressGroup: "a", holder: "a", bodyBytesMax: 0, readsBody: false },
  begin: () => undefined,
  finish: () => answer(200),
  refuse: () => answer(503),
  abandon: () => undefined,
};

test("a short answer that its client does not take fills no room for requests, and a drain waits for it", async () => {
  const load = new Load({ ...LIMITS, connections_max: 10 }, () => 0, true);
  class Unread extends Spoken {
    protected override write(): void {
      this.leavesInPieces();
    }
  }
  const conversation = new Unread(load, STRANGER);
  conversation.open(0);
  expect(load.inFlight).toBe(0);
  let isDrained = false;
  const drained = load.drained().then((all) => {
    isDrained = all;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDrained).toBe(false);
  conversation.closed();
  await drained;
  expect([isDrained, load.inFlight]).toEqual([true, 0]);
});

test("an answer that stands behind another is not cut off for its client, who cannot take it", () => {
  let now = 0;
  let taken: number | undefined;
  class Behind extends Spoken {
    protected override write(): void {
      this.leavesInPieces();
    }
    protected override written(): number | undefined {
      return taken;
    }
  }
  const conversation = new Behind(new Load({ ...LIMITS, connections_max: 10 }, () => now, true), STRANGER);
  conversation.open(0);
  for (now = LIMITS.request_idle_ms; now <= 5 * LIMITS.request_idle_ms; now += LIMITS.request_idle_ms)
    conversation.checkDeadline(now);
  expect(conversation.statuses).toEqual([]);
  taken = 0;
  conversation.checkDeadline(now + LIMITS.request_idle_ms + 1);
  expect(conversation.statuses).toEqual([0]);
});
