/** Writes the published OpenAPI 3.0.3 documents from the same rows by which the server answers. */
import { PARTICIPANT_FORMS } from "../../engine/base/ids.js";
import { OUTBOUND_STATES } from "../../engine/lifecycle/document.js";
import { CATEGORIES } from "../request/problem.js";
import { operationOf } from "./openapi-operation.js";
import type { Components, JsonSchemaValue, JsonObject } from "./json-schema.js";
import { IDEMPOTENCY, SCOPES } from "./route.js";
import type { Family, Route } from "./route.js";

export const DOCUMENT_NAMES = ["enterprise", "connector", "sapi"] as const;
export type DocumentName = (typeof DOCUMENT_NAMES)[number];

interface DocumentSpec {
  readonly families: readonly Family[];
  readonly info: JsonObject;
}

const LICENSE: JsonObject = { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" };

/** What each heading of the reference is about. */
const TAGS: Readonly<Record<string, string>> = {
  Authentication: "Tokens, the calling key and the public keys of tokens.",
  Account: "The firm's account, and the record of who changed what.",
  "Integrator keys": "Keys of an integrator: its own and those for single firms.",
  Firms: "The firms for which an integrator acts.",
  Consent: "Invitations of companies, and how their consent stands.",
  Webhooks: "Who is told of what happens to documents, how it reaches them, and events to be pulled.",
  Webhook: "Where the events of an integrator's account go, what became of each delivery, and tests of the receiver.",
  OAuth: "A program gets a key of an integrator whose administrator agrees.",
  Box: "Documents that wait here: sent at once or at their time, again, or not at all.",
  Onboarding: "Firms that only send, which an integrator asks for.",
  Peppol: "What other access points and the network ask for.",
  Documents: "What became of documents that were sent.",
  Inbox: "What firms have received.",
  Pull: "What was received and sent, for programs that fetch it page by page.",
  Mapper: "Sources of every form become documents that can be created.",
  Validation: "Documents are judged and read without being sent.",
  "White Label": "Participants that an intermediary registers, takes over and lets go, without accounts.",
  Lookup: "Who is on the network and takes what, and who a company is.",
  Reporting: "What was exchanged in a period, and the reports about it.",
};

const DOCUMENTS: Readonly<Record<DocumentName, DocumentSpec>> = {
  enterprise: {
    families: ["auth", "oauth", "enterprise", "public"],
    info: {
      title: "Kurier Enterprise API",
      // The contract that the paths and shapes follow. @source spec/enterprise.md, Versioning
      version: "1.12.1",
      description: [
        "JSON interface of the access point: tokens, the life of sent documents, partner and account operations.",
        "1. Exchange the key's secret for an access token at `POST /api/v1/auth/token`.\n2. Send it as `Authorization: Bearer <token>`.\n3. With a central `sk_int_*` key name the firm in `X-Firm-Id`; with a firm's own `sk_live_*` key leave it out.",
        "Times are ISO 8601 UTC. Each response carries `X-Request-Id`; quote it to support. Request bodies may be gzip (`Content-Encoding: gzip`). Members that are not described may be added at any time.",
      ].join("\n\n"),
    },
  },
  connector: {
    families: ["connector"],
    info: {
      title: "Kurier Connector",
      version: "1.0",
      description: [
        "One JSON flow per customer. The integrator names the firm by its own `customerRef`; the service does the rest.",
        "1. Exchange the secret of a `sk_int_*` key for an access token at `POST /api/v1/auth/token`.\n2. Send it as `Authorization: Bearer <token>`.\n3. Name the firm in the query, `customerRef=<your own id of it>`; X-Firm-Id is never sent.",
        "Times are ISO 8601 UTC. Each response carries `X-Request-Id`; quote it to support. Request bodies may be gzip (`Content-Encoding: gzip`). Members that are not described may be added at any time.",
      ].join("\n\n"),
    },
  },
  sapi: {
    families: ["sapi"],
    info: {
      title: "Kurier SAPI profile",
      version: "1.0",
      description: [
        "SAPI-SK 1.0: ready Peppol BIS Billing 3.0 documents as UBL XML in a JSON wrapper, out and in. The same handlers answer below `/sapi/v1` and `/sapi`.",
        "1. Exchange the key's secret for an access token at `POST /sapi/v1/auth/token`.\n2. Name your participant in `X-Peppol-Participant-Id` with every document call.\n3. Send with an `Idempotency-Key`; repeat the same body under the same key when the outcome is unclear.\n4. Poll `GET /sapi/v1/document/receive`, store, then acknowledge.",
        "202 means accepted for processing, never delivered: read what became of it at `GET /api/v1/documents/{id}/status`. Request bodies may be gzip (`Content-Encoding: gzip`).",
      ].join("\n\n"),
    },
  },
};

const text = (description: string, more: JsonObject = {}): JsonObject => ({ type: "string", description, ...more });
const requestId = text("The value of the header X-Request-Id.");
const retryable = { type: "boolean", description: "Whether repeating the same request can succeed." };
const details: JsonObject = {
  type: "array",
  items: {
    type: "object",
    required: ["message"],
    properties: {
      code: text("Code of this finding."),
      issue: text("Machine-readable reason."),
      field: text("Member or header that is wrong."),
      message: text("What is wrong."),
      ruleId: text("Validation rule."),
      severity: text("What the finding means for the document.", {
        enum: ["fatal", "error", "warning", "information"],
      }),
      location: text("Where in the document."),
    },
  },
};
const category = { type: "string", enum: [...CATEGORIES] };
const code = text("Stable code.");
const message = text("One sentence: what is wrong and what to do.");
const existingDocument: JsonObject = {
  type: "object",
  description: "With DUPLICATE_INVOICE_NUMBER: the document that has the number.",
  required: ["id", "invoiceNumber", "status", "sentAt", "recipient"],
  properties: {
    id: text("Id of the document.", { format: "uuid" }),
    invoiceNumber: text("Its number."),
    status: text("How far it is.", { enum: [...OUTBOUND_STATES] }),
    sentAt: text("When it left; null before.", { format: "date-time", nullable: true }),
    recipient: text("Participant id of its receiver.", { pattern: PARTICIPANT_FORMS.either.source }),
  },
};
const envelope = (required: readonly string[], properties: JsonObject): JsonObject => ({
  type: "object",
  required: ["error"],
  properties: { error: { type: "object", required, properties } },
});

/** The envelopes that gateway/request/problem.ts writes. @source spec/rulings.md, section 3 */
const ENVELOPES: JsonObject = {
  SapiError: envelope(["category", "code", "message", "retryable", "correlation_id", "requestId"], {
    category,
    code,
    message,
    retryable,
    correlation_id: requestId,
    requestId,
    details,
  }),
  AuthError: envelope(["category", "code", "message", "retryable", "correlation_id"], {
    category,
    code,
    message,
    retryable,
    correlation_id: requestId,
    details,
  }),
  OAuthError: {
    type: "object",
    required: ["error"],
    properties: { error: text("Code of RFC 6749."), error_description: message },
  },
  Error: envelope(["code", "message", "requestId"], {
    code,
    message,
    requestId,
    field: text("The member or header that is wrong."),
    details,
    nextAction: text("What leads on."),
    retryable,
    required_scope: text("The scope that the token lacks.", { enum: [...SCOPES] }),
    fix_hint: text("How to get it."),
    conflictKey: {
      type: "array",
      items: { type: "string" },
      description: "With DUPLICATE_INVOICE_NUMBER: the members that name the other document.",
    },
    existingDocument,
  }),
};

const HEADERS: JsonObject = {
  "X-Request-Id": { description: "Id of this request, on every response.", schema: { type: "string" } },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 1 } },
  "WWW-Authenticate": { description: "Bearer, with the error where a token was sent.", schema: { type: "string" } },
  "X-RateLimit-Limit": { description: "Requests per window.", schema: { type: "integer" } },
  "X-RateLimit-Remaining": { description: "Requests left in the window.", schema: { type: "integer" } },
  "X-RateLimit-Reset": {
    description: "Unix seconds at which the oldest counted request leaves the window.",
    schema: { type: "integer" },
  },
};

