/** Documents as the console reads them: by their id alone, and without a mark that they were read. */
import type { DocumentId, ReceivedDocumentId } from "../../../engine/base/ids.js";
import { viewPayload } from "../../../engine/documents/reads/view.js";
import type { DocumentWorkers } from "../../../engine/documents/accept/validators.js";
import { findOperatorDocument, findOperatorReceived } from "../../../engine/storage/documents/operations.js";
import { findAnyPayload, findFindingsOf, listEvidenceOf } from "../../../engine/storage/operators/find.js";
import { openPayload } from "../../../engine/storage/payloads/payloads.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { orNotFound, orTemporary } from "../../../engine/storage/sql.js";
import type { Json, Sql } from "../../../engine/storage/sql.js";
import type { DocumentSheet } from "../../web/console/document.js";

interface Ports {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly validators: Pick<DocumentWorkers, "view">;
}

type Findings = DocumentSheet["findings"];

const textAt = (finding: object, name: string): string => {
  const value = (finding as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? value : "";
};

/** Findings as they are kept: a list, or lists of errors and warnings. Their messages quote nothing of a document. */
function findingsOf(kept: Json): Findings {
  if (Array.isArray(kept))
    return kept.flatMap((finding: Json) =>
      finding === null || typeof finding !== "object"
        ? []
        : [
            {
              ruleId: textAt(finding, "ruleId"),
              severity: textAt(finding, "severity"),
              location: textAt(finding, "location"),
              message: textAt(finding, "message"),
            },
          ],
    );
  if (kept === null || typeof kept !== "object") return [];
  const { errors = null, warnings = null } = kept as { readonly errors?: Json; readonly warnings?: Json };
  return [errors, warnings].flatMap((list) => (Array.isArray(list) ? findingsOf(list) : []));
}

/** @returns undefined where there is no such document, sent or received */
export async function readDocumentSheet({ sql }: Pick<Ports, "sql">, id: string): Promise<DocumentSheet | undefined> {
  const [sent, received, kept, records] = await orTemporary(
    Promise.all([
      findOperatorDocument(sql, id as DocumentId),
      findOperatorReceived(sql, id as ReceivedDocumentId),
      findFindingsOf(sql, id),
      listEvidenceOf(sql, id),
    ]),
  );
  const evidence = records.map(({ storedAt, ...record }) => ({ ...record, storedAt: storedAt.getTime() }));
  if (sent !== undefined) {
    const { attemptList: attempts, ...document } = sent;
    return { ...document, direction: "sent", attempts, peerSeat: null, findings: findingsOf(kept), evidence };
  }
  if (received === undefined) return undefined;
  const nothing = { nextAttemptAt: null, timeline: [], attempts: [], notApplied: [], notAppliedCount: 0 };
  const { receivedAt: createdAt, findings, ...document } = received;
  return { ...nothing, ...document, createdAt, direction: "received", findings: findingsOf(findings), evidence };
}

/** Operators who look at documents share their place among the workers. */
const FAIRNESS_KEY = "operators";

/** The page of an invoice or credit note. @throws Refusal NOT_FOUND, DOCUMENT_INVALID, TEMPORARY */
export async function drawDocument({ sql, sealer, validators }: Ports, id: string): Promise<string> {
  const payload = await orNotFound(findAnyPayload(sql, id));
  const bytes = await openPayload(sealer, id, payload.keyId, payload.sealed);
  const shown = await viewPayload(validators, bytes, { fairnessKey: FAIRNESS_KEY, language: "en", format: "html" });
  return Buffer.from(shown.bytes).toString("utf8");
}
