/** The OpenAPI documents: drawn from rows, complete, and without loose ends. */
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { ERRORS } from "../../../engine/base/errors.js";
import { openApiDocuments } from "../../../gateway/contract/openapi.js";
import { asMarkdown, refusalsOf } from "../../../gateway/contract/openapi-operation.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { SEVERITIES } from "../../../validators/report.js";
import { publishedDocuments, publishedRows } from "../../support/engines/published-rows.js";

interface Operation {
  operationId: string;
  parameters: { $ref?: string; name?: string; in?: string; required?: boolean; schema?: object }[];
  responses: Record<
    string,
    { description: string; content?: Record<string, { schema: { $ref?: string; oneOf?: { $ref?: string }[] } }> }
  >;
  requestBody?: { required: boolean; content: Record<string, { schema: Record<string, unknown> }> };
  security: object[];
}
interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}
const documents = publishedDocuments as unknown as Readonly<Record<string, Document>>;
const operationsOf = (document: Document) =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

describe.each(Object.keys(documents))("the %s document", (name) => {
  const document = documents[name] as Document;

  test("a published document is OpenAPI 3.0.3 and every reference in it leads somewhere; every component is used", () => {
    expect(document.openapi).toBe("3.0.3");
    const text = JSON.stringify(document);
    const referred = new Set<string>();
    for (const [, kind = "", part = ""] of text.matchAll(/"\$ref":"#\/components\/([^/"]+)\/([^"]+)"/g)) {
      expect(document.components[kind]?.[part], `${kind}/${part}`).toBeDefined();
      referred.add(`${kind}/${part}`);
    }
    for (const kind of ["schemas", "headers", "parameters"])
      for (const part of Object.keys(document.components[kind] ?? {})) expect(referred).toContain(`${kind}/${part}`);
    expect(text).not.toMatch(/"\$ref":"#\/(definitions|\$defs)/);
  });

  test("a list of words in a request has no more entries than there are words: it is judged by its length first", () => {
    const unbounded: string[] = [];
    const walk = (schema: unknown, place: string): void => {
      if (typeof schema !== "object" || schema === null) return;
      const { items, maxItems } = schema as { items?: { enum?: unknown[] }; maxItems?: number };
      if (items?.enum !== undefined && (maxItems ?? Infinity) > items.enum.length) unbounded.push(place);
      for (const [member, inner] of Object.entries(schema)) walk(inner, `${place}.${member}`);
    };
    for (const { path, method, operation } of operationsOf(document))
      for (const { schema } of Object.values(operation.requestBody?.content ?? {})) walk(schema, `${method} ${path}`);
    expect(unbounded).toEqual([]);
  });

  // The authors of OpenAPI 3.0.3 settled it in their clarification of `nullable`: an enum without null refuses null.
  test("a member that may be null and has a list of values has null in that list", () => {
    const faults: string[] = [];
    const walk = (schema: unknown, place: string): void => {
      if (typeof schema !== "object" || schema === null) return;
      const { nullable, enum: values } = schema as { nullable?: unknown; enum?: unknown };
      if (nullable === true && Array.isArray(values) && !values.includes(null)) faults.push(place);
      for (const [member, inner] of Object.entries(schema)) walk(inner, `${place}.${member}`);
    };
    walk(document, name);
    expect(faults).toEqual([]);
  });

  test("each operation is named once, describes a parameter once, and those of its path are those it describes", () => {
    const ids = operationsOf(document).map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const parameters = (document.components["parameters"] ?? {}) as Record<string, { name: string; in: string }>;
    for (const { path, operation } of operationsOf(document)) {
      const said = operation.parameters
        .map((parameter) => parameters[parameter.$ref?.replace("#/components/parameters/", "") ?? ""] ?? parameter)
        .map((parameter) => `${parameter.in ?? ""} ${parameter.name ?? ""}`);
      expect(said, path).toEqual([...new Set(said)]);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter).sort();
      expect(
        operation.parameters
          .filter((parameter) => parameter.in === "path")
          .map((parameter) => parameter.name)
          .sort(),
        path,
      ).toEqual(inPath);
    }
  });

  test("each operation shows every status with which it can refuse, in the envelope of its family", () => {
    for (const row of publishedRows.filter((candidate) => !candidate.hidden)) {
      const operation = document.paths[`${row.mounts[0] ?? ""}${row.path}`]?.[row.method.toLowerCase()];
      if (operation === undefined) continue;
      for (const refusal of refusalsOf(row)) {
        const response = operation.responses[String(ERRORS[refusal].status)];
        expect(response?.description, `${row.operation} ${refusal}`).toContain(asMarkdown(ERRORS[refusal].message));
        const { $ref, oneOf } = response?.content?.["application/json"]?.schema ?? {};
        expect($ref ?? oneOf?.at(-1)?.$ref).toMatch(/Error$/);
      }
    }
  });
});