const PARAMETERS: JsonObject = {
  ParticipantId: {
    name: "X-Peppol-Participant-Id",
    in: "header",
    required: true,
    description: "The participant for which the call is made.",
    schema: { type: "string", pattern: PARTICIPANT_FORMS.either.source },
    example: "0245:2120000017",
  },
  FirmId: {
    name: "X-Firm-Id",
    in: "header",
    required: false,
    description:
      "The firm, by its id as GET /firms lists it. Required with a central sk_int_* key; one that is made for a single firm may leave it out; forbidden with a sk_live_* key.",
    schema: { type: "string", format: "uuid" },
  },
  CustomerRef: {
    name: "customerRef",
    in: "query",
    required: true,
    description: "Your own id of the firm for which the call is made.",
    schema: { type: "string", minLength: 1, maxLength: 128 },
    example: "demo-sender",
  },
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description: "Your own id of the request, 1 to 128 characters of A-Z a-z 0-9 . _ : -; comes back in the response.",
    // No pattern: another value is no fault, it is replaced.
    schema: { type: "string" },
  },
  ...Object.fromEntries(
    Object.entries(IDEMPOTENCY)
      .filter(([name]) => name !== "none")
      .map(([name, form]): [string, JsonSchemaValue] => [
        `IdempotencyKey_${name}`,
        {
          name: "Idempotency-Key",
          in: "header",
          required: !("isOptional" in form),
          description: `Makes the request safe to repeat: ${form.words}.`,
          schema:
            name === "uuid" ? { type: "string", format: "uuid" } : { type: "string", pattern: form.pattern.source },
        },
      ]),
  ),
};

