/** One address cannot take all the connections of a listener, in either form, and gets new ones when its old ones end. */
import { describe, expect, test } from "vitest";

import { parseAddress, parseCidr } from "../../../engine/base/addresses.js";
import type { Address } from "../../../engine/base/addresses.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { Connections } from "../../../gateway/http/connections.js";
import { countRows, openSockets } from "../../../gateway/http/open-sockets.js";
import { route } from "../../../gateway/contract/route.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway, WireClient } from "../../support/engines/gateway.js";

const rows = [
  route({
    operation: "hello",
    method: "GET",
    path: "/hello",
    mounts: [""],
    family: "public",
    credential: "none",
    summary: "Hello",
    responses: { 200: { description: "Hello." } },
    errors: [],
    handler: () => ({ status: 200, body: { raw: "hello" } }),
  }),
];
const HELLO = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";

describe.each(serverForms)("%s", (form) => {
  test("an address that opens 60 connections keeps the 20 it may have, and those that end make room for others", async () => {
    const gateway = await startGateway(form, rows, { limits: { connections_per_address_max: 20 } });
    const clients = Array.from({ length: 60 }, () => new WireClient(gateway.port).send(HELLO));
    const answers = await Promise.all(clients.map((client) => client.answer()));
    expect(answers.filter((answer) => answer?.status === 200)).toHaveLength(20);
    for (const client of clients) client.socket.destroy();
    await Promise.all(clients.map((client) => client.closed()));
    // The other end notices a moment later.
    let again: number | undefined;
    while (again === undefined) {
      const client = new WireClient(gateway.port).send(HELLO);
      again = (await client.answer())?.status;
      client.socket.destroy();
    }
    expect(again).toBe(200);
    await gateway.stop();
  });

  test.runIf(form === "uws")(
    "an address whose connections end while others of it come keeps those that come, in whichever order they are noticed",
    async () => {
      const gateway = await startGateway(form, rows, { limits: { connections_per_address_max: 20 } });
      const [first, ...others] = Array.from({ length: 20 }, () => new WireClient(gateway.port).send(HELLO));
      for (const client of [first, ...others]) expect((await client?.answer())?.status).toBe(200);
      // All of it in one turn of the event loop: those that come wait in one line, noticed behind the first that ends.
      first?.socket.destroy();
      const next = [new WireClient(gateway.port).send(HELLO)];
      await new Promise<void>((resolve) => {
        process.nextTick(resolve);
      });
      for (const { socket } of others) socket.destroy();
      next.push(...others.map(() => new WireClient(gateway.port).send(HELLO)));
      const answers = await Promise.all(next.map((client) => client.answer()));
      expect(answers.map((answer) => answer?.status)).toEqual(next.map(() => 200));
      for (const { socket } of next) socket.destroy();
      await gateway.stop();
    },
  );

  test("connections of a proxy of the operator's are not bounded: they are many clients'", async () => {
    const proxy = parseCidr("127.0.0.0/8");
    if (proxy === undefined) throw new Error("no network");
    const gateway = await startGateway(form, rows, {
      limits: { connections_per_address_max: 5 },
      proxies: [proxy],
    });
    const clients = Array.from({ length: 30 }, () => new WireClient(gateway.port).send(HELLO));
    const answers = await Promise.all(clients.map((client) => client.answer()));
    expect(answers.every((answer) => answer?.status === 200)).toBe(true);
    for (const client of clients) client.socket.destroy();
    await gateway.stop();
  });
});

const address = (text: string): Address => parseAddress(text) ?? new Uint8Array(0);
const [A, B] = [address("192.0.2.1"), address("2001:db8::1")];

const PROXY = parseCidr("198.51.100.0/24");
if (PROXY === undefined) throw new Error("no network");

