/**
 * Sign-in of people, on a whole engine: an address, a code from a letter, a session. What strangers try (guessing codes,
 * fixing a session, forging a form, leading elsewhere, telling known addresses from unknown ones) is refused.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { pruneIdentity } from "../../../engine/identity/maintenance.js";
import { startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import { serverForms } from "../../support/engines/gateway.js";
import { codeFor, codesSent, formOf, lettersIn, signIn, Visitor } from "../../support/callers/visitor.js";
import type { PageAnswer, PageForm } from "../../support/callers/visitor.js";

describe.each(serverForms)("the %s form", (form) => {
  let running: TestEngine;
  let clock: FakeClock;
  let mail: string;
  let owner: string;
  /** Each test comes from an address of its own, so that one test's tries do not count for another. */
  let addresses = 0;
  const visitor = (headers: Readonly<Record<string, string>> = {}): Visitor =>
    new Visitor(running.engine.publicUrl, { "x-forwarded-for": `198.51.100.${(addresses += 1)}`, ...headers });

  beforeAll(async () => {
    clock = fakeClock();
    running = await startTestEngine({ form, clock, config: { TRUSTED_PROXIES: ["127.0.0.1/32"] } });
    mail = join(running.dataDir, "mail");
    owner = running.sandbox.people.sender;
  });
  afterAll(() => running.stop());

  test("an owner signs in with the code from the letter, sees the firm, and signs out", async () => {
    const reader = visitor();
    const done = await signIn(reader, mail, owner);
    expect([done.status, done.location]).toEqual([303, "/account"]);
    const account = await reader.get("/account");
    expect(account.text).toContain("Odosielateľ s. r. o.");
    expect(account.text).toContain(`/firm/${running.sandbox.sender.firmId}`);
    const session = reader.cookie;
    expect((await reader.submit(formOf(account, "/sign-out"))).location).toBe("/");
    reader.cookie = session;
    expect((await reader.get("/account")).location).toBe("/sign-in");
  });

  test("the cookie is HttpOnly and SameSite=Lax; without https it has no prefix", async () => {
    const answer = await visitor().get("/sign-in");
    expect(answer.headers.get("set-cookie")).toMatch(
      /^kurier=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/,
    );
  });

  test("a sign-in replaces the token of the browser twice: one that a stranger has fixed is worth nothing", async () => {
    const reader = visitor();
    reader.cookie = `kurier=${"A".repeat(43)}`;
    const fixed = reader.cookie;
    await signIn(reader, mail, owner);
    expect(reader.cookie).not.toBe(fixed);
    const stranger = visitor();
    stranger.cookie = fixed;
    expect((await stranger.get("/account")).location).toBe("/sign-in");
  });

  test("a code is good only in the browser that asked for it", async () => {
    const reader = visitor();
    const before = codesSent(mail, owner);
    const sent = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
    const code = await codeFor(mail, owner, before);
    const stranger = visitor();
    await stranger.get("/sign-in");
    const page = await stranger.get("/sign-in/code");
    const answer = await stranger.submit(formOf(page, "/sign-in/code"), { code });
    expect([answer.status, answer.text.includes("cannot be used")]).toEqual([400, true]);
    const own = await reader.submit(formOf(await reader.get(sent.location), "/sign-in/code"), { code });
    expect(own.status).toBe(303);
  });

  test("the page of the code leads a browser that has asked for none to the sign-in, and on to what it wanted", async () => {
    const stranger = visitor();
    const led = await stranger.get(`/sign-in/code?next=${encodeURIComponent("/consent/abcdefghijklmnop")}`);
    expect([led.status, led.location]).toEqual([303, "/sign-in?next=%2Fconsent%2Fabcdefghijklmnop"]);
    expect((await visitor().get("/sign-in/code")).location).toBe("/sign-in");
    const done = await signIn(stranger, mail, owner);
    expect(done.status).toBe(303);
  });

  test("five wrong codes end the code, also when they come at once; the right one is refused afterwards", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const reader = visitor();
    const before = codesSent(mail, owner);
    const sent = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
    const code = await codeFor(mail, owner, before);
    const page = formOf(await reader.get(sent.location), "/sign-in/code");
    const wrong = code === "000000" ? "111111" : "000000";
    const answers = await Promise.all(Array.from({ length: 12 }, () => reader.submit(page, { code: wrong })));
    expect(answers.filter(({ text }) => text.includes("is not right"))).toHaveLength(LIMITS.sign_in_tries_max - 1);
    expect((await reader.submit(page, { code })).status).toBe(400);
  });

  test("a code ends after ten minutes", async () => {
    const reader = visitor();
    const before = codesSent(mail, owner);
    const sent = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
    const code = await codeFor(mail, owner, before);
    const page = formOf(await reader.get(sent.location), "/sign-in/code");
    clock.advance(LIMITS.sign_in_code_ms);
    expect((await reader.submit(page, { code })).status).toBe(400);
  });

  test("a code opens one session, whoever sends it twice", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const reader = visitor();
    const before = codesSent(mail, owner);
    const sent = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
    const code = await codeFor(mail, owner, before);
    const page = formOf(await reader.get(sent.location), "/sign-in/code");
    const cookie = reader.cookie;
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => {
        const twin = visitor();
        twin.cookie = cookie;
        return twin.submit(page, { code });
      }),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400]);
  });

  test.each([
    ["before the first press is answered", false],
    ["when the browser has the answer to the first press", true],
  ])(
    "buttons that are pressed again %s send one letter, open one session and show nothing that went wrong",
    async (_when, isLate) => {
      clock.advance(LIMITS.sign_in_window_ms);
      const reader = visitor();
      const twice = async (form: PageForm, fields: Readonly<Record<string, string>> = {}): Promise<PageAnswer[]> => {
        const { cookie } = reader;
        const first = reader.submit(form, fields);
        if (isLate) await first;
        else reader.cookie = cookie;
        const second = reader.submit(form, fields);
        return [await first, await second];
      };
      const before = codesSent(mail, owner);
      const asked = await twice(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
      expect(asked.map(({ status, location }) => [status, location])).toEqual(
        Array.from({ length: 2 }, () => [303, "/sign-in/code"]),
      );
      const code = await codeFor(mail, owner, before);
      const entered = await twice(formOf(await reader.get("/sign-in/code"), "/sign-in/code"), { code });
      expect(entered.map(({ status, location }) => [status, location])).toEqual(
        Array.from({ length: 2 }, () => [303, "/account"]),
      );
      expect(new Set(entered.map(({ headers }) => headers.get("set-cookie"))).size).toBe(1);
      const account = await reader.get("/account");
      expect(account.text).toContain(owner);
      const left = await twice(formOf(account, "/sign-out"));
      expect(left.map(({ status, location }) => [status, location])).toEqual([
        [303, "/"],
        [303, "/"],
      ]);
      expect(codesSent(mail, owner)).toBe(before + 1);
    },
  );

  test("a press is the same for ten seconds, from the same address and browser; a wrong code is judged each time", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const place = { "x-forwarded-for": "198.51.100.251" };
    const reader = visitor(place);
    const before = codesSent(mail, owner);
    const sent = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
    const code = await codeFor(mail, owner, before);
    const form = formOf(await reader.get(sent.location), "/sign-in/code");
    const { cookie } = reader;
    const wrong = code === "000000" ? "111111" : "000000";
    for (const _ of [1, 2]) expect((await reader.submit(form, { code: wrong })).text).toContain("is not right");
    expect((await reader.submit(form, { code })).status).toBe(303);
    const again = async (headers: Readonly<Record<string, string>>, held: string | undefined): Promise<number> => {
      const other = visitor(headers);
      other.cookie = held;
      return (await other.submit(form, { code })).status;
    };
    expect(await again(place, cookie)).toBe(303);
    expect(await again(place, `kurier=${"A".repeat(43)}`)).toBe(403);
    expect(await again({ ...place, "sec-fetch-site": "cross-site" }, cookie)).toBe(403);
    expect(await again({}, cookie)).toBe(400);
    clock.advance(LIMITS.press_again_ms);
    expect(await again(place, cookie)).toBe(400);
  });

  test("known and unknown addresses get the same answer and cost one row each; a letter goes to the known one only", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const ask = async (email: string) => {
      const reader = visitor();
      const rows = async () =>
        (await running.db.sql<{ n: number }[]>`select count(*)::int as n from sign_in`)[0]?.n ?? 0;
      const before = await rows();
      const answer = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email });
      const page = await reader.get(answer.location);
      const hidden = page.text.replace(/value="[A-Za-z0-9_-]{43}"/g, "");
      return [answer.status, answer.location, hidden, (await rows()) - before];
    };
    const before = codesSent(mail, owner);
    expect(await ask("nobody@example.com")).toEqual(await ask(owner));
    await codeFor(mail, owner, before);
    expect(lettersIn(mail).filter(({ to }) => to.includes("nobody"))).toEqual([]);
  });

  test("five codes an hour go to one address; who asks more often is answered alike and gets none", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const before = codesSent(mail, owner);
    for (let asked = 0; asked < LIMITS.sign_in_codes_max + 2; asked += 1) {
      const reader = visitor();
      const answer = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
      expect(answer.status).toBe(303);
    }
    await codeFor(mail, owner, before + LIMITS.sign_in_codes_max - 1);
    expect(codesSent(mail, owner)).toBe(before + LIMITS.sign_in_codes_max);
    clock.advance(LIMITS.sign_in_window_ms);
  });

  test("strangers who use up the codes of an address keep nobody waiting where its owner has signed in before", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const home = { "x-forwarded-for": "2001:db8:1:2::10" };
    expect((await signIn(visitor(home), mail, owner)).status).toBe(303);
    clock.advance(LIMITS.sign_in_window_ms);
    const ask = async (reader: Visitor): Promise<void> => {
      const answer = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
      expect(answer.status).toBe(303);
    };
    const before = codesSent(mail, owner);
    for (let asked = 0; asked < LIMITS.sign_in_codes_max + 2; asked += 1) await ask(visitor());
    await codeFor(mail, owner, before + LIMITS.sign_in_codes_max - 1);
    const neighbour = visitor({ "x-forwarded-for": "2001:db8:1:2::99" });
    expect((await signIn(neighbour, mail, owner)).status).toBe(303);
    // What is known has the same bound, and what a stranger asks for there is not the owner's elsewhere.
    for (let asked = 0; asked < LIMITS.sign_in_codes_max + 2; asked += 1) await ask(visitor(home));
    await codeFor(mail, owner, before + 2 * LIMITS.sign_in_codes_max - 1);
    expect(codesSent(mail, owner)).toBe(before + 2 * LIMITS.sign_in_codes_max);
  });

  test("a place is forgotten half a year after its last sign-in, and a wrong code makes none known", async () => {
    const places = async () =>
      (await running.db.sql<{ n: number }[]>`select count(*)::int as n from sign_in_place`)[0]?.n ?? 0;
    clock.advance(LIMITS.sign_in_window_ms);
    expect(await places()).toBeGreaterThan(0);
    expect(await places()).toBeLessThanOrEqual(LIMITS.sign_in_places_max);
    const known = await places();
    const reader = visitor();
    const before = codesSent(mail, owner);
    const sent = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email: owner });
    const wrong = (await codeFor(mail, owner, before)) === "000000" ? "111111" : "000000";
    await reader.submit(formOf(await reader.get(sent.location), "/sign-in/code"), { code: wrong });
    expect(await places()).toBe(known);
    clock.advance(LIMITS.sign_in_place_ms);
    await pruneIdentity(running.db.sql, clock);
    expect(await places()).toBe(0);
  });

  test("a flood of sign-ins from one address is 429 with Retry-After, in words for people", async () => {
    const reader = visitor();
    const page = formOf(await reader.get("/sign-in"), "/sign-in");
    const answers = [];
    for (let asked = 0; asked <= 2 * LIMITS.rate_sign_in; asked += 1)
      answers.push(await reader.post("/sign-in", { ...page.fields, email: "flood@" }));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(refused[0]?.text).toContain("Too many requests");
  });

  test.each([
    ["no token", { form_token: "" }, {}],
    ["another browser's token", { form_token: "x".repeat(43) }, {}],
    ["a browser that names another site", {}, { "sec-fetch-site": "cross-site" }],
    ["a browser that names a neighbouring host", {}, { "sec-fetch-site": "same-site" }],
  ])("a form with %s changes nothing and is 403", async (_, fields, headers) => {
    const reader = visitor();
    const before = codesSent(mail, owner);
    const answer = await reader.submit(
      formOf(await reader.get("/sign-in"), "/sign-in"),
      { email: owner, ...fields },
      headers,
    );
    expect([answer.status, answer.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
    expect(codesSent(mail, owner)).toBe(before);
  });

  test.each([
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/account/../../evil",
    "/account\r\nSet-Cookie: a=b",
    "javascript:alert(1)",
    "/sign-out",
    "/%2f%2fevil.example",
  ])("a link that would lead on to %s leads to the account instead", async (next) => {
    const reader = visitor();
    const start = await reader.get(`/sign-in?next=${encodeURIComponent(next)}`);
    // What no browser sends unescaped is refused before it is looked at.
    if (start.status === 400) return;
    const token = formOf(start, "/sign-in");
    expect(token.fields["next"]).toBe("/account");
    const answer = await reader.submit(token, { email: "nobody@example.com", next });
    expect(answer.status === 303 ? answer.location : "").not.toMatch(/evil|javascript|sign-out|%2F%2F/i);
  });

  test.each([
    "a@b.example\r\nBcc: x@evil.example",
    "a@b.example, x@evil.example",
    '"a b"@b.example',
    "a@b",
    "a@@b.example",
  ])("an address like %j is asked for again and no letter leaves", async (email) => {
    const reader = visitor();
    const before = lettersIn(mail).length;
    const answer = await reader.submit(formOf(await reader.get("/sign-in"), "/sign-in"), { email });
    expect(answer.status).toBe(400);
    expect(lettersIn(mail)).toHaveLength(before);
  });

  test("a session ends an hour after its last use, and twelve hours after its sign-in however it is used", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const idle = visitor();
    const busy = visitor();
    await signIn(idle, mail, owner);
    await signIn(busy, mail, owner);
    for (
      let used_ms = 0;
      used_ms + LIMITS.session_idle_ms / 2 < LIMITS.session_ms;
      used_ms += LIMITS.session_idle_ms / 2
    ) {
      clock.advance(LIMITS.session_idle_ms / 2);
      expect((await busy.get("/account")).status).toBe(200);
    }
    expect((await idle.get("/account")).location).toBe("/sign-in");
    clock.advance(LIMITS.session_idle_ms / 2);
    expect((await busy.get("/account")).location).toBe("/sign-in");
  });

  test("no page can be framed, loads a script or names another host", async () => {
    for (const path of ["/", "/sign-in", "/sign-in/code"]) {
      const answer = await visitor().get(path);
      expect(answer.headers.get("content-security-policy")).toBe(
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      );
      expect(answer.headers.get("x-frame-options")).toBe("DENY");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.text).not.toMatch(/<script| on\w+="| style="/);
    }
  });

  test("pages and letters speak the language that the browser asks for", async () => {
    clock.advance(LIMITS.sign_in_window_ms);
    const reader = visitor({ "accept-language": "de;q=0.9, sk;q=0.8, en;q=0.5" });
    const page = await reader.get("/sign-in");
    expect(page.text).toContain('<html lang="sk">');
    expect(page.text).toContain("Prihlásenie");
    await signIn(reader, mail, owner);
    expect(lettersIn(mail).at(-1)?.text).toContain("prihlasovací kód");
  });

  test("nothing of a code, a token or an address stands in the database or the log", async () => {
    const rows = JSON.stringify(await running.db.sql`select * from sign_in`);
    expect(rows).not.toContain(owner);
    const log = running.lines.join("\n");
    expect(log).not.toContain(owner);
    for (const { text } of lettersIn(mail)) {
      const code = /^ {4}(\d{6})\r?$/m.exec(text)?.[1];
      if (code !== undefined) expect(log).not.toContain(`"${code}"`);
    }
  });
});
