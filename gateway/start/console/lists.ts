/** The pages of the console that list what operators look after. */
import { isoInstant } from "../../../engine/base/clock.js";
import type { OnboardingId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { OnboardingRequest } from "../../../engine/identity/onboarding/onboarding.js";
import { UNVOUCHED } from "../../../engine/identity/white-label/reads.js";
import { listFirms, listIntegrators, listOperatorReceived } from "../../../engine/storage/documents/operations.js";
import { findOnboarding } from "../../../engine/storage/identity/onboarding/requests.js";
import { listOperatorEntries } from "../../../engine/storage/operators/record.js";
import {
  findFirmSheet,
  findWebhook,
  listDeadDeliveries,
  listFirmKeys,
  listTroubledWebhooks,
} from "../../../engine/storage/operators/tenants.js";
import type { TroubledWebhook } from "../../../engine/storage/operators/tenants.js";
import { listRegistrations } from "../../../engine/storage/registrations.js";
import { orTemporary } from "../../../engine/storage/sql.js";
import type { Json, Sql } from "../../../engine/storage/sql.js";
import { instantText } from "../../web/console/heartbeat.js";
import type { Cell, Section, Sheet, SheetAction } from "../../web/console/sections.js";
import type { Work } from "../work.js";

type Parts = Pick<Work, "sql" | "onboarding" | "whiteLabel">;

const text = (value: string | null | undefined, href?: string): Cell => ({
  text: value ?? "",
  ...(href === undefined ? {} : { href }),
});
const number = (value: number | null): Cell => ({ text: value === null ? "" : String(value), isNumber: true });
const at = (date: Date | null): string => (date === null ? "" : instantText(isoInstant(date.getTime())));
const section = (id: string, title: string, columns: readonly string[], rows: Section["rows"]): Section => ({
  id,
  title,
  columns,
  rows,
  empty: "None.",
});

/** Requests that an operator can do something about. */
const WAITING = ["awaiting_pfs", "action_required"] as const;

const onboardingRow = (request: OnboardingRequest): readonly Cell[] => [
  text(request.id, `/console/onboarding/${request.id}`),
  text(request.status.replace("_", " ")),
  text(request.dic),
  text(request.customerRef),
  text(at(request.createdAt)),
];

async function reviews({ sql, onboarding, whiteLabel }: Parts): Promise<Sheet> {
  const [requests, operations, registrations, held] = await Promise.all([
    Promise.all(WAITING.map((status) => onboarding.list(status))),
    whiteLabel.list("manual_review"),
    orTemporary(listRegistrations(sql, { state: "manual_review", after: "", limit: LIMITS.operator_page_max })),
    orTemporary(
      listOperatorReceived(sql, {
        status: "HELD",
        participantKey: undefined,
        since: undefined,
        limit: LIMITS.operator_page_max,
      }),
    ),
  ]);
  return {
    title: "Reviews",
    at: "/console/reviews",
    lead: "What waits for a person.",
    sections: [
      section(
        "onboarding",
        "Onboarding requests",
        ["Request", "State", "DIČ", "Customer", "Since"],
        requests.flat().map(onboardingRow),
      ),
      section(
        "white-label",
        "White Label operations in review",
        ["Operation", "What", "Participant", "Since"],
        operations.map((one) => [
          text(one.id, `/console/white-label/${one.id}`),
          text(one.operationType.replace("_", " ")),
          text(one.peppolId),
          text(instantText(one.createdAt)),
        ]),
      ),
      section(
        "registrations",
        "Registrations in review",
        ["Participant", "Last operation", "Code"],
        registrations.map((one) => [text(one.participant), text(one.lastOperation), text(one.code)]),
      ),
      section(
        "held",
        "Received documents without a verdict",
        ["Document", "Sender", "Receiver", "Since"],
        held.map((one) => [
          text(one.id, `/console/documents/${one.id}`),
          text(one.sender),
          text(one.receiver),
          text(instantText(isoInstant(one.receivedAt))),
        ]),
      ),
    ],
    actions: [],
  };
}

async function onboardingSheet({ sql }: Parts, id: string): Promise<Sheet | undefined> {
  const request = await orTemporary(findOnboarding(sql, id as OnboardingId, undefined));
  if (request === undefined) return undefined;
  const decide = (path: string, words: string): SheetAction => ({ path: `actions/${path}`, id, words });
  return {
    title: "Onboarding request",
    at: "/console/reviews",
    facts: [
      ["Request", id],
      ["State", request.status],
      ["DIČ", request.dic],
      ["Customer", request.customerRef],
      ["Integrator", request.integratorId],
      ["Since", at(request.createdAt)],
    ],
    sections: [],
    actions: WAITING.some((status) => status === request.status)
      ? [
          decide("approve-onboarding", "vouch for this firm and activate it"),
          decide("return-onboarding", "return this request to be corrected"),
          decide("refuse-onboarding", "refuse this request for good"),
        ]
      : [],
  };
}

async function whiteLabelSheet({ whiteLabel }: Parts, id: string): Promise<Sheet | undefined> {
  const operation = (await whiteLabel.list("manual_review")).find((one) => one.id === id);
  if (operation === undefined) return undefined;
  return {
    title: "White Label operation",
    at: "/console/reviews",
    facts: [
      ["Operation", id],
      ["What", operation.operationType],
      ["Participant", operation.peppolId],
      ["DIČ", operation.dic],
      ["Customer", operation.customerRef],
      ["Fault", operation.error?.message ?? "none is known"],
      ...(operation.error?.code === UNVOUCHED
        ? ([["To vouch for its token", `kurier white-label vouch ${id} < FILE`]] as const)
        : []),
    ],
    sections: [],
    actions: [
      {
        path: "actions/release-white-label",
        id,
        words:
          operation.error?.code === UNVOUCHED
            ? "end this operation; nobody vouches for its token"
            : "ask the registry and end this review",
      },
    ],
  };
}

const webhookRow = (webhook: TroubledWebhook): readonly Cell[] => [
  text(webhook.id, `/console/webhooks/${webhook.id}`),
  text(webhook.origin),
  {
    text: webhook.active ? "on" : `off: ${webhook.disabledReason ?? "by its owner"}`,
    tone: webhook.active ? "late" : "bad",
  },
  number(webhook.failedAttempts),
  text(at(webhook.failingSince)),
];

async function webhooks({ sql }: Parts): Promise<Sheet> {
  const rows = (await orTemporary(listTroubledWebhooks(sql))).map(webhookRow);
  return {
    title: "Webhooks",
    at: "/console/webhooks",
    lead: "Subscriptions whose attempts fail. Any other is found by its id.",
    sections: [section("failing", "Failing", ["Subscription", "Receiver", "State", "Failed attempts", "Since"], rows)],
    actions: [],
  };
}

async function webhookSheet({ sql }: Parts, id: string): Promise<Sheet | undefined> {
  const webhook = await orTemporary(findWebhook(sql, id));
  if (webhook === undefined) return undefined;
  const dead = await orTemporary(listDeadDeliveries(sql, id));
  const ofFirm = webhook.firmId !== null;
  return {
    title: "Webhook",
    at: "/console/webhooks",
    facts: [
      ["Subscription", id],
      ["Firm", webhook.firmId ?? "all of its integrator (Connector)"],
      ["Integrator", webhook.integratorId ?? "none"],
      ["Receiver", webhook.origin ?? "pulled"],
      ["State", webhook.active ? "on" : `off: ${webhook.disabledReason ?? "by its owner"}`],
      ["Failed attempts", String(webhook.failedAttempts)],
    ],
    sections: [
      section(
        "dead",
        "Deliveries that failed for good",
        ["Delivery", "Event", "Document", "Attempts", "Answer", "Since"],
        dead.map((one) => [
          text(one.id),
          text(one.event),
          text(one.documentId, `/console/documents/${one.documentId}`),
          number(one.attempts),
          number(one.responseStatus),
          text(at(one.createdAt)),
        ]),
      ),
    ],
    actions: [
      ...(ofFirm && webhook.active
        ? [{ path: "actions/switch-off-webhook", id, words: "switch this webhook off" }]
        : []),
      ...(ofFirm && webhook.active
        ? dead.map((one) => ({ path: "actions/replay-delivery", id: one.id, words: `send delivery ${one.id} again` }))
        : []),
    ],
  };
}

async function firms({ sql }: Parts): Promise<Sheet> {
  const [listed, integrators] = await orTemporary(
    Promise.all([listFirms(sql, LIMITS.operator_page_max), listIntegrators(sql, LIMITS.operator_page_max)]),
  );
  return {
    title: "Firms",
    at: "/console/firms",
    lead: `The first ${LIMITS.operator_page_max} by name; any other is found by its id or its participant.`,
    sections: [
      section(
        "firms",
        "Firms",
        ["Firm", "Participants", "Since"],
        listed.map((firm) => [
          text(firm.name, `/console/firms/${firm.id}`),
          text(firm.participants.join(", ")),
          text(instantText(isoInstant(firm.createdAt))),
        ]),
      ),
      section(
        "integrators",
        "Integrators",
        ["Integrator", "Id", "Firms"],
        integrators.map((one) => [text(one.name), text(one.id), number(one.activeBindings)]),
      ),
    ],
    actions: [],
  };
}

async function firmSheet({ sql }: Parts, id: string): Promise<Sheet | undefined> {
  const [firm, keys] = await orTemporary(Promise.all([findFirmSheet(sql, id), listFirmKeys(sql, id)]));
  if (firm === undefined) return undefined;
  const active = firm.bindings.filter(({ state }) => state === "active" || state === "pending");
  return {
    title: firm.name,
    at: "/console/firms",
    facts: [
      ["Firm", id],
      ["Participants", firm.participants.join(", ")],
      ["Since", at(firm.createdAt)],
    ],
    sections: [
      section(
        "keys",
        "Keys",
        ["Key", "Name", "State", "Since", "Last used"],
        keys.map((key) => [
          text(key.prefix),
          text(key.name),
          text(key.active ? "active" : "ended"),
          text(at(key.createdAt)),
          text(at(key.lastUsedAt)),
        ]),
      ),
      section(
        "bindings",
        "Integrators that act for it",
        ["Integrator", "State", "Customer"],
        firm.bindings.map((one) => [text(one.integrator), text(one.state), text(one.customerRef)]),
      ),
    ],
    actions: [
      ...keys
        .filter((key) => key.active)
        .map((key) => ({ path: "actions/end-key", id: key.id, words: `end the key ${key.prefix}` })),
      ...active.map((one) => ({
        path: "actions/withdraw-consent",
        id: `${one.integratorId}/${id}`,
        words: `withdraw the consent to ${one.integrator}`,
      })),
    ],
  };
}

const memberOf = (metadata: Json, name: string): string => {
  const value =
    metadata === null || typeof metadata !== "object" || Array.isArray(metadata)
      ? undefined
      : (metadata as Readonly<Record<string, Json | undefined>>)[name];
  return typeof value === "string" ? value : "";
};

async function record({ sql }: { readonly sql: Sql }): Promise<Sheet> {
  const entries = await orTemporary(listOperatorEntries(sql));
  return {
    title: "Record",
    at: "/console/record",
    lead: `The last ${LIMITS.operator_page_max} things that operators did here. Entries are kept for two years and never changed.`,
    sections: [
      section(
        "record",
        "Record",
        ["When", "What", "To", "Reason", "Refused", "Session", "Address"],
        entries.map((entry) => [
          text(at(entry.at)),
          text(entry.event.replace(/^operator\./, "").replace(/_/g, " ")),
          text(`${entry.targetType} ${entry.targetId}`),
          text(memberOf(entry.metadata, "reason")),
          text(memberOf(entry.metadata, "refusal")),
          text(entry.session),
          text(entry.address),
        ]),
      ),
    ],
    actions: [],
  };
}

/** Pages that there is one of. */
export const consoleLists = (parts: Parts) => ({
  reviews: () => reviews(parts),
  webhooks: () => webhooks(parts),
  firms: () => firms(parts),
  record: () => record(parts),
});

/** Pages of one thing. */
export const consoleSheets = (parts: Parts) => ({
  onboarding: (id: string) => onboardingSheet(parts, id),
  "white-label": (id: string) => whiteLabelSheet(parts, id),
  webhooks: (id: string) => webhookSheet(parts, id),
  firms: (id: string) => firmSheet(parts, id),
});