test("who has gone unnamed is looked up before anybody is turned away, and at most so often", () => {
  const clock = fakeClock();
  let asked = 0;
  const open = new Map([["192.0.2.1", 1]]);
  const connections = new Connections({
    max: 3,
    proxies: [PROXY],
    monotonic: () => clock.monotonic(),
    recount: () => {
      asked++;
      return open;
    },
  });
  // Enough are open for A to have too many of them.
  for (let n = 0; n < 10; n++) connections.opened(address("198.51.100.1"));
  for (let n = 0; n < 3; n++) expect(connections.opened(A)).toBe(true);
  for (let n = 0; n < 2; n++) connections.closed();
  expect([connections.opened(A), asked]).toEqual([true, 1]);
  open.set("192.0.2.1", 4);
  expect([connections.opened(A), connections.opened(A), asked]).toEqual([true, true, 1]);
  expect([connections.opened(A), connections.opened(B), asked]).toEqual([false, true, 1]);
  clock.advance(LIMITS.connections_recount_ms);
  expect([connections.opened(A), asked]).toEqual([false, 2]);
});

test("a system that answers slowly is asked so rarely that the event loop is free for nine tenths of the time", () => {
  const clock = fakeClock();
  let asked = 0;
  const connections = new Connections({
    max: 3,
    proxies: [],
    monotonic: () => clock.monotonic(),
    recount: () => {
      asked++;
      clock.advance(400);
      return new Map([["192.0.2.1", 3]]);
    },
  });
  const began = clock.monotonic();
  let refused = 0;
  while (clock.monotonic() - began < 40_000) {
    if (!connections.opened(A)) {
      refused++;
      connections.closed();
    }
    clock.advance(10);
  }
  expect(asked).toBe(10);
  expect(refused).toBeGreaterThan(3_000);
});

test("nobody is turned away, nor is the system asked, while no more are open in all than one address may have", () => {
  let asked = 0;
  const connections = new Connections({
    max: 3,
    proxies: [],
    monotonic: () => 0,
    recount: () => {
      asked++;
      return new Map();
    },
  });
  connections.opened(B);
  for (let n = 0; n < 100; n++) {
    expect([connections.opened(A), connections.opened(A)]).toEqual([true, true]);
    connections.closed();
    connections.closed();
  }
  expect(asked).toBe(0);
});

test("where the system does not tell who is there, nobody is turned away", () => {
  const clock = fakeClock();
  const connections = new Connections({
    max: 2,
    proxies: [],
    monotonic: () => clock.monotonic(),
    recount: () => undefined,
  });
  for (let n = 0; n < 10; n++) {
    clock.advance(LIMITS.connections_recount_ms);
    expect(connections.opened(A)).toBe(true);
  }
});

test("the system's tables are read by port, state and holder, in both versions of the protocol", () => {
  const found = new Map<string, number>();
  const row = (ends: string, state: string, inode: number): string =>
    `   0: ${ends} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0000000000000000 20 4 30 10 -1`;
  const rowsOf = [
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
    row("0100007F:1F90 010200C0:C350", "01", 7001),
    row("0100007F:1F90 010200C0:C356", "01", 7002),
    // One whose peer has ended it, one that is over, one that waits to be taken, and one of another port.
    row("0100007F:1F90 010200C0:C351", "08", 7003),
    row("0100007F:1F90 010200C0:C352", "06", 0),
    row("0100007F:1F90 010200C0:C357", "01", 0),
    row("0100007F:1F91 010200C0:C353", "01", 7004),
    row("0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF0000010200C0:C354", "01", 7005),
    row("00000000000000000000000001000000:1F90 B80D0120000000000000000001000000:C355", "01", 7006),
  ];
  countRows(rowsOf.join("\n"), 8080, found);
  expect([...found]).toEqual([
    ["192.0.2.1", 3],
    ["2001:db8::/64", 1],
  ]);
});

test.runIf(process.platform === "linux")("connections of this machine are found there", async () => {
  const gateway = await startGateway("node", rows);
  const client = new WireClient(gateway.port).send(HELLO);
  expect((await client.answer())?.status).toBe(200);
  expect(openSockets(gateway.port)?.get("127.0.0.1")).toBe(1);
  client.socket.destroy();
  await gateway.stop();
});
