/** A document as a person reads it: drawn from its payload in a worker each time, so that nothing is kept twice. */
import { Refusal } from "../../base/errors.js";
import type { FirmId } from "../../base/ids.js";
import type { Giving } from "../inbound/inbox.js";
import type { DocumentWorkers, Shown, ViewOptions } from "../accept/validators.js";

interface ViewPorts {
  /** The exact bytes of a document, sent or received; a received one has been shown from then on. @throws Refusal */
  ubl(firmId: FirmId, id: string, giving: Giving): Promise<Buffer>;
  readonly validators: Pick<DocumentWorkers, "view">;
}

/**
 * Who looks at a received document has received it, as who fetches its UBL has.
 * @param id  of a document that the firm sent, or of a received one
 * @throws Refusal NOT_FOUND for a document that is missing or of another firm; DOCUMENT_INVALID for one that is neither
 *   an invoice nor a credit note; TEMPORARY
 */
export async function viewDocument(
  { ubl, validators }: ViewPorts,
  firmId: FirmId,
  id: string,
  { isShown, ...options }: Omit<ViewOptions, "fairnessKey"> & Giving,
): Promise<Shown> {
  return viewPayload(validators, await ubl(firmId, id, { isShown }), { ...options, fairnessKey: firmId });
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
