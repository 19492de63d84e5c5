/** What intermediaries and operators read of White Label, and the customers whom an intermediary represents. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { cutPage, placeIn } from "../../base/cursors.js";
import type { Cursors } from "../../base/cursors.js";
import { ERRORS, keyReused, Refusal } from "../../base/errors.js";
import { newId, parseUuid } from "../../base/ids.js";
import type { IntegratorId } from "../../base/ids.js";
import type { WhiteLabelState } from "../../lifecycle/white-label.js";
import {
  EXPIRED,
  findWhiteLabel,
  findWhiteLabelCustomer,
  findWhiteLabelParticipant,
  insertWhiteLabelCustomer,
  listWhiteLabelCustomers,
  listWhiteLabelParticipants,
  UNVOUCHED,
} from "../../storage/identity/white-label.js";
import type {
  CustomerCreation,
  WhiteLabelCustomerRow,
  WhiteLabelParticipantRow,
  WhiteLabelRow,
  WhiteLabelType,
} from "../../storage/identity/white-label.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { sha256 } from "../tokens/secrets.js";

export { listWhiteLabel, UNVOUCHED, WHITE_LABEL_TYPES } from "../../storage/identity/white-label.js";

interface ReadPorts {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly cursors: Cursors;
}

/** What stands beside the code of an operation that went wrong. */
const SENTENCES: Readonly<Record<string, string>> = {
  REGISTRY_CONFLICT: ERRORS.REGISTRY_CONFLICT.message,
  REGISTRY_REFUSED: ERRORS.REGISTRY_REFUSED.message,
  REGISTRY_UNAVAILABLE: "The registry could not be asked yet; it is asked again.",
  REGISTRY_UNKNOWN: "Nobody knows whether the registry has done it; the operator asks the registry.",
  [UNVOUCHED]:
    "The operator checks whether the verification token or the migration code is genuine; wait for it, and send nothing again meanwhile.",
  [EXPIRED]:
    "Nobody vouched for the verification token or the migration code in time, and the operation has ended; nothing was registered. Ask the operator what is missing, and send it again under a new Idempotency-Key.",
  INTERRUPTED: "The registry was asked and the answer was lost; the operator asks the registry.",
  IDENTIFIER_TAKEN: ERRORS.IDENTIFIER_TAKEN.message,
  CUSTOMER_REF_CONFLICT: ERRORS.CUSTOMER_REF_CONFLICT.message,
};

/** What whoever asked for an operation does after an operator has released it. */
const AFTER_RELEASE: Readonly<Record<WhiteLabelType, string>> = {
  registration:
    "The registry has not done it, and the operator has ended it; send it again under a new Idempotency-Key.",
  migration_in:
    "The registry has not done it, and the operator has ended it; send it again under a new Idempotency-Key.",
  migration_out: "The code was lost, and the operator has ended the operation; ask for a migration code again.",
};
/** What holds also after a release: sending it again would end in the same way, or the code says itself what to do. */
const LASTING: ReadonlySet<string> = new Set(["IDENTIFIER_TAKEN", "CUSTOMER_REF_CONFLICT", EXPIRED]);

/** What the code of an operation means, and what is to be done about it in the state in which the operation is. */
function sentenceOf(code: string, { status, operationType }: WhiteLabelRow): string {
  if (status === "released" && !LASTING.has(code)) return AFTER_RELEASE[operationType];
  if (status === "rejected" && code === "REGISTRY_UNAVAILABLE") return ERRORS.REGISTRY_UNAVAILABLE.message;
  return SENTENCES[code] ?? code;
}

/** An operation as it is shown. @source spec/rulings.md, section 12 */
export interface WhiteLabelOperation {
  readonly id: string;
  readonly operationType: WhiteLabelType;
  readonly status: WhiteLabelState;
  readonly customerRef: string;
  readonly dic: string;
  readonly peppolId: string;
  readonly legalName: string | null;
  readonly companyEmail: string;
  readonly firmId: string | null;
  readonly participantId: string | null;
  readonly reviewRequired: boolean;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly createdAt: string;
  readonly completedAt: string | null;
}

/** The view of an operation. */
export const whiteLabelView = (row: WhiteLabelRow): WhiteLabelOperation => ({
  id: row.id,
  operationType: row.operationType,
  status: row.status,
  customerRef: row.customerRef,
  dic: row.dic,
  peppolId: row.participant,
  legalName: row.legalName,
  companyEmail: row.companyEmail,
  firmId: row.firmId,
  participantId: row.participantId,
  reviewRequired: row.status === "manual_review",
  error: row.errorCode === null ? null : { code: row.errorCode, message: sentenceOf(row.errorCode, row) },
  createdAt: isoInstant(row.createdAt),
  completedAt: isoOrNull(row.completedAt),
});

/** One operation of an integrator. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readWhiteLabelOperation(
  { sql }: Pick<ReadPorts, "sql">,
  integratorId: IntegratorId,
  id: string,
): Promise<WhiteLabelOperation> {
  return whiteLabelView(await orNotFound(findWhiteLabel(sql, id, integratorId)));
}

/** A participant as it is shown. @source spec/rulings.md, section 12; spec/shapes.md, section 8 */
export interface WhiteLabelParticipant {
  readonly id: string;
  readonly customerRef: string;
  readonly firmId: string;
  readonly operationId: string;
  readonly legalName: string;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly peppolId: string;
  readonly status: "active" | "leaving";
  readonly authorizationSource: "fs_verification_token" | "smp_migration_code";
  readonly endpointProfile: "managed";
  readonly managedSince: string;
}

