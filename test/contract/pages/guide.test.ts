/** The guide and security.txt, on both forms of the server: every page as it is built, every link of it, its policy. */
import { HtmlValidate } from "html-validate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { LIMITS } from "../../../engine/base/limits.js";
import { ConfigError, loadConfig } from "../../../engine/base/config.js";
import { guideRoutes } from "../../../gateway/routes/guide.js";
import { securityTextRoutes } from "../../../gateway/routes/security-txt.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";
import { referenceRows } from "../../support/engines/published-rows.js";

const START = "/docs/guide";
const CONTACT = "mailto:security@ap.example";
const DAY_MS = 86_400_000;

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    await buildIfNeeded();
    const security = securityTextRoutes({ contact: CONTACT, publicUrl: "https://ap.example" });
    gateway = await startGateway(form, [...guideRoutes(), ...referenceRows, ...security]);
  });
  afterAll(() => gateway.stop());

  /** The addresses of all pages, as the menu of the first names them. */
  async function pagesOf(): Promise<readonly string[]> {
    const html = await (await fetch(gateway.origin + START)).text();
    return [...new Set([...html.matchAll(/href="(\/docs\/guide[^"#]*)"/g)].map(([, path = ""]) => path))];
  }

  test("the menu of the guide leads to each page, which runs nothing, is framed by nobody and asks no other host", async () => {
    const paths = await pagesOf();
    expect(paths).toContain("/docs/guide/integrators/sapi");
    expect(paths).toContain("/docs/guide/operators/security");
    for (const path of paths) {
      const response = await fetch(gateway.origin + path);
      expect([path, response.status]).toEqual([path, 200]);
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'; style-src 'self'");
      expect(policy).not.toMatch(/unsafe|script-src|https?:|\*/u);
      expect(await response.text()).not.toMatch(/<script|<style| style="| on\w+="|(?:src|rel="[a-z]+" href)="https?:/u);
    }
  });

  test("every link of the guide leads to a page, a picture or a place that is there", async () => {
    const texts = new Map<string, string>();
    const read = async (path: string): Promise<string> => {
      const known = texts.get(path);
      if (known !== undefined) return known;
      const response = await fetch(gateway.origin + path);
      const text = response.status === 200 ? await response.text() : "";
      texts.set(path, text);
      return text;
    };
    const broken: string[] = [];
    for (const page of await pagesOf())
      for (const [, target = ""] of (await read(page)).matchAll(/(?:href|src)="((?:\/|#)[^"]*)"/g)) {
        const [path = "", anchor] = target.split("#");
        const text = await read(path === "" ? page : path);
        if (text === "" || (anchor !== undefined && !text.includes(`id="${anchor}"`)))
          broken.push(`${page}: ${target}`);
      }
    expect(broken).toEqual([]);
  });

  test("security.txt says whom to tell, for how long that is good, and where it stands", async () => {
    const response = await fetch(`${gateway.origin}/.well-known/security.txt`);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    const text = await response.text();
    expect(text).toMatch(
      /^Contact: mailto:security@ap\.example\nExpires: \S+Z\nCanonical: https:\/\/ap\.example\/\.well-known\/security\.txt\nPreferred-Languages: en, sk\n$/,
    );
    const left = Date.parse(/Expires: (\S+)/.exec(text)?.[1] ?? "") - Date.now();
    expect(Math.round(left / DAY_MS)).toBe(LIMITS.security_text_days);
  });
});

test("each page of the guide is valid HTML", async () => {
  const validator = new HtmlValidate({ extends: ["html-validate:recommended"] });
  const gateway = await startGateway("node", guideRoutes());
  const html = await (await fetch(gateway.origin + START)).text();
  const paths = new Set([...html.matchAll(/href="(\/docs\/guide[^"#]*)"/g)].map(([, path = ""]) => path));
  for (const path of paths) {
    const text = await (await fetch(gateway.origin + path)).text();
    const report = await validator.validateString(text);
    expect(
      report.results.flatMap(({ messages }) =>
        messages.map(({ ruleId, message, line }) => `${path}:${line} ${ruleId} ${message}`),
      ),
    ).toEqual([]);
  }
  await gateway.stop();
});

test.each(["security@ap.example", "mailto:nobody", "http://ap.example/security", "mailto:a@b.example\nEncryption: x"])(
  "a contact for security.txt such as %j stops the start",
  (contact) => {
    expect(() => loadConfig({ SECURITY_CONTACT: contact })).toThrow(ConfigError);
  },
);
