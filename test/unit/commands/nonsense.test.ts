/** What cannot be is refused before anything is done, with a sentence that names the option in which it was written. */
import { expect, test } from "vitest";

import { UsageError } from "../../../gateway/commands/command.js";
import { everyCommand } from "./every-command.js";

const ID = "018f6a3e-0000-7000-8000-00000000aaaa";
const PARTICIPANT = "0245:2020202020";
const DAYS = ["nonsense", "2026-02-30", "2026-13-01", "2026-11-1", "2025-02-29", "0000-01-01", ""];
const IDS = ["nonsense", PARTICIPANT, ID.slice(1), ""];
const EMAILS = ["nonsense", "a@b", "a b@c.example", "a@b.example, c@d.example", ""];
const PARTICIPANTS = ["nonsense", "0245:", "245:2020202020", "0245:2020 202020", ""];
const ADDRESSES = ["nonsense", "127.0.0.1:9090", "ftp://host.example", "http://", ""];
const FACTS = {
  "--ico": ["nonsense", "1234567", "123456789", ""],
  "--ic-dph": ["nonsense", "2020202020", "SK", ""],
  "--street": ["two\nlines", "", "x".repeat(256)],
  "--city": ["two\nlines", "", "x".repeat(256)],
  "--zip": ["two\nlines", "", "x".repeat(256)],
};
const OWNERS = { "--firm": IDS, "--integrator": IDS };
const NAME = { "--name": ["two\nlines", ""] };

interface Case {
  /** Words that the command has to have, all of them good. */
  readonly words?: readonly string[];
  /** Option → what it must not take. */
  readonly options: Readonly<Record<string, readonly string[]>>;
}

/** Every command with options that take a value. */
const CASES: Readonly<Record<string, Case>> = {
  serve: { options: { "--role": ["nonsense", ""] } },
  validate: {
    words: ["file.xml"],
    options: { "--format": ["nonsense"], "--layer": ["nonsense"], "--lang": ["nonsense"] },
  },
  "rules import": { words: ["release.zip"], options: { "--mandatory-from": DAYS, "--layer": ["nonsense", "a.sch=x"] } },
  "firms create": {
    words: ["--name", "Firm", "--participant", PARTICIPANT],
    options: {
      ...NAME,
      "--participant": [...PARTICIPANTS, "0245:abc", "0245:202020202", "0245:20202020200", "0245:SK2020202020"],
      ...FACTS,
    },
  },
  "firms set": { words: ["--firm", ID], options: { "--firm": IDS, ...NAME, ...FACTS } },
  "firms erase": { words: ["--firm", ID, "--yes"], options: { "--firm": IDS } },
  "integrators create": { options: NAME },
  "keys create": {
    words: ["--firm", ID],
    options: {
      ...OWNERS,
      ...NAME,
      "--scopes": ["nonsense", "documents:send,nonsense", ""],
      "--ip": ["nonsense", "192.0.2.0/33", "192.0.2.1,nonsense", "::ffff:0:0/90", ""],
    },
  },
  "keys list": { options: OWNERS },
  "keys retire-signing": { words: ["x".repeat(43)], options: { "--reason": ["", "x".repeat(10_000)] } },
  integrators: { options: { "--after": IDS } },
  "integrators list": { options: { "--after": IDS } },
  "integrators assign": { words: [ID, "--firm", ID], options: { "--firm": IDS } },
  "integrators approve": { words: [ID], options: { "--reason": ["", "x".repeat(10_000)] } },
  "integrators withdraw": { words: [ID], options: { "--reason": ["", "x".repeat(10_000)] } },
  "owner invite": {
    words: ["--firm", ID, "--email", "name@example.com"],
    options: { ...OWNERS, "--email": EMAILS, "--role": ["nonsense", ""] },
  },
  "owner remove": { words: ["--firm", ID, "--email", "name@example.com"], options: { ...OWNERS, "--email": EMAILS } },
  "people list": { options: OWNERS },
  "oauth-clients create": {
    words: ["--name", "Program", "--redirect-uri", "https://erp.example/back"],
    options: {
      ...NAME,
      "--redirect-uri": ["nonsense", "http://erp.example/back", "https://erp.example/#part", "ftp://erp.example", ""],
    },
  },
  "onboarding list": { options: { "--status": ["nonsense", ""] } },
  "onboarding billing": {
    words: ["--integrator", ID, "--managed", "on"],
    options: { "--integrator": IDS, "--managed": ["nonsense", ""] },
  },
  "participants migrate": {
    words: [PARTICIPANT],
    options: { "--key": ["nonsense", ""], "--key-file": ["/nowhere/at/all"] },
  },
  "participants settle": { words: [PARTICIPANT], options: { "--state": ["nonsense", "manual_review", ""] } },
  "participants list": { options: { "--state": ["nonsense", ""], "--after": PARTICIPANTS } },
  "plan set": { words: [ID, "start"], options: { "--until": [...DAYS, "1899-12-31", "9999-12-31", "10000-01-01"] } },
  "white-label end-customer": { words: [ID], options: { "--reason": ["", "x".repeat(10_000)] } },
  "white-label list": { options: { "--status": ["nonsense", ""] } },
  "pki init": { options: { "--seat": ["nonsense", "PSK1", ""], "--ca": ["/nowhere/at/all", ""] } },
  top: { options: { "--url": ADDRESSES } },
  doctor: {
    options: { "--nats-monitor": ADDRESSES, "--admin-published": ["nonsense", "127.0.0.1:9090", "host.example", ""] },
  },
  "evidence verify": {
    options: {
      "--from": [...DAYS, "2026-11-20T10:00:00", "2026-02-30T10:00:00Z", "2026-11-20T25:00:00Z"],
      "--to": DAYS,
      "--trust": ["/nowhere/at/all"],
    },
  },
};