// Members whose form is given by hand lost their words: 32 of this body, and what is looked up or scheduled.
test("each member of a document to send says what it is, and so do a time to schedule and a type that is looked up", () => {
  const membersOf = (path: string): Record<string, { description?: string }> =>
    documents["enterprise"]?.paths[`/api/v1${path}`]?.["post"]?.requestBody?.content["application/json"]?.schema[
      "properties"
    ] as Record<string, { description?: string }>;
  const silent = Object.entries(membersOf("/documents/send")).filter(
    ([, { description }]) => description === undefined,
  );
  expect(silent).toEqual([]);
  expect(membersOf("/box/items")["scheduledFor"]?.description).toContain("at most a year ahead");
  expect(membersOf("/peppol/capabilities")["documentType"]?.description).toContain("As sends name it");
});

// reviews/contract.md: "`pattern` on X-Request-Id though the server replaces bad ones, grant_type not an enum … ±2^53 bounds shown; one example in three documents", "info.license, tag descriptions"
describe.each(Object.keys(documents))("what generators and readers of the %s document need", (name) => {
  const document = documents[name] as Document & {
    info: { license?: { name: string } };
    tags: { name: string; description: string }[];
  };
  const text = JSON.stringify(document);

  test("a published document has a licence, and says of each heading what it is about", () => {
    expect(document.info.license?.name).toBe("Apache-2.0");
    expect(document.tags.length).toBeGreaterThan(0);
    for (const tag of document.tags) expect(tag.description, tag.name).toMatch(/^[A-Z].{10,}\.$/);
  });

  test("a published document shows no bound that is only the end of a double, and no pattern for X-Request-Id", () => {
    expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER));
    expect(document.components["parameters"]?.["RequestId"]).toMatchObject({ schema: { type: "string" } });
    expect(JSON.stringify(document.components["parameters"]?.["RequestId"])).not.toContain("pattern");
  });

  test("every body of a request and of a response has an example", () => {
    for (const { path, operation } of operationsOf(document)) {
      const bodies = [
        operation.requestBody?.content,
        ...Object.values(operation.responses).map(({ content }) => content),
      ];
      for (const content of bodies)
        for (const [media, body] of Object.entries(content ?? {}))
          expect(body, `${path} ${media}`).toHaveProperty("example");
    }
  });
});

test("every example fits the schema by which the server reads or writes it", () => {
  const faults: string[] = [];
  for (const row of publishedRows) {
    const { operation } =
      Object.values(documents)
        .flatMap(operationsOf)
        .find((found) => found.operation.operationId === row.operation) ?? {};
    if (operation === undefined) continue;
    const json = (content: Record<string, unknown> | undefined): unknown =>
      (content?.["application/json"] as { readonly example?: unknown } | undefined)?.example;
    const asked = row.request.accepts.includes("json")
      ? row.request.body?.safeParse(json(operation.requestBody?.content))
      : undefined;
    if (asked?.success === false) faults.push(`${row.operation} request: ${JSON.stringify(asked.error.issues[0])}`);
    for (const [status, spec] of Object.entries(row.responses)) {
      const answered = spec.schema?.safeParse(json(operation.responses[status]?.content));
      if (answered?.success === false)
        faults.push(`${row.operation} ${status}: ${JSON.stringify(answered.error.issues[0])}`);
    }
  }
  expect(faults).toEqual([]);
});

