/** What the load generator of the benchmarks does when a connection is reset under it. */
import { Agent } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, expect, test } from "vitest";

import { askOver, repeated } from "../../bench/load.js";
import type { LoadRequest } from "../../bench/load.js";

const ASKED: LoadRequest = { method: "GET", path: "/", headers: {} };
const ANSWER = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** A server that answers or resets, as it is told for each request that comes over any connection. */
async function serverThat(answers: (nth: number) => boolean): Promise<{ readonly url: string; readonly agent: Agent }> {
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", () => {
      requests += 1;
      if (answers(requests)) socket.write(ANSWER);
      else socket.resetAndDestroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const agent = new Agent({ keepAlive: true });
  ends.push(() => {
    agent.destroy();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, agent };
}

/** Asks once, so that the agent has a connection that was used before. */
async function used({ url, agent }: { readonly url: string; readonly agent: Agent }): Promise<void> {
  expect(await askOver(url, agent, ASKED)).toEqual({ status: 200, repeats: 0 });
  await new Promise((resolve) => setImmediate(resolve));
}

test("a request whose used connection is reset goes a second time, and that is counted", async () => {
  const server = await serverThat((nth) => nth !== 2);
  await used(server);
  expect(await askOver(server.url, server.agent, ASKED)).toEqual({ status: 200, repeats: 1 });
});

test("a request goes no third time: a server that loses answers is not hidden", async () => {
  const server = await serverThat((nth) => nth === 1);
  await used(server);
  expect(await askOver(server.url, server.agent, ASKED)).toEqual({ status: 0, repeats: 1 });
});

test("a request whose fresh connection is reset has no answer", async () => {
  const server = await serverThat(() => false);
  expect(await askOver(server.url, server.agent, ASKED)).toEqual({ status: 0, repeats: 0 });
});

test("a figure says how many requests went twice, and nothing where none did", () => {
  expect(repeated({ repeats: 3 })).toContain("3 requests went twice");
  expect(repeated({})).toBe("");
});
