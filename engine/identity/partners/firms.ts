/** Firms as an integrator sees them: those that have agreed, what they exchange, and how one more joins. */
import { isoInstant } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import { cutPage, placeIn } from "../../base/cursors.js";
import type { Cursors } from "../../base/cursors.js";
import { ERRORS, Refusal } from "../../base/errors.js";
import type { ErrorName } from "../../base/errors.js";
import { parseFirmId, parseParticipantId, participantKey } from "../../base/ids.js";
import type { FirmId, ParticipantId } from "../../base/ids.js";
import type { Scope } from "../../base/scopes.js";
import { PARTICIPANT_CAPABILITIES } from "../../peppol/discovery/capabilities.js";
import { PLANS } from "../../billing/plans.js";
import { findPlan } from "../../storage/billing/plans.js";
import { addCapabilities } from "../../storage/documents/received.js";
import { findBinding } from "../../storage/identity/bindings.js";
import {
  addFirmParticipant,
  assignFirm,
  countListedDocuments,
  findFirm,
  listBoundFirms,
  listFirmDocuments,
} from "../../storage/identity/partner-firms.js";
import type {
  AssignmentOutcome,
  FirmDocumentQuery,
  FirmDocumentRow,
  PartnerFirmRow,
} from "../../storage/identity/partner-firms.js";
import { orNotFound, orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { stampOf } from "../audit.js";
import type { Actor } from "../audit.js";
import type { Caller } from "../caller.js";
import { bindingScopes } from "../contexts.js";
import type { SecretEnvironment } from "../tokens/secrets.js";
import { integratorOf } from "../caller.js";

/** What reads of firms need of the engine. */
interface PartnerFirmPorts {
  readonly sql: Sql;
  readonly environment: SecretEnvironment;
}

/** A firm in a list. @source spec/shapes.md, section 3 */
interface ListedFirm {
  readonly id: FirmId;
  readonly name: string;
  readonly ico: string | null;
  readonly vatRegType: null;
  readonly isVatPayer: boolean;
  readonly peppolId: string | null;
  readonly peppolStatus: string;
}

/** One firm. @source spec/shapes.md, section 3 */
export interface FirmDetail extends ListedFirm {
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly address: { readonly street: string | null; readonly city: string | null; readonly zip: string | null };
  readonly plan: string;
  readonly createdAt: string;
}

const listed = (row: PartnerFirmRow): ListedFirm => ({
  id: row.id,
  name: row.name,
  ico: row.ico,
  vatRegType: null,
  isVatPayer: row.icDph !== null,
  peppolId: row.peppolId,
  peppolStatus: row.peppolStatus,
});

function addressOf({ address }: PartnerFirmRow): FirmDetail["address"] {
  const members = typeof address === "object" && address !== null ? (address as Readonly<Record<string, unknown>>) : {};
  const text = (name: string): string | null => {
    const value = members[name];
    return typeof value === "string" ? value : null;
  };
  return { street: text("street"), city: text("city"), zip: text("zip") ?? text("postalCode") };
}

/** A firm as a party of its own invoices. */
export interface OwnFirm {
  readonly participant: ParticipantId | undefined;
  readonly name: string;
  readonly ico: string | undefined;
  readonly dic: string | undefined;
  readonly icDph: string | undefined;
  readonly street: string | undefined;
  readonly city: string | undefined;
  readonly postalCode: string | undefined;
  readonly country: string;
}

/** The firm for which a caller acts. @throws Refusal NOT_FOUND, TEMPORARY */
export async function readOwnFirm(sql: Sql, firmId: FirmId): Promise<OwnFirm> {
  const firm = await orNotFound(findFirm(sql, firmId));
  const { street, city, zip } = addressOf(firm);
  return {
    participant: firm.peppolId ?? undefined,
    name: firm.name,
    ico: firm.ico ?? undefined,
    dic: firm.dic ?? undefined,
    icDph: firm.icDph ?? undefined,
    street: street ?? undefined,
    city: city ?? undefined,
    postalCode: zip ?? undefined,
    country: "SK",
  };
}

/** A page of firms, and where the next begins. */
export interface FirmPage {
  readonly firms: ListedFirm[];
  readonly nextCursor: string | null;
}

/**
 * The firms for which the caller may act.
 * @throws Refusal REQUEST_INVALID for a cursor of another list; TEMPORARY
 * @source spec/rulings.md, section 8
 */
export async function readFirms(
  { sql, cursors }: Pick<PartnerFirmPorts, "sql"> & { readonly cursors: Cursors },
  caller: Caller,
  { cursor, limit }: { readonly cursor: string | undefined; readonly limit: number },
): Promise<FirmPage> {
  const integratorId = integratorOf(caller);
  const list = `firms/${integratorId}/${caller.scopedFirmId ?? ""}`;
  const read = await orTemporary(
    listBoundFirms(sql, {
      integratorId,
      onlyFirmId: caller.scopedFirmId,
      bindingGeneration: caller.bindingGeneration,
      after: placeIn(cursors, list, cursor, parseFirmId),
      limit: limit + 1,
    }),
  );
  const { rows, nextCursor } = cutPage(cursors, list, read, { limit, placeOf: ({ id }) => id });
  return { firms: rows.map(listed), nextCursor };
}

/**
 * The firm of a path, when the caller may act for it with this scope.
 * @throws Refusal NOT_FOUND for a firm that does not exist or has not agreed; SCOPE_MISSING; TEMPORARY
 */
async function firmFor(ports: PartnerFirmPorts, caller: Caller, firmId: FirmId, scope: Scope): Promise<PartnerFirmRow> {
  const binding = await orTemporary(findBinding(ports.sql, integratorOf(caller), firmId));
  const scopes = bindingScopes(caller, binding, "enterprise", ports.environment);
  if (scopes === undefined) throw new Refusal("NOT_FOUND");
  if (!scopes.has(scope)) throw new Refusal("SCOPE_MISSING", [], { requiredScope: scope });
  return orNotFound(findFirm(ports.sql, firmId));
}

/** One firm. @throws Refusal NOT_FOUND, SCOPE_MISSING, TEMPORARY @source spec/rulings.md, section 8 */
export async function readFirm(ports: PartnerFirmPorts, caller: Caller, firmId: FirmId): Promise<FirmDetail> {
  const firm = await firmFor(ports, caller, firmId, "firms:manage");
  const plan = await orTemporary(findPlan(ports.sql, firmId));
  return {
    ...listed(firm),
    dic: firm.dic,
    icDph: firm.icDph,
    address: addressOf(firm),
    plan: PLANS[plan.code].name,
    createdAt: isoInstant(firm.createdAt),
  };
}

/** A document of a firm in a list. */
interface FirmDocument {
  readonly id: string;
  readonly direction: "outbound" | "inbound";
  readonly status: string;
  readonly documentType: string;
  readonly processId: string;
  readonly senderPeppolId: string;
  readonly receiverPeppolId: string;
  readonly number: string | null;
  readonly createdAt: string;
}

/** A page of a firm's documents, newest first. */
export interface FirmDocumentPage {
  readonly documents: FirmDocument[];
  readonly pagination: {
    readonly page: number;
    readonly page_size: number;
    /** Counted up to LIMITS.firm_documents_counted_max. */
    readonly total: number;
  };
}

/** What is asked of a firm's documents. */
export interface FirmDocumentsAsked extends Omit<FirmDocumentQuery, "limit" | "offset"> {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  /** Whether anybody is given the page. */
  readonly isShown: boolean;
}

const documentOf = (row: FirmDocumentRow): FirmDocument => ({
  id: row.id,
  direction: row.direction,
  status: row.status,
  documentType: row.documentTypeId,
  processId: row.processId,
  senderPeppolId: row.sender,
  receiverPeppolId: row.receiver,
  number: row.number,
  createdAt: isoInstant(row.createdAt),
});

/**
 * What a firm sent and received. What it received and is shown for the first time has been received through an API.
 * @throws Refusal NOT_FOUND, SCOPE_MISSING, TEMPORARY
 * @source spec/shapes.md, section 3
 */
export async function readFirmDocuments(
  ports: PartnerFirmPorts & { readonly clock: Clock },
  caller: Caller,
  firmId: FirmId,
  asked: FirmDocumentsAsked,
): Promise<FirmDocumentPage> {
  await firmFor(ports, caller, firmId, "documents:read");
  const { page, pageSize, isShown, ...filter } = asked;
  const shownAt = isShown ? ports.clock.now() : undefined;
  const query = { ...filter, limit: pageSize, offset: (page - 1) * pageSize, shownAt };
  const [rows, total] = await orTemporary(
    Promise.all([listFirmDocuments(ports.sql, firmId, query), countListedDocuments(ports.sql, firmId, query)]),
  );
  return { documents: rows.map(documentOf), pagination: { page, page_size: pageSize, total } };
}

/** A firm that was taken into an integrator's work. @source spec/shapes.md, section 3 */
export interface AssignedFirm {
  readonly firm: {
    readonly id: FirmId;
    readonly name: string;
    readonly ico: string | null;
    readonly peppol_id: string | null;
    readonly peppol_status: string;
  };
  readonly status: "active";
}

const ASSIGNMENT_REFUSALS: Readonly<Record<Exclude<AssignmentOutcome, "assigned">, ErrorName>> = {
  not_registered: "FIRM_NOT_REGISTERED",
  already_linked: "ALREADY_LINKED",
  consent_required: "CONSENT_REQUIRED",
};

/** What the commands on firms need of the engine. */
interface FirmCommandPorts extends PartnerFirmPorts {
  readonly clock: Clock;
}

/**
 * Takes a firm that has agreed into the integrator's work, by its company id.
 * @throws Refusal FIRM_NOT_REGISTERED, CONSENT_REQUIRED, ALREADY_LINKED, TEMPORARY
 * @source spec/shapes.md, section 3
 */
export async function assignPartnerFirm(
  ports: FirmCommandPorts,
  caller: Caller,
  ico: string,
  actor: Actor,
): Promise<AssignedFirm> {
  const { sql, clock } = ports;
  const assignment = { integratorId: integratorOf(caller), ico, audit: stampOf(actor, clock) };
  const { outcome, firmId } = await orTemporary(assignFirm(sql, assignment, clock.now()));
  if (outcome !== "assigned")
    throw new Refusal(
      ASSIGNMENT_REFUSALS[outcome],
      [],
      outcome === "consent_required" ? { nextAction: "Invite the firm with POST /consent-offers." } : {},
    );
  const firm = firmId === null ? undefined : await orTemporary(findFirm(sql, firmId));
  if (firm === undefined) throw new Refusal("FIRM_NOT_REGISTERED");
  const { id, name, peppolId, peppolStatus } = firm;
  return { firm: { id, name, ico: firm.ico, peppol_id: peppolId, peppol_status: peppolStatus }, status: "active" };
}

/** What became of one of many assignments. */
interface AssignmentResult {
  readonly ico: string;
  /** `active`, or `failed` with the error that a single call would have answered. */
  readonly status: "active" | "failed";
  readonly firm: AssignedFirm["firm"] | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The answer to many assignments, in the order of the request. */
interface AssignmentBatch {
  readonly total: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly results: AssignmentResult[];
}

/**
 * Assigns firms one after another; a refusal of one says nothing of the others.
 * @param icos at most LIMITS.assign_batch_max
 * @throws Refusal TEMPORARY; what was assigned until then stays so, and a repeat tells of it as ALREADY_LINKED
 */
export async function assignMany(
  icos: readonly string[],
  assign: (ico: string) => Promise<AssignedFirm>,
): Promise<AssignmentBatch> {
  const results: AssignmentResult[] = [];
  for (const ico of icos) results.push(await resultOf(ico, assign));
  const succeeded = results.filter(({ status }) => status === "active").length;
  return { total: results.length, succeeded, failed: results.length - succeeded, results };
}

async function resultOf(ico: string, assign: (ico: string) => Promise<AssignedFirm>): Promise<AssignmentResult> {
  try {
    const { firm } = await assign(ico);
    return { ico, status: "active", firm, error: null };
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason === "TEMPORARY") throw error;
    const { reason, message } = error;
    return { ico, status: "failed", firm: null, error: { code: ERRORS[reason].enterprise, message } };
  }
}

/** An identifier of a firm in the network. */
export interface WantedIdentifier {
  readonly firmId: FirmId;
  readonly scheme: string;
  readonly identifier: string;
}

/** @source spec/shapes.md, section 3 */
export interface AddedIdentifier {
  readonly peppolId: string;
  readonly registrationStatus: "registered";
  readonly message: string;
}

/** Scheme of the Slovak tax id, whose owner the register of firms tells. @source spec/enterprise.md, Participant id */
const TAX_ID_SCHEME = "0245";

/**
 * Gives a firm its identifier in the network. Only its own tax id: nobody could say whether another id is the firm's,
 * and whoever holds an id receives what is sent to it. Safe to repeat.
 * @throws Refusal NOT_FOUND, SCOPE_MISSING, IDENTIFIER_FOREIGN, IDENTIFIER_TAKEN, TEMPORARY
 */
export async function addIdentifier(
  ports: FirmCommandPorts,
  caller: Caller,
  wanted: WantedIdentifier,
  actor: Actor,
): Promise<AddedIdentifier> {
  const { sql, clock } = ports;
  const firm = await firmFor(ports, caller, wanted.firmId, "firms:manage");
  const participantId = parseParticipantId(`${wanted.scheme}:${wanted.identifier}`);
  if (participantId === undefined || wanted.scheme !== TAX_ID_SCHEME || wanted.identifier !== firm.dic)
    throw new Refusal("IDENTIFIER_FOREIGN");
  const key = participantKey(participantId);
  const { integratorId } = caller;
  const added = { firmId: firm.id, key, id: participantId, integratorId, audit: stampOf(actor, clock) };
  const outcome = await orTemporary(addFirmParticipant(sql, added, clock.now()));
  if (outcome === "taken") throw new Refusal("IDENTIFIER_TAKEN");
  if (!firm.sendsOnly) await orTemporary(addCapabilities(sql, key, PARTICIPANT_CAPABILITIES));
  return {
    peppolId: participantId,
    registrationStatus: "registered",
    message:
      outcome === "added" ? "The participant is registered." : "The participant was registered for this firm before.",
  };
}
