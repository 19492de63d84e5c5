/** What an item says of itself: who sends it to whom, as which document in which process. */
import { Refusal } from "../../base/errors.js";
import type { ErrorDetail } from "../../base/errors.js";
import { parseParticipantId, participantKey } from "../../base/ids.js";
import type { FirmId, ParticipantId } from "../../base/ids.js";
import { documentTypeId, UBL_CREDIT_NOTE, UBL_INVOICE } from "../../peppol/envelope/identifiers.js";
import { findOwnParticipant } from "../../storage/documents/received.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import type { DocumentSummary, DocumentWorkers } from "../accept/validators.js";
import { senderRole } from "../declared.js";

/** How an item will be handed over for sending. */
interface Staged {
  readonly sender: ParticipantId;
  readonly receiver: ParticipantId;
  readonly documentTypeId: string;
  readonly processId: string;
}

const ROOTS = { Invoice: UBL_INVOICE, CreditNote: UBL_CREDIT_NOTE } as const;

const FIELD = "payloadXml";
const refuse = (location: string, message: string): Refusal =>
  new Refusal("DOCUMENT_INVALID", [{ field: FIELD, location, message }]);

const endpointPlace = (root: string, party: "supplier" | "customer"): string =>
  `/${root}/cac:Accounting${party === "supplier" ? "Supplier" : "Customer"}Party/cac:Party/cbc:EndpointID`;

function participantOf(summary: DocumentSummary, party: "supplier" | "customer"): ParticipantId {
  const text = summary[party].participantId;
  const parsed = text === null ? undefined : parseParticipantId(text);
  if (parsed === undefined)
    throw refuse(
      endpointPlace(summary.documentType, party),
      "Name this party's Peppol participant: the scheme in schemeID, the id as text.",
    );
  return parsed;
}

/** The type, process and parties that a document names. @throws Refusal DOCUMENT_INVALID when it does not name them */
function stagedAs(summary: DocumentSummary): Staged {
  const { documentType: rootLocal, customizationId, profileId } = summary;
  if (rootLocal === "ApplicationResponse")
    throw refuse("/", "Hand over an invoice or a credit note; answer received ones with respond.");
  if (customizationId === null)
    throw refuse(`/${rootLocal}/cbc:CustomizationID`, "Name the specification that the document follows.");
  if (profileId === null) throw refuse(`/${rootLocal}/cbc:ProfileID`, "Name the process that the document belongs to.");
  const type = documentTypeId({ rootNamespace: ROOTS[rootLocal], rootLocal, customizationId, version: "2.1" });
  const sends = senderRole(type);
  return {
    sender: participantOf(summary, sends),
    receiver: participantOf(summary, sends === "supplier" ? "customer" : "supplier"),
    documentTypeId: type,
    processId: profileId,
  };
}

const findingDetail = ({
  ruleId,
  location,
  message,
}: {
  readonly ruleId: string;
  readonly location: string;
  readonly message: string;
}): ErrorDetail => ({ field: FIELD, ruleId, location, message });

/**
 * Reads a payload as far as it must be known before it can wait; its rules are judged on the day on which it is sent.
 * @throws Refusal DOCUMENT_INVALID for what is no readable invoice or credit note, SAPI-DOC-025 when the party that
 * sends is no participant of the firm, TEMPORARY
 */
export async function stage(
  { sql, workers }: { readonly sql: Sql; readonly workers: Pick<DocumentWorkers, "parse"> },
  firmId: FirmId,
  payload: Buffer,
): Promise<Staged> {
  const parsed = await workers.parse(payload, { fairnessKey: firmId });
  if (parsed.kind === "refused") throw new Refusal("DOCUMENT_INVALID", parsed.findings.map(findingDetail));
  const staged = stagedAs(parsed.summary);
  const own = await orTemporary(findOwnParticipant(sql, participantKey(staged.sender)));
  if (own?.firmId !== firmId)
    throw new Refusal("SAPI-DOC-025", [
      {
        field: FIELD,
        issue: "sender_endpoint_mismatch",
        location: endpointPlace(parsed.summary.documentType, senderRole(staged.documentTypeId)),
        message: "The EndpointID of the party that sends the document is no participant of this firm.",
      },
    ]);
  return staged;
}
