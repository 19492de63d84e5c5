/**
 * The pages in a browser, on a whole engine: the way of OAuth to a working secret, the reference with demo credentials,
 * and pages at the widths of a phone and of a desk, in light and dark, judged by axe-core.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { checkLooks, contextOf, LOOKS, LOOKS_TIMEOUT_MS, signInOn } from "../support/callers/browser-pages.js";
import { describeBrowser } from "../support/callers/chromium.js";
import { accessToken, http, startTestEngine } from "../support/engines/engine.js";
import type { TestEngine } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";

describeBrowser("the pages in a browser", (executablePath) => {
  let running: TestEngine;
  let browser: Browser;
  let program: { readonly clientId: string; readonly clientSecret: string };

  beforeAll(async () => {
    running = await startTestEngine();
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    const made = await http(
      "POST",
      `${running.engine.adminUrl}/admin/oauth-clients`,
      { authorization: `Bearer ${running.sandbox.admin.token}`, "content-type": "application/json" },
      JSON.stringify({ name: "Účtovníctvo", redirectUris: [`${running.engine.publicUrl}/docs`] }),
    );
    program = made.json as typeof program;
  });
  afterAll(async () => {
    await browser.close();
    await running.stop();
  });

  const agreementPath = (challenge: string): string =>
    `/oauth/authorize?${new URLSearchParams({
      client_id: program.clientId,
      redirect_uri: `${running.engine.publicUrl}/docs`,
      response_type: "code",
      code_challenge: challenge,
      code_challenge_method: "S256",
      state: "s",
    }).toString()}`;

  test("an administrator agrees and the program turns its code into a secret that works", async () => {
    const page = await browser.newPage();
    const verifier = randomBytes(48).toString("base64url");
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    await page.goto(running.engine.publicUrl + agreementPath(challenge));
    await signInOn(page, running, running.sandbox.people.integrator);
    await page.getByRole("button", { name: "Accept" }).click();
    await page.waitForURL(/code=/);
    const back = new URL(page.url());
    expect([back.pathname, back.searchParams.get("state")]).toEqual(["/docs", "s"]);
    const answer = await http(
      "POST",
      `${running.engine.publicUrl}/oauth/token`,
      { "content-type": "application/json" },
      JSON.stringify({
        grant_type: "authorization_code",
        code: back.searchParams.get("code"),
        client_id: program.clientId,
        client_secret: program.clientSecret,
        redirect_uri: `${running.engine.publicUrl}/docs`,
        code_verifier: verifier,
      }),
    );
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    const key = { clientId: String(answer.json["client_id"]), clientSecret: String(answer.json["client_secret"]) };
    expect(await accessToken(running.sandbox, key)).toMatch(/^eyJ/);
    await page.close();
  });

  test("the reference gets a token for demo credentials, fills in a whole invoice and sends it", async () => {
    const { sender } = running.sandbox;
    const page = await browser.newPage();
    await page.goto(`${running.engine.publicUrl}/docs/sapi`);
    await page.getByLabel("Client id").fill(sender.clientId);
    await page.getByLabel("Client secret").fill(sender.clientSecret);
    await page.getByRole("button", { name: "Get a token" }).click();
    await page.getByText("use a token for 15 minutes").waitFor();
    const send = page.locator("#sapiSend");
    await send.getByText("Try it").click();
    await send.getByRole("button", { name: "Fill example" }).click();
    const body = send.getByRole("textbox", { name: "Body" });
    await eventually("the invoice", async () => (await body.inputValue()).includes("<Invoice"));
    await send.getByRole("button", { name: "Send", exact: true }).click();
    await send.locator("pre[aria-live]").getByText("ACCEPTED").waitFor();
    await page.close();
  });

  test.each(LOOKS)(
    "no page in the %s theme at %d pixels scrolls sideways, and axe-core finds nothing",
    async (theme, width) => {
      // Codes are counted for each address; this test is about how pages look.
      await running.db.sql`delete from sign_in`;
      const looks = [theme, width] as (typeof LOOKS)[number];
      const owner = await contextOf(browser, running, looks, { email: running.sandbox.people.sender });
      const admin = await contextOf(browser, running, looks, { email: running.sandbox.people.integrator });
      const stranger = await contextOf(browser, running, looks);
      const slovak = await contextOf(browser, running, looks, { locale: "sk" });
      await checkLooks(
        running,
        looks,
        [
          ["front", stranger, "/"],
          ["front-sk", slovak, "/"],
          ["sign-in", stranger, "/sign-in"],
          ["code", stranger, "/sign-in/code"],
          ["account", owner, "/account"],
          ["agreement", admin, agreementPath("a".repeat(43))],
          ["no-agreement", owner, agreementPath("a".repeat(43))],
          ["fault", owner, `/oauth/authorize?client_id=${randomUUID()}`],
          ["reference-sapi", stranger, "/docs/sapi"],
          // Made of the same parts, but sixty operations long: each width and each theme once.
          ...((theme === "light") === (width === 1280)
            ? ([
                ["reference", stranger, "/docs"],
                ["reference-connector", stranger, "/docs/connector"],
              ] as const)
            : []),
        ],
        ["front", "reference-sapi"],
      );
      for (const context of [owner, admin, stranger, slovak]) await context.close();
    },
    LOOKS_TIMEOUT_MS,
  );
});
