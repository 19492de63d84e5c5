/**
 * A key for each firm: what belongs to a firm is sealed under its own key, so that who removes that key has removed
 * every copy of what it sealed. Keys that were used are held in memory; a firm's first sealing makes its key.
 */
import { BoundedMap } from "../../base/bounded.js";
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import type { FirmKeyUse } from "../../base/config.js";
import { temporary } from "../../base/errors.js";
import { parseFirmId, randomOctets } from "../../base/ids.js";
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { boxOf, FIRM_KEY_PREFIX } from "../sealer.js";
import type { KeyBox, Sealer } from "../sealer.js";
import type { Sql } from "../sql.js";
import { FirmKeyFailure, FirmKeyGone, keyOf, openFirmKeyFiles } from "./firm-key-files.js";
import type { FirmKeyFiles, WrappedKey } from "./firm-key-files.js";
import { readKeyOnce, rememberKeys, rememberOlderKeys } from "./firm-keys-made.js";
import { MasterKeyError } from "./keyring.js";
import type { Keyring } from "./keyring.js";

const KEY_BYTES = 32;
const contextOf = (firmId: FirmId): string => `firm key ${firmId}`;

/** The firm whose key an id names; undefined for the id of a master key. */
const firmOfKey = (keyId: string): FirmId | undefined =>
  keyId.startsWith(FIRM_KEY_PREFIX) ? parseFirmId(keyId.slice(FIRM_KEY_PREFIX.length)) : undefined;

interface KeyRoom {
  readonly sql: Sql;
  readonly files: FirmKeyFiles;
  readonly name: string;
  /** Wraps and unwraps. */
  readonly ring: Sealer;
  readonly clock: Clock;
}

interface Held {
  readonly box: KeyBox;
  /** In monotonic time. A key that was erased by another process is forgotten then at the latest. */
  readonly until: number;
}

interface FirmBoxes {
  /** The box of a firm that has a key. @throws FirmKeyGone, FirmKeyFailure */
  readonly find: (firmId: FirmId) => Promise<KeyBox>;
  /** As `find`, at once. */
  readonly findNow: (firmId: FirmId) => KeyBox;
  /** The box of a firm, which has a key afterwards. @throws FirmKeyGone, FirmKeyFailure, also where its key is lost */
  readonly make: (firmId: FirmId) => Promise<KeyBox>;
}

function holdBoxes({ sql, files, name, ring, clock }: KeyRoom): FirmBoxes {
  const held = new BoundedMap<FirmId, Held>(LIMITS.firm_keys_held);
  const known = (firmId: FirmId): KeyBox | undefined => {
    const found = held.use(firmId);
    return found !== undefined && found.until > clock.monotonic() ? found.box : undefined;
  };
  const hold = (firmId: FirmId, wrapped: WrappedKey | undefined): KeyBox => {
    if (wrapped === undefined) throw new FirmKeyFailure(`The key of the firm ${firmId} is not in FIRM_KEYS.`);
    const box = boxOf(ring.open(wrapped.by, wrapped.sealed, contextOf(firmId)));
    held.set(firmId, { box, until: clock.monotonic() + LIMITS.firm_key_held_ms });
    return box;
  };
  const newKey = (firmId: FirmId): WrappedKey => ({
    by: ring.keyId,
    sealed: ring.seal(randomOctets(KEY_BYTES), contextOf(firmId)),
  });
  return {
    find: async (firmId) => known(firmId) ?? hold(firmId, await files.read(firmId)),
    findNow: (firmId) => known(firmId) ?? hold(firmId, files.readNow(firmId)),
    make: async (firmId) => {
      const box = known(firmId);
      if (box !== undefined) return box;
      const wrapped = (await readKeyOnce(sql, files, firmId)) ?? (await files.add(firmId, newKey(firmId), name));
      await rememberKeys(sql, [firmId], clock);
      return hold(firmId, wrapped);
    },
  };
}

/** While the directory is away, whoever asks for a document is told to come again. */
function comeAgain(error: unknown): never {
  throw error instanceof FirmKeyFailure && error.passing ? temporary() : error;
}

/** The ring's sealer, which knows the keys of firms too, and seals under them where it is to. */
function firmSealer(ring: Sealer, boxes: FirmBoxes, use: FirmKeyUse): Sealer {
  const boxNow = (firmId: FirmId): KeyBox => {
    try {
      return boxes.findNow(firmId);
    } catch (error) {
      return comeAgain(error);
    }
  };
  const sealer: Sealer = {
    ...ring,
    isByFirm: use === "seal",
    open: (keyId, sealed, context) => {
      const firmId = firmOfKey(keyId);
      return firmId === undefined ? ring.open(keyId, sealed, context) : boxNow(firmId).open(sealed, context);
    },
    openInSlices: async (keyId, sealed, context) => {
      const firmId = firmOfKey(keyId);
      if (firmId === undefined) return ring.openInSlices(keyId, sealed, context);
      const box = await boxes.find(firmId).catch(comeAgain);
      return box.openInSlices(sealed, context);
    },
    forFirm: async (firmId) => {
      if (firmId === undefined || use === "open") return sealer;
      const { seal, sealInSlices } = await boxes.make(firmId).catch(comeAgain);
      return { ...sealer, keyId: `${FIRM_KEY_PREFIX}${firmId}`, seal, sealInSlices };
    },
  };
  return sealer;
}

