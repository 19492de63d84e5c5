/** The Message Level Status of a document as its firm sees it: the one that came, or the one that we sent or owe. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import { readMls } from "../../peppol/responses/mls.js";
import type { MlsReason } from "../../peppol/responses/mls.js";
import type { OutboundState } from "../../lifecycle/document.js";
import type { ResponseReader } from "../accept/facts.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import type { Sealer } from "../../storage/sealer.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { findOwedMls, findReceivedMls } from "../../storage/documents/status-evidence.js";
import type { SealedStatus } from "../../storage/documents/status-evidence.js";

/**
 * What is known of it. `received`: it came, and counts. `owed`: it is not decided yet. The others: how far ours has
 * come.
 */
export const MLS_VIEW_STATES = [
  "received",
  "owed",
  "queued",
  "sent",
  "delivered",
  "rejected",
  "send_failed",
  "delivery_failed",
] as const satisfies readonly (OutboundState | "received" | "owed")[];
type MlsViewState = (typeof MLS_VIEW_STATES)[number];

export interface MlsView {
  /** Who said it: the receiving provider of what we sent, or we of what we received. */
  readonly direction: "received" | "sent";
  readonly state: MlsViewState;
  /** AP, AB or RE; null while it is owed. */
  readonly code: string | null;
  readonly reasonCodes: MlsReason[];
  readonly description: string | null;
  /** M2: when its author says that it was made. */
  readonly issuedAt: string | null;
  /** M3; null for ours. */
  readonly receivedAt: string | null;
  /** When ours had its receipt. */
  readonly deliveredAt: string | null;
  /** Of the document, hex. */
  readonly sha256: string | null;
}

interface MlsViewPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly validators: ResponseReader;
}

/**
 * @param id  of a sent document; whose it is has been checked. @returns null when none came. @throws Refusal TEMPORARY
 */
export async function readReceivedMls(ports: MlsViewPorts, id: string): Promise<MlsView | null> {
  const found = await orTemporary(findReceivedMls(ports.sql, id));
  if (found === undefined) return null;
  return {
    direction: "received",
    state: "received",
    ...(await contentOf(ports, found)),
    receivedAt: isoInstant(found.receivedAt),
    deliveredAt: null,
    sha256: found.sha256,
  };
}

/**
 * @param id  of a received document; whose it is has been checked. @returns null when none is owed: a success that
 * nobody asked to be told of. @throws Refusal TEMPORARY
 */
export async function readOwedMls(ports: MlsViewPorts, id: string): Promise<MlsView | null> {
  const found = await orTemporary(findOwedMls(ports.sql, id));
  if (found === undefined) return null;
  const { message } = found;
  if (message === undefined) {
    return found.decided
      ? null
      : {
          direction: "sent",
          state: "owed",
          code: null,
          reasonCodes: [],
          description: null,
          issuedAt: null,
          receivedAt: null,
          deliveredAt: null,
          sha256: null,
        };
  }
  const state = MLS_VIEW_STATES.find((known) => known === message.status) ?? "queued";
  return {
    direction: "sent",
    state,
    ...(await contentOf(ports, message)),
    receivedAt: null,
    deliveredAt: isoOrNull(message.deliveredAt),
    sha256: message.sha256,
  };
}

/** What it says; what cannot be read any more still has its code. */
async function contentOf(
  { sealer, validators }: MlsViewPorts,
  status: SealedStatus,
): Promise<Pick<MlsView, "code" | "reasonCodes" | "description" | "issuedAt">> {
  const payload = await openPayload(sealer, status.id, status.payloadKeyId, status.payloadSealed);
  const read = readMls(await validators.response(payload));
  if (typeof read === "string") return { code: status.code, reasonCodes: [], description: null, issuedAt: null };
  return {
    code: read.code,
    reasonCodes: [...new Set(read.issues.map(({ reason }) => reason))].sort(),
    description: read.description ?? null,
    issuedAt: isoInstant(read.issuedAt),
  };
}
