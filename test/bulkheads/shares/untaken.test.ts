/**
 * Clients that send one request behind the other and take no answer: they hold neither the memory of a node nor its
 * room for requests, in either form.
 */
import { describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway, wire, WireClient } from "../../support/engines/gateway.js";

const ANSWER = "x".repeat(32 * 1024);
let answered = 0;
let held: (() => void)[] = [];
const row = (path: string, before: () => void | Promise<void>): Route =>
  route({
    ...{ operation: path, method: "GET", path: `/${path}`, mounts: [""], family: "public", credential: "none" },
    ...{ summary: "It", responses: { 200: { description: "It." } }, errors: [] },
    handler: async () => {
      await before();
      return { status: 200, body: { raw: "it" } };
    },
  });
const rows = [
  row("small", () => undefined),
  route({
    ...{ operation: "page", method: "GET", path: "/page", mounts: [""], family: "public", credential: "none" },
    ...{ summary: "It", responses: { 200: { description: "It." } }, errors: [] },
    handler: () => {
      answered++;
      return { status: 200, body: { raw: ANSWER } };
    },
  }),
  row("hold", () => new Promise((resolve) => held.push(resolve))),
];
const get = (path: string): string => `GET /${path} HTTP/1.1\r\nHost: x\r\n`;
/** A kilobyte each, so that few of them come in one packet. */
const PAGES = `${get("page")}X-Pad: ${"x".repeat(1_000)}\r\n\r\n`.repeat(100);
/** More answers than any kernel keeps for a client. */
const MANY = 2_000;

describe.each(serverForms)("the %s form", (form) => {
  test.runIf(form === "uws")(
    "so many answers to HEAD a second leave their connection open, and those beyond end theirs",
    async () => {
      const gateway = await startGateway(form, rows, { ports: { clock: fakeClock() } });
      const closing: boolean[] = [];
      for (let i = 0; i < LIMITS.head_answers_open_per_s + 2; i++) {
        const client = new WireClient(gateway.port).send("HEAD /small HTTP/1.1\r\nHost: x\r\n\r\n");
        const answer = await client.answer(true);
        expect(answer?.status).toBe(200);
        closing.push(answer?.headers["connection"] === "close");
        if (closing.at(-1) === true) await client.closed();
        client.socket.destroy();
      }
      expect(closing.filter((ends) => ends)).toHaveLength(2);
      await gateway.stop();
    },
  );

  test.runIf(form === "uws")(
    "one packet of requests holds up the event loop for no more answers than a turn has",
    async () => {
      const gateway = await startGateway(form, rows, { ports: { clock: fakeClock() } });
      let ended = false;
      const client = new WireClient(gateway.port).send(`${get("small")}\r\n`.repeat(5 * LIMITS.answers_per_turn_max));
      void client.closed().then(() => {
        ended = true;
      });
      let answers = 0;
      while (!ended && (await client.answer()) !== undefined) answers++;
      expect(ended).toBe(true);
      expect(answers).toBeGreaterThan(0);
      expect(answers).toBeLessThan(5 * LIMITS.answers_per_turn_max);
      expect((await wire(gateway.port, `${get("small")}\r\n`))?.status).toBe(200);
      await gateway.stop();
    },
  );

  test("a client that takes no answer has no more of them made than its connection holds, and the connection ends", async () => {
    answered = 0;
    const gateway = await startGateway(form, rows, { limits: { request_idle_ms: 500 } });
    const client = new WireClient(gateway.port);
    client.socket.pause();
    let hasEnded = false;
    void client.closed().then(() => {
      hasEnded = true;
    });
    await eventually("the connection ends", () => {
      if (client.socket.writableLength === 0) client.socket.write(PAGES);
      return hasEnded || answered >= MANY;
    });
    expect(answered).toBeLessThan(MANY);
    client.socket.destroy();
    await gateway.stop();
  });

  test("requests in one line behind another do not fill the room for those of others", async () => {
    held = [];
    const gateway = await startGateway(form, rows, { limits: { requests_in_flight_max: 64 } });
    const client = new WireClient(gateway.port).send(`${get("hold")}\r\n`.repeat(300));
    await eventually("the first waits", () => held.length > 0 || gateway.inFlight() === 0);
    expect((await wire(gateway.port, `${get("small")}\r\n`))?.status).toBe(200);
    client.socket.destroy();
    await eventually("nobody waits", () => {
      for (const release of held.splice(0)) release();
      return gateway.inFlight() === 0;
    });
    await gateway.stop();
  });
});
