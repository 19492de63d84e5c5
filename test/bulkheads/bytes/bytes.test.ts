/**
 * Goal: what is held in memory at once is bounded in octets, not in items: answers, records of evidence, messages that
 * were opened. Method: each bound is made small, whoever would give octets back is held, and what was let in is counted.
 */
import { randomUUID } from "node:crypto";
import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { parseFirmId, parseKeyId } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { HEAP_SHARES, LIMITS } from "../../../engine/base/limits.js";
import { budgets, threadsFor } from "../../../engine/base/memory/budgets.js";
import { createOctets } from "../../../engine/base/memory/octets.js";
import type { Taken } from "../../../engine/base/memory/octets.js";
import type { InboundPorts } from "../../../engine/documents/inbound/arrivals.js";
import { createInbound } from "../../../engine/documents/inbound/receive.js";
import { MLS_DOCUMENT_TYPE } from "../../../engine/peppol/responses/mls.js";
import type { InboundExchange } from "../../../engine/peppol/transport.js";
import { createEvidenceJournal } from "../../../engine/storage/evidence/journal.js";
import type { JournalEntry } from "../../../engine/storage/evidence/journal.js";
import type { EvidenceStore } from "../../../engine/storage/evidence/store.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway, testCaller, WireClient } from "../../support/engines/gateway.js";

const MB = 1_000_000;
const GiB = 1024 ** 3;

describe("budgets", () => {
  test.each([
    [2, 24 * GiB, 1],
    [8, 16 * GiB, 7],
    [1, GiB / 4, 1],
    [64, GiB, 4],
    [64, GiB / 8, 1],
  ])(
    "%i processors with %i octets of memory have %i threads, since each takes memory before its first document",
    (cores, memory_bytes, threads) => {
      expect(threadsFor(cores, { memory_bytes })).toBe(threads);
    },
  );

  test("a machine with ample memory has the bounds of LIMITS", () => {
    const all = budgets({ heap_bytes: 4 * GiB, memory_bytes: 16 * GiB });
    for (const name of Object.keys(HEAP_SHARES) as (keyof typeof HEAP_SHARES)[]) expect(all[name]).toBe(LIMITS[name]);
  });

  test("what all budgets hold together is less than twice the heap, and less than the memory of the container", () => {
    const sum = (heap_bytes: number, memory_bytes: number): number =>
      Object.values(budgets({ heap_bytes, memory_bytes })).reduce((total, bytes) => total + bytes, 0);
    fc.assert(
      fc.property(fc.integer({ min: 160 * MB, max: 4 * GiB }), fc.integer({ min: 320 * MB, max: 64 * GiB }), (h, m) => {
        expect(sum(h, m)).toBeLessThan(2 * h);
        expect(sum(h, m)).toBeLessThan(m);
      }),
    );
  });
});

