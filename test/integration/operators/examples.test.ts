/**
 * The programs of examples/ against a running engine: each makes the whole round of an ERP. Python and PHP are run where
 * they are installed, and always in CI.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";

import { BUYER, connectorCalls, connectorInvoice, SELLER } from "../../support/callers/connector.js";
import type { ConnectorCall } from "../../support/callers/connector.js";
import { accessToken, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { freePort } from "../../support/engines/process.js";

type Json = Readonly<Record<string, unknown>>;

const EXAMPLES = fileURLToPath(new URL("../../../examples/", import.meta.url));
const LINES_MAX = 100;
const TIMEOUT_MS = 240_000;

let t: TestEngine;
let call: ConnectorCall;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-examples-"));
  t = await startTestEngine();
  call = connectorCalls(t.sandbox, await accessToken(t.sandbox, t.sandbox.integrator));
});
afterAll(async () => {
  await t.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Whether a program can be run here. */
function answers(command: string, args: readonly string[], expected: RegExp): boolean {
  try {
    return expected.test(execFileSync(command, [...args], { encoding: "utf8" }));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

/** Older forms of Node.js run no TypeScript. */
async function asJavaScript(): Promise<readonly string[]> {
  const file = join(folder, "connector.mjs");
  const { code } = await transform(readFileSync(join(EXAMPLES, "connector.ts"), "utf8"), { loader: "ts" });
  writeFileSync(file, code);
  return [process.execPath, file];
}

const PROGRAMS = [
  { name: "connector.ts", isThere: true, command: asJavaScript },
  {
    name: "connector.py",
    isThere: answers("python3", ["--version"], /Python 3\./u),
    command: () => ["python3", join(EXAMPLES, "connector.py")],
  },
  {
    name: "connector.php",
    isThere: answers("php", ["-m"], /^curl$/mu),
    command: () => ["php", join(EXAMPLES, "connector.php")],
  },
];

test.each(PROGRAMS)("the example $name has no more than a hundred lines", ({ name }) => {
  expect(readFileSync(join(EXAMPLES, name), "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(LINES_MAX);
});

/** The example of a body, as the reference fills it in. */
function exampleOf(path: string): unknown {
  const document = JSON.parse(readFileSync(join(EXAMPLES, "../deploy/openapi/connector.json"), "utf8")) as {
    readonly paths: Readonly<Record<string, { readonly post: { readonly requestBody: { readonly content: Json } } }>>;
  };
  const [media] = Object.values(document.paths[`/api/v1/connector${path}`]?.post.requestBody.content ?? {});
  return (media as Json | undefined)?.["example"];
}

test("the reference's examples of the Connector can be sent to a sandbox as they stand", async () => {
  const created = await call("POST", "/documents", exampleOf("/documents"));
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  const mapped = await call("POST", "/mapper", exampleOf("/mapper"));
  expect([mapped.status, mapped.text]).toEqual([200, expect.any(String)]);
});

const digits = (participant: string): string => participant.replace(/^0245:/, "");
const inbound = async (customerRef: string, number: unknown): Promise<Json | undefined> => {
  const { json } = await call("GET", `/documents?customerRef=${customerRef}&direction=inbound&limit=100`);
  return (json["documents"] as Json[]).find((each) => each["number"] === number);
};

/** An invoice that is there to be fetched: the buyer's, to the firm of the example. @returns it as it was created */
async function receivedInvoice(): Promise<Json> {
  const body = connectorInvoice(digits(t.sandbox.sender.participantId), { customerRef: BUYER });
  const created = await call("POST", "/documents", body);
  expect(created.status, created.text).toBe(201);
  await eventually("it is received", () => inbound(SELLER, body["number"]));
  return created.json;
}

for (const { name, isThere, command } of PROGRAMS)
  test.skipIf(!isThere && process.env["CI"] !== "true")(
    `the example ${name} creates, hears of the delivery by webhook, fetches, acknowledges and answers`,
    async () => {
      const { id, number } = await receivedInvoice();
      const [program = "", ...args] = await command();
      const port = await freePort();
      const { stdout } = await promisify(execFile)(program, args, {
        timeout: TIMEOUT_MS,
        env: {
          PATH: process.env["PATH"],
          KURIER_URL: t.sandbox.baseUrl,
          KURIER_CLIENT_ID: t.sandbox.integrator.clientId,
          KURIER_CLIENT_SECRET: t.sandbox.integrator.clientSecret,
          CUSTOMER_REF: SELLER,
          RECIPIENT_DIC: digits(t.sandbox.receiver.participantId),
          WEBHOOK_URL: `http://127.0.0.1:${port}/events`,
          WEBHOOK_PORT: String(port),
        },
      });
      const [, shown = ""] = /^sent: (.*)$/mu.exec(stdout) ?? [];
      expect(JSON.parse(shown)).toMatchObject({ customerRef: SELLER, direction: "outbound", state: "delivered" });
      expect(stdout).toMatch(new RegExp(`^received: ${String(number)} .*; acknowledged and accepted$`, "mu"));
      expect(await inbound(SELLER, number)).toMatchObject({
        state: "processed",
        processedReference: `erp-${String(number)}`,
        response: { status: "accepted", direction: "sent" },
      });
      await eventually("the buyer reads the answer", async () => {
        const { json } = await call("GET", `/documents/${String(id)}?customerRef=${BUYER}`);
        return (json["response"] as Json | null)?.["status"] === "accepted";
      });
    },
  );
