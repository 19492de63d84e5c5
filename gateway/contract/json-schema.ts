/** JSON Schema as a value, as OpenAPI 3.0 writes it. */
export type JsonSchemaValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonSchemaValue[]
  | { readonly [name: string]: JsonSchemaValue };
export type JsonObject = { [name: string]: JsonSchemaValue };

/** Schemas that were given an id (`.meta({ id })`), collected for components. */
export type Components = Map<string, JsonObject>;
