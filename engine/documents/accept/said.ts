/** What a request leaves to its document: the type, the process, the number, and which of the firm's participants. */
import { participantKey, parseParticipantId } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { documentTypeId as typeIdOf } from "../../peppol/envelope/identifiers.js";
import { findOwnParticipant } from "../../storage/documents/received.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { endpointOfRole, isSame, senderRole } from "../declared.js";
import { DOORS } from "./doors.js";
import type { DocumentFacts } from "./facts.js";
import type { CompleteRequest, SendRequest } from "./request.js";

/** The version of UBL of every invoice in the network, as document types name it. */
const UBL_VERSION = "2.1";

/**
 * Completes a request from its document. A door that declares a type and a process is believed; the rules hold the
 * document against them.
 * @param facts  undefined for a document that cannot be read
 * @throws Refusal TEMPORARY
 */
export async function completed(
  sql: Sql,
  request: SendRequest,
  facts: DocumentFacts | undefined,
): Promise<CompleteRequest> {
  const { documentTypeId = typeOf(facts), processId = facts?.profileId ?? "" } = request;
  const complete = { ...request, documentTypeId, processId, erpDocumentId: nameOf(request, facts) };
  if (request.documentTypeId !== undefined || facts === undefined) return complete;
  return { ...complete, sender: await senderOf(sql, complete, facts) };
}

const typeOf = (facts: DocumentFacts | undefined): string =>
  facts === undefined
    ? ""
    : typeIdOf({
        rootNamespace: facts.rootNamespace,
        rootLocal: facts.rootLocal,
        customizationId: facts.customizationId ?? "",
        version: UBL_VERSION,
      });

/** What the caller calls the document. */
function nameOf({ door, erpDocumentId }: SendRequest, facts: DocumentFacts | undefined): string | undefined {
  if (erpDocumentId !== undefined || !DOORS[door].isNamedByNumber) return erpDocumentId;
  const number = facts?.documentNumber?.trim() ?? "";
  return number === "" ? undefined : number;
}

/** A firm with several participants sends as the one that its document names. */
async function senderOf(sql: Sql, request: CompleteRequest, facts: DocumentFacts): Promise<ParticipantId> {
  const endpoint = endpointOfRole(facts, senderRole(request.documentTypeId));
  if (endpoint === undefined || isSame(endpoint, request.sender)) return request.sender;
  const named = parseParticipantId(`${endpoint.schemeId ?? ""}:${endpoint.value}`);
  if (named === undefined) return request.sender;
  const own = await orTemporary(findOwnParticipant(sql, participantKey(named)));
  return own?.firmId === request.firmId ? named : request.sender;
}
