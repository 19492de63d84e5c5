/**
 * Letters to people: handed over in the background, so that no answer takes longer because a letter leaves.
 *
 * A letter that cannot be sent is logged and lost: whoever waits for a code asks for another.
 */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, unlink, writeFile } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { createTransport } from "nodemailer";

import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import type { Email } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";

/** One letter in plain text. */
interface Letter {
  /** An address that parseEmail took: it cannot name a second recipient or a header. */
  readonly to: Email;
  readonly subject: string;
  readonly text: string;
}

/** Where letters are handed over. */
export interface Mailer {
  /** Takes a letter; it leaves in the background. */
  post(letter: Letter): void;
  /**
   * Writes a letter that goes to nobody: whoever measures cannot tell by our work whether one was sent. What is beyond
   * the bound is left out.
   */
  rehearse(letter: Letter): void;
  /** Waits for the letters under way. */
  stop(): Promise<void>;
}

interface MailerOptions {
  /** `smtp:`, `smtps:` or `file:`. @default file:DATA_DIR/mail */
  readonly url: string | undefined;
  readonly from: Email;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

type Hand = (letter: Letter) => Promise<void>;

/** A line of a header: what would end it is taken out, whoever wrote it. */
const headerLine = (text: string): string => text.replace(/\p{Cc}+/gu, " ").trim();

const messageOf = (from: Email, { to, subject, text }: Letter) => ({
  from: { name: "Kurier", address: from },
  to: { name: "", address: to },
  subject: headerLine(subject),
  text,
  // Out-of-office answers to a code help nobody. RFC 3834.
  headers: { "Auto-Submitted": "auto-generated" },
  disableFileAccess: true,
  disableUrlAccess: true,
});

/** Writes each letter as a file that mail programs open; the oldest make room. */
function fileHand(folder: string, { from, clock }: MailerOptions): Hand {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  // Letters of one instant stay in their order.
  let written = 0;
  return async (letter) => {
    const { message } = await transport.sendMail(messageOf(from, letter));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    written += 1;
    const name = `${isoInstant(clock.now()).replace(/[:.]/g, "-")}-${String(written).padStart(6, "0")}-${randomUUID()}.eml`;
    await writeFile(join(folder, `.${name}`), message as Buffer, { mode: 0o600 });
    await rename(join(folder, `.${name}`), join(folder, name));
    const letters = (await readdir(folder)).filter((file) => file.endsWith(".eml") && !file.startsWith(".")).sort();
    for (const old of letters.slice(0, Math.max(0, letters.length - LIMITS.mail_files_max)))
      await unlink(join(folder, old));
  };
}

function smtpHand(url: string, { from }: MailerOptions): Hand {
  const transport = createTransport({
    url,
    connectionTimeout: LIMITS.mail_timeout_ms,
    greetingTimeout: LIMITS.mail_timeout_ms,
    socketTimeout: LIMITS.mail_timeout_ms,
  });
  return async (letter) => {
    await transport.sendMail(messageOf(from, letter));
  };
}

/** The folder that a `file:` URL means; a relative one is taken from where the engine was started. */
const folderOf = (url: string): string => {
  const path = decodeURIComponent(url.slice("file:".length).replace(/^\/\/(?=\/)/, ""));
  return isAbsolute(path) ? path : resolve(path);
};

/** Opens the way that SMTP_URL names; nothing connects before the first letter. */
export function openMailer(options: MailerOptions): Mailer {
  const { url, log, dataDir } = options;
  const hand =
    url === undefined || url.startsWith("file:")
      ? fileHand(url === undefined ? join(dataDir, "mail") : folderOf(url), options)
      : smtpHand(url, options);
  const rehearsal = createTransport({ streamTransport: true, buffer: true });
  const underWay = new Set<Promise<void>>();
  const begin = (work: Promise<void>): void => {
    const done: Promise<void> = work
      .catch((error: unknown) => {
        log.error("mail.failed", errorFields(error));
      })
      .finally(() => {
        underWay.delete(done);
      });
    if (underWay.size < LIMITS.mails_under_way_max) underWay.add(done);
  };
  const isFull = (): boolean => underWay.size >= LIMITS.mails_under_way_max;
  return {
    post: (letter) => {
      if (isFull()) log.error("mail.dropped", { count: underWay.size });
      else begin(hand(letter));
    },
    rehearse: (letter) => {
      if (!isFull()) begin(rehearsal.sendMail(messageOf(options.from, letter)).then(() => undefined));
    },
    stop: async () => {
      await Promise.all(underWay);
    },
  };
}
