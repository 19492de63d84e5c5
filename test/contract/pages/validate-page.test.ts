/** The files of the page /validate and of the rules, on both forms of the server, and that they say what the rules say. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { validatePageRoutes } from "../../../gateway/routes/validate-page.js";
import { kurier } from "../../unit/commands/kurier.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(form, validatePageRoutes());
  });
  afterAll(async () => {
    await gateway.stop();
  });

  test.each(["/validate", "/validate/rules", "/validate/rules/BR-CO-15"])(
    "%s allows scripts and styles of this host only, no frame around it, and holds no script itself",
    async (path) => {
      const response = await fetch(gateway.origin + path);
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(response.status).toBe(200);
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|https?:|\*/u);
      expect(response.headers.get("x-frame-options")).toBe("DENY");
      const html = await response.text();
      expect(html).not.toMatch(/\{\{|<script>|<style| on[a-z]+=| style=/u);
      for (const [, own = ""] of html.matchAll(/(?:src|href)="(\/validate[^"]*)"/gu))
        if (!own.startsWith("/validate/rules/")) expect((await fetch(gateway.origin + own)).status).toBe(200);
    },
  );

  test("a rule's page has its sentences in both languages, its terms, and what breaks and keeps it", async () => {
    const html = await (await fetch(`${gateway.origin}/validate/rules/BR-CO-15`)).text();
    expect(html).toMatch(/must equal the total without VAT plus/u);
    expect(html).toMatch(/lang="sk">Celková suma s DPH sa musí rovnať/u);
    expect(html).toMatch(/BT-112/u);
    expect(html).toMatch(/<pre class="fails" tabindex="0"><code>[^<]*&lt;cbc:Tax/u);
    expect(html).toMatch(/<pre class="passes" tabindex="0">/u);
  });

  test("a rule that does not exist is 404, also with a name that none has", async () => {
    expect((await fetch(`${gateway.origin}/validate/rules/BR-0`)).status).toBe(404);
    expect((await fetch(`${gateway.origin}/validate/rules/${"x".repeat(200)}`)).status).toBe(404);
  });

  test("the name of a rule that does not exist is shown as text, whatever it is made of", async () => {
    const name = `<b>{{content}}"'&`;
    const html = await (await fetch(`${gateway.origin}/validate/rules/${encodeURIComponent(name)}`)).text();
    const shown = "&lt;b&gt;{{content}}&quot;&#39;&amp;";
    expect(html).toContain(`<title>${shown} – Kurier</title>`);
    expect(html).toContain(`<h1>${shown}</h1>`);
    expect(html).not.toContain("<b>");
  });
});

test("what the pages of the rules show is drawn from the rule tables as they are", async () => {
  const { code, out } = await kurier(["rules", "pages", "--check"]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^\d{4} rules, \d+ with an example\.\n$/u)]);
});
