/** What operators do over the admin listener. @source design/interface.md, Admin JSON */
import { z } from "zod";

import { isoInstant, isoOrNull, isStorable } from "../../engine/base/clock.js";
import { Refusal } from "../../engine/base/errors.js";
import {
  parseDocumentId,
  parseFirmId,
  parseParticipantId,
  parseReceivedDocumentId,
  participantKey,
} from "../../engine/base/ids.js";
import type { DocumentId, FirmId, ReceivedDocumentId } from "../../engine/base/ids.js";
import { FIRM_FACTS, firmParticipant } from "../../engine/identity/firm-facts.js";
import type { FirmFacts } from "../../engine/identity/firm-facts.js";
import { tenantName } from "../../engine/identity/names.js";
import type { NewTenantFirm } from "../../engine/identity/registration.js";
import { OUTBOUND_STATES } from "../../engine/lifecycle/document.js";
import type { OutboundState } from "../../engine/lifecycle/document.js";
import { INBOUND_STATES } from "../../engine/lifecycle/received.js";
import type { InboundState } from "../../engine/lifecycle/received.js";
import type { RegistrationResult } from "../../engine/peppol/discovery/registrations.js";
import type {
  OperatorDocument,
  OperatorDocumentDetail,
  OperatorDocumentQuery,
  OperatorReceived,
  OperatorReceivedDetail,
  OperatorReceivedQuery,
} from "../../engine/storage/documents/operations.js";
import { idBy, parsedBy, wholeNumber } from "../contract/query.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";
import { LIMITS } from "../../engine/base/limits.js";

interface AdminPorts {
  listFirms(): Promise<
    readonly {
      readonly id: string;
      readonly name: string;
      readonly participants: readonly string[];
      readonly createdAt: number;
    }[]
  >;
  createFirm(firm: NewTenantFirm): Promise<{
    readonly firmId: string;
    readonly clientId: string;
    readonly clientSecret: string;
    /** Where new participants are registered in the network at once. */
    readonly registration?: RegistrationResult;
  }>;
  /** Answers whether there is such a firm. */
  changeFirm(firmId: FirmId, changes: FirmFacts & { readonly name?: string | undefined }): Promise<boolean>;
  listIntegrators(): Promise<
    readonly {
      readonly id: string;
      readonly name: string;
      readonly activeBindings: number;
      readonly createdAt: number;
    }[]
  >;
  createIntegrator(integrator: {
    readonly name: string;
  }): Promise<{ readonly integratorId: string; readonly clientId: string; readonly clientSecret: string }>;
  listDocuments(query: OperatorDocumentQuery): Promise<readonly OperatorDocument[]>;
  findDocument(id: DocumentId): Promise<OperatorDocumentDetail | undefined>;
  listReceived(query: OperatorReceivedQuery): Promise<readonly OperatorReceived[]>;
  findReceived(id: ReceivedDocumentId): Promise<OperatorReceivedDetail | undefined>;
  /** Shows a held document to its firm; answers whether it was held. */
  releaseReceived(id: ReceivedDocumentId): Promise<boolean>;
  /** Null for what nobody knows while their broker is away. */
  streams(): Promise<
    readonly { readonly stream: string; readonly pending: number | null; readonly oldestAge_s: number | null }[]
  >;
  /** Age of the oldest due dispatch in seconds. */
  oldestDue_s(): Promise<number>;
  /** The master keys that have sealed something, oldest first, by ids that tell nothing of them. */
  masterKeys(): Promise<
    readonly { readonly keyId: string; readonly replacedBy: string | undefined; readonly madeAt: Date }[]
  >;
  /** Id of the master key that this node seals with. */
  readonly masterKeyId: string;
  /** A valid invoice between the demo firms; undefined outside the sandbox. */
  sampleInvoice(lines: number): string | undefined;
}

const COMMON = {
  mounts: ["/admin"],
  family: "admin",
  credential: "admin",
  errors: ["TEMPORARY"],
  tag: "Operations",
} as const;
const json = z.record(z.string(), z.unknown());
const list = (of: string) => ({ 200: { description: of, schema: json } });

/** Lines of a sample invoice of which nobody says how many it has. */
const SAMPLE_LINES = 3;

const documentOf = (document: OperatorDocument) => ({
  ...document,
  direction: "sent" as const,
  nextAttemptAt: isoOrNull(document.nextAttemptAt),
  createdAt: isoInstant(document.createdAt),
  updatedAt: isoInstant(document.updatedAt),
});

const detailOf = ({ timeline, attemptList, notApplied, ...document }: OperatorDocumentDetail) => ({
  ...documentOf(document),
  notApplied: notApplied.map((ignored) => ({ ...ignored, at: isoInstant(ignored.at) })),
  timeline: timeline.map((entry) => ({ ...entry, at: isoInstant(entry.at) })),
  attemptList: attemptList.map((attempt) => ({
    ...attempt,
    startedAt: isoInstant(attempt.startedAt),
    finishedAt: isoOrNull(attempt.finishedAt),
  })),
});

