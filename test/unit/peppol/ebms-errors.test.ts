/** Goal: each ebMS error says the same to the sender of a message every time; what a peer words in its own way is understood. @source design/as4.md section 7 */
import { expect, test } from "vitest";

import { decideErrors, EBMS_ERRORS, meaningOf } from "../../../engine/peppol/as4/ebms-errors.js";
import type { ErrorMeaning, ReceivedError } from "../../../engine/peppol/as4/ebms-errors.js";

const received = (code: string, changes: Partial<ReceivedError> = {}): ReceivedError => ({
  code,
  severity: "failure",
  detail: undefined,
  description: undefined,
  refToMessageId: undefined,
  ...changes,
});

const MEANINGS: Readonly<Record<keyof typeof EBMS_ERRORS, ErrorMeaning>> = {
  "EBMS:0001": "permanent",
  "EBMS:0002": "permanent",
  "EBMS:0003": "permanent",
  "EBMS:0004": "retry",
  "EBMS:0005": "retry",
  "EBMS:0006": "permanent",
  "EBMS:0007": "permanent",
  "EBMS:0008": "permanent",
  "EBMS:0009": "permanent",
  "EBMS:0010": "permanent",
  "EBMS:0011": "permanent",
  "EBMS:0101": "retry",
  "EBMS:0102": "retry",
  "EBMS:0103": "permanent",
  "EBMS:0201": "retry",
  "EBMS:0202": "retry",
  "EBMS:0301": "retry",
  "EBMS:0302": "retry",
  "EBMS:0303": "permanent",
  "EBMS:4001": "duplicate",
};

test.each(Object.entries(MEANINGS))("%s, a failure, means %s", (code, meaning) => {
  expect(meaningOf(received(code))).toBe(meaning);
});

test("the names of the ebMS errors are those of the specification", () => {
  expect(Object.entries(EBMS_ERRORS).map(([code, { name }]) => `${code.slice(5)} ${name}`)).toEqual([
    "0001 ValueNotRecognized",
    "0002 FeatureNotSupported",
    "0003 ValueInconsistent",
    "0004 Other",
    "0005 ConnectionFailure",
    "0006 EmptyMessagePartitionChannel",
    "0007 MimeInconsistency",
    "0008 FeatureNotSupportedInconsistency",
    "0009 InvalidHeader",
    "0010 ProcessingModeMismatch",
    "0011 ExternalPayloadError",
    "0101 FailedAuthentication",
    "0102 FailedDecryption",
    "0103 PolicyNoncompliance",
    "0201 DysfunctionalReliability",
    "0202 DeliveryFailure",
    "0301 MissingReceipt",
    "0302 InvalidReceipt",
    "0303 DecompressionFailure",
    "4001 DuplicateDetected",
  ]);
  expect(
    Object.entries(EBMS_ERRORS)
      .filter(([, { severity }]) => severity === "warning")
      .map(([code]) => code),
  ).toEqual(["EBMS:0002", "EBMS:0005", "EBMS:0006"]);
});

test.each<readonly [string, ReceivedError, ErrorMeaning]>([
  ["NOT_SERVICED in the detail", received("EBMS:0004", { detail: "PEPPOL:NOT_SERVICED" }), "not_serviced"],
  [
    "NOT_SERVICED in the description",
    received("EBMS:0004", { description: "the receiver: PEPPOL:NOT_SERVICED" }),
    "not_serviced",
  ],
  ["NOT_SERVICED under another code", received("EBMS:0003", { detail: "PEPPOL:NOT_SERVICED" }), "permanent"],
  [
    "a duplicate as phase4 worded it before 4.5.0",
    received("EBMS:0004", { detail: "Message with ID was already received" }),
    "duplicate",
  ],
  [
    "a duplicate in phase4's words of 4.5",
    received("EBMS:0004", {
      description: "The incoming message has been determined to be a duplicate, based on its id.",
    }),
    "duplicate",
  ],
  [
    "a database that has not taken the message",
    received("EBMS:0004", { detail: "ERROR: duplicate key value violates unique constraint" }),
    "retry",
  ],
  ["a duplicate of something else", received("EBMS:0004", { detail: "Duplicate header element" }), "retry"],
  [
    "a duplicate in phase4's words of 1.3",
    received("EBMS:0004", { detail: "Another message with the same ID was already received!" }),
    "duplicate",
  ],
  [
    "a duplicate in phase4's words of 2.7 to 4.4",
    received("EBMS:0004", {
      detail:
        "Not invoking SPIs, because message with Message ID 'a:b@x.example' was already handled (this is a duplicate)",
    }),
    "duplicate",
  ],
  ["a duplicate with its id", received("EBMS:0004", { detail: "Message ID: a@b was already processed" }), "duplicate"],
  [
    "a duplicate that is told by an exception",
    received("EBMS:0004", { detail: "Technical details: com.example.DuplicateMessageException - a@b.example" }),
    "duplicate",
  ],
  [
    "a trace of calls through who looks for duplicates, whose database is away",
    received("EBMS:0004", {
      detail:
        "Error processing incoming AS4 message with processor 'com.example.Storing@1b2c': Technical details: java.sql.SQLException - refused\njava.sql.SQLException: refused\n\tat com.example.DuplicateMessageStore.register(DuplicateMessageStore.java:41)\n\tat com.example.DuplicateMessage.of(DuplicateMessage.java:7)\n\tat com.example.Storing.isDuplicateMessage(Storing.java:9)\n\tat com.example.Storing.duplicateMessage(Storing.java:3)",
    }),
    "retry",
  ],
  [
    "a trace of calls that is cut in the name of a class",
    received("EBMS:0004", { detail: "refused\n\tat com.example.DuplicateMessage" }),
    "retry",
  ],
  [
    "a trace of calls that is cut in the name of a file",
    received("EBMS:0004", { detail: "refused\n\tat com.example.Store.find(DuplicateMessage" }),
    "retry",
  ],
  ["a look for duplicates that failed", received("EBMS:0004", { detail: "Duplicate message check failed" }), "retry"],
  [
    "a look for duplicates that was not possible",
    received("EBMS:0004", { detail: "Could not find out whether the message was already received" }),
    "retry",
  ],
  ["no duplicate", received("EBMS:0004", { detail: "It is not a duplicate message, the disk is full" }), "retry"],
  ["a duplicate as a code", received("EBMS:0004", { detail: "DuplicateMessage" }), "duplicate"],
  [
    "a processor named after duplicates, whose disk is full",
    received("EBMS:0004", {
      detail:
        "Error processing incoming AS4 message with processor 'com.example.DuplicateMessageFilter@1f': Technical details: java.io.IOException - No space left on device",
    }),
    "retry",
  ],
  [
    "something else that was processed already",
    received("EBMS:0004", {
      detail:
        "Error processing incoming AS4 message with processor 'com.example.Storing@1b2c': Technical details: java.io.IOException - Stream has already been processed",
    }),
    "retry",
  ],
  ["a duplicate as a word", received("EBMS:0004", { description: "Duplicate message" }), "duplicate"],
  ["a duplicate under another code", received("EBMS:0003", { description: "Duplicate message" }), "permanent"],
  ["a warning", received("EBMS:0103", { severity: "warning" }), "warning"],
  ["a code that nobody knows", received("EBMS:9999"), "permanent"],
  ["a code of another table", received("constructor"), "permanent"],
  ["no code", received(""), "permanent"],
])("an error that is %s has the meaning of its text and code", (_, error, meaning) => {
  expect(meaningOf(error)).toBe(meaning);
});

