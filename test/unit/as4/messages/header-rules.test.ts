/** Goal: each rule of the ebMS header refuses a message that breaks it and nothing else, with the error that the profile names. @source design/as4.md section 2 */
import { beforeAll, expect, test } from "vitest";

import { USER_MESSAGE_RULES } from "../../../../engine/peppol/as4/user-message.js";
import { open } from "../../../support/as4/as4.js";
import { forge } from "../../../support/as4/as4-forge.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../../support/as4/as4-keys.js";

let alice: AccessPoint;
let bob: AccessPoint;
beforeAll(() => {
  alice = accessPoint("PSK000001");
  bob = accessPoint("PSK000002");
});

/** Changes what stands between a tag that begins so and its end tag. */
const within =
  (element: string, change: (inner: string) => string) =>
  (xml: string): string =>
    xml.replace(
      new RegExp(`(<eb:${element}[^>]*>)(.*?)(</eb:${element}>)`, "s"),
      (_, open: string, inner: string, close: string) => open + change(inner) + close,
    );
const set = (element: string, value: string): ((xml: string) => string) => within(element, () => value);
const side = (name: "From" | "To", change: (xml: string) => string): ((xml: string) => string) => within(name, change);
const property =
  (name: string, value: string) =>
  (xml: string): string =>
    xml.replace(new RegExp(`(name="${name}"[^>]*>)[^<]*`), `$1${value}`);
const twice =
  (element: string) =>
  (xml: string): string =>
    xml.replace(new RegExp(`<eb:${element}.*?</eb:${element}>`, "s"), (found) => found + found);
const drop =
  (element: string) =>
  (xml: string): string =>
    xml.replace(new RegExp(`<eb:${element}.*?</eb:${element}>`, "s"), "");

