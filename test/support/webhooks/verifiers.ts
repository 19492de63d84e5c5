/**
 * Checks of a webhook's signature that know nothing of our code: those that the guide for integrators prints, each run in
 * its language, and openssl.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transformSync } from "esbuild";

import { PROJECT } from "../engines/process.js";

/** What a receiver has of a call, and some bodies that may be the one that was signed. */
interface Claim {
  readonly secret: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly bodies: readonly Buffer[];
}

interface Verifier {
  readonly name: string;
  /** Whether this machine has what it needs. */
  readonly isHere: boolean;
  /** For each body, whether it is the one. */
  verify(claim: Claim): readonly boolean[];
}

/** A program of the guide without its example. */
function printed(language: string): string {
  const page = readFileSync(join(PROJECT, "docs/integrators/webhooks.md"), "utf8");
  const [, text = ""] = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "m").exec(page) ?? [];
  // In Java the example is the body of `main`, whose brackets the end of ours closes.
  const example = text.search(/^(?: +String |const |\$)?signature = "/m);
  if (example <= 0) throw new Error(`the guide has no check in ${language}`);
  return text.slice(0, example);
}

/** Behind a check of the guide: bodies in base64, told one a line. */
const ENDS = {
  ts: `const [secret, timestamp, signature, ...bodies] = process.argv.slice(2);
for (const body of bodies)
  console.log(isGenuine(secret, timestamp, Buffer.from(body, "base64"), signature, Math.floor(Date.now() / 1000)));`,
  py: `import base64, sys, time
secret, timestamp, signature, *bodies = sys.argv[1:]
for body in bodies:
    print(is_genuine(secret, timestamp, base64.b64decode(body), signature, int(time.time())))`,
  php: `[, $secret, $timestamp, $signature] = $argv;
foreach (array_slice($argv, 4) as $body)
    echo isGenuine($secret, $timestamp, base64_decode($body), $signature, time()) ? "true\\n" : "false\\n";`,
  java: `        for (int n = 3; n < args.length; n++) {
            byte[] body = java.util.Base64.getDecoder().decode(args[n]);
            System.out.println(isGenuine(args[0], args[1], body, args[2], System.currentTimeMillis() / 1000));
        }
    }
}`,
} as const;

const PROGRAMS = {
  ts: [process.execPath, "check.mjs"],
  py: ["python3", "check.py"],
  php: ["php", "check.php"],
  java: ["java", "Program.java"],
} as const satisfies Readonly<Record<keyof typeof ENDS, readonly [program: string, file: string]>>;

const isHere = (program: string, ...args: readonly string[]): boolean =>
  spawnSync(program, [...args], { stdio: "ignore" }).status === 0;

/** The guide's check in Java needs release 17. */
const isLanguageHere = (language: keyof typeof ENDS): boolean =>
  isHere(PROGRAMS[language][0], "--version") &&
  (language !== "java" || /\b(?:1[7-9]|[2-9]\d)\./.test(execFileSync("java", ["--version"], { encoding: "utf8" })));

function runs(language: keyof typeof ENDS, { secret, timestamp, signature, bodies }: Claim): readonly boolean[] {
  const folder = mkdtempSync(join(tmpdir(), "kurier-verifier-"));
  try {
    const [program, name] = PROGRAMS[language];
    const text = `${printed(language)}\n${ENDS[language]}\n`;
    const file = join(folder, name);
    writeFileSync(file, language === "ts" ? transformSync(text, { loader: "ts", format: "esm" }).code : text);
    const args = [file, secret, timestamp, signature, ...bodies.map((body) => body.toString("base64"))];
    const said = execFileSync(program, args, { encoding: "utf8" }).trim().split("\n");
    return said.map((line) => line.toLowerCase() === "true");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const opensslSays = ({ secret, timestamp, signature, bodies }: Claim): readonly boolean[] =>
  bodies.map((body) => {
    const input = Buffer.concat([Buffer.from(`${timestamp}.`), body]);
    const said = execFileSync("openssl", ["dgst", "-sha256", "-hmac", secret, "-r"], { input, encoding: "utf8" });
    return signature === `sha256=${said.split(" ")[0] ?? ""}`;
  });

export const VERIFIERS: readonly Verifier[] = [
  ...(Object.keys(ENDS) as (keyof typeof ENDS)[]).map((language) => ({
    name: language,
    isHere: isLanguageHere(language),
    verify: (claim: Claim) => runs(language, claim),
  })),
  { name: "openssl", isHere: isHere("openssl", "version"), verify: opensslSays },
];
