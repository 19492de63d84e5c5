/** `kurier pki init` and `kurier pki show`: the sandbox's certificates, and when certificates end. */
import { existsSync } from "node:fs";

import { DAY_MS, isoInstant, systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { makeFolder } from "../../engine/base/files/durable.js";
import { LIMITS } from "../../engine/base/limits.js";
import { silentLog } from "../../engine/base/log.js";
import { SEAT_ID } from "../../engine/peppol/as4/user-message.js";
import { DEVELOPMENT_SEAT, ensureDevelopmentPki, hasAuthorities } from "../../engine/peppol/pki/development.js";
import type { Expiry } from "../../engine/peppol/pki/own-keys.js";
import { developmentFolder, openOwnPki } from "../../engine/peppol/pki/setup.js";
import { complain, print } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command } from "./command.js";

export const pkiInitCommand: Command = {
  name: "pki init",
  summary: "Make the development certificates of the sandbox in DATA_DIR/pki.",
  usage: [
    "kurier pki init [--seat PSK000001] [--ca FOLDER] [--force]",
    "--ca takes the authorities of another engine's DATA_DIR/pki, so that both trust each other; give each its own seat.",
    "--force makes new ones; the old folder stays as DATA_DIR/pki.old until the next time.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["seat", "ca"], flags: ["force"] });
    const seat = options.get("seat") ?? DEVELOPMENT_SEAT;
    if (!SEAT_ID.test(seat))
      throw new UsageError("--seat must be P, two capital letters and six digits, for example PSK000001.");
    const from = options.get("ca");
    if (from !== undefined && !hasAuthorities(from))
      throw new UsageError("--ca must be DATA_DIR/pki of another engine, with the keys of its authorities.");
    const config = loadConfig();
    const folder = developmentFolder(config.DATA_DIR);
    await makeFolder(config.DATA_DIR);
    const done = await ensureDevelopmentPki({
      folder,
      clock: systemClock,
      seat,
      isNew: options.has("force"),
      ...(from === undefined ? {} : { from }),
    });
    print(
      {
        created: "The development certificates are made.",
        renewed: "The development certificates are renewed.",
        kept: "There are development certificates already; --force makes new ones.",
      }[done],
    );
    return EXIT.ok;
  },
};

const HEADINGS = ["use", "name", "ends", "days", "SHA-256"] as const;

/** One line a certificate; those that end soon are marked. */
function table(expiries: readonly Expiry[], now: number): string[] {
  const rows = expiries.map(({ usage, name, notAfter, fingerprint }) => {
    const days = Math.floor((notAfter - now) / DAY_MS);
    return [usage, name, isoInstant(notAfter).slice(0, 10), notAfter < now ? "ENDED" : `${days}`, fingerprint];
  });
  const widths = HEADINGS.map((heading, i) => Math.max(heading.length, ...rows.map((row) => (row[i] ?? "").length)));
  return [HEADINGS, ...rows].map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

export const pkiShowCommand: Command = {
  name: "pki show",
  summary: "Show our certificates and the authorities we trust, with the days until they end.",
  usage: ["kurier pki show", "The exit code is 1 when one that is in use has ended or ends within 30 days."],
  run: async (args) => {
    parseArguments(args, {});
    const config = loadConfig();
    if (config.AS4_KEYSTORE === undefined && !existsSync(developmentFolder(config.DATA_DIR))) {
      complain("There are no certificates yet: run kurier pki init, or start the engine.");
      return EXIT.failed;
    }
    const { keys } = await openOwnPki({ config, dataDir: config.DATA_DIR, clock: systemClock, log: silentLog });
    const now = systemClock.now();
    const expiries = keys.expiries();
    for (const line of table(expiries, now)) print(line);
    const ending = expiries.filter(
      ({ notAfter, isInUse }) => isInUse && notAfter - now < LIMITS.certificate_expiry_notice_ms,
    );
    for (const { name, notAfter } of ending)
      complain(`${name} ${notAfter < now ? "has ended" : "ends soon"}: ${isoInstant(notAfter)}`);
    return ending.length === 0 ? EXIT.ok : EXIT.failed;
  },
};