/** The name of the directory whose keys seal what a database has; undefined while none does. */
async function registeredName(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ readonly name: string }[]>`select name from firm_key_store`;
  return row?.name;
}

/** Writes down whose keys seal from now on. Safe from several nodes at once. @returns the name that is written down */
async function register(sql: Sql, name: string, clock: Clock): Promise<string | undefined> {
  await sql`
    insert into firm_key_store (name, made_at) values (${name}, ${isoInstant(clock.now())}) on conflict do nothing`;
  return registeredName(sql);
}

const WRONG = "FIRM_KEYS is not the directory whose keys seal what is stored; give that one.";
const MISSING = "FIRM_KEYS is missing: what is stored is sealed under the keys of firms in such a directory.";

/**
 * The directory of a database's firms' keys, looked at and left as it is.
 * @param text  FIRM_KEYS
 * @returns undefined where firms have no keys
 * @throws MasterKeyError when it is not given although keys of it seal what is stored, or is another; FirmKeyFailure
 */
export async function checkFirmKeys(sql: Sql, text: string | undefined): Promise<FirmKeyFiles | undefined> {
  return (await openChecked(sql, text))?.files;
}

/** As checkFirmKeys, with the directory's name where it is written down. */
async function openChecked(
  sql: Sql,
  text: string | undefined,
): Promise<{ readonly files: FirmKeyFiles; readonly registered: string | undefined } | undefined> {
  const registered = await registeredName(sql);
  if (text === undefined) {
    if (registered !== undefined) throw new MasterKeyError(MISSING);
    return undefined;
  }
  const files = openFirmKeyFiles(text);
  if (registered !== undefined && (await files.name()) !== registered) throw new MasterKeyError(WRONG);
  return { files, registered };
}

/**
 * A ring that knows the keys of firms.
 * @param options.text  FIRM_KEYS; undefined leaves the ring as it is
 * @param options.use  seal writes down that keys of this directory seal from now on
 * @throws MasterKeyError as checkFirmKeys does; FirmKeyFailure
 */
export async function joinFirmKeys(
  sql: Sql,
  keyring: Keyring,
  options: { readonly text: string | undefined; readonly use: FirmKeyUse; readonly clock: Clock },
): Promise<Keyring> {
  const { text, use, clock } = options;
  const opened = await openChecked(sql, text);
  if (opened === undefined) return keyring;
  const { files, registered } = opened;
  // One that is written down is never named again: a file system that was unmounted meanwhile leaves an empty folder.
  const name = registered ?? (await files.baptise());
  if (use === "seal" && (await register(sql, name, clock)) !== name) throw new MasterKeyError(WRONG);
  if (use === "seal") await rememberOlderKeys(sql, files, clock);
  const ring = keyring.sealer;
  return { ...keyring, sealer: firmSealer(ring, holdBoxes({ sql, files, name, ring, clock }), use), firmKeys: files };
}

/** Hears of a firm's key that was not wrapped again and is left as it is: its file, and what was in the way. */
export type OnKeyLeft = (file: string, error: unknown) => void;

/** Wraps the key of a firm again where another master key has wrapped it. @returns whether it was written */
async function rewrap(ring: Sealer, files: FirmKeyFiles, firmId: FirmId): Promise<boolean> {
  const wrapped = await files.read(firmId);
  if (wrapped === undefined || wrapped.by === ring.keyId) return false;
  const key = ring.open(wrapped.by, wrapped.sealed, contextOf(firmId));
  await files.replace(firmId, { by: ring.keyId, sealed: ring.seal(key, contextOf(firmId)) });
  return true;
}

/**
 * Wraps every firm's key that another master key has wrapped under the one that seals, and leaves no draft that the
 * other opens.
 * @param onLeft  hears of each key that does not open, or whose file cannot be written. @default that is thrown
 * @returns how many were wrapped
 * @throws FirmKeyFailure also where the directory is no longer the one that it was
 */
export async function rewrapFirmKeys(ring: Sealer, files: FirmKeyFiles, onLeft?: OnKeyLeft): Promise<number> {
  await files.removeDrafts(ring.keyId);
  let written = 0;
  for await (const firmId of files.list()) {
    try {
      if (await rewrap(ring, files, firmId)) written += 1;
    } catch (error) {
      // It was erased while we were at it.
      if (error instanceof FirmKeyGone) continue;
      // Where the whole directory has gone no file of it is to be blamed.
      await files.mustBeThere();
      if (onLeft === undefined) throw error;
      onLeft(keyOf(firmId), error);
    }
  }
  return written;
}
