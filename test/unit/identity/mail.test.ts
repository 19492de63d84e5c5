/** Letters: each goes to one mailbox with the headers that we wrote, as a file or over SMTP; what cannot be sent is logged. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { parseEmail } from "../../../engine/base/ids.js";
import type { Email } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createLog } from "../../../engine/base/log.js";
import { openMailer } from "../../../engine/identity/people/mail.js";
import { fakeClock } from "../../support/fake-clock.js";
import { lettersIn } from "../../support/callers/visitor.js";

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const email = (text: string): Email => {
  const parsed = parseEmail(text);
  if (parsed === undefined) throw new Error(`not an address: ${text}`);
  return parsed;
};

function mailer(url?: string) {
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-mail-"));
  undo.push(() => {
    rmSync(dataDir, { recursive: true, force: true });
  });
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => lines.push(line) });
  return {
    ...openMailer({ url, from: email("kurier@ap.example"), dataDir, clock: fakeClock(), log }),
    folder: join(dataDir, "mail"),
    lines,
  };
}

/** An SMTP server that takes everything and keeps what it heard. */
async function smtp(): Promise<{ readonly url: string; readonly heard: string[] }> {
  const heard: string[] = [];
  const server: Server = createServer((socket) => {
    let isData = false;
    socket.write("220 test\r\n");
    socket.on("data", (chunk) => {
      const text = chunk.toString("utf8");
      heard.push(text);
      if (isData) {
        isData = !text.endsWith("\r\n.\r\n");
        if (!isData) socket.write("250 taken\r\n");
      } else if (/^DATA/i.test(text)) {
        isData = true;
        socket.write("354 go on\r\n");
      } else socket.write(/^QUIT/i.test(text) ? "221 bye\r\n" : "250 ok\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  undo.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

test("a letter is a file that only its owner reads, with the words as they were written", async () => {
  const { post, stop, folder } = mailer();
  post({ to: email("jana@firma.example"), subject: "Kód 123456 – prihlásenie", text: "Dobrý deň,\n\n    123456\n" });
  await stop();
  const [letter] = lettersIn(folder);
  expect(letter?.to).toBe("jana@firma.example");
  expect(letter?.text.replaceAll("\r\n", "\n")).toContain("Dobrý deň,\n\n    123456\n");
  const [name = ""] = readdirSync(folder);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
});

test.each(["\r\n", "\n", "\r", "\r\n "])("a subject with %j makes no header of its own", async (end) => {
  const { post, stop, folder } = mailer();
  post({ to: email("jana@firma.example"), subject: `Hello${end}Bcc: other@evil.example`, text: "x" });
  await stop();
  const [letter] = lettersIn(folder);
  expect(letter?.subject.replace(/ +/g, " ")).toBe("Hello Bcc: other@evil.example");
});

test("letters leave over SMTP to the one mailbox that was named", async () => {
  const { url, heard } = await smtp();
  const { post, stop } = mailer(url);
  post({ to: email("jana@firma.example"), subject: "Hello", text: "Text" });
  await stop();
  const said = heard.join("");
  expect(said.match(/^RCPT TO:.*$/gim)).toEqual(["RCPT TO:<jana@firma.example>"]);
  expect(said).toMatch(/^MAIL FROM:<kurier@ap\.example>/im);
  expect(said).toMatch(/^Auto-Submitted: auto-generated/im);
});

test("a mail server that is away costs the letter and a line of the log without the address, and nothing else", async () => {
  const { post, stop, lines } = mailer("smtp://127.0.0.1:1");
  post({ to: email("jana@firma.example"), subject: "Hello", text: "Text" });
  await stop();
  expect(lines.join("")).toContain("mail.failed");
  expect(lines.join("")).not.toContain("jana");
});

test("more letters at once than the bound are dropped and logged", async () => {
  const { post, stop, folder, lines } = mailer();
  for (let n = 0; n < LIMITS.mails_under_way_max + 3; n += 1)
    post({ to: email("jana@firma.example"), subject: String(n), text: "x" });
  await stop();
  expect(lettersIn(folder)).toHaveLength(LIMITS.mails_under_way_max);
  expect(lines.filter((line) => line.includes("mail.dropped"))).toHaveLength(3);
});

test("a letter that is only rehearsed reaches nobody", async () => {
  const { url, heard } = await smtp();
  for (const { rehearse, stop, folder, lines } of [mailer(), mailer(url)]) {
    rehearse({ to: email("nobody@firma.example"), subject: "Hello", text: "x" });
    await stop();
    expect([lettersIn(folder), heard, lines]).toEqual([[], [], []]);
  }
});