/** A string member of a document, by its name. */
interface Text {
  readonly at: string;
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Each string below a value, under the name of the member, or of the list, that holds it. */
function textsIn(value: unknown, at: string, name: string): readonly Text[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one) => textsIn(one, at, name));
  const schema = value as Readonly<Record<string, unknown>>;
  const own = schema["type"] === "string" ? [{ at, name, schema }] : [];
  const parameter = typeof schema["name"] === "string" && schema["in"] !== undefined ? schema["name"] : name;
  return [
    ...own,
    ...Object.entries(schema).flatMap(([key, part]) =>
      key === "properties"
        ? Object.entries(part as object).flatMap(([member, of]) => textsIn(of, `${at}.${member}`, member))
        : key === "example"
          ? []
          : textsIn(part, at, parameter),
    ),
  ];
}

/** What a name promises of a text, and how the schema says it; the first that fits counts. */
const PROMISES: readonly (readonly [RegExp, keyof typeof SAYS])[] = [
  [/^X-Peppol-Participant-Id$|(participant|peppol)_?id$/i, "participant"],
  [/(At|_at|DateTime|timestamp)$/, "date-time"],
  [/^(status|state|invoiceResponseStatus|eventType|event|events|severity|decision)$|Status$|Mode$/, "enum"],
  [/^(scopes|requestedScopes|permissions|required_scope|interface|requestedInterface|requested_interfaces)$/, "enum"],
  [/^(sha256|checksum|hash|previousHash)$/, "pattern"],
  [/^(url|consentUrl|consent_url)$/, "uri"],
  [/^(from|to|mandatoryFrom|month|period)$/, "date or pattern"],
  [/^(id|firmId|firm_id|X-Firm-Id|scopedFirmId|integrator_id|keyId|clientId|offerId|providerDocumentId)$/, "uuid"],
];
const saysFormat = (format: string) => (schema: Text["schema"]) => schema["format"] === format;
const SAYS = {
  pattern: (schema: Text["schema"]) => typeof schema["pattern"] === "string",
  // White Label calls its own records of participants so; they are rows, not addresses of the network.
  participant: (schema: Text["schema"]) => typeof schema["pattern"] === "string" || schema["format"] === "uuid",
  enum: (schema: Text["schema"]) => Array.isArray(schema["enum"]),
  "date-time": saysFormat("date-time"),
  uri: saysFormat("uri"),
  uuid: saysFormat("uuid"),
  "date or pattern": (schema: Text["schema"]) =>
    ["date", "date-time"].includes(String(schema["format"])) || typeof schema["pattern"] === "string",
} as const;

/**
 * Texts that are what somebody else wrote, or an id that the network gives, and paths under the name of what they lead
 * to: nothing is promised of them.
 */
const UNPROMISED =
  /^\/api\/v1\/payloads\/(?:parse|convert) |^\w+\/PartySummary|^\/api\/v1\/peppol\/capabilities .participant.id$|\.links\./;

test("a text whose name promises a state, a scope, an instant, a participant or an id says so in its schema", () => {
  const faults = Object.values(documents).flatMap(({ paths, components }) =>
    [
      ...Object.entries(paths).flatMap(([path, operations]) => textsIn(operations, `${path} `, "")),
      ...Object.entries(components).flatMap(([kind, parts]) =>
        Object.entries(parts).flatMap(([name, part]) => textsIn(part, `${kind}/${name}`, name)),
      ),
    ].flatMap(({ at, name, schema }) => {
      const [, says] = PROMISES.find(([names]) => names.test(name)) ?? [];
      return says === undefined || SAYS[says](schema) || UNPROMISED.test(at) ? [] : [`${at}: no ${says}`];
    }),
  );
  expect(faults).toEqual([]);
});

test("the severities of an error's details are those of findings", () => {
  const severities = Object.values(documents)
    .flatMap(({ components }) => textsIn(components["schemas"], "", ""))
    .filter(({ name }) => name === "severity");
  expect(severities.length).toBeGreaterThan(3);
  for (const { schema } of severities) expect(schema["enum"]).toEqual(SEVERITIES);
});

test("a grant_type is shown as the one value that is offered, although another one has an error of its own", () => {
  const bodies = Object.values(documents)
    .flatMap(operationsOf)
    .filter(({ path }) => /\/auth\/(token|renew)$/.test(path))
    .flatMap(({ operation }) => Object.values(operation.requestBody?.content ?? {}));
  expect(bodies.length).toBeGreaterThan(3);
  for (const { schema } of bodies) {
    const { grant_type: shown } = schema["properties"] as Record<string, { enum?: (string | null)[] }>;
    // Where it may be left out it may be null.
    expect(shown?.enum?.filter((value) => value !== null)).toHaveLength(1);
  }
});

