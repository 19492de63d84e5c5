/**
 * The operators' console in a browser, on a whole engine: a sign-in, the overview that follows what is new, a document with
 * its masked text, and every page at the widths of a phone and of a desk, in light and dark, judged by axe-core.
 */
import { chromium } from "playwright-core";
import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { LIMITS } from "../../engine/base/limits.js";
import { checkLooks, LOOKS, LOOKS_TIMEOUT_MS } from "../support/callers/browser-pages.js";
import type { LooksOfPage } from "../support/callers/browser-pages.js";
import { describeBrowser } from "../support/callers/chromium.js";
import { connectorCalls } from "../support/callers/connector.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../support/engines/engine.js";
import type { TestEngine } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";
import { startReceiver, status } from "../support/webhooks/receiver.js";
import type { Receiver } from "../support/webhooks/receiver.js";

describeBrowser("the console in a browser", (executablePath) => {
  let running: TestEngine;
  let browser: Browser;
  let receiver: Receiver;
  /** The Connector's webhook, which has a delivery that failed for good. */
  let webhook: string;
  const sent: string[] = [];

  const deliver = async (receiver: string): Promise<void> => {
    const { sandbox } = running;
    const { participantId } = sandbox.sender;
    const mailbox = { participantId, token: await accessToken(sandbox, sandbox.sender) };
    const answer = await send(
      sandbox,
      mailbox,
      sendParts(participantId, receiver, invoiceXml(participantId, receiver)),
    );
    sent.push(String(answer.json["providerDocumentId"]));
  };
  const at = (path: string): string => `${running.engine.adminUrl}/console${path}`;
  /** Points the Connector's webhook at a receiver that takes nothing. @returns its id */
  async function refuseEvents(): Promise<string> {
    receiver.script("/", status(422));
    const call = connectorCalls(running.sandbox, await accessToken(running.sandbox, running.sandbox.integrator));
    const { json } = await call("PUT", "/webhook", { url: receiver.origin, events: ["document.delivered"] });
    return (json["webhook"] as { readonly id: string }).id;
  }

  beforeAll(async () => {
    [running, receiver] = await Promise.all([startTestEngine(), startReceiver()]);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    webhook = await refuseEvents();
    await deliver(running.sandbox.receiver.participantId);
    await eventually("a delivery fails for good", async () => {
      const rows = await running.db.sql`select 1 from webhook_delivery where status = 'FAILED'`;
      return rows.length === 1;
    });
    // Nobody has this participant: its document waits, and the overview names it.
    await deliver("0245:2120000099");
  });
  afterAll(async () => {
    await browser.close();
    await running.stop();
    await receiver.close();
  });

  async function operator([colorScheme, width]: LooksOfPage): Promise<BrowserContext> {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 }, locale: "en" });
    const page = await context.newPage();
    await page.goto(at(""));
    await page.getByLabel("Operators' token").fill(running.sandbox.admin.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.close();
    return context;
  }

  test(
    "the overview follows what is new without a click, and nothing on it is refused by its own policy",
    async () => {
      const context = await operator(["light", 1280]);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      await page.goto(at(""));
      const lead = page.locator("#live > p").first();
      const before = await lead.textContent();
      await expect
        .poll(() => lead.textContent(), { timeout: LOOKS_TIMEOUT_MS, interval: LIMITS.top_interval_ms })
        .not.toBe(before);
      expect(complaints).toEqual([]);
      await context.close();
    },
    LOOKS_TIMEOUT_MS,
  );

  test(
    "whoever reads the overview makes it hold still, with a button or by marking a text, and lets it go on",
    async () => {
      const context = await operator(["light", 1280]);
      const page = await context.newPage();
      await page.goto(at(""));
      const lead = page.locator("#live > p").first();
      const beats = async (count: number): Promise<void> => {
        for (let beat = 0; beat < count; beat += 1)
          await page.waitForResponse((response) => response.url().endsWith("/console/live"));
      };
      const follows = async (): Promise<void> => {
        const before = await lead.textContent();
        await expect.poll(() => lead.textContent(), { timeout: LOOKS_TIMEOUT_MS }).not.toBe(before);
      };
      const standsStill = async (): Promise<void> => {
        const before = await lead.textContent();
        await beats(3);
        expect(await lead.textContent()).toBe(before);
      };
      await follows();
      await page.getByRole("button", { name: "Hold still" }).click();
      await standsStill();
      await page.getByRole("button", { name: "Follow again" }).press("Enter");
      await follows();
      await lead.selectText();
      await standsStill();
      await page.getByRole("heading", { name: "Overview" }).click();
      await follows();
      await context.close();
    },
    LOOKS_TIMEOUT_MS,
  );

  test("figures that nobody renews are said to be old, until a heartbeat comes again", async () => {
    const context = await operator(["light", 1280]);
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(at(""));
    const old = page.getByText("No heartbeat comes any more");
    await page.route("**/console/live", (route) => route.abort());
    await page.clock.runFor(16_000);
    await old.waitFor();
    await page.unroute("**/console/live");
    await old.waitFor({ state: "hidden" });
    await context.close();
  });

  test("figures are renewed again after an answer with which a browser stops asking", async () => {
    const context = await operator(["light", 1280]);
    const page = await context.newPage();
    await page.clock.install();
    await page.route("**/console/live", (route) => route.fulfill({ status: 503 }));
    await page.goto(at(""));
    const old = page.getByText("No heartbeat comes any more");
    await page.clock.runFor(16_000);
    await old.waitFor();
    await page.unroute("**/console/live");
    let isBack = false;
    page.on("response", (response) => {
      if (response.url().endsWith("/console/live")) isBack = response.ok();
    });
    await expect
      .poll(
        async () => {
          await page.clock.runFor(16_000);
          return isBack;
        },
        { timeout: LOOKS_TIMEOUT_MS },
      )
      .toBe(true);
    await old.waitFor({ state: "hidden" });
    await context.close();
  });

  test("figures are not said to be old to who has slept, before there was time for a heartbeat", async () => {
    const context = await operator(["light", 1280]);
    const page = await context.newPage();
    await page.clock.install();
    await page.route("**/console/live", (route) => route.abort());
    await page.goto(at(""));
    const old = page.getByText("No heartbeat comes any more");
    await page.clock.fastForward(600_000);
    expect(await old.isVisible()).toBe(false);
    await page.clock.runFor(16_000);
    await old.waitFor();
    await context.close();
  });

  test("a search leads to a document, whose text is masked until somebody says why", async () => {
    const context = await operator(["light", 1280]);
    const page = await context.newPage();
    await page.goto(at(""));
    await page.getByLabel("Find").fill(sent[0] ?? "");
    await page.getByRole("button", { name: "Go" }).click();
    await page.getByRole("heading", { name: `Document ${sent[0] ?? ""}` }).waitFor();
    const masked = page.frameLocator("iframe");
    await masked.getByText("Seller").waitFor();
    expect(await masked.getByText("Sender s. r. o.").count()).toBe(0);
    await page.getByLabel("Reason to see what this document says").fill("the firm has asked");
    await page.getByRole("button", { name: "See what this document says" }).click();
    await page.getByText("Sender s. r. o.").first().waitFor();
    await context.close();
  });

  test.each(LOOKS)(
    "no page of the console in the %s theme at %d pixels scrolls sideways, and axe-core finds nothing",
    async (theme, width) => {
      const looks = [theme, width] as LooksOfPage;
      const context = await operator(looks);
      const stranger = await browser.newContext({ colorScheme: theme, viewport: { width, height: 800 } });
      await checkLooks(
        running,
        looks,
        [
          ["console-sign-in", stranger, at("/sign-in")],
          ["console", context, at("")],
          ["console-document", context, at(`/documents/${sent[0] ?? ""}`)],
          ["console-waiting", context, at(`/documents/${sent[1] ?? ""}`)],
          ["console-find", context, at("/find?q=nobody")],
          ["console-reviews", context, at("/reviews")],
          ["console-webhooks", context, at("/webhooks")],
          ["console-webhook", context, at(`/webhooks/${webhook}`)],
          ["console-firms", context, at("/firms")],
          ["console-firm", context, at(`/firms/${running.sandbox.sender.firmId}`)],
          ["console-firms-found", context, at("/firms?q=odos")],
          ["console-integrators", context, at("/integrators")],
          ["console-integrator", context, at(`/integrators/${running.sandbox.integrator.integratorId}`)],
          ["console-key", context, at(`/keys/${running.sandbox.sender.clientId}`)],
          ["console-record", context, at("/record")],
        ],
        ["console", "console-document"],
      );
      await Promise.all([context.close(), stranger.close()]);
    },
    LOOKS_TIMEOUT_MS,
  );

  test("a dead delivery of the Connector's webhook is sent again for a reason, and leaves the page", async () => {
    const context = await operator(["light", 1280]);
    const page = await context.newPage();
    await page.goto(at(`/webhooks/${webhook}`));
    receiver.script("/", status(200));
    await page.getByLabel(/^Reason to send delivery \S+ again$/).fill("its server is back");
    await page.getByRole("button", { name: /^Send delivery \S+ again$/ }).click();
    await page.getByText("Done: replay.").waitFor();
    expect(await page.getByRole("button", { name: /^Send delivery/ }).count()).toBe(0);
    await eventually("the event has come again", () => receiver.calls.length === 2);
    await context.close();
  });
});
