/** Schemas as tables: one line a member, members of members below with the path in front. */
import { LIMITS } from "../../../engine/base/limits.js";
import { html } from "../pages/html.js";
import type { Html } from "../pages/html.js";
import { resolved } from "./openapi-types.js";
import type { OpenApi, Parameter, Schema } from "./openapi-types.js";
import { inLine } from "./words.js";

interface Line {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

const variantsOf = (schema: Schema): readonly Schema[] => schema.oneOf ?? schema.anyOf ?? schema.allOf ?? [];

/** The members of a schema and of what it holds. */
function linesOf(document: OpenApi, given: Schema, prefix: string, depth: number): readonly Line[] {
  const schema = resolved(document, given);
  if (depth > LIMITS.reference_example_depth_max) return [];
  if (schema.type === "array" && schema.items !== undefined)
    return linesOf(document, schema.items, `${prefix.replace(/\.$/, "")}[].`, depth + 1);
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const of = resolved(document, member);
    const isRequired = schema.required?.includes(name) === true;
    return [
      { name: `${prefix}${name}`, schema: { ...of, ...member }, isRequired },
      ...linesOf(document, of, `${prefix}${name}.`, depth + 1),
    ];
  });
  return [...own, ...variantsOf(schema).flatMap((variant) => linesOf(document, variant, prefix, depth + 1))];
}

const typeOf = (schema: Schema): string =>
  [
    schema.type ??
      variantsOf(schema)
        .map(({ type }) => type ?? "object")
        .join(" or "),
    schema.format,
    schema.nullable === true ? "or null" : undefined,
  ]
    .filter((part) => part !== undefined && part !== "")
    .join(" ");

/** What a value must be beyond its type. */
const boundsOf = (schema: Schema): string =>
  [
    schema.enum === undefined ? undefined : `one of ${schema.enum.map(String).join(", ")}`,
    schema.minLength === undefined || schema.minLength < 2 ? undefined : `at least ${schema.minLength} characters`,
    schema.maxLength === undefined ? undefined : `at most ${schema.maxLength} characters`,
    schema.minimum === undefined ? undefined : `from ${schema.minimum}`,
    schema.maximum === undefined ? undefined : `to ${schema.maximum}`,
    schema.maxItems === undefined ? undefined : `at most ${schema.maxItems}`,
    schema.pattern === undefined ? undefined : `matches ${schema.pattern}`,
    schema.default === undefined ? undefined : `${JSON.stringify(schema.default)} when absent`,
  ]
    .filter((part) => part !== undefined)
    .join("; ");

function row({ name, schema, isRequired }: Line): Html {
  const bounds = boundsOf(schema);
  return html`<tr>
    <th scope="row"><code>${name}</code>${isRequired && html` <span class="required">required</span>`}</th>
    <td>${typeOf(schema)}</td>
    <td>${inLine(schema.description)}${bounds !== "" && html` <span class="bounds">${bounds}</span>`}</td>
  </tr>`;
}

const table = (caption: string, lines: readonly Line[]): Html | undefined =>
  lines.length === 0
    ? undefined
    : html`<div class="table" tabindex="0" role="group" aria-label="${caption}">
        <table>
          <caption>
            ${caption}
          </caption>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">Meaning</th>
            </tr>
          </thead>
          <tbody>
            ${lines.map(row)}
          </tbody>
        </table>
      </div>`;

/** The members of a body; undefined where there are none to tell of. */
export const schemaTable = (document: OpenApi, caption: string, schema: Schema | undefined): Html | undefined =>
  schema === undefined ? undefined : table(caption, linesOf(document, schema, "", 0));

/** Path, query and header parameters. */
export const parameterTable = (caption: string, parameters: readonly Parameter[]): Html | undefined =>
  table(
    caption,
    parameters.map(({ name, schema, description, required }) => ({
      name,
      schema: { ...schema, ...(description === undefined ? {} : { description }) },
      isRequired: required === true,
    })),
  );
