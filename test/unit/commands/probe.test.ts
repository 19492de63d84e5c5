/** The probe of an installation: what it takes for an address, and that it fails a server that is fond of everybody. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";

import { EXIT, UsageError } from "../../../gateway/commands/command.js";
import { probe, probeCommand, targetOf } from "../../../gateway/commands/probe/probe.js";
import type { ProbeVerdict } from "../../../gateway/commands/probe/probe.js";

/** Takes whatever Node.js lets through, and is content before it has read it. */
const naive = createServer((request, response) => {
  request.on("error", () => undefined).resume();
  response.setHeader("Access-Control-Allow-Origin", "*");
  response.end('{"valid":true}');
});
let url: string;
let verdicts: readonly ProbeVerdict[];
beforeAll(async () => {
  await new Promise<void>((resolve) => naive.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(naive.address() as AddressInfo).port}`;
  verdicts = await probe(targetOf(url), true);
});
afterAll(() => {
  naive.closeAllConnections();
  naive.close();
});

test.each([
  ["tokens", "no token"],
  ["tokens", "a token that asks for no signature"],
  ["methods and paths", "TRACE"],
  ["methods and paths", "the metrics of operators"],
  ["methods and paths", "the question of another site's browser"],
  ["bodies", "a member that comes twice"],
  ["bodies", "a body that unpacks to 64 MB"],
  ["XML", "at /as4: entities that unpack to gigabytes"],
  ["XML", "at /api/validate: an entity that names a file"],
])("a server that takes everything fails the probe: %s: %s", (group, name) => {
  expect(verdicts.find((verdict) => verdict.case.group === group && verdict.case.name === name)?.holds).toBe(false);
});

test("what Node.js refuses by itself passes the probe of a server that takes everything else", () => {
  const passed = verdicts.filter(({ holds }) => holds).map(({ case: { name } }) => name);
  expect(passed).toContain("a head of too many octets");
  expect(passed.length).toBeLessThan(verdicts.length / 2);
});

test("each case of the probe has a name of its own", () => {
  const names = verdicts.map(({ case: { group, name } }) => `${group}: ${name}`);
  expect(new Set(names).size).toBe(names.length);
});

test("an installation is named by its address alone, and nothing is sent without --yes", async () => {
  expect(targetOf("https://ap.example")).toEqual({
    ...{ host: "ap.example", port: 443, isTls: true, authority: "ap.example" },
  });
  expect(targetOf("http://[::1]:8080/")).toEqual({
    ...{ host: "::1", port: 8080, isTls: false, authority: "[::1]:8080" },
  });
  for (const wrong of ["ap.example", "ftp://ap.example", "https://ap.example/api", "https://a:b@ap.example"])
    expect(() => targetOf(wrong), wrong).toThrow(UsageError);
  await expect(probeCommand.run([url])).rejects.toThrow("--yes");
  await expect(probeCommand.run(["--yes"])).rejects.toThrow("kurier probe URL --yes");
});

test("an address where nobody answers ends the probe with 1", async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  expect(await probeCommand.run([`http://127.0.0.1:${port}`, "--yes"])).toBe(EXIT.failed);
});
