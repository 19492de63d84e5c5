/** The pages of the console that list what operators look after. */
import type { OnboardingId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { OnboardingRequest } from "../../../engine/identity/onboarding/onboarding.js";
import { UNVOUCHED } from "../../../engine/identity/white-label/reads.js";
import { listOperatorReceived } from "../../../engine/storage/documents/operations.js";
import { findOnboarding } from "../../../engine/storage/identity/onboarding/requests.js";
import { listOperatorEntries } from "../../../engine/storage/operators/record.js";
import { findWebhook, listDeadDeliveries, listTroubledWebhooks } from "../../../engine/storage/operators/tenants.js";
import type { TroubledWebhook } from "../../../engine/storage/operators/tenants.js";
import { listRegistrations } from "../../../engine/storage/registrations.js";
import { orTemporary } from "../../../engine/storage/sql.js";
import type { Json, Sql } from "../../../engine/storage/sql.js";
import { dateText, instantText, numberCell, tableOf, textCell } from "../../web/console/cells.js";
import type { Cell, Sheet, SheetAction } from "../../web/console/sections.js";
import type { Work } from "../work/work.js";
import { firmSheet, firmsList, integratorSheet, integratorsList, keySheet } from "./tenants.js";
import type { ListAsked } from "./tenants.js";

type Parts = Pick<Work, "sql" | "onboarding" | "whiteLabel"> & { readonly environment: "sandbox" | "production" };

/** Requests that an operator can do something about. */
const WAITING = ["awaiting_pfs", "action_required"] as const;

const onboardingRow = (request: OnboardingRequest): readonly Cell[] => [
  textCell(request.id, `/console/onboarding/${request.id}`),
  textCell(request.status.replace("_", " ")),
  textCell(request.dic),
  textCell(request.customerRef),
  textCell(dateText(request.createdAt)),
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
      tableOf(
        "onboarding",
        "Onboarding requests",
        ["Request", "State", "DIČ", "Customer", "Since"],
        requests.flat().map(onboardingRow),
      ),
      tableOf(
        "white-label",
        "White Label operations in review",
        ["Operation", "What", "Participant", "Since"],
        operations.map((one) => [
          textCell(one.id, `/console/white-label/${one.id}`),
          textCell(one.operationType.replace("_", " ")),
          textCell(one.peppolId),
          textCell(instantText(one.createdAt)),
        ]),
      ),
      tableOf(
        "registrations",
        "Registrations in review",
        ["Participant", "Last operation", "Code"],
        registrations.map((one) => [textCell(one.participant), textCell(one.lastOperation), textCell(one.code)]),
      ),
      tableOf(
        "held",
        "Received documents without a verdict",
        ["Document", "Sender", "Receiver", "Since"],
        held.map((one) => [
          textCell(one.id, `/console/documents/${one.id}`),
          textCell(one.sender),
          textCell(one.receiver),
          textCell(dateText(one.receivedAt)),
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
      ["Since", dateText(request.createdAt)],
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
  textCell(webhook.id, `/console/webhooks/${webhook.id}`),
  textCell(webhook.origin),
  {
    text: webhook.active ? "on" : `off: ${webhook.disabledReason ?? "by its owner"}`,
    tone: webhook.active ? "late" : "bad",
  },
  numberCell(webhook.failedAttempts),
  textCell(dateText(webhook.failingSince)),
];

async function webhooks({ sql }: Parts): Promise<Sheet> {
  const rows = (await orTemporary(listTroubledWebhooks(sql))).map(webhookRow);
  return {
    title: "Webhooks",
    at: "/console/webhooks",
    lead: "Subscriptions whose attempts fail. Any other is found by its id.",
    sections: [tableOf("failing", "Failing", ["Subscription", "Receiver", "State", "Failed attempts", "Since"], rows)],
    actions: [],
  };
}

const OFF = "Nothing is sent again while this webhook is off; its owner switches it on.";

async function webhookSheet({ sql }: Parts, id: string): Promise<Sheet | undefined> {
  const webhook = await orTemporary(findWebhook(sql, id));
  if (webhook === undefined) return undefined;
  const dead = await orTemporary(listDeadDeliveries(sql, id));
  const ofFirm = webhook.firmId !== null;
  return {
    title: "Webhook",
    at: "/console/webhooks",
    ...(dead.length > 0 && !webhook.active ? { lead: OFF } : {}),
    facts: [
      ["Subscription", id],
      ["Firm", webhook.firmId ?? "all of its integrator (Connector)"],
      ["Integrator", webhook.integratorId ?? "none"],
      ["Receiver", webhook.origin ?? "pulled"],
      ["State", webhook.active ? "on" : `off: ${webhook.disabledReason ?? "by its owner"}`],
      ["Failed attempts", String(webhook.failedAttempts)],
    ],
    sections: [
      tableOf(
        "dead",
        "Deliveries that failed for good",
        ["Delivery", "Event", "Document", "Attempts", "Answer", "Since"],
        dead.map((one) => [
          textCell(one.id),
          textCell(one.event),
          textCell(one.documentId, `/console/documents/${one.documentId}`),
          numberCell(one.attempts),
          numberCell(one.responseStatus),
          textCell(dateText(one.createdAt)),
        ]),
      ),
    ],
    actions: [
      ...(ofFirm && webhook.active
        ? [{ path: "actions/switch-off-webhook", id, words: "switch this webhook off" }]
        : []),
      ...(webhook.active
        ? dead.map((one) => ({ path: "actions/replay-delivery", id: one.id, words: `send delivery ${one.id} again` }))
        : []),
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
      tableOf(
        "record",
        "Record",
        ["When", "What", "To", "Reason", "Refused", "Session", "Address"],
        entries.map((entry) => [
          textCell(dateText(entry.at)),
          textCell(entry.event.replace(/^operator\./, "").replace(/_/g, " ")),
          textCell(`${entry.targetType} ${entry.targetId}`),
          textCell(memberOf(entry.metadata, "reason")),
          textCell(memberOf(entry.metadata, "refusal")),
          textCell(entry.session),
          textCell(entry.address),
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
  firms: (asked: ListAsked) => firmsList(parts, asked),
  integrators: (asked: ListAsked) => integratorsList(parts, asked),
  record: () => record(parts),
});

/** Pages of one thing. */
export const consoleSheets = (parts: Parts) => ({
  onboarding: (id: string) => onboardingSheet(parts, id),
  "white-label": (id: string) => whiteLabelSheet(parts, id),
  webhooks: (id: string) => webhookSheet(parts, id),
  firms: (id: string) => firmSheet(parts, id),
  integrators: (id: string, after: string | undefined) => integratorSheet(parts, id, after),
  keys: (id: string) => keySheet(parts, id),
});