test("every published row is in exactly one document", () => {
  const shown = Object.values(documents)
    .flatMap((document) => operationsOf(document).map(({ operation }) => operation.operationId))
    .sort();
  const rows = publishedRows
    .filter((row) => !row.hidden && row.family !== "admin" && row.family !== "as4")
    .map((row) => row.operation)
    .sort();
  expect(shown).toEqual(rows);
});

test("the same rows give the same bytes", () =>
  expect(JSON.stringify(openApiDocuments(publishedRows))).toBe(JSON.stringify(publishedDocuments)));

describe("what a row says is what its operation says", () => {
  const one = (row: Route): Operation => {
    const [found] = operationsOf(
      (openApiDocuments([row]) as unknown as Record<string, Document>)["enterprise"] as Document,
    );
    if (found === undefined) throw new Error("no operation");
    return found.operation;
  };
  const shared = { mounts: ["/api/v1"], family: "enterprise", summary: "A thing", errors: [] } as const;

  test("an operation says what its row says: parameters, headers, bodies, defaults and named schemas", () => {
    const operation = one(
      route({
        ...shared,
        operation: "makeThing",
        method: "POST",
        path: "/things/{thingId}",
        credential: "bearer",
        context: "firm",
        idempotency: "token",
        scopes: ["documents:send"],
        rate: "enterprise",
        request: {
          params: z.object({ thingId: z.uuid() }),
          query: z.object({
            limit: z
              .string()
              .transform(Number)
              .meta({ openapi: { type: "integer", minimum: 1, maximum: 100, default: 20 } })
              .optional(),
            status: z.enum(["A", "B"]),
          }),
          body: z
            .object({
              name: z.string().max(80).nullable(),
              part: z.object({ id: z.string() }).meta({ id: "Part" }).optional(),
            })
            .optional(),
          accepts: ["json", "form"],
        },
        responses: {
          201: {
            description: "made",
            schema: z.object({ id: z.uuid(), at: z.iso.datetime() }),
            headers: { Location: "Where it is" },
          },
        },
        handler: () => ({ status: 201, body: { id: "", at: "" } }),
      }),
    );
    expect(operation.parameters).toEqual([
      { name: "thingId", in: "path", required: true, schema: { type: "string", format: "uuid" } },
      {
        name: "limit",
        in: "query",
        required: false,
        schema: { type: "integer", minimum: 1, maximum: 100, default: 20 },
      },
      { name: "status", in: "query", required: true, schema: { type: "string", enum: ["A", "B"] } },
      { $ref: "#/components/parameters/FirmId" },
      { $ref: "#/components/parameters/IdempotencyKey_token" },
      { $ref: "#/components/parameters/RequestId" },
    ]);
    expect(operation.requestBody?.required).toBe(false);
    expect(Object.keys(operation.requestBody?.content ?? {})).toEqual([
      "application/json",
      "application/x-www-form-urlencoded",
    ]);
    expect(operation.requestBody?.content["application/json"]?.schema).toMatchObject({
      properties: {
        name: { type: "string", maxLength: 80, nullable: true },
        // What may be left out may be null.
        part: { type: "object", nullable: true, allOf: [{ $ref: "#/components/schemas/Part" }] },
      },
    });
    expect(Object.keys(operation.responses)).toEqual([
      "201",
      "400",
      "401",
      "403",
      "404",
      "413",
      "415",
      "429",
      "500",
      "503",
    ]);
    expect(operation.security).toEqual([{ bearer: [] }]);
  });

  test("an open operation asks for no token and promises no refusal of one", () => {
    const operation = one(
      route({
        ...shared,
        operation: "readThing",
        method: "GET",
        path: "/thing",
        credential: "none",
        responses: { 200: { description: "it" } },
        handler: () => ({ status: 200 }),
      }),
    );
    expect(operation.security).toEqual([]);
    expect(Object.keys(operation.responses)).toEqual(["200", "500", "503"]);
  });
});
