/** EVIDENCE_STORE as a store. */
import { join, resolve } from "node:path";

import type { Clock } from "../../base/clock.js";
import { ConfigError } from "../../base/config.js";
import type { StoreUse } from "./place.js";
import type { EvidenceStore } from "./store.js";
import { openFileEvidence } from "./store-file.js";
import { openS3Evidence, parseS3Target } from "./store-s3.js";

/**
 * @param text `file:DIRECTORY`, `s3:https://KEY:SECRET@HOST/BUCKET/PREFIX?region=REGION`, or undefined for
 * DATA_DIR/evidence
 * @throws ConfigError
 */
export function openEvidenceStore(
  text: string | undefined,
  dataDir: string,
  clock: Clock,
  use: StoreUse = {},
): EvidenceStore {
  if (text?.startsWith("s3:") === true) {
    const target = parseS3Target(text);
    if (target === undefined)
      throw new ConfigError(["EVIDENCE_STORE must be s3:https://KEY:SECRET@HOST/BUCKET/PREFIX?region=REGION."]);
    return openS3Evidence(target, clock);
  }
  return openFileEvidence(fileStoreFolder(text, dataDir), use);
}

/** The folder of a store that is one: `file:DIRECTORY`, or DATA_DIR/evidence. */
function fileStoreFolder(text: string | undefined, dataDir: string): string {
  const path = text?.replace(/^file:(?:\/\/(?=\/))?/, "") ?? "";
  return path === "" ? join(dataDir, "evidence") : resolve(path);
}

/** The folder in which evidence is kept; undefined where it goes to a bucket. */
export const evidenceFolder = (text: string | undefined, dataDir: string): string | undefined =>
  text?.startsWith("s3:") === true ? undefined : fileStoreFolder(text, dataDir);
