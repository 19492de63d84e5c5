/** The files behind the API reference, on both forms of the server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { ERRORS } from "../../../engine/base/errors.js";
import { guideRoutes } from "../../../gateway/routes/guide.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";
import { publishedDocuments, referenceRows } from "../../support/engines/published-rows.js";

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    await buildIfNeeded();
    gateway = await startGateway(form, [...referenceRows, ...guideRoutes()]);
  });
  afterAll(async () => {
    await gateway.stop();
  });

  test("a page allows scripts and styles of this host only, no frame around it, and loads nothing of another host", async () => {
    for (const path of ["/docs", "/docs/connector", "/docs/sapi"]) {
      const response = await fetch(gateway.origin + path);
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'; style-src 'self';");
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(response.headers.get("x-frame-options")).toBe("DENY");
      const html = await response.text();
      expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\/|<script>| on\w+="| style="/);
      for (const [, file = ""] of html.matchAll(/(?:src|href)="(\/docs[^"]*)"/g))
        expect([file, (await fetch(gateway.origin + file)).status]).toEqual([file, 200]);
    }
  });

  test("a page has each operation of its document once, each with samples in curl, TypeScript and Python, and one Authentication", async () => {
    for (const [name, path] of [
      ["enterprise", "/docs"],
      ["connector", "/docs/connector"],
      ["sapi", "/docs/sapi"],
    ] as const) {
      const html = await (await fetch(gateway.origin + path)).text();
      const document = publishedDocuments[name] as unknown as {
        readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
      };
      const ids = Object.values(document.paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId }) => operationId),
      );
      expect([...html.matchAll(/<section class="operation" id="([^"]+)"/g)].map(([, id]) => id).sort()).toEqual(
        ids.sort(),
      );
      for (const language of ["curl", "TypeScript", "Python"])
        expect(html.split(`<h4>${language}</h4>`)).toHaveLength(ids.length + 1);
      expect(html.match(/href="#authentication"/g)).toHaveLength(1);
      expect(html.match(/id="authentication"/g)).toHaveLength(1);
    }
  });

  test("every link inside a page leads to a place of it", async () => {
    const html = await (await fetch(`${gateway.origin}/docs`)).text();
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    for (const [, target] of html.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
  });

  test("the error catalogue names every code that the interface can answer with", async () => {
    for (const [path, codes] of [
      ["/docs", "enterprise"],
      ["/docs/sapi", "sapi"],
    ] as const) {
      const html = await (await fetch(gateway.origin + path)).text();
      const catalogue = html.slice(html.indexOf('id="errors"'));
      for (const error of Object.values(ERRORS)) expect(catalogue).toContain(`<code>${error[codes]}</code>`);
    }
  });

  test("the OpenAPI documents are served as published", async () => {
    for (const name of ["enterprise", "connector", "sapi"] as const)
      expect(await (await fetch(`${gateway.origin}/docs/openapi/${name}.json`)).json()).toEqual(
        publishedDocuments[name],
      );
  });
});
