/** Samples of the reference: each is whole, and says the same call in each language. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { transform } from "esbuild";
import { describe, expect, test } from "vitest";

import { INVOICE_MARK } from "../../../gateway/contract/examples.js";
import { exampleOf } from "../../../gateway/web/docs/example.js";
import { operationsIn } from "../../../gateway/web/docs/openapi-types.js";
import type { OpenApi } from "../../../gateway/web/docs/openapi-types.js";
import { exampleBody, samplesOf } from "../../../gateway/web/docs/samples.js";
import { publishedDocuments } from "../../support/engines/published-rows.js";

const documents = Object.values(publishedDocuments) as unknown as readonly OpenApi[];
const all = documents.flatMap((document) => operationsIn(document).map((placed) => ({ document, placed })));

describe("samples", () => {
  test("each sample names the method, the path and every header that is required", () => {
    expect(all.length).toBeGreaterThan(20);
    for (const { document, placed } of all)
      for (const [language, text] of Object.entries(samplesOf(document, placed))) {
        const path = placed.path.split("{")[0] ?? "";
        expect([placed.operation.operationId, language, text.includes(path)]).toEqual([
          placed.operation.operationId,
          language,
          true,
        ]);
        if ((placed.operation.security ?? []).length > 0) expect(text).toContain("Authorization");
      }
  });

  test("each sample in TypeScript is a program that compiles", async () => {
    for (const { document, placed } of all) {
      const text = samplesOf(document, placed)["TypeScript"] ?? "";
      await expect(transform(text, { loader: "ts", format: "esm" })).resolves.toMatchObject({ warnings: [] });
    }
  });

  const python = ["/usr/bin/python3", "/usr/local/bin/python3"].find((path) => existsSync(path));
  test.skipIf(python === undefined)("each sample in Python is a program that compiles", () => {
    const texts = all.map(({ document, placed }) => samplesOf(document, placed)["Python"] ?? "");
    const program =
      "import json, sys\nfor text in json.load(sys.stdin): compile(text, 'sample', 'exec')\nprint('whole')";
    expect(execFileSync(python ?? "", ["-c", program], { input: JSON.stringify(texts) }).toString()).toBe("whole\n");
  });

  test("each body of a sample in curl is the example, as JSON", () => {
    for (const { document, placed } of all) {
      const body = exampleBody(document, placed);
      if (body === undefined || body.text === "") continue;
      const sent = /-d '([\s\S]*)'$/.exec(samplesOf(document, placed)["curl"] ?? "")?.[1]?.replaceAll("'\\''", "'");
      expect(JSON.parse(sent ?? "")).toEqual(JSON.parse(body.text));
    }
  });
});

test("a body that takes a document has the mark for one, in which the page's script puts an invoice", () => {
  const marked = all.flatMap(({ document, placed }) => {
    const members = JSON.parse(exampleBody(document, placed)?.text || "{}") as Readonly<Record<string, unknown>>;
    return Object.values(members).includes(INVOICE_MARK) ? [placed.operation.operationId] : [];
  });
  expect(marked).toEqual(expect.arrayContaining(["sapiSend"]));
  expect(readFileSync("gateway/web/docs/docs.js", "utf8")).toContain(`value === "${INVOICE_MARK}"`);
});

test("an example of a schema that contains itself ends", () => {
  const document: OpenApi = {
    info: { title: "", version: "" },
    paths: {},
    components: {
      schemas: {
        Node: { type: "object", required: ["next"], properties: { next: { $ref: "#/components/schemas/Node" } } },
      },
    },
  };
  expect(JSON.stringify(exampleOf(document, { $ref: "#/components/schemas/Node" })).length).toBeLessThan(500);
});
