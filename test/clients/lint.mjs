// Judges the published OpenAPI documents by the strict rules of a linter: `node lint.mjs <document>…` prints what it finds
// as a list of JSON and always ends with 0.
import { createConfig, lint } from "@redocly/openapi-core";

const config = await createConfig({ extends: ["recommended-strict"] });
const found = [];
for (const ref of process.argv.slice(2))
  for (const { ruleId, message, location } of await lint({ ref, config }))
    found.push({ ruleId, message, pointer: location[0]?.pointer ?? "" });
console.log(JSON.stringify(found));