const sides = (["From", "To"] as const).flatMap((name): [string, string, (xml: string) => string][] => [
  [`${name}: exactly one PartyId`, "EBMS:0009", side(name, twice("PartyId"))],
  [`${name}: exactly one PartyId`, "EBMS:0009", drop(name)],
  [`${name}: PartyId type`, "EBMS:0003", side(name, (xml) => xml.replace(/ type="[^"]*"/, ""))],
  [`${name}: PartyId is not a seat id`, "EBMS:0003", side(name, set("PartyId", "psk000001"))],
  [`${name}: PartyId is not a seat id`, "EBMS:0003", side(name, set("PartyId", "PSK0000011"))],
  [
    `${name}: Role`,
    "EBMS:0003",
    side(name, set("Role", "http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/defaultMSH")),
  ],
  [`${name}: Role`, "EBMS:0003", side(name, drop("Role"))],
]);
const cases: readonly [detail: string, error: string, change: (xml: string) => string][] = [
  ["MessageId", "EBMS:0009", set("MessageId", "")],
  ["MessageId", "EBMS:0009", set("MessageId", "two words@peer")],
  ["MessageId", "EBMS:0009", set("MessageId", "&lt;1@peer&gt;")],
  ["MessageId", "EBMS:0009", set("MessageId", `${"x".repeat(256)}`)],
  ["MessageId", "EBMS:0009", twice("MessageId")],
  ["MessageId", "EBMS:0009", drop("MessageInfo")],
  ["Timestamp", "EBMS:0009", set("Timestamp", "yesterday")],
  ["Timestamp", "EBMS:0009", drop("Timestamp")],
  ...sides,
  ["AgreementRef", "EBMS:0010", drop("AgreementRef")],
  ["AgreementRef", "EBMS:0010", set("AgreementRef", "urn:fdc:peppol.eu:2017:agreements:tia:other")],
  [
    "AgreementRef: pmode and type are not used",
    "EBMS:0010",
    (xml) => xml.replace("<eb:AgreementRef", '<eb:AgreementRef pmode="x"'),
  ],
  [
    "AgreementRef: pmode and type are not used",
    "EBMS:0010",
    (xml) => xml.replace("<eb:AgreementRef", '<eb:AgreementRef type="x"'),
  ],
  ["Service", "EBMS:0009", set("Service", "")],
  ["Service", "EBMS:0009", set("Service", "x".repeat(1_025))],
  ["Service type", "EBMS:0003", (xml) => xml.replace(/(<eb:Service) type="[^"]*"/, "$1")],
  ["Action", "EBMS:0009", drop("Action")],
  ["Action", "EBMS:0009", twice("Action")],
  ["ConversationId", "EBMS:0009", drop("ConversationId")],
  ["ConversationId", "EBMS:0009", twice("ConversationId")],
  ["ConversationId", "EBMS:0009", set("ConversationId", "x".repeat(1_025))],
  ["MessageProperties: a name twice", "EBMS:0009", within("MessageProperties", (inner) => inner + inner)],
  ...["originalSender", "finalRecipient"].flatMap((name): [string, string, (xml: string) => string][] => [
    [`MessageProperties: ${name}`, "EBMS:0003", property(name, "")],
    [
      `MessageProperties: ${name}`,
      "EBMS:0003",
      (xml) => xml.replace(new RegExp(`name="${name}" type="[^"]*"`), `name="${name}" type="iso6523-actorid-other"`),
    ],
    [`MessageProperties: ${name}`, "EBMS:0003", (xml) => xml.replace(`name="${name}"`, `name="${name.toLowerCase()}"`)],
  ]),
];

test.each(cases.map((one, i) => [i + 1, ...one] as const))(
  "rule %i of the header refuses %s with %s",
  async (_, detail, error, messaging) => {
    let changed = false;
    const opened = await open(
      bob,
      await forge(alice, bob, {
        messaging: (xml) => {
          const edited = messaging(xml);
          changed = edited !== xml;
          return edited;
        },
      }),
    );
    expect(changed).toBe(true);
    expect(opened).toMatchObject({ kind: "refused", error, reason: "header", detail });
  },
);

test("every rule has a message that breaks it", () => {
  expect(new Set(cases.map(([detail]) => detail))).toEqual(new Set(USER_MESSAGE_RULES.map(({ detail }) => detail)));
});

// design/as4.md, section 2: "eb:ConversationId present (any value)"; its type in the schema of ebMS is xsd:token
test.each(["", " ", "urn:conversation:1"])(
  "a message whose conversation is called %j is taken: any value will do",
  async (value) => {
    const messaging = (xml: string): string => set("ConversationId", value)(xml);
    expect(await open(bob, await forge(alice, bob, { messaging }))).toMatchObject({
      kind: "message",
      message: { conversationId: value.trim() },
    });
  },
);

// eDelivery AS4 and ebMS 3.0 Core 5.2.2.1: UTC, and "including the 'Z' identifier is optional"
test.each(["2026-11-20T10:00:00", "2026-11-20T10:00:00.1234567Z", "2026-11-20T11:00:00+01:00"])(
  "a message of %s is taken: the zone of its time may be left out",
  async (value) => {
    const messaging = (xml: string): string => set("Timestamp", value)(xml);
    expect(await open(bob, await forge(alice, bob, { messaging }))).toMatchObject({ kind: "message" });
  },
);

test("what a peer may write otherwise is taken: white space, ids without @, further properties, an MPC", async () => {
  const messaging = (xml: string): string =>
    xml
      .replace(/(<eb:MessageId>)[^<]*/, "$1 f47ac10b-58cc-4372-a567-0e02b2c3d479\n")
      .replace(
        "<eb:UserMessage",
        '<eb:UserMessage mpc="http://docs.oasis-open.org/ebxml-msg/ebms/v3.0/ns/core/200704/defaultMPC"',
      )
      .replace("</eb:MessageProperties>", '<eb:Property name="other">x</eb:Property></eb:MessageProperties>');
  expect(await open(bob, await forge(alice, bob, { messaging }))).toMatchObject({
    kind: "message",
    message: { messageId: "f47ac10b-58cc-4372-a567-0e02b2c3d479" },
  });
});
