/** The files behind the API reference, on both forms of the server. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { serverForms, startGateway, wire } from "../support/gateway.js";
import type { TestGateway } from "../support/gateway.js";
import { publishedDocuments, referenceRows } from "../support/published-rows.js";

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(form, referenceRows);
  });
  afterAll(async () => {
    await gateway.stop();
  });

  test("a page allows scripts of this host only, no frame around it, and names no other host", async () => {
    const response = await fetch(`${gateway.origin}/docs`);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/unsafe-eval|script-src[^;]*unsafe|https?:|\*/);
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    const html = await response.text();
    expect(html).not.toMatch(/https?:\/\/|\{\{|<script>|onclick/);
    for (const [, path = ""] of html.matchAll(/(?:src|href|spec-url)="(\/[^"]*)"/g))
      expect((await fetch(gateway.origin + path)).status).toBe(200);
  });

  test("the reference component is kept for ever under a name with its version, gzipped for those who take it", async () => {
    const path =
      /\/docs\/assets\/rapidoc-[0-9.]+\.js/.exec(await (await fetch(`${gateway.origin}/docs`)).text())?.[0] ?? "";
    const ask = (more: string) => wire(gateway.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
    const plain = await ask("");
    expect(plain?.headers).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      vary: "Accept-Encoding",
      "content-type": "text/javascript; charset=utf-8",
    });
    expect(plain?.headers["content-encoding"]).toBeUndefined();
    expect((await ask("Accept-Encoding: gzip;q=0, br\r\n"))?.headers["content-encoding"]).toBeUndefined();
    const gzipped = await ask("Accept-Encoding: br, gzip;q=0.5\r\n");
    expect(gzipped?.headers["content-encoding"]).toBe("gzip");
    const fetched = Buffer.from(await (await fetch(gateway.origin + path)).arrayBuffer());
    expect(fetched.toString("utf8")).toBe(plain?.body);
    expect(Number(gzipped?.headers["content-length"])).toBeLessThan(Number(plain?.headers["content-length"]) / 3);
    expect(() => gunzipSync(fetched)).toThrow();
  });

  test("the OpenAPI documents are served as published", async () => {
    for (const name of ["enterprise", "connector", "sapi"] as const)
      expect(await (await fetch(`${gateway.origin}/docs/openapi/${name}.json`)).json()).toEqual(
        publishedDocuments[name],
      );
  });

  test("/ leads to the reference", async () => {
    const response = await fetch(gateway.origin, { redirect: "manual" });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe("/docs");
  });
});
