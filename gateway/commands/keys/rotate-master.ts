/** `kurier keys rotate-master`: what earlier master keys have sealed is sealed under MASTER_KEY, while engines run. */
import { loadConfig } from "../../../engine/base/config.js";
import { rewrapFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import { wrapEarlierKeys } from "../../../engine/storage/keyring/keyring.js";
import type { Keyring } from "../../../engine/storage/keyring/keyring.js";
import { resealTable } from "../../../engine/storage/keyring/reseal.js";
import { resealFacts } from "../../../engine/storage/keyring/reseal-facts.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { openKeys } from "../../start/data-dir.js";
import { EXIT, parseArguments } from "../command.js";
import type { Command } from "../command.js";
import { withDatabase } from "../database.js";
import { print, progress } from "../terminal.js";
import { SEALED } from "./sealed-columns.js";

/** Goes over every table once. @returns how many values were sealed again */
async function resealAll(sql: Sql, { sealer }: Keyring): Promise<number> {
  let values = 0;
  const bar = progress("sealing", SEALED.length);
  for (const [index, of] of SEALED.entries()) {
    values += await resealTable(sql, of, sealer);
    bar.step(index + 1);
  }
  bar.end();
  return values + (await resealFacts(sql, sealer, "all"));
}

/**
 * Seals everything under the key that seals now, then puts the earlier keys under it.
 * Nodes that have not been told of the key go on to seal under theirs: what they did during a pass is found by the
 * next, and what they do afterwards is read by the keys that are kept.
 * What firms' keys have sealed stays: those keys are wrapped again, and what the master key has sealed of a firm goes
 * under the firm's, where firms have keys.
 * @returns how many values were sealed again, how many firms' keys were wrapped again, and the ids of the keys that
 *   were replaced
 */
export async function rotateMaster(
  sql: Sql,
  keyring: Keyring,
): Promise<{ readonly values: number; readonly wrapped: number; readonly replaced: readonly string[] }> {
  const { sealer, firmKeys } = keyring;
  const first = await resealAll(sql, keyring);
  const second = await resealAll(sql, keyring);
  const wrapped = firmKeys === undefined ? 0 : await rewrapFirmKeys(sealer, firmKeys);
  return { values: first + second, wrapped, replaced: await wrapEarlierKeys(sql, keyring) };
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
  ],
  run: async (args) => {
    parseArguments(args, {});
    const config = loadConfig();
    await withDatabase(config, async ({ sql }) => {
      const keyring = await openKeys(sql, config);
      const { values, wrapped, replaced } = await rotateMaster(sql, keyring);
      print(
        `${values} values were sealed under ${keyring.sealer.keyId}${keyring.sealer.isByFirm ? ", or the keys of their firms" : ""}.`,
      );
      if (keyring.firmKeys !== undefined) print(`${wrapped} keys of firms were wrapped under it.`);
      print(
        replaced.length === 0
          ? "There is no other key."
          : `Kept for evidence and the payload store: ${replaced.join(", ")}. MASTER_KEY_PREVIOUS is needed no longer.`,
      );
    });
    return EXIT.ok;
  },
};
