/** Examples of bodies: what a schema says of itself, otherwise something that fits it. */
import { LIMITS } from "../../../engine/base/limits.js";
import { INVOICE_MARK } from "../../contract/examples.js";
import { resolved } from "./openapi-types.js";
import type { OpenApi, Schema } from "./openapi-types.js";

/** Members that hold a UBL document. */
const UBL_MEMBERS = new Set(["payload", "payloadXml", "xml"]);

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "018f6a3e-0000-7000-8000-000000000001",
  "date-time": "2026-11-20T09:00:00.000Z",
  date: "2026-11-20",
  email: "uctaren@firma.example",
  uri: "https://erp.example/webhook",
};

/** A value that fits a schema. @param depth how deep the value already is: schemas may contain themselves */
export function exampleOf(document: OpenApi, given: Schema, name = "", depth = 0): unknown {
  const schema = resolved(document, given);
  if (UBL_MEMBERS.has(name) && schema.type === "string") return INVOICE_MARK;
  if (schema.example !== undefined) return schema.example;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  if (depth > LIMITS.reference_example_depth_max) return null;
  const [first] = schema.oneOf ?? schema.anyOf ?? schema.allOf ?? [];
  if (first !== undefined) return exampleOf(document, first, name, depth + 1);
  if (schema.type === "array") return [exampleOf(document, schema.items ?? {}, name, depth + 1)];
  if (schema.properties !== undefined)
    return Object.fromEntries(
      Object.entries(schema.properties)
        .filter(([member]) => schema.required?.includes(member) ?? true)
        .map(([member, of]) => [member, exampleOf(document, of, member, depth + 1)]),
    );
  return scalarOf(schema);
}

function scalarOf(schema: Schema): unknown {
  if (schema.type === "integer" || schema.type === "number") return schema.minimum ?? 1;
  if (schema.type === "boolean") return true;
  if (schema.type === "string") return FORMATS[schema.format ?? ""] ?? "string";
  return schema.type === "object" ? {} : null;
}
