#!/usr/bin/env node
// The `kurier` command: builds dist/ when a source has changed, then runs gateway/cli.
import { buildIfNeeded } from "../deploy/build.mjs";

await buildIfNeeded();
const { main } = await import("../dist/gateway/cli.js");
await main(process.argv.slice(2));
