/**
 * Examples for the OpenAPI documents: a value that fits a schema, made of the names of its members, so that every
 * request and response shows one without being written by hand.
 */
import type { Components, JsonObject, JsonSchemaValue } from "./json-schema.js";

const UUID = "018f6a3e-7c10-7a4b-9d3e-2b5a6c7d8e9f";
const INSTANT = "2027-01-15T09:30:00.000Z";
const SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const SENDER = "0245:2120000017";
const RECEIVER = "0245:2120000025";
const INVOICE_TYPE =
  "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1";
const PROCESS_EXAMPLE = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0";

/** Stands for a whole UBL invoice; the reference's page puts one in its place. */
export const INVOICE_MARK = "<Invoice>…</Invoice>";

/** What a member of this name usually holds. */
const BY_NAME: Readonly<Record<string, JsonSchemaValue>> = {
  access_token: "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIwMThmNmEzZSJ9.c2lnbmF0dXJl",
  amount: "100.00",
  as4MessageId: `${UUID}@kurier`,
  city: "Žilina",
  client_id: UUID,
  client_secret: "sk_live_test_0123456789abcdefghijABCDEFGHIJ0123456789",
  clientId: UUID,
  consentUrl: "https://ap.example.com/consent/q3Zc0s6b1TgX8vJ4mK2nP5rY7wE9aD1fH3jL6oU8iB0",
  consent_url: "https://ap.example.com/consent/q3Zc0s6b1TgX8vJ4mK2nP5rY7wE9aD1fH3jL6oU8iB0",
  country: "SK",
  creationDateTime: INSTANT,
  currency: "EUR",
  customerRef: "demo-sender",
  customerReference: "K-1042",
  customer_reference: "K-1042",
  dic: "2120000017",
  document: INVOICE_MARK,
  documentId: UUID,
  documentType: INVOICE_TYPE,
  documentTypeId: INVOICE_TYPE,
  expires_in: 900,
  fix_hint: "Request a token whose scope contains documents:read.",
  icDph: "SK2120000017",
  ico: "99000017",
  icos: ["99000017"],
  identifier: "2120000017",
  invoiceNumber: "F-2027-001",
  ip: "192.0.2.7",
  ip_allowlist: ["192.0.2.7", "2001:db8::/32"],
  ipAllowlist: ["192.0.2.7"],
  issueDate: "2027-01-15",
  key: "sk_int_test_0123456789abcdefghijABCDEFGHIJ0123456789",
  keyPrefix: "sk_int_test_01234...6789",
  message: "Done.",
  month: "2027-01",
  name: "Pekáreň s. r. o.",
  networkId: RECEIVER,
  number: "F-2027-001",
  participantId: SENDER,
  payload: INVOICE_MARK,
  payloadEncoding: "UTF-8",
  payloadXml: INVOICE_MARK,
  peppolId: SENDER,
  peppol_id: SENDER,
  prefix: "sk_int_test_01234...6789",
  processId: PROCESS_EXAMPLE,
  receiverParticipantId: RECEIVER,
  receiverPeppolId: RECEIVER,
  q: "Príjemca",
  refresh_token: "rt_0123456789abcdefghijkl0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK",
  recipient: RECEIVER,
  requestId: UUID,
  correlation_id: UUID,
  scheme: "0245",
  scope: "documents:send documents:read",
  sender: SENDER,
  senderParticipantId: SENDER,
  senderPeppolId: SENDER,
  sha256: SHA256,
  street: "Hlavná 1",
  targetIdentifier: "99000017",
  templateKey: "my-erp",
  token: "rt_0123456789abcdefghijkl0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJK",
  user_agent: "erp/1.0",
  xml: INVOICE_MARK,
  zip: "010 01",
};

/** Texts of which one fits a pattern that no name tells of: a digest, a month, a participant behind its scheme. */
const BY_PATTERN: readonly string[] = [SHA256, "2027-01", `iso6523-actorid-upis::${SENDER}`];

const BY_FORMAT: Readonly<Record<string, JsonSchemaValue>> = {
  uuid: UUID,
  "date-time": INSTANT,
  date: "2027-01-15",
  email: "owner@example.com",
  uri: "https://ap.example.com/",
};

const TYPES: Readonly<Record<string, (schema: JsonObject) => JsonSchemaValue>> = {
  string: (schema) => "text".padEnd(Number(schema["minLength"] ?? 0), "x"),
  integer: (schema) => Number(schema["minimum"] ?? 1),
  number: (schema) => Number(schema["minimum"] ?? 1),
  boolean: () => true,
};

const isObject = (value: JsonSchemaValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The schema itself, or the component that it refers to. */
function resolved(schema: JsonObject, components: Components): JsonObject {
  const name = typeof schema["$ref"] === "string" ? schema["$ref"].split("/").at(-1) : undefined;
  if (name !== undefined) return components.get(name) ?? {};
  for (const word of ["allOf", "anyOf", "oneOf"]) {
    const [first] = Array.isArray(schema[word]) ? schema[word] : [];
    if (isObject(first)) return resolved(first, components);
  }
  return schema;
}

/** Whether a prepared value has the type that the schema asks for. */
function fits(value: JsonSchemaValue | undefined, schema: JsonObject): value is JsonSchemaValue {
  const { type, enum: words, pattern, format } = schema;
  if (value === undefined || Array.isArray(words) || (format === "uuid" && value !== UUID)) return false;
  if (typeof pattern === "string" && (typeof value !== "string" || !new RegExp(pattern, "u").test(value))) return false;
  return type === (Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value);
}

/** What a parameter of this name usually holds, where that fits its schema. */
export function namedExample(name: string, schema: JsonObject): JsonSchemaValue | undefined {
  const prepared = BY_NAME[name];
  return schema["example"] === undefined && fits(prepared, schema) ? prepared : undefined;
}

/**
 * A value that fits the schema.
 * @param name of the member that the value is for; empty for a whole body
 */
export function exampleFor(given: JsonObject, components: Components, name = ""): JsonSchemaValue {
  if (given["example"] !== undefined) return given["example"];
  const schema = resolved(given, components);
  const { enum: words, default: byDefault, example, properties, items, type, format } = schema;
  if (example !== undefined) return example;
  const prepared = BY_NAME[name];
  if (fits(prepared, schema)) return prepared;
  if (Array.isArray(words)) return words[0] ?? null;
  if (byDefault !== undefined) return byDefault;
  if (isObject(properties))
    return Object.fromEntries(
      Object.entries(properties).map(([member, of]) => [
        member,
        isObject(of) ? exampleFor(of, components, member) : null,
      ]),
    );
  if (type === "array") return isObject(items) ? [exampleFor(items, components, name)] : [];
  const patterned = BY_PATTERN.find((text) => schema["pattern"] !== undefined && fits(text, schema));
  if (patterned !== undefined) return patterned;
  if (typeof format === "string" && BY_FORMAT[format] !== undefined) return BY_FORMAT[format];
  return TYPES[typeof type === "string" ? type : ""]?.(schema) ?? {};
}
