/**
 * The closed lists of the program against those of the database. What the database knows is read off the committed dump of
 * its schema, which another test holds to what the migrations make.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import {
  ATTEMPTABLE_STATES,
  EVENT_KINDS,
  HISTORY_TRIGGERS,
  isEventKind,
  OUTBOUND_STATES,
  outboundLifecycle,
  STORED_EVENT_KINDS,
  TIMELINE_KINDS,
  UNDELIVERED_STATES,
} from "../../../../engine/lifecycle/document.js";
import { CONNECTOR_EVENT_TYPES } from "../../../../engine/lifecycle/connector.js";
import { FEED_KINDS } from "../../../../engine/lifecycle/feed.js";
import { WEBHOOK_ATTEMPT_OUTCOMES } from "../../../../engine/storage/events/attempts.js";
import { TEST_SCENARIOS } from "../../../../engine/storage/events/dispatch.js";
import { RECORDED_OUTCOMES } from "../../../../engine/lifecycle/attempt.js";
import { RESPONSE_CODES } from "../../../../engine/lifecycle/response.js";
import { INBOUND_STATES, RECEIVED_STATES } from "../../../../engine/lifecycle/received.js";
import { PERSON_ROLES } from "../../../../engine/base/roles.js";
import { ONBOARDING_STATES } from "../../../../engine/lifecycle/onboarding.js";
import { ONBOARDING_RELATIONSHIPS } from "../../../../engine/identity/onboarding/onboarding.js";
import { ACTOR_TYPES, AUDIT_EVENTS } from "../../../../engine/identity/audit.js";
import {
  OFFER_STATUSES,
  RELATIONSHIP_MODES,
  REQUESTED_INTERFACES,
} from "../../../../engine/identity/partners/consents.js";
import { BOX_EVENTS, BOX_OUTBOUND_STATES } from "../../../../engine/lifecycle/box.js";
import { STAGINGS } from "../../../../engine/lifecycle/connector.js";
import { CANCELLED_IN_BOX } from "../../../../engine/documents/box/operate.js";
import { PLAN_CODES } from "../../../../engine/billing/plans.js";
import { WHITE_LABEL_TYPES } from "../../../../engine/identity/white-label/reads.js";
import { WHITE_LABEL_STATES } from "../../../../engine/lifecycle/white-label.js";
import { SERVICE_KINDS } from "../../../../engine/storage/documents/service-messages.js";
import { STATUS_KINDS, STATUS_OUTCOMES } from "../../../../engine/storage/documents/received-responses.js";
import { readSources } from "../../../support/sources.js";

const SCHEMA = readFileSync(new URL("../../../integration/database/schema.sql", import.meta.url), "utf8");
const literalsOf = (text: string): string[] => [...text.matchAll(/'([^']+)'/g)].map(([, literal = ""]) => literal);

/** The text of one constraint, as the catalogue writes it. */
const constraint = (name: string): string => new RegExp(`^  constraint ${name}: (.*)$`, "m").exec(SCHEMA)?.[1] ?? "";
/** The body of one SQL function. */
const body = (name: string): string =>
  new RegExp(`FUNCTION public\\.${name}\\([\\s\\S]*?AS \\$function\\$([\\s\\S]*?)\\$function\\$`).exec(SCHEMA)?.[1] ??
  "";

test.each([
  ["document_status_check", OUTBOUND_STATES],
  ["document_history_status_check", OUTBOUND_STATES],
  ["document_history_trigger_check", HISTORY_TRIGGERS],
  ["document_event_kind_check", STORED_EVENT_KINDS],
  ["document_attempt_outcome_check", RECORDED_OUTCOMES],
  ["service_attempt_outcome_check", RECORDED_OUTCOMES],
  ["document_invoice_response_status_check", RESPONSE_CODES],
  ["received_document_status_check", INBOUND_STATES],
  ["service_message_kind_check", SERVICE_KINDS],
  ["audit_entry_actor_type_check", ACTOR_TYPES],
  ["consent_offer_relationship_mode_check", RELATIONSHIP_MODES],
  ["consent_offer_requested_interface_check", REQUESTED_INTERFACES],
  ["consent_offer_status_check", OFFER_STATUSES.filter((status) => status !== "expired" && status !== "withdrawn")],
  ["onboarding_request_status_check", ONBOARDING_STATES],
  ["white_label_operation_status_check", WHITE_LABEL_STATES],
  ["white_label_operation_operation_type_check", WHITE_LABEL_TYPES],
  ["firm_plan_code_check", PLAN_CODES],
  ["onboarding_request_relationship_mode_check", ONBOARDING_RELATIONSHIPS],
  ["membership_role_check", PERSON_ROLES],
  ["box_item_status_check", BOX_OUTBOUND_STATES],
  ["box_event_kind_check", BOX_EVENTS],
  ["document_staged_check", STAGINGS],
  ["inbound_status_kind_check", STATUS_KINDS],
  ["inbound_status_outcome_check", STATUS_OUTCOMES],
  ["webhook_subscription_events_check1", FEED_KINDS],
  ["webhook_subscription_connector_events_check", CONNECTOR_EVENT_TYPES],
  ["webhook_attempt_outcome_check", WEBHOOK_ATTEMPT_OUTCOMES],
  ["webhook_delivery_scenario_check", TEST_SCENARIOS],
  ["webhook_delivery_status_check", ["PENDING", "RETRYING", "SUCCESS", "FAILED"]],
])("the constraint %s takes exactly the words of the program", (name, words) => {
  expect(literalsOf(constraint(name))).toEqual([...words]);
});

