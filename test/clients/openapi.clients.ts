/**
 * What tools make of the published OpenAPI documents: a linter by its strict rules, and two generators whose clients are
 * type-checked and used on an engine.
 */
import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { BUYER, SELLER } from "../support/callers/connector.js";
import { INVOICE_TYPE, invoiceXml, startTestEngine } from "../support/engines/engine.js";
import type { TestEngine } from "../support/engines/engine.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const DOCUMENTS = ["enterprise", "connector", "sapi"] as const;
const published = (name: string): string =>
  fileURLToPath(new URL(`../../deploy/openapi/${name}.json`, import.meta.url));

/** Runs a program of this folder's packages. @returns what it printed */
async function node(script: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const run = promisify(execFile)(process.execPath, [join(HERE, script), ...args], {
    cwd: HERE,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
  });
  return (await run).stdout;
}

interface LintFinding {
  readonly ruleId: string;
  readonly message: string;
  readonly pointer: string;
}

/** Findings that are no faults of ours, by what the specification says. */
const OURS: readonly (readonly [ruleId: string, pointer: RegExp, reason: string])[] = [
  ["no-ambiguous-paths", /documents/u, "documents/inbox/{id} beside documents/{id}/status: the paths are its own"],
  ["operation-4xx-response", /jwks\.json/u, "nobody who reads the public keys is refused"],
];

test.each(DOCUMENTS)("the %s document passes the strict rules of a standard linter", async (name) => {
  const found = JSON.parse(await node("lint.mjs", [published(name)])) as readonly LintFinding[];
  const faults = found.filter(
    ({ ruleId, pointer }) => !OURS.some(([rule, place]) => rule === ruleId && place.test(pointer)),
  );
  expect(faults).toEqual([]);
});

/** Each generator: its program, and how it is told what to read and where to write. */
const GENERATORS = [
  {
    name: "openapi-typescript with openapi-fetch",
    program: "with-openapi-fetch",
    generate: (document: string) =>
      node("node_modules/openapi-typescript/bin/cli.js", [
        published(document),
        "-o",
        join(HERE, `generated/openapi-fetch/${document}.ts`),
      ]),
  },
  {
    name: "@hey-api/openapi-ts",
    program: "with-hey-api",
    generate: (document: string) =>
      node("node_modules/@hey-api/openapi-ts/bin/run.js", [
        ...["-i", published(document), "-o", join(HERE, `generated/hey-api/${document}`)],
        ...["-c", "@hey-api/client-fetch"],
      ]),
  },
];

describe("generated clients", () => {
  let t: TestEngine;

  beforeAll(async () => {
    rmSync(join(HERE, "generated"), { recursive: true, force: true });
    t = await startTestEngine();
    for (const { generate } of GENERATORS) for (const name of DOCUMENTS) await generate(name);
  });
  afterAll(() => t.stop());

  test("the programs type-check against what both generators wrote", async () => {
    expect(await node("node_modules/typescript/bin/tsc", ["-p", "programs"])).toBe("");
  });

  test.each(GENERATORS)("the clients of $name tell both stories of the demo", async ({ program }) => {
    const outfile = join(HERE, `generated/${program}.mjs`);
    const entry = join(HERE, `programs/${program}.mts`);
    await build({ entryPoints: [entry], outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
    const { sandbox } = t;
    const from = sandbox.sender.participantId;
    const to = sandbox.receiver.participantId;
    const keys = (["integrator", "sender", "receiver"] as const).flatMap((who) => [
      [`${who.toUpperCase()}_CLIENT_ID`, sandbox[who].clientId],
      [`${who.toUpperCase()}_CLIENT_SECRET`, sandbox[who].clientSecret],
    ]);
    const printed = await node(`generated/${program}.mjs`, [], {
      KURIER_ORIGIN: new URL(sandbox.baseUrl).origin,
      ...Object.fromEntries(keys),
      SELLER_REF: SELLER,
      BUYER_REF: BUYER,
      RECIPIENT_DIC: to.replace(/^0245:/, ""),
      SENDER_PARTICIPANT: from,
      RECEIVER_PARTICIPANT: to,
      DOCUMENT_TYPE: INVOICE_TYPE,
      INVOICE_XML: invoiceXml(from, to),
    });
    expect(JSON.parse(printed)).toEqual({
      integrator: {
        total: "88.19",
        replayed: [false, true, false],
        ended: "delivered",
        told: true,
        acknowledged: ["processed", true],
        responded: "sent",
        answered: "accepted",
        cancelled: "cancelled",
        refused: "DOCUMENT_STATE",
      },
      firms: { accepted: "ACCEPTED", ended: "delivered", acknowledged: "ACKNOWLEDGED" },
    });
  });
});
