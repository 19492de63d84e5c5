/** Writes one row as one operation of an OpenAPI 3.0.3 document. */
import { z } from "zod";

import { ERRORS, Refusal } from "../../engine/base/errors.js";
import type { ErrorName } from "../../engine/base/errors.js";
import { oauthCodeOf, problem } from "../request/problem.js";
import { refusalsOfColumns } from "../request/steps.js";
import { exampleFor, INVOICE_MARK, namedExample } from "./examples.js";
import type { Components, JsonObject, JsonSchemaValue } from "./json-schema.js";
import { isLeftOutByNull } from "./null-members.js";
import { BODY_KINDS, RATES } from "./route.js";
import type { BodyKind, Family, Route } from "./route.js";
import { LIMITS } from "../../engine/base/limits.js";

/** A pattern that says again what `format` says, or that nobody can read. */
const isNoise = (schema: JsonObject): boolean =>
  schema["format"] !== undefined ||
  (typeof schema["pattern"] === "string" && schema["pattern"].length > LIMITS.openapi_pattern_chars_max);

/** Says that a member may be null, in the form that OpenAPI 3.0 has for its kind. */
function allowNull(jsonSchema: z.core.JSONSchema.BaseSchema): void {
  const { anyOf } = jsonSchema;
  if (anyOf !== undefined)
    jsonSchema.anyOf = anyOf.map((form, at) => (at === 0 ? Object.assign({}, form, { nullable: true }) : form));
  else jsonSchema["nullable"] = true;
}

/**
 * A zod schema as OpenAPI 3.0 writes it. `.meta({ openapi: {…} })` replaces what zod derives, but for the words: for
 * fields whose text form is parsed, such as numbers in a query.
 * @param leavesOutNulls  whether it is of a body whose members that are null are read as left out
 */
function schemaOf(schema: z.ZodType, components: Components, leavesOutNulls = false): JsonObject {
  const written = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const given = z.globalRegistry.get(zodSchema)?.["openapi"];
      if (typeof given === "object" && given !== null) {
        const { description } = jsonSchema;
        for (const name of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, name);
        Object.assign(jsonSchema, description === undefined ? {} : { description }, given);
      }
      const isMember = !Object.is(zodSchema, schema);
      if (leavesOutNulls && isMember && isLeftOutByNull(zodSchema)) allowNull(jsonSchema);
    },
  });
  const { definitions, $defs, ...rest } = JSON.parse(JSON.stringify(written)) as JsonObject;
  for (const named of [definitions, $defs]) {
    for (const [id, definition] of Object.entries((named ?? {}) as JsonObject))
      components.set(id, tidied(definition) as JsonObject);
  }
  Reflect.deleteProperty(rest, "$schema");
  return tidied(rest) as JsonObject;
}