/** Only those components that the document refers to, directly or through another. */
function usedParts(document: JsonObject, all: Readonly<Record<string, JsonObject>>): JsonObject {
  const used: Record<string, JsonObject> = {};
  const open = [JSON.stringify(document)];
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    for (const [, kind = "", name = ""] of text.matchAll(/"#\/components\/([A-Za-z]+)\/([^"]+)"/g)) {
      const part = all[kind]?.[name];
      if (part === undefined || used[kind]?.[name] !== undefined) continue;
      (used[kind] ??= {})[name] = part;
      open.push(JSON.stringify(part));
    }
  }
  return Object.fromEntries(
    Object.entries(used).map(([kind, parts]) => [
      kind,
      Object.fromEntries(Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1))),
    ]),
  );
}

function documentOf(spec: DocumentSpec, rows: readonly Route[], words: string | undefined): JsonObject {
  const components: Components = new Map();
  const paths: Record<string, JsonObject> = {};
  for (const row of rows) {
    if (row.hidden || !spec.families.includes(row.family)) continue;
    const path = `${row.mounts[0] ?? ""}${row.path}`;
    (paths[path] ??= {})[row.method.toLowerCase()] = operationOf(row, components);
  }
  const tags = [
    ...new Set(rows.filter((row) => !row.hidden && spec.families.includes(row.family)).map((row) => row.tag)),
  ];
  const document: JsonObject = {
    openapi: "3.0.3",
    info: {
      ...spec.info,
      ...(words === undefined ? {} : { description: `${String(spec.info["description"])}\n\n${words}` }),
      license: LICENSE,
    },
    servers: [{ url: "/" }],
    tags: tags.map((name) => ({ name, description: TAGS[name] ?? name })),
    paths,
  };
  const parts = usedParts(document, {
    schemas: { ...ENVELOPES, ...Object.fromEntries(components) },
    headers: HEADERS,
    parameters: PARAMETERS,
  });
  return {
    ...document,
    components: { ...parts, securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } } },
  };
}

/**
 * A published document. The same rows give the same bytes.
 * @param words what this deployment adds to its description. @default nothing
 */
export const openApiDocument = (name: DocumentName, rows: readonly Route[], words?: string): JsonObject =>
  documentOf(DOCUMENTS[name], rows, words);

/** Every published document by its name. */
export const openApiDocuments = (rows: readonly Route[]): Readonly<Record<DocumentName, JsonObject>> => ({
  enterprise: openApiDocument("enterprise", rows),
  connector: openApiDocument("connector", rows),
  sapi: openApiDocument("sapi", rows),
});
