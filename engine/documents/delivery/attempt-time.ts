/** What a fault of ours makes of an attempt. */
import type { Outcome } from "../../peppol/transport.js";
import { FirmKeyGone } from "../../storage/keyring/firm-key-files.js";

/** It is tried again, but for what nobody will ever open: its firm was erased, and its key with it. */
export const faultOf = (error: unknown): Outcome =>
  error instanceof FirmKeyGone
    ? { kind: "internal", code: "FIRM_ERASED", detail: "Its firm was erased, and its key with it.", isLast: true }
    : { kind: "internal" };