/** A schema whose references point to components, without the patterns that only repeat a format. */
function tidied(value: JsonSchemaValue): JsonSchemaValue {
  if (Array.isArray(value)) return value.map(tidied);
  if (typeof value !== "object" || value === null) return value;
  // zod wraps a reference so that words could stand beside it; where none do, the wrapping says nothing.
  const { allOf, ...beside } = value as JsonObject;
  if (Array.isArray(allOf) && allOf.length === 1 && Object.keys(beside).length === 0) return tidied(allOf[0]);
  // Only what has a type can be null besides; what has a name is an object.
  const copy: JsonObject = beside["nullable"] === true && allOf !== undefined ? { type: "object" } : {};
  for (const [name, member] of Object.entries(value as JsonObject)) {
    if (name === "pattern" && isNoise(value as JsonObject)) continue;
    // That a number is exact in a double is no bound of ours.
    if ((name === "minimum" || name === "maximum") && Math.abs(Number(member)) === Number.MAX_SAFE_INTEGER) continue;
    copy[name] =
      name === "$ref" && typeof member === "string"
        ? member.replace(/^#\/(definitions|\$defs)\//, "#/components/schemas/")
        : tidied(member);
  }
  const { nullable, enum: values } = copy;
  // OpenAPI 3.0.3: what a list of values does not name is no value, null included, whatever `nullable` says.
  if (nullable === true && Array.isArray(values) && !values.includes(null)) copy["enum"] = [...values, null];
  return copy;
}

/** Names of the error envelopes in components. */
const ENVELOPE_NAMES: Readonly<Record<Family, string>> = {
  sapi: "SapiError",
  auth: "AuthError",
  oauth: "OAuthError",
  enterprise: "Error",
  connector: "Error",
  public: "Error",
  page: "Error",
  console: "Error",
  admin: "Error",
  as4: "Error",
};

const MEDIA_OF_KIND: Readonly<Record<BodyKind, string>> = {
  json: BODY_KINDS.json[0],
  form: BODY_KINDS.form[0],
  xml: BODY_KINDS.xml[0],
  raw: "*/*",
};

/** Everything that can refuse a request to the row, once each. */
export const refusalsOf = (row: Route): ErrorName[] => [...new Set([...row.errors, ...refusalsOfColumns(row)])];

const codeOf = (name: ErrorName, family: Family): string => {
  const error = ERRORS[name];
  if (family === "oauth") return oauthCodeOf(name);
  return family === "sapi" ? error.sapi : family === "auth" ? error.auth : error.enterprise;
};

/** A plain sentence inside a description, which is Markdown: `<scheme>` would be an element of HTML. */
export const asMarkdown = (text: string): string => text.replaceAll("<", "&lt;");

const HEADER_REFS: Readonly<Record<number, readonly string[]>> = {
  401: ["WWW-Authenticate"],
  423: ["Retry-After"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};
const RATE_HEADERS = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

const headerRefs = (row: Route, status: number): JsonObject => {
  const showsRate = row.rate !== undefined && (status === 429 || RATES[row.rate].headers === "always");
  const names = ["X-Request-Id", ...(HEADER_REFS[status] ?? []), ...(showsRate ? RATE_HEADERS : [])];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
};

const BYTES: JsonObject = { type: "string", format: "binary" };

const withExample = (schema: JsonObject, components: Components): Contents[string] => ({
  schema,
  example: exampleFor(schema, components),
});

const EXAMPLE_REQUEST = "018f6a3e-7c10-7a4b-9d3e-2b5a6c7d8e9f";

/** A refusal as the family writes it. */
const errorExample = (name: ErrorName, family: Family): JsonObject =>
  problem(new Refusal(name), family, EXAMPLE_REQUEST, false).body as JsonObject;

/** A body of a response by its media type. */
type Contents = Readonly<Record<string, { readonly schema: JsonObject; readonly example: JsonSchemaValue }>>;

interface Described {
  readonly description: string;
  readonly headers: JsonObject;
  readonly content?: Contents;
}
/** Responses by status. */
type Responses = Readonly<Record<string, Described>>;

function errorResponses(row: Route): Responses {
  const byStatus = new Map<number, ErrorName[]>();
  for (const name of refusalsOf(row)) {
    const { status } = ERRORS[name];
    byStatus.set(status, [...(byStatus.get(status) ?? []), name]);
  }
  const responses: Record<string, Described> = {};
  for (const [status, names] of [...byStatus].sort(([a], [b]) => a - b)) {
    const lines = names.map((name) => `- \`${codeOf(name, row.family)}\`: ${asMarkdown(ERRORS[name].message)}`);
    responses[String(status)] = {
      description: [...new Set(lines)].join("\n"),
      headers: headerRefs(row, status),
      content: {
        "application/json": {
          schema: { $ref: `#/components/schemas/${ENVELOPE_NAMES[row.family]}` },
          example: errorExample(names[0] ?? "INTERNAL", row.family),
        },
      },
    };
  }
  return responses;
}

function successResponses(row: Route, components: Components): Responses {
  const responses: Record<string, Described> = {};
  for (const [status, spec] of Object.entries(row.responses)) {
    const own = Object.entries(spec.headers ?? {}).map(([name, meaning]) => [
      name,
      { description: meaning, schema: { type: "string" } },
    ]);
    const content: Contents | undefined =
      spec.schema !== undefined
        ? { "application/json": withExample(schemaOf(spec.schema, components), components) }
        : spec.contentType !== undefined
          ? { [spec.contentType.split(";")[0] ?? ""]: { schema: BYTES, example: INVOICE_MARK } }
          : undefined;
    responses[status] = {
      description: spec.description,
      headers: { ...headerRefs(row, Number(status)), ...(Object.fromEntries(own) as JsonObject) },
      ...(content === undefined ? {} : { content }),
    };
  }
  return responses;
}

/** Members of a params or query schema as parameters. */
function parametersIn(place: "path" | "query", schema: z.ZodType | undefined, components: Components): JsonObject[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(schema, components) as {
    readonly properties?: JsonObject;
    readonly required?: string[];
  };
  return Object.entries(properties).map(([name, member]) => {
    const { description, ...rest } = member as JsonObject;
    const isRequired = place === "path" || required.includes(name);
    const example = isRequired ? namedExample(name, rest) : undefined;
    return {
      name,
      in: place,
      required: isRequired,
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    };
  });
}

function headerParameters(row: Route): JsonObject[] {
  const refs = [
    row.context === "participant" && "ParticipantId",
    row.context === "firm" && "FirmId",
    row.context === "customer" && "CustomerRef",
    row.idempotency !== "none" && `IdempotencyKey_${row.idempotency}`,
    "RequestId",
  ];
  return refs.filter((name) => name !== false).map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

function requestBody(row: Route, components: Components): JsonObject {
  const { body, accepts } = row.request;
  if (body === undefined) return {};
  const schema = schemaOf(body, components, accepts.includes("json"));
  const content = Object.fromEntries(
    accepts.map((kind) => [
      MEDIA_OF_KIND[kind],
      kind === "json" || kind === "form" ? withExample(schema, components) : { schema: BYTES, example: INVOICE_MARK },
    ]),
  );
  return { requestBody: { required: !body.safeParse(undefined).success, content } };
}

const WHO: Readonly<Record<Route["credential"], string | undefined>> = {
  none: undefined,
  bearer: undefined,
  admin: undefined,
  partner: "Only tokens of an integrator's key.",
  partner_unrestricted: "Only tokens of an unrestricted integrator's key.",
};

/** The sentences that follow the row's own description: who may call it, with which scope, how often. */
function columnsInWords(row: Route): string {
  const rate = row.rate === undefined ? undefined : RATES[row.rate];
  const whose = { key: "API key", "client+address": "client id and address", address: "address" } as const;
  const lines = [
    WHO[row.credential],
    row.scopes.length === 0 ? undefined : `Scope: ${row.scopes.map((scope) => `\`${scope}\``).join(", ")}.`,
    ["forbidden", "customer", "customer_body"].includes(row.context) ? "X-Firm-Id must not be sent." : undefined,
    rate === undefined
      ? undefined
      : `Limit: ${rate.limit} requests per ${rate.window_ms / 1000} seconds and ${whose[rate.key]}.`,
  ];
  return lines.filter((line) => line !== undefined).join(" ");
}

export function operationOf(row: Route, components: Components): JsonObject {
  const description = [row.description, columnsInWords(row)]
    .filter((text) => text !== undefined && text !== "")
    .join("\n\n");
  return {
    operationId: row.operation,
    tags: [row.tag],
    summary: row.summary,
    ...(description === "" ? {} : { description }),
    security: row.credential === "none" ? [] : [{ bearer: [] }],
    parameters: [
      ...parametersIn("path", row.request.params, components),
      ...parametersIn("query", row.request.query, components),
      ...headerParameters(row),
    ],
    ...requestBody(row, components),
    responses: joined(successResponses(row, components), errorResponses(row)),
  };
}

/**
 * Both kinds of responses by their status. A status that the row answers with and that can also refuse has either body.
 */
function joined(own: Responses, refusals: Responses): JsonObject {
  const all: Record<string, Described> = { ...own, ...refusals };
  for (const [status, refusal] of Object.entries(refusals)) {
    const answer = own[status];
    if (answer === undefined) continue;
    const [first, second] = [answer, refusal].map(({ content }) => content?.["application/json"]);
    const json = { schema: { oneOf: [first?.schema ?? {}, second?.schema ?? {}] }, example: first?.example ?? null };
    all[status] = {
      ...answer,
      description: `${answer.description}\n${refusal.description}`,
      content: { "application/json": json },
    };
  }
  return Object.fromEntries(Object.entries(all).map(([status, described]) => [status, { ...described }]));
}
