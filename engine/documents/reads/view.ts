/** A document as a person reads it: drawn from its payload in a worker each time, so that nothing is kept twice. */
import { Refusal } from "../../base/errors.js";
import type { FirmId } from "../../base/ids.js";
import { findSealedPayload } from "../../storage/payloads/find.js";
import { openPayload } from "../../storage/payloads/payloads.js";
import { sha256InSlices } from "../../storage/payloads/slices.js";
import type { Sealer } from "../../storage/sealer.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { DocumentWorkers, Shown, ViewOptions } from "../accept/validators.js";

interface ViewPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly validators: Pick<DocumentWorkers, "view">;
}

/**
 * @param id  of a document that the firm sent, or of a received one
 * @throws Refusal NOT_FOUND for a document that is missing or of another firm; DOCUMENT_INVALID for one that is neither
 *   an invoice nor a credit note; TEMPORARY
 */
export async function viewDocument(
  { sql, sealer, validators }: ViewPorts,
  firmId: FirmId,
  id: string,
  options: Omit<ViewOptions, "fairnessKey">,
): Promise<Shown> {
  const stored = await orTemporary(findSealedPayload(sql, firmId, id));
  if (stored === undefined) throw new Refusal("NOT_FOUND");
  const payload = await openPayload(sealer, id, stored.keyId, stored.sealed);
  if ((await sha256InSlices(payload)) !== stored.sha256) throw new Error("the stored payload differs from its digest");
  return viewPayload(validators, payload, { ...options, fairnessKey: firmId });
}

/** The same for a document that is not stored. @throws Refusal DOCUMENT_INVALID, TEMPORARY */
export async function viewPayload(
  validators: ViewPorts["validators"],
  payload: Uint8Array,
  options: ViewOptions,
): Promise<Shown> {
  const view = await validators.view(payload, options);
  if (view.kind === "shown") return view;
  throw new Refusal(
    "DOCUMENT_INVALID",
    view.findings.map(({ ruleId, severity, location, message }) => ({
      field: "document",
      ruleId,
      severity,
      location,
      message,
    })),
  );
}
