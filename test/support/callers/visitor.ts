/** A visitor of the pages without a browser: one cookie, forms read from the page and sent as a browser would. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../eventually.js";

export interface PageAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The Location header; empty where there is none. */
  readonly location: string;
}

/** A form as it stands in a page: where it goes and what its fields hold. */
export interface PageForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

const unescape = (text: string): string =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name] ?? "",
  );

/** The form of a page that goes to an address beginning so. */
export function formOf(page: PageAnswer, action: string): PageForm {
  for (const [, attributes = "", inside = ""] of page.text.matchAll(/<form([^>]*)>([\s\S]*?)<\/form>/g)) {
    const goes = unescape(/action="([^"]*)"/.exec(attributes)?.[1] ?? "");
    if (!goes.startsWith(action)) continue;
    const fields: Record<string, string> = {};
    for (const [tag] of inside.matchAll(/<input[^>]*>/g)) {
      const name = /name="([^"]*)"/.exec(tag)?.[1];
      if (name !== undefined && !(tag.includes('type="radio"') && !tag.includes("checked")))
        fields[name] = unescape(/value="([^"]*)"/.exec(tag)?.[1] ?? "");
    }
    return { action: goes, fields };
  }
  throw new Error(`no form to ${action} in:\n${page.text}`);
}

export class Visitor {
  /** Name and value of the cookie, as the browser would send it. */
  cookie: string | undefined;
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(origin: string, headers: Readonly<Record<string, string>> = {}) {
    this.#origin = origin;
    this.#headers = headers;
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<PageAnswer> {
    return this.#ask(path, { headers });
  }

  /** Sends a form, with some fields filled in. */
  submit(form: PageForm, fields: Readonly<Record<string, string>> = {}, headers = {}): Promise<PageAnswer> {
    return this.post(form.action, { ...form.fields, ...fields }, headers);
  }

  post(path: string, fields: Readonly<Record<string, string>>, headers = {}): Promise<PageAnswer> {
    return this.#ask(path, { method: "POST", body: new URLSearchParams(fields), headers });
  }

  async #ask(
    path: string,
    init: RequestInit & { readonly headers: Readonly<Record<string, string>> },
  ): Promise<PageAnswer> {
    const response = await fetch(new URL(path, this.#origin), {
      ...init,
      redirect: "manual",
      headers: {
        ...this.#headers,
        ...(this.cookie === undefined ? {} : { cookie: this.cookie }),
        ...init.headers,
      },
    });
    const given = response.headers.get("set-cookie")?.split(";")[0];
    if (given !== undefined) this.cookie = given;
    const location = response.headers.get("location") ?? "";
    return { status: response.status, headers: response.headers, text: await response.text(), location };
  }
}

/** The letters in a folder of a `file:` mailer, the oldest first, with their text decoded. */
export function lettersIn(
  folder: string,
): readonly { readonly to: string; readonly subject: string; readonly text: string }[] {
  const files = (() => {
    try {
      return readdirSync(folder)
        .filter((name) => name.endsWith(".eml") && !name.startsWith("."))
        .sort();
    } catch {
      return [];
    }
  })();
  return files.map((name) => {
    const raw = readFileSync(join(folder, name), "utf8");
    const end = raw.indexOf("\r\n\r\n");
    const head = raw.slice(0, end).replace(/\r\n[ \t]+/g, " ");
    const header = (field: string): string => new RegExp(`^${field}: (.*)$`, "mi").exec(head)?.[1] ?? "";
    const body = raw.slice(end + 4);
    const coding = header("Content-Transfer-Encoding").toLowerCase();
    const text =
      coding === "base64"
        ? Buffer.from(body, "base64").toString("utf8")
        : coding === "quoted-printable"
          ? Buffer.from(
              body
                .replace(/=\r\n/g, "")
                .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
              "latin1",
            ).toString("utf8")
          : body;
    return { to: header("To"), subject: header("Subject"), text };
  });
}

/** Waits for the newest code that was sent to an address, after as many letters as there were before. */
export const codeFor = async (folder: string, email: string, before = 0): Promise<string> =>
  eventually(`a code for ${email}`, () => {
    const letters = lettersIn(folder).filter(({ to }) => to.includes(email));
    const codes = letters.flatMap(({ text }) => /^ {4}(\d{6})\r?$/m.exec(text)?.[1] ?? []);
    return codes.length > before ? codes.at(-1) : undefined;
  });

/** How many codes were sent to an address. */
export const codesSent = (folder: string, email: string): number =>
  lettersIn(folder).filter(({ to, text }) => to.includes(email) && /^ {4}\d{6}\r?$/m.test(text)).length;

/** Signs in, from the form for the address to where it leads. */
export async function signIn(visitor: Visitor, folder: string, email: string, next?: string): Promise<PageAnswer> {
  const before = codesSent(folder, email);
  const start = await visitor.get(`/sign-in${next === undefined ? "" : `?next=${encodeURIComponent(next)}`}`);
  const sent = await visitor.submit(formOf(start, "/sign-in"), { email });
  const page = await visitor.get(sent.location);
  return visitor.submit(formOf(page, "/sign-in/code"), { code: await codeFor(folder, email, before) });
}
