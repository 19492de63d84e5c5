/**
 * Goal: a key that asks for hundreds of long pages at once has a few of them made at a time, and everybody else is
 * answered as if it were not there. Method: pages are made when the test says so, or by a database of the test's own
 * that has one answer in a turn of the event loop; what is compared is the order in which they begin and end.
 */
import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { Refusal } from "../../../engine/base/errors.js";
import type { KeyId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { Lines } from "../../../gateway/http/lines.js";
import type { LinePlace } from "../../../gateway/http/lines.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway, testCaller, WireClient } from "../../support/engines/gateway.js";
import { publishedRows } from "../../support/engines/published-rows.js";

const AT_ONCE = LIMITS.long_answers_per_key;
/** The caller whose key is named like the token. */
const authenticate = (token: string) => testCaller({ keyId: token as KeyId });
const ask = (key: string, page: number | string): string =>
  `GET /api/v1/pages?page=${page} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

/** A row that lists much; `make` makes page number so and so of a key. */
const pages = (make: (key: string, page: number) => Promise<void>) =>
  route({
    mounts: ["/api/v1"],
    family: "enterprise",
    credential: "bearer",
    errors: [],
    operation: "pages",
    method: "GET",
    path: "/pages",
    summary: "A long page",
    showsMany: true,
    request: { query: z.object({ page: z.coerce.number().int() }) },
    responses: { 200: { description: "it" } },
    handler: async ({ caller, query }) => {
      await make(caller.keyId, query.page);
      return { status: 200, body: { raw: `${caller.keyId} ${query.page}` } };
    },
  });

/** Pages that are made when the test says so. */
function heldPages() {
  // Bounded by the requests of a test.
  const begun: string[] = [];
  // Bounded by the requests of a test.
  const ends = new Map<string, () => void>();
  return {
    begun,
    row: pages((key, page) => {
      begun.push(`${key} ${page}`);
      return new Promise((resolve) => ends.set(`${key} ${page}`, resolve));
    }),
    end: (page: string) => ends.get(page)?.(),
  };
}

const namesOf = (key: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, page) => `${key} ${page}`);

describe.each(serverForms)("%s", (form) => {
  test("a key that asks for 200 long pages at once has another key's page come back before its tenth", async () => {
    // Bounded by the requests of this test.
    const statements: (() => void)[] = [];
    const database = (): Promise<void> => new Promise((resolve) => statements.push(resolve));
    // Bounded by the requests of this test.
    const answered: string[] = [];
    const gateway = await startGateway(form, [pages(database)], { ports: { authenticate } });
    const many = Array.from({ length: 200 }, (_, page) => new WireClient(gateway.port).send(ask("many", page)));
    await eventually("all of one key's are under way", () => gateway.inFlight() === many.length);
    const clients = [...many, new WireClient(gateway.port).send(ask("one", 0))];
    await eventually("the other key's is under way", () => gateway.inFlight() === clients.length);
    for (const client of clients) void client.answer().then((answer) => answered.push(answer?.body ?? "none"));
    while (answered.length < clients.length) {
      statements.shift()?.();
      await setImmediate();
    }
    expect(answered.indexOf("one 0")).toBeLessThan(10);
    for (const { socket } of clients) socket.destroy();
    await gateway.stop();
  });

  test("pages of one key begin in the order in which they were asked for, a few at once, and those of another at once", async () => {
    const held = heldPages();
    const gateway = await startGateway(form, [held.row], { ports: { authenticate } });
    const [clients, count] = [[] as WireClient[], AT_ONCE + 5];
    for (let page = 0; page < count; page += 1) {
      clients.push(new WireClient(gateway.port).send(ask("many", page)));
      await eventually("it is under way", () => gateway.inFlight() === page + 1);
    }
    clients.push(new WireClient(gateway.port).send(ask("one", 0)));
    await eventually("the other key's page is made", () => held.begun.includes("one 0"));
    expect(held.begun).toEqual([...namesOf("many", AT_ONCE), "one 0"]);
    for (const page of namesOf("many", count)) {
      await eventually("it has begun", () => held.begun.includes(page));
      held.end(page);
    }
    held.end("one 0");
    for (const client of clients) expect((await client.answer())?.status).toBe(200);
    expect(held.begun.filter((page) => page !== "one 0")).toEqual(namesOf("many", count));
    for (const { socket } of clients) socket.destroy();
    await gateway.stop();
  });

  test("who goes while he waits for a long page is passed over, and nothing is read for him", async () => {
    const held = heldPages();
    const gateway = await startGateway(form, [held.row], { ports: { authenticate } });
    const clients: WireClient[] = [];
    const count = AT_ONCE + 2;
    for (let page = 0; page < count; page += 1) {
      clients.push(new WireClient(gateway.port).send(ask("many", page)));
      await eventually("it is under way", () => gateway.inFlight() === page + 1);
    }
    clients[AT_ONCE]?.socket.destroy();
    await eventually("who has gone is under way no more", () => gateway.inFlight() === count - 1);
    held.end("many 0");
    await eventually("the next is made", () => held.begun.length > AT_ONCE);
    expect(held.begun).toEqual([...namesOf("many", AT_ONCE), `many ${AT_ONCE + 1}`]);
    for (const page of held.begun) held.end(page);
    expect(await clients.at(-1)?.answer()).toMatchObject({ status: 200, body: `many ${AT_ONCE + 1}` });
    for (const { socket } of clients) socket.destroy();
    await gateway.stop();
  });

  test("who is told to come again keeps no place but where his page is still being made", async () => {
    const clock = fakeClock();
    const held = heldPages();
    const limits = { request_timeout_ms: 40 };
    const gateway = await startGateway(form, [held.row], { ports: { authenticate, clock }, limits });
    const clients: WireClient[] = [];
    for (let page = 0; page <= AT_ONCE; page += 1) {
      clients.push(new WireClient(gateway.port).send(ask("many", page)));
      await eventually("it is under way", () => gateway.inFlight() === page + 1);
    }
    clock.advance(limits.request_timeout_ms + 1);
    for (const client of clients) expect((await client.answer())?.status).toBe(503);
    await eventually("who waited is under way no more", () => gateway.inFlight() === AT_ONCE);
    const next = new WireClient(gateway.port).send(ask("many", AT_ONCE + 1));
    await eventually("the next is under way", () => gateway.inFlight() === AT_ONCE + 1);
    expect(held.begun).toEqual(namesOf("many", AT_ONCE));
    held.end("many 0");
    await eventually("the next is made", () => held.begun.includes(`many ${AT_ONCE + 1}`));
    for (const page of held.begun) held.end(page);
    expect((await next.answer())?.status).toBe(200);
    for (const { socket } of [...clients, next]) socket.destroy();
    await gateway.stop();
  });

  test.each([
    ["has waited for long", LIMITS.authority_believed_ms + 1, 401],
    ["has waited for a moment", LIMITS.authority_believed_ms, 200],
  ])("a page is shown by the rights of the moment to who %s", async (_, waited_ms, status) => {
    const clock = fakeClock();
    const held = heldPages();
    const revoked = new Set<string>();
    const gateway = await startGateway(form, [held.row], {
      ports: {
        clock,
        authenticate: (token) => {
          if (revoked.has(token)) throw new Refusal("TOKEN_INVALID");
          return authenticate(token);
        },
      },
    });
    const clients: WireClient[] = [];
    for (let page = 0; page <= AT_ONCE; page += 1) {
      clients.push(new WireClient(gateway.port).send(ask("many", page)));
      await eventually("it is under way", () => gateway.inFlight() === page + 1);
    }
    revoked.add("many");
    clock.advance(waited_ms);
    for (const page of namesOf("many", AT_ONCE)) held.end(page);
    await eventually("it is answered or made", () => {
      held.end(`many ${AT_ONCE}`);
      return gateway.inFlight() === 0;
    });
    expect((await clients.at(-1)?.answer())?.status).toBe(status);
    expect(held.begun).toHaveLength(status === 200 ? AT_ONCE + 1 : AT_ONCE);
    for (const { socket } of clients) socket.destroy();
    await gateway.stop();
  });

  test("a drain lets pages that are being made end, and who waits for his is told at once to come again", async () => {
    const held = heldPages();
    const gateway = await startGateway(form, [held.row], { ports: { authenticate } });
    const clients: WireClient[] = [];
    for (let page = 0; page < 40; page += 1) {
      clients.push(new WireClient(gateway.port).send(ask("many", page)));
      await eventually("it is under way", () => gateway.inFlight() === page + 1);
    }
    const drained = gateway.drain();
    for (const client of clients.slice(AT_ONCE)) {
      const answer = await client.answer();
      expect([answer?.status, answer?.headers["retry-after"], answer?.headers["connection"]]).toEqual([
        503,
        "1",
        "close",
      ]);
    }
    expect(held.begun).toEqual(namesOf("many", AT_ONCE));
    for (const page of held.begun) held.end(page);
    for (const client of clients.slice(0, AT_ONCE)) expect((await client.answer())?.status).toBe(200);
    expect(await drained).toBe(true);
  });

  test("while a server drains, a page is made where there is a place, and nobody waits for one", async () => {
    const held = heldPages();
    // Bounded by the requests of this test.
    const known: (() => void)[] = [];
    const slowly = (token: string) =>
      new Promise<ReturnType<typeof authenticate>>((resolve) => known.push(() => resolve(authenticate(token))));
    const gateway = await startGateway(form, [held.row], { ports: { authenticate: slowly } });
    const clients: WireClient[] = [];
    for (let page = 0; page <= AT_ONCE; page += 1) {
      clients.push(new WireClient(gateway.port).send(ask("many", page)));
      await eventually("it is under way", () => known.length === page + 1);
    }
    const drained = gateway.drain();
    for (const tell of known) tell();
    expect((await clients.at(-1)?.answer())?.status).toBe(503);
    expect(held.begun).toEqual(namesOf("many", AT_ONCE));
    for (const page of held.begun) held.end(page);
    for (const client of clients.slice(0, AT_ONCE)) expect((await client.answer())?.status).toBe(200);
    expect(await drained).toBe(true);
  });

  test("who waits for room for a large document when a drain begins is told at once to come again", async () => {
    // Bounded by the requests of this test.
    const ends: (() => void)[] = [];
    const reading = route({
      mounts: ["/api/v1"],
      family: "enterprise",
      credential: "none",
      errors: [],
      operation: "read",
      method: "GET",
      path: "/read/{id}",
      summary: "A document",
      showsDocument: true,
      request: { params: z.object({ id: z.uuid() }) },
      responses: { 200: { description: "it" } },
      handler: async () => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return { status: 200, body: { raw: "it" } };
      },
    });
    const gateway = await startGateway(form, [reading], {
      ports: { documentBytes: () => Promise.resolve(LIMITS.payload_bytes_max) },
      limits: { responses_bytes_max: LIMITS.payload_bytes_max },
    });
    const read = `GET /api/v1/read/${randomUUID()} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const first = new WireClient(gateway.port).send(read);
    await eventually("the first is read", () => ends.length === 1);
    const next = new WireClient(gateway.port).send(read);
    await eventually("the next waits", () => gateway.inFlight() === 2);
    const drained = gateway.drain();
    expect((await next.answer())?.status).toBe(503);
    ends[0]?.();
    expect(await first.answer()).toMatchObject({ status: 200, body: "it" });
    expect([await drained, ends.length]).toEqual([true, 1]);
  });
});