const receivedOf = ({ receivedAt, acknowledgedAt, ...document }: OperatorReceived) => ({
  ...document,
  direction: "received" as const,
  createdAt: isoInstant(receivedAt),
  updatedAt: isoInstant(acknowledgedAt ?? receivedAt),
  acknowledgedAt: isoOrNull(acknowledgedAt),
});

const isOutbound = (status: string): status is OutboundState => OUTBOUND_STATES.some((state) => state === status);
const isInbound = (status: string): status is InboundState => INBOUND_STATES.some((state) => state === status);

/** The documents of one direction. @throws Refusal REQUEST_INVALID for a status of the other */
async function listed(
  ports: AdminPorts,
  direction: "sent" | "received",
  status: string | undefined,
  query: Omit<OperatorDocumentQuery, "status">,
): Promise<readonly (ReturnType<typeof documentOf> | ReturnType<typeof receivedOf>)[]> {
  if (direction === "sent" && (status === undefined || isOutbound(status)))
    return (await ports.listDocuments({ ...query, status })).map(documentOf);
  if (direction === "received" && (status === undefined || isInbound(status)))
    return (await ports.listReceived({ ...query, status })).map(receivedOf);
  throw new Refusal("REQUEST_INVALID", [
    { field: "status", message: `No document that was ${direction} has this status.` },
  ]);
}

const created = ({ createdAt, ...row }: { readonly createdAt: number }) => ({
  ...row,
  createdAt: isoInstant(createdAt),
});

const tenantRows = (ports: AdminPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminListFirms",
    method: "GET",
    path: "/firms",
    summary: "Firms and their participants",
    responses: list("Firms."),
    handler: async () => ({ status: 200, body: { firms: (await ports.listFirms()).map(created) } }),
  }),
  route({
    ...COMMON,
    operation: "adminCreateFirm",
    method: "POST",
    path: "/firms",
    summary: "Create a firm with one participant and one key",
    request: {
      body: z.strictObject({
        name: tenantName,
        participantId: firmParticipant,
        ...FIRM_FACTS,
      }),
    },
    responses: { 201: { description: "The ids and the secret, shown once.", schema: json } },
    handler: async ({ body }) => ({ status: 201, body: { ...(await ports.createFirm(body)) } }),
  }),
  route({
    ...COMMON,
    operation: "adminChangeFirm",
    method: "PATCH",
    path: "/firms/{firmId}",
    summary: "Change what stands of a firm in its invoices",
    description: "What is not given stays as it is. A firm without icDph charges no tax.",
    errors: ["NOT_FOUND"],
    request: {
      params: z.object({ firmId: idBy(parseFirmId) }),
      body: z.strictObject({ name: tenantName.optional(), ...FIRM_FACTS }),
    },
    responses: { 200: { description: "The firm's id.", schema: json } },
    handler: async ({ params, body }) => {
      if (!(await ports.changeFirm(params.firmId, body))) throw new Refusal("NOT_FOUND");
      return { status: 200, body: { firmId: params.firmId } };
    },
  }),
  route({
    ...COMMON,
    operation: "adminListIntegrators",
    method: "GET",
    path: "/integrators",
    summary: "Integrators",
    responses: list("Integrators."),
    handler: async () => ({ status: 200, body: { integrators: (await ports.listIntegrators()).map(created) } }),
  }),
  route({
    ...COMMON,
    operation: "adminCreateIntegrator",
    method: "POST",
    path: "/integrators",
    summary: "Create an integrator with one central key",
    request: { body: z.strictObject({ name: tenantName }) },
    responses: { 201: { description: "The ids and the secret, shown once.", schema: json } },
    handler: async ({ body }) => ({ status: 201, body: { ...(await ports.createIntegrator(body)) } }),
  }),
];

