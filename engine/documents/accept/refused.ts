/** What is kept of a document that the rules refuse at a door where nobody waits for the answer. */
import type { Clock } from "../../base/clock.js";
import { ERRORS } from "../../base/errors.js";
import type { ErrorDetail, Refusal } from "../../base/errors.js";
import { newId } from "../../base/ids.js";
import { outboundLifecycle } from "../../lifecycle/document.js";
import { keepRefused } from "../../storage/documents/documents.js";
import type { NewDocument } from "../../storage/documents/documents.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

const isFault = ({ severity }: ErrorDetail): boolean => severity !== "warning" && severity !== "information";

/**
 * Keeps a document as `validation_failed`, with the event that tells of it, under no name of the caller's: a refusal
 * burns nothing. Safe to repeat.
 * @throws Refusal TEMPORARY
 * @source spec/rulings.md, section 5, rules refused after acceptance
 */
export async function keep(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  { validationResult, ...document }: NewDocument,
  { reason, message, details }: Refusal,
): Promise<void> {
  const noted = (some: readonly ErrorDetail[]) =>
    some.map(({ ruleId, code, location, message: text }) => ({
      ruleId: ruleId ?? code ?? ERRORS[reason].enterprise,
      location: location ?? "/",
      message: text,
    }));
  const kept = {
    ...document,
    erpDocumentId: undefined,
    idempotencyKey: undefined,
    validationResult: {
      ...(validationResult as object),
      errors: noted(details.filter(isFault)),
      warnings: noted(details.filter((detail) => !isFault(detail))),
    },
  };
  const events = outboundLifecycle.queued.rules_refused.emits.map((kind) => ({
    id: newId(clock),
    kind,
    detail: message,
  }));
  await orTemporary(keepRefused(sql, kept, { reason: message, events }));
}
