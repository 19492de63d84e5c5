/** The API reference as a reader sees it: it renders, it asks no other host, its policy is not broken, its links work. */
import { chromium } from "playwright-core";
import type { Browser, Locator, Page, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { describeBrowser } from "../support/callers/chromium.js";
import { serverForms, startGateway } from "../support/engines/gateway.js";
import type { TestGateway } from "../support/engines/gateway.js";
import { publishedRows, referenceRows } from "../support/engines/published-rows.js";

const heading = (page: Page, title: string): Locator => page.getByRole("heading", { level: 1, name: title });

describeBrowser("the API reference in a browser", (executablePath) => {
  let browser: Browser;
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(serverForms[0] ?? "node", [...publishedRows, ...referenceRows]);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    await gateway.stop();
  });

  test.each([
    ["/docs", "Kurier Enterprise API", "/api/v1/auth/token", "light"],
    ["/docs/sapi", "Kurier SAPI profile", "/sapi/v1/document/send", "dark"],
  ] as const)("%s shows %s with the operation %s", async (path, title, operation, colorScheme) => {
    const page = await browser.newPage({ colorScheme });
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      if (!request.url().startsWith(gateway.origin) && !request.url().startsWith("data:"))
        complaints.push(`asked ${request.url()}`);
    });
    await page.goto(gateway.origin + path);
    await heading(page, title).waitFor();
    await page.getByText(operation).first().waitFor();
    expect(complaints).toEqual([]);
    const background = await page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(background).toBe(colorScheme === "dark" ? "rgb(18, 22, 31)" : "rgb(255, 255, 255)");
    await page.close();
  });

  /** The operation that sends, with its form unfolded. */
  const sending = async (page: Page): Promise<Locator> => {
    const send = page.locator("#sapiSend");
    await send.getByText("Try it").click();
    return send;
  };

  test("a page without TLS fills in a key of its own, too", async () => {
    // A name that is not this machine's: only there a browser trusts what comes without TLS.
    const elsewhere = await chromium.launch({
      executablePath,
      args: ["--no-sandbox", "--host-resolver-rules=MAP kurier.example 127.0.0.1"],
    });
    try {
      const page = await elsewhere.newPage();
      await page.goto(`http://kurier.example:${new URL(gateway.origin).port}/docs/sapi`);
      expect(await page.evaluate("isSecureContext")).toBe(false);
      const send = await sending(page);
      await send.getByRole("button", { name: "Fill example" }).click();
      const key = send.locator("[data-fresh]");
      await expect
        .poll(() => key.inputValue())
        .toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u);
      await send.locator("pre[aria-live]").waitFor({ state: "hidden" });
    } finally {
      await elsewhere.close();
    }
  });

  test("a server that does not answer is said to be one, in the words of the page", async () => {
    const page = await browser.newPage();
    await page.goto(`${gateway.origin}/docs/sapi`);
    const send = await sending(page);
    await page.route("**/document/send", (route) => route.abort());
    for (const field of await send.locator("input[required]").all()) await field.fill("x");
    await send.getByRole("button", { name: "Send", exact: true }).click();
    await send.getByText("The server does not answer.").waitFor();
    await page.close();
  });

  test("a page that waits for an answer says so, and its button is pressed once until ten seconds have passed", async () => {
    const page = await browser.newPage();
    await page.clock.install();
    await page.goto(`${gateway.origin}/docs/sapi`);
    const asked: Route[] = [];
    await page.route("**/auth/token", async (route) => {
      asked.push(route);
      if (asked.length > 1) await route.continue();
    });
    const form = page.locator("form.token");
    for (const field of await form.locator("input").all()) await field.fill("x");
    const get = form.getByRole("button", { name: "Get a token" });
    await get.click();
    await form.getByText("Waiting for the answer…").waitFor();
    await expect.poll(() => asked.length).toBe(1);
    expect(await get.isDisabled()).toBe(true);
    const ended = page.waitForEvent("requestfailed");
    await page.clock.fastForward(10_000);
    await get.click();
    expect((await ended).failure()?.errorText).toBe("net::ERR_ABORTED");
    await expect.poll(() => form.locator("output").textContent()).not.toMatch(/Waiting|^$/u);
    expect(await get.isEnabled()).toBe(true);
    await page.close();
  });

  test("what is asked last is what an operation shows, and a button that was pressed before is free again", async () => {
    const page = await browser.newPage();
    await page.goto(`${gateway.origin}/docs/sapi`);
    const send = await sending(page);
    await page.route("**/docs/example/invoice.xml", () => undefined);
    await page.route("**/document/send", (route) => route.fulfill({ status: 418, body: "short and stout" }));
    await send.getByRole("button", { name: "Fill example" }).click();
    await send.getByText("Waiting for the answer…").waitFor();
    for (const field of await send.locator("input[required]").all()) await field.fill("x");
    await send.getByRole("button", { name: "Send", exact: true }).click();
    await send.getByText("short and stout").waitFor();
    expect(await send.getByRole("button", { name: "Fill example" }).isEnabled()).toBe(true);
    await page.close();
  });

  test("an answer that is none of the server's is told by its status, and fills in no example", async () => {
    const page = await browser.newPage();
    await page.goto(`${gateway.origin}/docs/sapi`);
    const busy = { status: 503, contentType: "text/html", body: "<h1>Service Unavailable</h1>" };
    await page.route("**/docs/example/invoice.xml", (route) => route.fulfill(busy));
    await page.route("**/auth/token", (route) => route.fulfill(busy));
    const form = page.locator("form.token");
    for (const field of await form.locator("input").all()) await field.fill("x");
    await form.getByRole("button", { name: "Get a token" }).click();
    await form.getByText("The server answered 503.").waitFor();
    const send = await sending(page);
    await send.getByRole("button", { name: "Fill example" }).click();
    await send.getByText("The server answered 503.").waitFor();
    expect(await send.locator("textarea").inputValue()).toBe("");
    await page.close();
  });

  test("what a proxy answers with 200 in place of the server is no token and no example", async () => {
    const page = await browser.newPage();
    await page.goto(`${gateway.origin}/docs/sapi`);
    const login = { status: 200, contentType: "text/html", body: "<h1>Log in</h1>" };
    const cut = { status: 200, contentType: "application/json", body: '{"status":"ACC' };
    await page.route("**/docs/example/invoice.xml", (route) => route.fulfill(login));
    await page.route("**/auth/token", (route) => route.fulfill(login));
    await page.route("**/document/send", (route) => route.fulfill(cut));
    const form = page.locator("form.token");
    for (const field of await form.locator("input").all()) await field.fill("x");
    await form.getByRole("button", { name: "Get a token" }).click();
    await form.getByText("The server answered 200.").waitFor();
    const send = await sending(page);
    await send.getByRole("button", { name: "Fill example" }).click();
    await send.getByText("The server answered 200.").waitFor();
    expect(await send.locator("textarea").inputValue()).toBe("");
    for (const field of await send.locator("input[required]").all()) await field.fill("x");
    await send.getByRole("button", { name: "Send", exact: true }).click();
    await send.getByText('{"status":"ACC').waitFor();
    await page.close();
  });

  test("a button that waited for its answer has the keyboard again, unless it was taken elsewhere meanwhile", async () => {
    const page = await browser.newPage();
    await page.goto(`${gateway.origin}/docs/sapi`);
    const asked: Route[] = [];
    await page.route("**/auth/token", (route) => void asked.push(route));
    const form = page.locator("form.token");
    for (const field of await form.locator("input").all()) await field.fill("x");
    const get = form.getByRole("button", { name: "Get a token" });
    const focused = (): Promise<unknown> => page.evaluate("document.activeElement.textContent.trim()");
    const press = async (): Promise<void> => {
      const { length } = asked;
      await get.focus();
      await page.keyboard.press("Enter");
      await expect.poll(() => asked.length).toBe(length + 1);
      await expect.poll(focused).not.toBe("Get a token");
    };
    await press();
    await asked[0]?.fulfill({ status: 503 });
    await expect.poll(focused).toBe("Get a token");
    await press();
    await form.locator("[name=client_id]").focus();
    await asked[1]?.fulfill({ status: 502 });
    await form.getByText("The server answered 502.").waitFor();
    expect(await page.evaluate("document.activeElement.name")).toBe("client_id");
    await page.close();
  });

  test("without scripts a phone has the menu above the text, and no button that opens nothing", async () => {
    const page = await browser.newPage({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false });
    await page.goto(`${gateway.origin}/docs/sapi`);
    expect(await page.getByRole("button", { name: "Menu" }).isVisible()).toBe(false);
    await page
      .getByRole("navigation", { name: "Operations" })
      .getByRole("link", { name: "Send a UBL document" })
      .click();
    expect(new URL(page.url()).hash).toBe("#sapiSend");
    await page.close();
  });

  test("on paper the reference has neither menu nor forms, and no sample is cut off", async () => {
    const page = await browser.newPage();
    await page.goto(`${gateway.origin}/docs/sapi`);
    await page.evaluate("for (const samples of document.querySelectorAll('details.samples')) samples.open = true");
    await page.emulateMedia({ media: "print" });
    expect(await page.getByRole("navigation", { name: "Operations" }).isVisible()).toBe(false);
    expect(await page.getByText("Try it").first().isVisible()).toBe(false);
    expect(
      await page.evaluate(
        "[...document.querySelectorAll('pre')].filter((pre) => pre.scrollWidth > pre.clientWidth).length",
      ),
    ).toBe(0);
    await page.close();
  });

  test("the tabs lead from one interface to the other", async () => {
    const page = await browser.newPage();
    await page.goto(`${gateway.origin}/docs`);
    await page.getByRole("navigation", { name: "Interfaces" }).getByRole("link", { name: "SAPI profile" }).click();
    await heading(page, "Kurier SAPI profile").waitFor();
    expect(new URL(page.url()).pathname).toBe("/docs/sapi");
    await page.close();
  });

  test("a phone has a menu that opens, leads to an operation and closes; nothing is wider than the phone", async () => {
    const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
    await page.goto(`${gateway.origin}/docs/sapi`);
    await heading(page, "Kurier SAPI profile").waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
    const menu = page.getByRole("navigation", { name: "Operations" });
    expect(await menu.isVisible()).toBe(false);
    await page.getByRole("button", { name: "Menu" }).click();
    await menu.getByRole("link", { name: "Send a UBL document" }).click();
    expect(await menu.isVisible()).toBe(false);
    expect(new URL(page.url()).hash).toBe("#sapiSend");
    await page.getByRole("button", { name: "Menu" }).click();
    await page.keyboard.press("Escape");
    expect(await menu.isVisible()).toBe(false);
    await page.close();
  });
});