test("no holder has more places than there are, each line moves in the order of coming, and empty ones are forgotten", async () => {
  const step = fc.record({ act: fc.constantFrom("take", "take", "leave", "end"), holder: fc.nat(2), at: fc.nat(8) });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 80 }), async (places, steps) => {
      const lines = new Lines(places);
      const model = ["a", "b", "c"].map((holder) => ({
        holder,
        made: [] as { readonly id: number; readonly place: LinePlace }[],
        waiting: [] as { readonly id: number; readonly gone: AbortController }[],
        entered: [] as number[],
        expected: [] as number[],
      }));
      const end = (line: (typeof model)[number], at: number): void => {
        const [one] = line.made.splice(at, 1);
        one?.place.giveBack();
        one?.place.giveBack();
        const next = one === undefined ? undefined : line.waiting.shift();
        if (next !== undefined) line.expected.push(next.id);
      };
      for (const [id, { act, holder, at }] of steps.entries()) {
        const line = model[holder] as (typeof model)[number];
        if (act === "take") {
          const gone = new AbortController();
          if (line.made.length < places) line.expected.push(id);
          else line.waiting.push({ id, gone });
          lines.take(line.holder, gone.signal).then(
            (place) => {
              line.entered.push(id);
              line.made.push({ id, place });
            },
            () => undefined,
          );
        } else if (act === "leave") line.waiting.splice(at, 1)[0]?.gone.abort();
        else end(line, at);
        await setImmediate();
        expect(line.made.length).toBeLessThanOrEqual(places);
        expect(line.entered).toEqual(line.expected);
        expect(lines.holders).toBe(model.filter(({ made }) => made.length > 0).length);
      }
      for (const line of model)
        while (line.made.length > 0) {
          end(line, 0);
          await setImmediate();
        }
      expect(lines.holders).toBe(0);
    }),
  );
});

