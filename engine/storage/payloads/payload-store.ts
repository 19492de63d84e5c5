/**
 * Where payloads are that have left Postgres: many in one object, as they were sealed. A pool knows its store, so that
 * whoever reads a payload need not know where it is.
 */
import { resolve } from "node:path";

import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import type { StoreUse } from "../evidence/place.js";
import { evidenceRef } from "../evidence/store.js";
import { openFileEvidence } from "../evidence/store-file.js";
import type { Sql } from "../sql.js";

export interface PayloadStore {
  /** The name under which octets are stored now; of the same octets in another hour it is another. */
  nameOf(bytes: Buffer): string;
  /** Stores octets under the name that they were given; resolves when they would survive a loss of power. */
  put(object: string, bytes: Buffer): Promise<void>;
  /** @throws EvidenceMissing, EvidenceStoreFailure */
  get(object: string, range: { readonly offset: number; readonly length: number }): Promise<Buffer>;
  /**
   * Removes an object; one that is not there is removed. Drafts beside it that nobody has written for half of
   * LIMITS.payload_announced_ms go with it, for their processes have ended, and so do folders that are empty.
   * @throws EvidenceStoreFailure
   */
  remove(object: string): Promise<void>;
  /** Removes the drafts and folders that `remove` would, and no object. @throws EvidenceStoreFailure */
  tidy(object: string): Promise<void>;
}

/** The folder of PAYLOAD_STORE: `file:DIRECTORY`. */
export const payloadFolder = (text: string): string => resolve(text.replace(/^file:(?:\/\/(?=\/))?/, ""));

/** @param text  PAYLOAD_STORE: `file:DIRECTORY`; several processes may share it */
export function openPayloadStore(text: string, clock: Clock, use: StoreUse = {}): PayloadStore {
  const files = openFileEvidence(payloadFolder(text), { ...use, contents: "Payloads" });
  // A draft is younger than its announcement, and must not outlive it; nobody writes one for half a day.
  const tidy = (object: string): Promise<void> => files.tidy(object, clock.now() - LIMITS.payload_announced_ms / 2);
  return {
    nameOf: (bytes) => evidenceRef(bytes, clock.now()),
    put: (object, bytes) => files.put(object, bytes),
    get: (object, range) => files.get(object, range),
    // How long a payload is kept is said by the row that names it, not by the store.
    remove: async (object) => {
      await files.remove(object, Number.POSITIVE_INFINITY);
      await tidy(object);
    },
    tidy,
  };
}

const stores = new WeakMap<Sql, PayloadStore>();

/** Tells a pool where the payloads are that its rows name. */
export function usePayloadStore(sql: Sql, store: PayloadStore): void {
  stores.set(sql, store);
}

/** The store of a pool. @throws Error when it has none: then PAYLOAD_STORE is missing on this process */
export function payloadStoreOf(sql: Sql): PayloadStore {
  const store = stores.get(sql);
  if (store === undefined) throw new Error("a payload is in the payload store, and PAYLOAD_STORE is not set");
  return store;
}
