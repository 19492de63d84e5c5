/** How the demo calls an engine whose keys have asked as often as they may. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";

import { call } from "../../../gateway/commands/demo/calls.js";

test("a demo that its key's rate holds up goes on when Retry-After says, with the same call", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${String(request.method)} ${String(request.url)} ${String(request.headers["x-step"])}`);
    response.writeHead(asked.length < 3 ? 429 : 200, { "retry-after": "0" }).end("word");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/status`;
  try {
    const { status, text } = await call("GET", url, { "x-step": "one" });
    expect([status, text, asked]).toEqual([200, "word", Array.from({ length: 3 }, () => "GET /status one")]);
  } finally {
    server.close();
  }
});
