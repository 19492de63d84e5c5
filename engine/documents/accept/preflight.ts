/** What would become of a document if it were sent now. Nothing is written. */
import type { ErrorDetail, Refusal } from "../../base/errors.js";
import type { Recipient } from "../../peppol/discovery/acceptance.js";
import { findPrecedent } from "../../storage/documents/documents.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { DOORS } from "./doors.js";
import type { HashedRequest, SendRequest } from "./request.js";
import { askRecipient, hashed, judgeSend, refusalOfConflict } from "./send.js";
import type { SendPorts } from "./send.js";
import { refuseSend } from "./send-checks.js";

/** The verdicts of a send, one beside the other: a send stops at the first that speaks against it. */
interface Preflight {
  /** What the checks of the door refuse the document for; undefined when it passes them. */
  readonly refusal: Refusal | undefined;
  /** What the rules only warn of. */
  readonly warnings: readonly ErrorDetail[];
  /** Undefined for a document that cannot be read: nobody knows what to ask the recipient for. */
  readonly recipient: Recipient | undefined;
  /** The conflict with an earlier document; undefined when there is none, also where the request is its repeat. */
  readonly conflict: Refusal | undefined;
}

export type PreflightPorts = Pick<SendPorts, "sql" | "validators" | "recipients">;

/** @throws Refusal TEMPORARY */
export async function preflight(ports: PreflightPorts, asked: SendRequest): Promise<Preflight> {
  const judged = await judgeSend(ports, asked);
  if (judged.kind === "unjudged") throw judged.error;
  const { inspection } = judged;
  const request = await hashed(ports.sql, asked, judged);
  return {
    refusal: refuseSend(request, inspection, DOORS[request.door].checks),
    warnings: inspection.findings
      .filter(({ severity }) => severity === "warning" || severity === "information")
      .map(({ ruleId, severity, location, message }) => ({ ruleId, severity, location, message })),
    recipient: inspection.facts === undefined ? undefined : await askRecipient(ports, request),
    conflict: await conflictOf(ports.sql, request),
  };
}

async function conflictOf(sql: Sql, request: HashedRequest): Promise<Refusal | undefined> {
  const found = await orTemporary(findPrecedent(sql, request));
  return found === undefined || "replyBody" in found ? undefined : refusalOfConflict(sql, request, found);
}
