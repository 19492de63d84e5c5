/** `kurier keys rotate-master`: what earlier master keys have sealed is sealed under MASTER_KEY, while engines run. */
import { loadConfig } from "../../../engine/base/config.js";
import { FirmKeyFailure } from "../../../engine/storage/keyring/firm-key-files.js";
import { rewrapFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import type { OnKeyLeft } from "../../../engine/storage/keyring/firm-keys.js";
import { wrapEarlierKeys } from "../../../engine/storage/keyring/keyring.js";
import type { Keyring } from "../../../engine/storage/keyring/keyring.js";
import { resealTable } from "../../../engine/storage/keyring/reseal.js";
import type { OnLeft } from "../../../engine/storage/keyring/reseal.js";
import { resealFacts } from "../../../engine/storage/keyring/reseal-facts.js";
import { FIRM_KEY_PREFIX, KeyMissing } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { openKeys } from "../../start/data-dir.js";
import { EXIT, parseArguments } from "../command.js";
import type { Command } from "../command.js";
import { withDatabase } from "../database.js";
import { complain, plain, print, progress } from "../terminal.js";
import { SEALED } from "./sealed-columns.js";

/** Rows that do not open, and missing keys, that are named; of the other rows it is said how many they are. */
const NAMED = 20;

/** Goes over every table once. @returns how many values were sealed again */
async function resealAll(sql: Sql, { sealer }: Keyring, onLeft?: OnLeft): Promise<number> {
  let values = 0;
  const bar = progress("sealing", SEALED.length);
  for (const [index, of] of SEALED.entries()) {
    values += await resealTable(sql, of, sealer, onLeft);
    bar.step(index + 1);
  }
  bar.end();
  return values + (await resealFacts(sql, sealer, "all", onLeft));
}

/**
 * Seals everything under the key that seals now, then puts the earlier keys under it.
 * Nodes that have not been told of the key go on to seal under theirs: what they did during a pass is found by the
 * next, and what they do afterwards is read by the keys that are kept.
 * What firms' keys have sealed stays: those keys are wrapped again, and what the master key has sealed of a firm goes
 * under the firm's, where firms have keys.
 * @param onLeft  hears of what does not open, once each, and it stays as it is; the keys that sealed it are kept, so
 *   that a copy of it can be put back later. @default it is thrown
 * @param onKeyLeft  hears of keys of firms that were not wrapped again; then no master key is replaced, for who puts
 *   one of them back may need it. @default that is thrown
 * @returns how many values were sealed again, how many firms' keys were wrapped again, and the ids of the keys that
 *   were replaced, undefined where a firm's key is left
 */
export async function rotateMaster(
  sql: Sql,
  keyring: Keyring,
  onLeft?: OnLeft,
  onKeyLeft?: OnKeyLeft,
): Promise<{ readonly values: number; readonly wrapped: number; readonly replaced: readonly string[] | undefined }> {
  const { sealer, firmKeys } = keyring;
  const first = await resealAll(sql, keyring, onLeft && (() => undefined));
  const second = await resealAll(sql, keyring, onLeft);
  let left = 0;
  const hear: OnKeyLeft | undefined =
    onKeyLeft &&
    ((file, error) => {
      left += 1;
      onKeyLeft(file, error);
    });
  const wrapped = firmKeys === undefined ? 0 : await rewrapFirmKeys(sealer, firmKeys, hear);
  return { values: first + second, wrapped, replaced: left > 0 ? undefined : await wrapEarlierKeys(sql, keyring) };
}

/** The firm whose key is missing; undefined for a master key, and for what is damaged. */
const firmIn = (keyId: string | undefined): string | undefined =>
  keyId?.startsWith(FIRM_KEY_PREFIX) === true ? plain(keyId.slice(FIRM_KEY_PREFIX.length)) : undefined;

function sentenceOf(table: string, id: string, missingKeyId: string | undefined): string {
  const firmId = firmIn(missingKeyId);
  if (firmId !== undefined)
    return `The row ${plain(id)} of ${table} was left as it is: the key of its firm ${firmId} cannot be had.`;
  const why = missingKeyId === undefined ? "" : `, for its key ${plain(missingKeyId)} is missing`;
  return `The row ${plain(id)} of ${table} does not open${why}; it was left as it is.`;
}

/** What an operator is told of rows that do not open: damaged ones are restored, keys that are missing are given. */
export function createUnopenedReport(say: (sentence: string) => void): {
  readonly hear: OnLeft;
  /** Whether a row waits for a key that was not given. */
  isKeyMissing(): boolean;
  /** @returns whether every row has opened */
  end(): boolean;
} {
  let damaged = 0;
  let keyless = 0;
  let ofFirms = 0;
  // Bounded by NAMED.
  const missing = new Set<string>();
  // Bounded by NAMED.
  const firms = new Set<string>();
  return {
    hear: (table, id, missingKeyId) => {
      if (damaged + keyless + ofFirms < NAMED) say(sentenceOf(table, id, missingKeyId));
      const firmId = firmIn(missingKeyId);
      if (firmId !== undefined) {
        ofFirms += 1;
        if (firms.size < NAMED) firms.add(firmId);
      } else if (missingKeyId === undefined) damaged += 1;
      else {
        keyless += 1;
        if (missing.size < NAMED) missing.add(plain(missingKeyId));
      }
    },
    isKeyMissing: () => keyless > 0,
    end: () => {
      if (ofFirms > 0)
        say(
          `Rows of firms whose keys cannot be had: ${ofFirms}. Restore the files of ${[...firms].join(", ")} in FIRM_KEYS from a copy, or forget who was erased with kurier firms erase, and run this again.`,
        );
      if (keyless > 0)
        say(
          `Rows that do not open, since their key is missing: ${keyless}. Give the master key ${[...missing].join(", ")} in MASTER_KEY_PREVIOUS, and run this again.`,
        );
      if (damaged > 0)
        say(
          `Rows that do not open, since they are damaged: ${damaged}. Restore them from a copy of the database; the key that sealed them is kept.`,
        );
      return damaged + keyless + ofFirms === 0;
    },
  };
}

/** What was in the way of a firm's key, in words that have nothing of it. */
function whyLeft(error: unknown): string {
  if (error instanceof KeyMissing) return `its master key ${plain(error.keyId)} is missing`;
  const isOfDisk = error instanceof FirmKeyFailure && error.cause !== undefined;
  return isOfDisk ? error.message.replace(/\.$/, "") : "it does not open";
}

/** What an operator is told of keys of firms that were not wrapped again. */
export function createLeftKeysReport(say: (sentence: string) => void): {
  readonly hear: OnKeyLeft;
  /** @returns whether there is none */
  end(): boolean;
} {
  let left = 0;
  return {
    hear: (file, error) => {
      if (left < NAMED) say(`${plain(file)} in FIRM_KEYS was left as it is: ${whyLeft(error)}.`);
      left += 1;
    },
    end: () => {
      if (left > 0)
        say(
          `Keys of firms that were not wrapped again: ${left}. Restore their files from a copy of FIRM_KEYS, or move away those of which there is none, and run this again; until then no master key is replaced, and MASTER_KEY_PREVIOUS is needed.`,
        );
      return left === 0;
    },
  };
}

/**
 * What became of the earlier master keys, in a sentence or two.
 * @param isKeyMissing  whether a row waits for a key that was not given: MASTER_KEY_PREVIOUS is needed for that one
 */
export function replacedSentences(replaced: readonly string[], isKeyMissing: boolean): string {
  if (replaced.length === 0) return "There is no other key.";
  const kept = `Kept for evidence and the payload store: ${replaced.join(", ")}.`;
  return isKeyMissing ? kept : `${kept} MASTER_KEY_PREVIOUS is needed no longer.`;
}

export const keysRotateMasterCommand: Command = {
  name: "keys rotate-master",
  summary: "Seal what earlier master keys have sealed under MASTER_KEY, while the engines run.",
  usage: [
    "kurier keys rotate-master",
    "1. Give every node the new key in MASTER_KEY_PREVIOUS, so that it can open what the others will seal.",
    "2. Give every node the new key in MASTER_KEY and the old one in MASTER_KEY_PREVIOUS.",
    "3. Run this with the same two (and FIRM_KEYS, where firms have keys). It may be ended and begun again at any time.",
    "4. Take MASTER_KEY_PREVIOUS away. The old key is kept, sealed under the new one, for evidence and the payload store.",
    "What does not open is named, left as it is, and makes the exit code 1; all else is sealed. Where it is the key of a firm, no master key is replaced.",
  ],
  run: async (args) => {
    parseArguments(args, {});
    const config = loadConfig();
    return withDatabase(config, async ({ sql }) => {
      const keyring = await openKeys(sql, config);
      const unopened = createUnopenedReport(complain);
      const leftKeys = createLeftKeysReport(complain);
      const { values, wrapped, replaced } = await rotateMaster(sql, keyring, unopened.hear, leftKeys.hear);
      print(
        `${values} values were sealed under ${keyring.sealer.keyId}${keyring.sealer.isByFirm ? ", or the keys of their firms" : ""}.`,
      );
      if (keyring.firmKeys !== undefined) print(`${wrapped} keys of firms were wrapped under it.`);
      if (replaced !== undefined) print(replacedSentences(replaced, unopened.isKeyMissing()));
      const isWhole = [unopened.end(), leftKeys.end()].every(Boolean);
      return isWhole ? EXIT.ok : EXIT.failed;
    });
  },
};
