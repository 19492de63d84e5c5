/**
 * Adding an operation touches two files: its routes file and the line that plugs it in. A made-up operation is added by
 * exactly these two and served and described; the sources are searched for a third place.
 */
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";

import { openApiDocuments } from "../../../gateway/contract/openapi.js";
import { plug } from "../../../gateway/contract/plug.js";
import type { Plug } from "../../../gateway/contract/plug.js";
import { route } from "../../../gateway/contract/route.js";
import { API_OPERATIONS, describedOperations } from "../../../gateway/start/operations.js";
import type { TestGateway } from "../../support/engines/gateway.js";
import { serverForms, startGateway } from "../../support/engines/gateway.js";
import { parse, readSources } from "../../support/sources.js";
import type { Source } from "../../support/sources.js";

/** First place: what a routes file has. */
interface WeatherPorts {
  forecast(town: string): Promise<{ readonly degrees: number }>;
}
const weatherRoutes = (ports: WeatherPorts) => [
  route({
    operation: "getWeather",
    method: "GET",
    path: "/weather/{town}",
    mounts: ["/api/v1"],
    family: "enterprise",
    credential: "none",
    tag: "Weather",
    summary: "Tomorrow's weather",
    errors: ["NOT_FOUND"],
    request: { params: z.object({ town: z.string() }) },
    responses: { 200: { description: "The forecast.", schema: z.object({ degrees: z.number() }) } },
    handler: async ({ params }) => ({ status: 200, body: await ports.forecast(params.town) }),
  }),
];

/** Second place: the line that plugs it in. */
interface WeatherParts {
  readonly degrees: number;
}
const weather: Plug<WeatherParts> = plug(weatherRoutes, ({ degrees }) => ({ forecast: async () => ({ degrees }) }));

describe("an operation with its row and the line that plugs it in", () => {
  let gateway: TestGateway | undefined;
  afterEach(() => gateway?.stop());

  test.each(serverForms)(
    "an operation with its row and the line that plugs it in is served by the %s form with the ports that the line made",
    async (form) => {
      gateway = await startGateway(form, weather.rows({ degrees: 21 }));
      const answer = await fetch(`${gateway.origin}/api/v1/weather/Zilina`);
      expect([answer.status, await answer.json()]).toEqual([200, { degrees: 21 }]);
    },
  );

  test("an operation with its row and the line that plugs it in is described beside the others in the OpenAPI document, without a running engine", () => {
    const { enterprise } = openApiDocuments([...describedOperations(), ...weather.described()]);
    const paths = enterprise["paths"] as Record<string, { get?: { operationId: string } }>;
    expect(paths["/api/v1/weather/{town}"]?.get?.operationId).toBe("getWeather");
    expect(paths["/api/v1/documents/{id}"]?.get?.operationId).toBe("getDocument");
  });

  test("an operation with its row and the line that plugs it in cannot be called while it is only described: a row without an engine says so", async () => {
    gateway = await startGateway("node", weather.described());
    expect((await fetch(`${gateway.origin}/api/v1/weather/Zilina`)).status).toBe(500);
  });
});

/** Files whose text has the name as a string of its own. */
const naming = (sources: readonly Source[], name: string): string[] =>
  sources.filter(({ file }) => file.text.includes(`"${name}"`)).map(({ path }) => path);
const importing = (sources: readonly Source[], path: string): string[] =>
  sources.filter(({ imports }) => imports.includes(path)).map((source) => source.path);

describe("the sources of the product", () => {
  const sources = readSources().filter(({ path }) => !path.startsWith("bench/"));
  const routesFiles = sources.map(({ path }) => path).filter((path) => path.startsWith("gateway/routes/"));

  test("the sources of the product name each published operation in its routes file and nowhere else", () => {
    const names = API_OPERATIONS.flatMap((operations) => operations.described()).map((row) => row.operation);
    expect(names.length).toBeGreaterThan(15);
    for (const name of names)
      expect(naming(sources, name), name).toEqual([expect.stringMatching(/^gateway\/routes\//)]);
  });

  test("the sources of the product import each routes file in the one file that plugs it in", () => {
    expect(routesFiles.length).toBeGreaterThan(8);
    for (const path of routesFiles)
      expect(importing(sources, path), path).toEqual([
        expect.stringMatching(/^gateway\/start\/(operations|operators|console\/console)\.ts$/),
      ]);
  });

  test("the check of the sources sees an operation that is named in a third place", () => {
    const third = parse("gateway/contract/rows.ts", 'import "../routes/sapi.js"; export const X = "sapiSend";');
    expect(naming([...sources, third], "sapiSend")).toHaveLength(2);
    expect(importing([...sources, third], "gateway/routes/sapi.ts")).toHaveLength(2);
  });
});