const documentRows = (ports: AdminPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminListDocuments",
    method: "GET",
    path: "/documents",
    summary: "Documents of any firm, newest first",
    errors: ["REQUEST_INVALID"],
    description:
      "Sent ones unless direction or status says otherwise. A received document is HELD until it was judged; one that stays so could not be judged, is tried again, and waits for an operator. One that is REFUSED was rejected and its firm never saw it.",
    request: {
      query: z.object({
        direction: z.enum(["sent", "received"]).optional(),
        status: z.enum([...OUTBOUND_STATES, ...INBOUND_STATES]).optional(),
        participant: parsedBy(parseParticipantId, "must be <scheme>:<id>").transform(participantKey).optional(),
        since: z.iso
          .datetime({ offset: true, abort: true })
          .refine(isStorable, "must lie in the years 1 to 9999")
          .optional(),
        limit: wholeNumber({ min: 1, max: LIMITS.operator_page_max, byDefault: LIMITS.operator_page_max }),
      }),
    },
    responses: list("Documents without their content."),
    handler: async ({ query }) => {
      const direction =
        query.direction ?? (query.status !== undefined && isInbound(query.status) ? "received" : "sent");
      const documents = await listed(ports, direction, query.status, {
        participantKey: query.participant,
        since: query.since === undefined ? undefined : Date.parse(query.since),
        limit: query.limit ?? LIMITS.operator_page_max,
      });
      return { status: 200, body: { documents } };
    },
  }),
  route({
    ...COMMON,
    operation: "adminGetDocument",
    method: "GET",
    path: "/documents/{id}",
    summary: "One document with its timeline and attempts, or a received one with the findings that it was refused for",
    description: `notApplied of a sent one: the Message Level Statuses and invoice responses about it that changed nothing, with the reason: the first ones of each, and in notAppliedCount how many there are, counted as far as ${LIMITS.statuses_ignored_counted_max}. signedElsewhere of a received one: its sender is a participant of ours, and another access point signed for it; peerSeat names that one.`,
    errors: ["NOT_FOUND"],
    request: {
      params: z.object({ id: idBy(parseDocumentId) }),
    },
    responses: list("The document without its content."),
    handler: async ({ params }) => {
      const found = await ports.findDocument(params.id);
      if (found !== undefined) return { status: 200, body: detailOf(found) };
      const id = parseReceivedDocumentId(params.id);
      const received = id === undefined ? undefined : await ports.findReceived(id);
      if (received === undefined) throw new Refusal("NOT_FOUND");
      const { findings, ...document } = received;
      return { status: 200, body: { ...receivedOf(document), findings } };
    },
  }),
];

const heldRows = (ports: AdminPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminReleaseDocument",
    method: "POST",
    path: "/documents/{id}/release",
    summary: "Show a received document that nobody could judge to its firm",
    description: "From then on it is not rejected any more. 404 for a document that is not held.",
    errors: ["NOT_FOUND"],
    request: {
      params: z.object({ id: idBy(parseReceivedDocumentId) }),
    },
    responses: list("The document's new state."),
    handler: async ({ params }) => {
      if (!(await ports.releaseReceived(params.id))) throw new Refusal("NOT_FOUND");
      return { status: 200, body: { id: params.id, status: "RECEIVED" } };
    },
  }),
];

const operationRows = (ports: AdminPorts): readonly Route[] => [
  route({
    ...COMMON,
    operation: "adminStreams",
    method: "GET",
    path: "/streams",
    summary: "Lag of the streams and the oldest due dispatch",
    description: "pending and oldestAge_s are null while NATS does not answer.",
    responses: list("Streams."),
    handler: async () => {
      const [streams, oldestDue_s] = await Promise.all([ports.streams(), ports.oldestDue_s()]);
      return { status: 200, body: { streams, oldestDueDispatchSeconds: oldestDue_s } };
    },
  }),
  route({
    ...COMMON,
    operation: "adminListMasterKeys",
    method: "GET",
    path: "/master-keys",
    summary: "Ids of the master keys that have sealed what is stored",
    description:
      "seals: the key that this node seals with is this one. replacedBy: kurier keys rotate-master has put the key under that one; null while its own values may still be sealed with it.",
    responses: list("Ids, of which none tells anything of its key."),
    handler: async () => {
      const keys = (await ports.masterKeys()).map(({ keyId, replacedBy, madeAt }) => ({
        keyId,
        seals: keyId === ports.masterKeyId,
        replacedBy: replacedBy ?? null,
        madeAt: isoInstant(madeAt),
      }));
      return { status: 200, body: { keys } };
    },
  }),
  route({
    ...COMMON,
    operation: "adminSandboxInvoice",
    method: "GET",
    path: "/sandbox/invoice",
    summary: "A valid invoice from the demo sender to the demo receiver",
    description: "With a fresh number and today's date, ready to be sent.",
    errors: ["NOT_FOUND"],
    request: {
      query: z.object({
        lines: wholeNumber({ min: 1, max: LIMITS.sample_invoice_lines_max, byDefault: SAMPLE_LINES }),
      }),
    },
    responses: { 200: { description: "UBL.", contentType: "application/xml" } },
    handler: ({ query }) => {
      const invoice = ports.sampleInvoice(query.lines ?? SAMPLE_LINES);
      if (invoice === undefined) throw new Refusal("NOT_FOUND");
      return { status: 200, body: { raw: invoice }, contentType: "application/xml; charset=utf-8" };
    },
  }),
];

export const adminRoutes = (ports: AdminPorts): readonly Route[] => [
  ...tenantRows(ports),
  ...documentRows(ports),
  ...heldRows(ports),
  ...operationRows(ports),
];