test("a caller who has gone before he comes to the line takes no place in it", async () => {
  const lines = new Lines(1);
  await expect(lines.take("a", AbortSignal.abort())).rejects.toMatchObject({ reason: "TEMPORARY" });
  expect(lines.holders).toBe(0);
});

/** The answers that can be long, by the addresses below which they are. */
const LONG_ANSWERS = {
  "/audit": ["auditList"],
  "/connector": ["connectorListDocuments", "connectorListEvents"],
  "/documents": ["batchDocumentStatus", "listInbox", "listInboxes", "listOutbox"],
  "/events and /webhook-queue": ["pullEvents", "pullEventsOfAllFirms"],
  "/firms": ["firmDocuments", "firmList"],
  "/inbound and /outbound": ["pullInboundDocuments", "pullOutboundDocuments", "pullOutboundEvents"],
} as const;

test("an answer that can be long waits in the line of its key, and no other does", () => {
  const inLine = publishedRows.filter(({ showsMany }) => showsMany === true).map(({ operation }) => operation);
  expect(inLine.toSorted()).toEqual(Object.values(LONG_ANSWERS).flat().toSorted());
});

test("every list of which a caller can ask for more than one slice waits in the line of his key", () => {
  const canBeLong = ({ request: { query } }: Route): boolean =>
    query instanceof z.ZodObject &&
    ["limit", "page_size"].some(
      (name) =>
        name in query.shape &&
        query
          .safeParse({ [name]: String(LIMITS.listed_slice_items + 1) })
          .error?.issues.some(({ path }) => path[0] === name) !== true,
    );
  const long = publishedRows.filter((row) => row.credential !== "none" && canBeLong(row));
  expect(long.map(({ operation }) => operation)).toContain("pullEventsOfAllFirms");
  expect(long.filter(({ showsMany }) => showsMany !== true).map(({ operation }) => operation)).toEqual([]);
});