test.each([
  "Invoice 2026001 was already received from this supplier",
  "An invoice with ID 2026001 was already received",
  "Document 2026001 has already been processed",
  "The message body has already been processed",
  "message security header has already been processed",
  "SOAP Envelope was already processed",
  "Duplicate message header Messaging",
  "Duplicate message part",
  "Duplicate message store is down",
  "Exception in duplicate message filter",
  "Timeout while asking for a duplicate message",
  "Message is duplicated on the bus, disk full",
  "The message is duplicate-free",
])("EBMS:0004 with the words %s is no word of our message, and proves no delivery", (words) => {
  expect(meaningOf(received("EBMS:0004", { detail: words }))).toBe("retry");
  expect(meaningOf(received("EBMS:0004", { detail: `Technical details: java.io.IOException - ${words}` }))).toBe(
    "retry",
  );
});

test.each([
  "Rejecting duplicate AS4 message 'a0@kurier'",
  "Rejecting duplicate SBDH instance 'a0'",
  "Duplicate message a0@kurier",
  "Duplicate MessageId detected",
  "Message a0@kurier was already received",
  "Document with instance identifier 'a0' was already received",
  "UserMessage with ID 'a0@kurier' has already been received",
  "The message has been already received",
  "A message with MessageId=a0@kurier was already received",
  "Duplicate message ignored",
  "Duplicate message will be discarded",
])("EBMS:0004 with the words %s names our message, and is a duplicate", (words) => {
  expect(meaningOf(received("EBMS:0004", { detail: words }))).toBe("duplicate");
});

const duplicate = received("EBMS:4001");
const unserved = received("EBMS:0004", { detail: "PEPPOL:NOT_SERVICED" });
const warning = received("EBMS:0002", { severity: "warning" });

test.each<readonly [string, readonly ReceivedError[], ErrorMeaning, string]>([
  ["a warning and a refusal", [warning, received("EBMS:0103")], "permanent", "EBMS:0103"],
  ["a refusal for now and one for good", [received("EBMS:0101"), received("EBMS:0103")], "permanent", "EBMS:0103"],
  ["a refusal for now and NOT_SERVICED", [received("EBMS:0202"), unserved], "not_serviced", "EBMS:0004"],
  ["a warning and a duplicate", [warning, duplicate], "duplicate", "EBMS:4001"],
  ["a duplicate and a refusal for now", [duplicate, received("EBMS:0202")], "retry", "EBMS:0202"],
  ["a duplicate and a refusal for good", [duplicate, received("EBMS:0303")], "retry", "EBMS:0303"],
  ["a duplicate and NOT_SERVICED", [duplicate, unserved], "not_serviced", "EBMS:0004"],
])(
  "errors that come together, %s, mean what the one that decides means, whose code is told, and prove no delivery beside a refusal",
  (_, errors, meaning, code) => {
    for (const order of [errors, [...errors].reverse()]) {
      const decided = decideErrors(order);
      expect([decided?.meaning, decided?.errors[0]?.code, decided?.errors.length]).toEqual([meaning, code, 2]);
    }
  },
);