describe("octets that are shared", () => {
  test("never more are taken than there are, but by one that is alone, whatever comes in whatever order", async () => {
    const step = fc.record({ bytes: fc.integer({ min: 0, max: 150 }), waits: fc.boolean(), ends: fc.nat(20) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const octets = createOctets(100, steps.length);
        const held = new Set<{ readonly bytes: number; readonly taken: Taken }>();
        let waiting = 0;
        const check = (): void => {
          const sum = [...held].reduce((total, { bytes }) => total + bytes, 0);
          expect(octets.taken()).toBe(sum);
          expect(sum <= 100 || [...held].filter(({ bytes }) => bytes > 0).length === 1).toBe(true);
        };
        for (const { bytes, waits, ends } of steps) {
          const taken = octets.tryTake(bytes);
          if (taken !== undefined) held.add({ bytes, taken });
          else if (waits) {
            waiting += 1;
            void octets.take(bytes).then((late) => {
              waiting -= 1;
              held.add({ bytes, taken: late });
            });
          }
          const [one] = [...held].slice(ends);
          if (one !== undefined) {
            held.delete(one);
            one.taken.giveBack();
            one.taken.giveBack();
          }
          await Promise.resolve();
          await Promise.resolve();
          check();
        }
        while (held.size > 0 || waiting > 0) {
          for (const one of held) {
            held.delete(one);
            one.taken.giveBack();
          }
          await Promise.resolve();
        }
        expect(octets.taken()).toBe(0);
      }),
    );
  });

  test("who waits is served in the order of coming, and one too many is told to come again", async () => {
    const octets = createOctets(10, 2);
    const first = octets.tryTake(10);
    const order: string[] = [];
    const large = octets.take(9).then((taken) => {
      order.push("large");
      return taken;
    });
    const small = octets.take(1).then(() => order.push("small"));
    await expect(octets.take(1)).rejects.toMatchObject({ reason: "TEMPORARY" });
    expect(octets.tryTake(0)).toBeUndefined();
    first?.giveBack();
    (await large).giveBack();
    await small;
    expect(order).toEqual(["large", "small"]);
  });

  test("who waits no longer lets those behind him in at once, and his place among those who wait is free", async () => {
    const octets = createOctets(10, 2);
    octets.tryTake(5);
    const gone = new AbortController();
    const large = octets.take(9, "", gone.signal);
    const small = octets.take(1);
    gone.abort();
    expect(octets.taken()).toBe(6);
    await small;
    await expect(large).rejects.toMatchObject({ reason: "TEMPORARY" });
    void octets.take(9);
    void octets.take(9);
    await expect(octets.take(9)).rejects.toMatchObject({ reason: "TEMPORARY" });
  });

  test("who waits for room again and again on behalf of one reader leaves nothing at that reader once it is let in", async () => {
    const octets = createOctets(10, 1);
    const { signal } = new AbortController();
    for (let waits = 0; waits < 20; waits += 1) {
      const first = octets.tryTake(10);
      const second = octets.take(9, "", signal);
      first?.giveBack();
      (await second).giveBack();
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("who waits no longer in the turn that lets him in has room, which is counted until he gives it back", async () => {
    const octets = createOctets(10, 1);
    const first = octets.tryTake(10);
    const gone = new AbortController();
    const late = octets.take(9, "", gone.signal);
    first?.giveBack();
    gone.abort();
    expect(octets.taken()).toBe(9);
    (await late).giveBack();
    expect(octets.taken()).toBe(0);
  });

  test("who comes when nobody waits any more takes no place among those who wait", async () => {
    const octets = createOctets(10, 1);
    const first = octets.tryTake(10);
    const late = octets.take(9, "", AbortSignal.abort());
    first?.giveBack();
    expect(octets.taken()).toBe(0);
    await expect(late).rejects.toMatchObject({ reason: "TEMPORARY" });
  });
});

test("whoever holds or awaits as much as one may leaves room for the others, who do not stand behind his line", async () => {
  const octets = createOctets(100, 8, 1 / 4);
  const slow = octets.tryTake(25, "slow");
  expect(octets.tryTake(1, "slow")).toBeUndefined();
  const order: string[] = [];
  const line = [1, 2].map((n) => octets.take(25, "slow").then((taken) => (order.push(`slow ${n}`), taken)));
  await expect(octets.take(25, "slow")).rejects.toMatchObject({ reason: "TEMPORARY" });
  const others = [octets.tryTake(25, "a"), octets.tryTake(25, "b"), octets.tryTake(25, "c")];
  expect(octets.taken()).toBe(100);
  const late = octets.take(10, "d").then((taken) => (order.push("d"), taken));
  others[0]?.giveBack();
  (await late).giveBack();
  slow?.giveBack();
  (await line[0])?.giveBack();
  (await line[1])?.giveBack();
  expect(order).toEqual(["d", "slow 1", "slow 2"]);
  // What is larger than a share, or than all there is, goes when its holder has nothing else.
  for (const one of others) one?.giveBack();
  const large = octets.tryTake(120, "slow");
  expect(large).toBeDefined();
  expect(octets.tryTake(1, "a")).toBeUndefined();
  large?.giveBack();
  expect(octets.taken()).toBe(0);
});

const must = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("there is none");
  return value;
};

const COMMON = { mounts: ["/api/v1"], family: "enterprise", credential: "none", errors: [] } as const;
const OK = { 200: { description: "it" } };

describe.each(serverForms)("answers over %s", (form) => {
  const big = Buffer.alloc(32 * MB, "x");
  const bigRow = route({
    ...COMMON,
    operation: "big",
    method: "GET",
    path: "/big",
    summary: "A large answer",
    responses: OK,
    handler: () => ({ status: 200, body: { raw: big } }),
  });
  const ask = (path: string): string => `GET /api/v1${path} HTTP/1.1\r\nHost: test\r\n\r\n`;
  /** A client that asks and takes nothing of the answer. */
  const asleep = (port: number): WireClient => {
    const client = new WireClient(port);
    client.socket.pause();
    return client.send(ask("/big"));
  };

  test("a reader that takes less than the least rate is cut off in the middle, and its octets are given back", async () => {
    const clock = fakeClock();
    const gateway = await startGateway(form, [bigRow], {
      ports: { clock },
      limits: { responses_bytes_max: 40 * MB, response_bytes_per_s_min: 10 * MB, request_idle_ms: 60 },
    });
    const client = new WireClient(gateway.port);
    let received = 0;
    client.socket.removeAllListeners("data");
    client.socket.pause();
    client.send(ask("/big"));
    await eventually("the answer is on its way", () => {
      received += (client.socket.read() as Buffer | null)?.length ?? 0;
      return received > 0;
    });
    // It goes on taking a little now and then, as somebody does who wants to stay.
    await eventually("it is cut off", () => {
      clock.advance(1_000);
      received += (client.socket.read() as Buffer | null)?.length ?? 0;
      return gateway.inFlight() === 0;
    });
    expect(received).toBeLessThan(big.length);
    const answer = await fetch(`${gateway.origin}/api/v1/big`);
    expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, big.length]);
    client.socket.destroy();
    await gateway.stop();
  });

  test("answers that nobody takes hold no more octets than there may be: the next is told to come again, small ones are served", async () => {
    const small = route({
      ...COMMON,
      operation: "small",
      method: "GET",
      path: "/small",
      summary: "A small answer",
      responses: OK,
      handler: () => ({ status: 200, body: { raw: "small" } }),
    });
    const gateway = await startGateway(form, [bigRow, small], { limits: { responses_bytes_max: 40 * MB } });
    const first = asleep(gateway.port);
    await eventually("the first is being written", () => gateway.inFlight() === 1);
    const second = await fetch(`${gateway.origin}/api/v1/big`);
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await (await fetch(`${gateway.origin}/api/v1/small`)).text()).toBe("small");
    first.socket.destroy();
    await eventually("the first is gone", () => gateway.inFlight() === 0);
    const third = await fetch(`${gateway.origin}/api/v1/big`);
    expect([third.status, (await third.arrayBuffer()).byteLength]).toEqual([200, big.length]);
    await gateway.stop();
  });

  test("a key whose readers take nothing holds its share of what answers may hold, and another key's reader is served", async () => {
    const gateway = await startGateway(form, [{ ...bigRow, credential: "bearer" }], {
      ports: {
        authenticate: (token) => testCaller({ keyId: must(parseKeyId(`018f6a3e-0000-7000-8000-0000000000${token}`)) }),
      },
      limits: { responses_bytes_max: 80 * MB },
    });
    const as = (key: string): { readonly headers: { readonly authorization: string } } => ({
      headers: { authorization: `Bearer ${key}` },
    });
    const slow = new WireClient(gateway.port);
    slow.socket.pause();
    slow.send("GET /api/v1/big HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer aa\r\n\r\n");
    await eventually("the slow one has its answer", () => gateway.inFlight() === 1);
    expect((await fetch(`${gateway.origin}/api/v1/big`, as("aa"))).status).toBe(503);
    const other = await fetch(`${gateway.origin}/api/v1/big`, as("bb"));
    expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, big.length]);
    slow.socket.destroy();
    await gateway.stop();
  });

  test("a request whose client has gone keeps its room for as long as somebody works on it", async () => {
    const ends: (() => void)[] = [];
    const work: Route = route({
      ...COMMON,
      operation: "work",
      method: "POST",
      path: "/work",
      summary: "Works on a body for a while",
      request: { body: z.instanceof(Uint8Array), accepts: ["raw"], body_bytes_max: MB },
      responses: OK,
      handler: async () => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return { status: 200, body: { raw: "done" } };
      },
    });
    // The public's share has room for one of these bodies.
    const gateway = await startGateway(form, [work], { limits: { request_bodies_bytes_max: 2 * MB } });
    const post = (): WireClient =>
      new WireClient(gateway.port)
        .send(`POST /api/v1/work HTTP/1.1\r\nHost: test\r\nContent-Length: ${0.12 * MB}\r\n\r\n`)
        .send(Buffer.alloc(0.12 * MB));
    const gone = post();
    await eventually("its work has begun", () => ends.length === 1);
    const closed = gone.closed();
    gone.socket.destroy();
    await closed;
    // A second connection is opened and closed, so that the server has seen the first one go.
    const refused = post();
    expect((await refused.answer())?.status).toBe(503);
    expect(ends).toHaveLength(1);
    expect(gateway.inFlight()).toBe(1);
    ends[0]?.();
    await eventually("the work has ended", () => gateway.inFlight() === 0);
    const next = post();
    await eventually("the next is worked on", () => ends.length === 2);
    ends[1]?.();
    expect(await next.answer()).toMatchObject({ status: 200, body: "done" });
    for (const client of [refused, next]) client.socket.destroy();
    await gateway.stop();
  });

  test("two hundred readers of one large document are read for a few at a time, and all of them get it", async () => {
    const document = Buffer.alloc(2 * MB, "d");
    const pace = { making: 0, most: 0 };
    const reading: Route = route({
      ...COMMON,
      operation: "read",
      method: "GET",
      path: "/read/{id}",
      summary: "A document",
      showsDocument: true,
      request: { params: z.object({ id: z.uuid() }) },
      responses: OK,
      handler: async () => {
        pace.making += 1;
        pace.most = Math.max(pace.most, pace.making);
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        pace.making -= 1;
        return { status: 200, body: { raw: document } };
      },
    });
    const gateway = await startGateway(form, [reading], {
      ports: { documentBytes: () => Promise.resolve(document.length) },
      limits: { responses_bytes_max: 3 * LIMITS.response_copies * document.length },
    });
    const answers = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const answer = await fetch(`${gateway.origin}/api/v1/read/${randomUUID()}`);
        return [answer.status, (await answer.arrayBuffer()).byteLength];
      }),
    );
    expect(answers).toEqual(answers.map(() => [200, document.length]));
    expect(pace.most).toBeLessThanOrEqual(3);
    expect(pace.making).toBe(0);
    await gateway.stop();
  });

  test.each(["firm", "customer", "participant", "none"] as const)(
    "room for a document is asked for in the name of whose it must be: context %s",
    async (context) => {
      // Bounded by the one request of this test.
      const asked: unknown[] = [];
      const [firmId, id] = [parseFirmId(randomUUID()), randomUUID()];
      if (firmId === undefined) throw new Error("no id");
      const participantId = "0245:1234567890" as ParticipantId;
      const reading = route({
        ...COMMON,
        ...{
          operation: "read",
          method: "GET",
          path: "/read/{id}",
          summary: "A document",
          credential: "bearer",
          context,
        },
        showsDocument: true,
        request: { params: z.object({ id: z.uuid() }), query: z.object({ customerRef: z.string().optional() }) },
        responses: OK,
        handler: () => Promise.resolve({ status: 200 as const, body: { raw: "it" } }),
      });
      const gateway = await startGateway(form, [reading], {
        ports: {
          firmContext: ({ scopes }) => ({ firmId, scopes }),
          customerContext: ({ scopes }, customerRef) => ({ firmId, customerRef, scopes }),
          participantContext: ({ scopes }) => ({ firmId, participantId, scopes }),
          documentBytes: (...names) => Promise.resolve(asked.push(names)),
        },
      });
      const answer = await fetch(`${gateway.origin}/api/v1/read/${id}?customerRef=c`, {
        headers: { authorization: "Bearer good", "x-peppol-participant-id": participantId },
      });
      expect([answer.status, await answer.text()]).toEqual([200, "it"]);
      expect(asked).toEqual([[id, context === "none" ? undefined : firmId]]);
      await gateway.stop();
    },
  );
});

