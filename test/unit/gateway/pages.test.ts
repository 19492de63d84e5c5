/** What pages are made of: escaping, languages, cookies, and where a sign-in may lead. */
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";

import { parseEmail } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { html } from "../../../gateway/web/pages/html.js";
import { languageOf } from "../../../gateway/web/pages/languages.js";
import { createPresses } from "../../../gateway/web/pages/presses.js";
import { TEXTS } from "../../../gateway/web/pages/texts.js";
import { createVisitors, nextOf } from "../../../gateway/web/pages/visitor.js";
import { fakeClock } from "../../support/fake-clock.js";

const headers = (given: Readonly<Record<string, string>>) => ({ header: (name: string) => given[name] });

describe("templates", () => {
  test("whatever is put into a template stays text", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const shown = html`<p title="${text}">${text}</p>`.text;
        expect(shown.slice('<p title="'.length, -"</p>".length)).not.toMatch(/[<']/);
        expect(shown.split('"')).toHaveLength(3);
      }),
    );
  });
  test("a template inside a template is not escaped again, nothing is shown for what is missing", () => {
    const items = ["a&b", 2].map((item) => html`<li>${item}</li>`);
    expect(html`${items}${undefined}${false}`.text).toBe("<li>a&amp;b</li><li>2</li>");
  });
});

describe("languages", () => {
  test.each([
    [undefined, "en"],
    ["sk", "sk"],
    ["sk-SK,sk;q=0.9,en;q=0.8", "sk"],
    ["cs-CZ,cs;q=0.9", "sk"],
    ["de, en;q=0.4, sk;q=0.3", "en"],
    ["sk;q=0, de", "en"],
    ["*", "en"],
    ["en;q=broken, sk", "en"],
  ])("a browser that asks for %s reads %s", (asked, language) => {
    expect(languageOf(asked)).toBe(language);
  });
  test("each text has the same values to put in, in every language", () => {
    const values = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "").sort();
    for (const [name, row] of Object.entries(TEXTS)) expect([name, values(row.sk)]).toEqual([name, values(row.en)]);
  });
});

describe("texts", () => {
  test("a code comes in an e-mail: nobody is told to wait for a letter", () => {
    for (const [name, { en, sk }] of Object.entries(TEXTS))
      expect([name, `${en} ${sk}`]).toEqual([name, expect.not.stringMatching(/\b(?:letter|list|listu)\b/iu)]);
  });
});

describe("a form that is pressed twice", () => {
  const press = { form: "/sign-in", fields: ["x"], token: "before", address: "192.0.2.1", origin: [undefined] };
  const session = (name: number) => ({ status: 303, headers: { "Set-Cookie": `kurier=${name}; Path=/` } });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("the session's token of an answer is kept for ten seconds, also where nobody ever presses again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const presses = createPresses(fakeClock());
    let judged = 0;
    const judge = () => Promise.resolve(session((judged += 1)));
    expect(await presses.once(press, judge)).toEqual(session(1));
    vi.advanceTimersByTime(LIMITS.press_again_ms - 1);
    expect(await presses.once(press, judge)).toEqual(session(1));
    vi.advanceTimersByTime(1);
    expect(await presses.once(press, judge)).toEqual(session(2));
  });

  test("a first press that fails is told so alone: the second is judged anew, and is the one that is known", async () => {
    const presses = createPresses(fakeClock());
    let judged = 0;
    const judge = () => ((judged += 1) === 1 ? Promise.reject(new Error("away")) : Promise.resolve(session(judged)));
    const both = [presses.once(press, judge), presses.once(press, judge)];
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(await presses.once(press, judge)).toEqual(session(2));
  });
});

describe("the cookie", () => {
  const token = "a".repeat(43);
  test("over https the cookie is Secure and has the prefix __Host-", () => {
    expect(createVisitors("https://ap.example").cookie(token)).toBe(
      `__Host-kurier=${token}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure`,
    );
  });
  test("a cookie of the other name, of a wrong form or sent twice is none", () => {
    const visitors = createVisitors("https://ap.example");
    expect(visitors.tokenOf(headers({ cookie: `a=b; __Host-kurier=${token}` }))).toBe(token);
    for (const cookie of [
      `kurier=${token}`,
      `__Host-kurier=${token}x`,
      `__Host-kurier=${token}; __Host-kurier=${token}`,
    ])
      expect(visitors.tokenOf(headers({ cookie }))).toBeUndefined();
  });
  test("a form is ours only with the token that was made for this browser, and never when another site sent it", () => {
    const visitors = createVisitors("https://ap.example");
    const given = visitors.formTokenOf(token);
    expect(visitors.isOwnForm(headers({}), token, given)).toBe(true);
    expect(visitors.isOwnForm(headers({ "sec-fetch-site": "same-origin" }), token, given)).toBe(true);
    expect(visitors.isOwnForm(headers({ "sec-fetch-site": "cross-site" }), token, given)).toBe(false);
    expect(visitors.isOwnForm(headers({}), "b".repeat(43), given)).toBe(false);
    expect(visitors.isOwnForm(headers({}), undefined, given)).toBe(false);
    expect(visitors.isOwnForm(headers({}), token, undefined)).toBe(false);
  });
});

describe("where a sign-in leads", () => {
  test("a sign-in leads to pages of ours and nowhere else", () => {
    for (const path of ["/account", "/consent/abcdefghijklmnop", "/oauth/authorize?client_id=a&state=b%20c"])
      expect(nextOf(path)).toBe(path);
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(nextOf(text)).toMatch(/^\/(?:account$|firm\/|consent\/|oauth\/authorize\?)/);
        expect(nextOf(`//${text}`)).toBe("/account");
        expect(nextOf(`https:${text}`)).toBe("/account");
      }),
    );
  });
});

describe("addresses", () => {
  test("an address names one mailbox and can hold nothing that a header of a letter would read", () => {
    expect(parseEmail(" Jana.Nova+b@Firma.SK ")).toBe("jana.nova+b@firma.sk");
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        const email = parseEmail(`${a}@${b}`);
        if (email !== undefined) expect(email).toMatch(/^[^\s,;:<>"()[\]\\\p{Cc}]+$/u);
      }),
    );
    for (const text of [
      "a@b",
      "a b@c.sk",
      "a@c.sk\nBcc: x@y.sk",
      "a@c.sk,d@e.sk",
      "<a@c.sk>",
      '"a"@c.sk',
      `${"a".repeat(65)}@c.sk`,
    ])
      expect(parseEmail(text)).toBeUndefined();
  });
});
