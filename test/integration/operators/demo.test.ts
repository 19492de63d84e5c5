/** `kurier demo` on an empty folder: it starts an engine, tells both stories to their end and leaves nothing running. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { call } from "../../../gateway/commands/demo/calls.js";

const KURIER = fileURLToPath(new URL("../../../gateway/kurier.mjs", import.meta.url));

test("the demo sends, delivers, receives and acknowledges, and shows an integrator's way to a firm's consent, twice", async () => {
  await buildIfNeeded();
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-demo-"));
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0" };
  try {
    for (let round = 0; round < 2; round += 1) {
      const { stdout } = await promisify(execFile)(process.execPath, [KURIER, "demo"], { env });
      const steps = ["token", "sent", "delivered", "told", "received", "acknowledged", "invited", "accepted", "key"];
      for (const step of steps) expect(stdout).toMatch(new RegExp(` ms {2}${step} `));
      expect(stdout).toContain("The integrator was given consent, and sent for the firm with a key of its own.");
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("the demo in the words of the Connector stages, sends, delivers, acknowledges, answers and cancels", async () => {
  await buildIfNeeded();
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-demo-"));
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0" };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [KURIER, "demo", "--connector"], { env });
    const steps = ["staged", "repeated", "sent", "delivered", "told", "received", "acknowledged", "answered"];
    for (const step of [...steps, "cancelled"]) expect(stdout).toMatch(new RegExp(` ms {2}${step} `));
    expect(stdout).toContain("the seller reads: accepted");
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

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