/** A store that holds every object until it is let go. */
function heldStore(): { readonly store: EvidenceStore; readonly puts: { readonly bytes: number; go(): void }[] } {
  const puts: { readonly bytes: number; go(): void }[] = [];
  const store = {
    form: "file",
    put: (_: string, bytes: Buffer) =>
      new Promise<void>((resolve) => {
        puts.push({ bytes: bytes.length, go: resolve });
      }),
    get: () => Promise.reject(new Error("nobody reads")),
    remove: () => Promise.reject(new Error("nobody removes")),
  } as unknown as EvidenceStore;
  return { store, puts };
}

const record = (bytes: number): JournalEntry => ({
  referencesSha256: "00",
  record: {
    facts: {
      direction: "outbound",
      id: randomUUID(),
      outcome: "receipt",
      documentId: randomUUID(),
      messageId: randomUUID(),
      instanceId: randomUUID(),
      sender: "0245:1",
      receiver: "0245:2",
      documentTypeId: "type",
      processId: "process",
      requestAt: 0,
      requestContentType: "multipart/related",
    },
    parts: [{ name: "request", bytes: Buffer.alloc(bytes) }],
  },
});

test("records of evidence are written within their octets, those that wait are stored afterwards, and one that is larger goes alone", async () => {
  const { store, puts } = heldStore();
  const journal = createEvidenceJournal({
    sql: undefined as never,
    store,
    clock: fakeClock(),
    bytes_max: 300_000,
  });
  const kept = Promise.all(
    [...Array.from({ length: 20 }, () => record(100_000)), record(MB)].map((one) => journal.keep(one)),
  );
  const objects: number[] = [];
  let done = false;
  void kept.then(() => {
    done = true;
  });
  await eventually("all are stored", () => {
    const put = puts.shift();
    if (put !== undefined) objects.push(put.bytes);
    put?.go();
    return done;
  });
  // At most three records of 100,000 octets with their manifests, and the large one; without a bound the second object
  // holds all that came while the first was written.
  expect(objects.filter((bytes) => bytes > 320_000)).toEqual([expect.toSatisfy((bytes: number) => bytes < 1.1 * MB)]);
  await journal.stop();
});

