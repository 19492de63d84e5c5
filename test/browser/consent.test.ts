/**
 * Consent in a browser, on a whole engine: from the invitation over the letter and the acceptance to a key that sends, and
 * to its end; and its pages at the widths of a phone and of a desk, in light and dark, judged by axe-core.
 */
import { randomUUID } from "node:crypto";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { checkLooks, contextOf, LOOKS, LOOKS_TIMEOUT_MS, signInOn } from "../support/callers/browser-pages.js";
import { describeBrowser } from "../support/callers/chromium.js";
import { accessToken, http, INVOICE_TYPE, invoiceXml, sendParts, startTestEngine } from "../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";

describeBrowser("consent in a browser", (executablePath) => {
  let running: TestEngine;
  let browser: Browser;
  let token: string;

  beforeAll(async () => {
    running = await startTestEngine();
    token = await accessToken(running.sandbox, running.sandbox.integrator);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    await running.stop();
  });

  const api = (method: string, path: string, bearer: string, body?: unknown): Promise<HttpAnswer> =>
    http(
      method,
      `${running.sandbox.baseUrl}${path}`,
      { authorization: `Bearer ${bearer}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      body === undefined ? undefined : JSON.stringify(body),
    );
  /** Invites the sender. @returns the link, shown this once */
  const invite = async (): Promise<string> => {
    const made = await api("POST", "/consent-offers", token, {
      targetIdentifier: running.sandbox.sender.participantId.slice(5),
      requestedInterface: "enterprise_api",
      requestedScopes: ["documents:send", "documents:read"],
    });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    return String(made.json["consentUrl"]);
  };

  test("an owner follows an invitation, signs in, accepts; the partner's key sends until the owner withdraws", async () => {
    const { sender, receiver } = running.sandbox;
    const page = await browser.newPage();
    await page.goto(await invite());
    await page.getByText("Demo integrator").first().waitFor();
    await page.getByRole("main").getByRole("link", { name: "Sign in" }).click();
    await signInOn(page, running, running.sandbox.people.sender);
    await page.getByRole("button", { name: "Accept" }).click();
    await page.getByText("The consent is given.").waitFor();

    const made = await api("POST", "/integrator/keys", token, {
      name: "Browser test",
      scopedFirmId: sender.firmId,
      scopes: ["documents:send", "documents:read"],
    });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    const bearer = await accessToken(running.sandbox, {
      clientId: String(made.json["clientId"]),
      clientSecret: String(made.json["key"]),
    });
    const send = (): Promise<HttpAnswer> => {
      const invoice = invoiceXml(sender.participantId, receiver.participantId);
      return http(
        "POST",
        `${running.sandbox.sapiBaseUrl}/document/send`,
        {
          authorization: `Bearer ${bearer}`,
          "x-peppol-participant-id": sender.participantId,
          "idempotency-key": randomUUID(),
          "content-type": "application/json",
        },
        JSON.stringify(
          sendParts(sender.participantId, receiver.participantId, invoice, { documentTypeId: INVOICE_TYPE }),
        ),
      );
    };
    const sent = await send();
    expect([sent.status, sent.text]).toEqual([202, expect.any(String)]);
    await eventually("the delivery", async () => {
      const status = await api("GET", `/documents/${String(sent.json["providerDocumentId"])}/status`, bearer);
      return status.json["status"] === "delivered";
    });

    await page.getByRole("link", { name: "See all consents of your firm" }).click();
    await page.getByRole("button", { name: "Withdraw the consent: Demo integrator" }).click();
    await page.getByText(/^Ended on/).waitFor();
    expect((await send()).status).toBe(401);
    await page.close();
  });

  test.each(LOOKS)(
    "no page of consent in the %s theme at %d pixels scrolls sideways, and axe-core finds nothing",
    async (theme, width) => {
      await running.db.sql`delete from sign_in`;
      const looks = [theme, width] as (typeof LOOKS)[number];
      const owner = await contextOf(browser, running, looks, { email: running.sandbox.people.sender });
      const other = await contextOf(browser, running, looks, { email: running.sandbox.people.receiver });
      const stranger = await contextOf(browser, running, looks);
      const slovak = await contextOf(browser, running, looks, { locale: "sk" });
      const invitation = await invite();
      await checkLooks(
        running,
        looks,
        [
          ["invitation-signed-out", stranger, invitation],
          ["invitation-sk", slovak, invitation],
          ["invitation-not-yours", other, invitation],
          ["invitation", owner, invitation],
          ["firm", owner, `/firm/${running.sandbox.sender.firmId}`],
          ["firm-foreign", other, `/firm/${running.sandbox.sender.firmId}`],
        ],
        ["invitation"],
      );
      for (const context of [owner, other, stranger, slovak]) await context.close();
    },
    LOOKS_TIMEOUT_MS,
  );
});