const participantView = ({ participant, managedSince, ...row }: WhiteLabelParticipantRow): WhiteLabelParticipant => ({
  ...row,
  peppolId: participant,
  endpointProfile: "managed",
  managedSince: isoInstant(managedSince),
});

/** One participant of an integrator. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readWhiteLabelParticipant(
  { sql }: Pick<ReadPorts, "sql">,
  integratorId: IntegratorId,
  id: string,
): Promise<WhiteLabelParticipant> {
  return participantView(await orNotFound(findWhiteLabelParticipant(sql, integratorId, id)));
}

interface Asked {
  readonly integratorId: IntegratorId;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Reads one page of a list by its cursor. @throws Refusal REQUEST_INVALID for a cursor of another list */
async function pageOf<Row extends { readonly id: string }, Shown>(
  cursors: Cursors,
  name: string,
  { integratorId, cursor, limit }: Asked,
  list: {
    read(query: {
      readonly integratorId: IntegratorId;
      readonly after: string | undefined;
      readonly limit: number;
    }): Promise<Row[]>;
    view(row: Row): Shown;
  },
): Promise<{ readonly items: Shown[]; readonly nextCursor: string | null }> {
  const place = `${name}/${integratorId}`;
  const after = placeIn(cursors, place, cursor, parseUuid);
  const read = await orTemporary(list.read({ integratorId, after, limit: limit + 1 }));
  const { rows, nextCursor } = cutPage(cursors, place, read, { limit, placeOf: ({ id }) => id });
  return { items: rows.map((row) => list.view(row)), nextCursor };
}

/** Participants of an integrator. @throws Refusal REQUEST_INVALID, TEMPORARY */
export async function readWhiteLabelParticipants(
  { sql, cursors }: Pick<ReadPorts, "sql" | "cursors">,
  asked: Asked,
): Promise<{ readonly participants: WhiteLabelParticipant[]; readonly nextCursor: string | null }> {
  const { items, nextCursor } = await pageOf(cursors, "white-label", asked, {
    read: (query) => listWhiteLabelParticipants(sql, query),
    view: participantView,
  });
  return { participants: items, nextCursor };
}

/** A customer as it is shown. @source spec/rulings.md, section 12 */
export interface WhiteLabelCustomer {
  readonly id: string;
  readonly customerRef: string;
  readonly relationship: "represented";
  readonly dic: string;
  readonly status: "active";
  readonly createdAt: string;
}

const customerView = ({ createdAt, ...row }: WhiteLabelCustomerRow): WhiteLabelCustomer => ({
  ...row,
  status: "active",
  createdAt: isoInstant(createdAt),
});

/** Customers of an integrator. @throws Refusal REQUEST_INVALID, TEMPORARY */
export async function readWhiteLabelCustomers(
  { sql, cursors }: Pick<ReadPorts, "sql" | "cursors">,
  asked: Asked,
): Promise<{ readonly customers: WhiteLabelCustomer[]; readonly nextCursor: string | null }> {
  const { items, nextCursor } = await pageOf(cursors, "customers", asked, {
    read: (query) => listWhiteLabelCustomers(sql, query),
    view: customerView,
  });
  return { customers: items, nextCursor };
}

/** Whom an intermediary represents, and what proves it. */
export interface CustomerWish {
  readonly integratorId: IntegratorId;
  readonly idempotencyKey: string;
  readonly customerRef: string;
  readonly customerAuthorization: string;
  readonly dic: string;
  readonly companyEmail: string;
  readonly legalName: string | undefined;
}

const CUSTOMER_REFUSALS: Readonly<Record<Exclude<CustomerCreation, "created" | "repeat">, () => Refusal>> = {
  key_conflict: keyReused,
  key_ended: () =>
    new Refusal("IDEMPOTENCY_REUSED", [
      { field: "Idempotency-Key", message: "The customer that this key noted was ended; take a new key." },
    ]),
  ref_conflict: () =>
    new Refusal("CUSTOMER_REF_CONFLICT", [
      { field: "customerRef", message: "It stands for another company, or this company has another one." },
    ]),
};

/**
 * Writes a customer. Safe to repeat with the same key.
 * @throws Refusal IDEMPOTENCY_REUSED, CUSTOMER_REF_CONFLICT, TEMPORARY
 */
export async function createCustomer(
  { sql, clock }: Pick<ReadPorts, "sql" | "clock">,
  wish: CustomerWish,
): Promise<{ readonly customer: WhiteLabelCustomer; readonly isNew: boolean }> {
  const { idempotencyKey: _, ...body } = wish;
  const bodySha256 = sha256(JSON.stringify(body));
  const made = await orTemporary(insertWhiteLabelCustomer(sql, { ...wish, id: newId(clock), bodySha256 }, clock.now()));
  if (made === undefined) throw new Refusal("TEMPORARY");
  if (made.outcome !== "created" && made.outcome !== "repeat") throw CUSTOMER_REFUSALS[made.outcome]();
  const row = await orTemporary(findWhiteLabelCustomer(sql, wish.integratorId, made.id ?? ""));
  if (row === undefined) throw new Refusal("TEMPORARY");
  return { customer: customerView(row), isNew: made.outcome === "created" };
}