/** Options that take any text, or are judged behind the configuration because a file is asked about them. */
const ANY_TEXT: ReadonlySet<string> = new Set([
  "rules import --id",
  "rules import --customization",
  "rules import --without",
  "validate --rules",
  "validate --type",
  ...["approve", "refuse", "return", "resume", "revoke"].map((verb) => `onboarding ${verb} --words`),
]);
/** They take no value, and each says so. */
const FLAGS: ReadonlySet<string> = new Set(
  "activate all check connector despite-faults dry-run force fragment json once preview provider quick tiny upcoming watch write yes"
    .split(" ")
    .map((flag) => `--${flag}`),
);

const commands = everyCommand();

test("every option that takes a value is in the table of nonsense, or takes any text", () => {
  const options = commands()
    // Benchmarks are a checkout's own; their numbers are read when a benchmark was found.
    .filter(({ name }) => name !== "bench")
    .flatMap(({ name, usage }) =>
      [...new Set(usage.join(" ").match(/--[a-z][a-z-]*/g) ?? [])]
        .filter((option) => !FLAGS.has(option))
        .map((option) => `${name} ${option}`),
    );
  const told = Object.entries(CASES).flatMap(([name, of]) => Object.keys(of.options).map((one) => `${name} ${one}`));
  expect([...told, ...ANY_TEXT].sort()).toEqual(options.sort());
});

test.each(
  Object.entries(CASES).flatMap(([name, of]) =>
    Object.entries(of.options).map(([option, wrong]) => [name, option, wrong, of.words ?? []] as const),
  ),
)("%s refuses what %s cannot be by its name, before anything is done", async (name, option, wrong, words) => {
  // The good value of the same option goes, so that a wrong one is never the second of two.
  const at = words.indexOf(option);
  const others = at === -1 ? words : [...words.slice(0, at), ...words.slice(at + 2)];
  for (const value of wrong) {
    const ran = commands()
      .find((command) => command.name === name)
      ?.run([...others, `${option}=${value}`]);
    await expect(ran, JSON.stringify(value)).rejects.toThrow(UsageError);
    const said = (await ran?.then(() => "", String)) ?? "";
    expect(said, JSON.stringify(value)).toMatch(new RegExp(`${option}\\b[^\\n]*\\.$`));
    expect(said, "what a library says of it").not.toMatch(/Too (?:big|small)|Invalid|expected/u);
  }
});