test("a message of the access point has every state of a document but the one that its own rules refuse", () => {
  expect(literalsOf(constraint("service_message_status_check"))).toEqual(
    OUTBOUND_STATES.filter((state) => state !== "validation_failed"),
  );
});

test.each([
  ["document_is_open", ATTEMPTABLE_STATES],
  ["received_is_visible", RECEIVED_STATES],
  ["status_counts", ["applied", "late"]],
  ["tallied_as", ["send_failed", "cancelled", CANCELLED_IN_BOX, "cancelled"]],
])("the function %s says the same as the program", (name, words) => {
  expect(literalsOf(body(name))).toEqual([...words]);
});

/** SQL as it runs today: the functions of the schema, and the statements of the program. */
const sqlOfTheProgram = [
  ...SCHEMA.split(/^(?=CREATE OR REPLACE FUNCTION)/m).filter((part) => part.startsWith("CREATE")),
  ...readSources()
    .filter(({ path }) => path.startsWith("engine/storage/"))
    .map(({ file }) => file.getFullText()),
];

test("every kind of event that a statement names is one of the closed list", () => {
  const named = sqlOfTheProgram.flatMap((text) => text.match(/(?<=')document\.[a-z_]+(?=')/g) ?? []);
  expect(named).toContain("document.queued");
  const known: readonly string[] = [...TIMELINE_KINDS, ...FEED_KINDS, ...CONNECTOR_EVENT_TYPES];
  expect(named.filter((kind) => !known.includes(kind))).toEqual([]);
});

test("every event that a statement writes to the audit is one of the closed list, and every one of the list is written", () => {
  const written = sqlOfTheProgram.flatMap((text) =>
    [
      ...text.matchAll(/(?:append_audit|audit_key)\(([\s\S]*?)\);/g),
      ...text.matchAll(/select append_audit\(([\s\S]*?)\)\s+from/g),
    ].flatMap(([, call = ""]) => call.match(/(?<=')[a-z_]+\.[a-z_]+(?=')/g) ?? []),
  );
  // The answer to an offer names its event by the answer itself.
  expect([...new Set([...written, "consent.accepted", "consent.declined"])].sort()).toEqual([...AUDIT_EVENTS].sort());
});

test("the lists of open, visible and counting states stand in one place each", () => {
  const lists = [ATTEMPTABLE_STATES, RECEIVED_STATES, ["applied", "late"]].map(
    (words) => `in (${words.map((word) => `'${word}'`).join(", ")}`,
  );
  expect(lists.map((list) => sqlOfTheProgram.filter((text) => text.includes(list)).length)).toEqual([1, 1, 1]);
});

test("no statement has a list of a document's states of its own", () => {
  const own = readSources()
    .filter(({ path }) => path.startsWith("engine/storage/"))
    .flatMap(({ path, file }) =>
      [...file.getFullText().matchAll(/\bin \(('[a-z_]+'(?:, '[a-z_]+')+)\)/g)].map(([, list = ""]) => ({
        path,
        list,
      })),
    )
    .filter(({ list }) => literalsOf(list).every((word) => OUTBOUND_STATES.some((state) => state === word)));
  expect(own).toEqual([]);
});

test("every state in which nothing moves a document any more is one in which it counts as not delivered", () => {
  const finalStates = OUTBOUND_STATES.filter((state) => Object.keys(outboundLifecycle[state]).length === 0);
  expect(UNDELIVERED_STATES).toEqual(finalStates);
});

test("webhooks and pulls are told of the kinds of the specification and of nothing else", () => {
  expect(TIMELINE_KINDS.filter(isEventKind)).toEqual([...EVENT_KINDS]);
});