test("messages that are opened and not stored yet hold no more octets than there may be: the next is told to come again", async () => {
  const stored: (() => void)[] = [];
  const receive = createInbound(
    { arrivals_bytes_max: MB, clock: fakeClock() } as Partial<InboundPorts> as InboundPorts,
    () =>
      new Promise((resolve) => {
        stored.push(() => {
          resolve({ kind: "not_serviced" });
        });
      }),
  );
  // A status of another provider needs no database before it is stored.
  const arriving = (payload: InboundExchange["payload"]): ReturnType<typeof receive> =>
    receive({ documentTypeId: MLS_DOCUMENT_TYPE, payload } as InboundExchange);
  const first = arriving(Buffer.alloc(0.6 * MB));
  const packed = arriving({ sha256: "00", compressed: Buffer.alloc(0.3 * MB), length: 20 * MB });
  await expect(arriving(Buffer.alloc(0.2 * MB))).rejects.toMatchObject({ reason: "TEMPORARY" });
  await eventually("two are being stored", () => stored.length === 2);
  stored.shift()?.();
  await first;
  const next = arriving(Buffer.alloc(0.6 * MB));
  await eventually("the next is being stored", () => stored.length === 2);
  for (const end of stored) end();
  expect(await Promise.all([packed, next])).toEqual([{ kind: "not_serviced" }, { kind: "not_serviced" }]);
});
