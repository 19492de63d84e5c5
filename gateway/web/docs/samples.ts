/** Samples of a call in curl, TypeScript and Python. Each runs as it stands once KURIER_URL and TOKEN are set. */
import { exampleOf } from "./example.js";
import { parametersOf } from "./openapi-types.js";
import type { OpenApi, Parameter, PlacedOperation } from "./openapi-types.js";

/** What a sample sends. */
interface Call {
  readonly method: string;
  readonly path: string;
  /** Header → value; `$UUID` stands for a fresh UUID, `$TOKEN` for the access token. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text of the body; undefined for none. */
  readonly body: string | undefined;
}

const valueOf = (document: OpenApi, parameter: Parameter): string =>
  String(parameter.example ?? exampleOf(document, parameter.schema ?? {}));

/** The example body of an operation, as text, and its media type. */
export function exampleBody(
  document: OpenApi,
  { operation }: PlacedOperation,
): { readonly type: string; readonly text: string } | undefined {
  const [type, media] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  if (type === undefined || media === undefined) return undefined;
  if (!type.includes("json")) return { type, text: "" };
  return { type, text: JSON.stringify(media.example ?? exampleOf(document, media.schema ?? {}), null, 2) };
}

function callOf(document: OpenApi, placed: PlacedOperation): Call {
  const { method, path, operation } = placed;
  const parameters = parametersOf(document, operation);
  const required = (place: Parameter["in"]) =>
    parameters.filter((parameter) => parameter.in === place && parameter.required === true);
  const query = required("query").map(
    (parameter) => `${parameter.name}=${encodeURIComponent(valueOf(document, parameter))}`,
  );
  const body = exampleBody(document, placed);
  return {
    method,
    path: `${required("path").reduce((text, p) => text.replace(`{${p.name}}`, valueOf(document, p)), path)}${query.length === 0 ? "" : `?${query.join("&")}`}`,
    headers: {
      ...((operation.security ?? []).length === 0 ? {} : { Authorization: "Bearer $TOKEN" }),
      ...Object.fromEntries(
        required("header").map((p) => [p.name, p.name === "Idempotency-Key" ? "$UUID" : valueOf(document, p)]),
      ),
      ...(body === undefined ? {} : { "Content-Type": body.type }),
    },
    body: body?.text,
  };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

function curl({ method, path, headers, body }: Call): string {
  const values: Readonly<Record<string, string>> = { $UUID: "$(uuidgen)" };
  const lines = [
    `curl -s${method === "GET" ? "" : ` -X ${method}`} "$KURIER_URL${path}"`,
    ...Object.entries(headers).map(([name, value]) => `-H "${name}: ${values[value] ?? value}"`),
    ...(body === undefined ? [] : [body === "" ? "--data-binary @document.xml" : `-d ${quoted(body)}`]),
  ];
  return lines.join(" \\\n  ");
}

const indented = (text: string, by: string): string => text.replaceAll("\n", `\n${by}`);

function typescript({ method, path, headers, body }: Call): string {
  const values: Readonly<Record<string, string>> = {
    $UUID: "crypto.randomUUID()",
    "Bearer $TOKEN": "`Bearer ${process.env.TOKEN}`",
  };
  const given = Object.entries(headers).map(
    ([name, value]) => `    ${JSON.stringify(name)}: ${values[value] ?? JSON.stringify(value)},`,
  );
  const options = [
    ...(method === "GET" ? [] : [`  method: "${method}",`]),
    ...(given.length === 0 ? [] : ["  headers: {", ...given, "  },"]),
    ...(body === undefined
      ? []
      : [body === "" ? '  body: await readFile("document.xml"),' : `  body: JSON.stringify(${indented(body, "  ")}),`]),
  ];
  return [
    ...(body === "" ? ['import { readFile } from "node:fs/promises";', ""] : []),
    `const response = await fetch(\`\${process.env.KURIER_URL}${path}\`, {`,
    ...options,
    "});",
    "console.log(response.status, await response.text());",
  ].join("\n");
}

/** JSON as Python writes it. */
const python = (text: string): string =>
  text.replace(/(?<=[[{:,]\s*)(true|false|null)(?=\s*[,}\]])/g, (word) =>
    word === "true" ? "True" : word === "false" ? "False" : "None",
  );

function pythonSample({ method, path, headers, body }: Call): string {
  const values: Readonly<Record<string, string>> = {
    $UUID: "str(uuid.uuid4())",
    "Bearer $TOKEN": "f\"Bearer {os.environ['TOKEN']}\"",
  };
  const given = Object.entries(headers).map(
    ([name, value]) => `        ${JSON.stringify(name)}: ${values[value] ?? JSON.stringify(value)},`,
  );
  return [
    `import json, os, urllib.request${headers["Idempotency-Key"] === "$UUID" ? ", uuid" : ""}`,
    "",
    "request = urllib.request.Request(",
    `    os.environ["KURIER_URL"] + ${JSON.stringify(path)},`,
    `    method="${method}",`,
    ...(given.length === 0 ? [] : ["    headers={", ...given, "    },"]),
    ...(body === undefined
      ? []
      : [
          body === ""
            ? '    data=open("document.xml", "rb").read(),'
            : `    data=json.dumps(${python(indented(body, "    "))}).encode(),`,
        ]),
    ")",
    "with urllib.request.urlopen(request) as response:",
    "    print(response.status, response.read().decode())",
  ].join("\n");
}

/** The samples of an operation: name of the language → text. */
export function samplesOf(document: OpenApi, placed: PlacedOperation): Readonly<Record<string, string>> {
  const call = callOf(document, placed);
  return { curl: curl(call), TypeScript: typescript(call), Python: pythonSample(call) };
}
