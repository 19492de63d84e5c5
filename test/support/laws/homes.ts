/** One home for each dangerous thing: packages, built-ins of Node.js and globals that only named files may touch. */
import ts from "typescript";

import type { Source } from "../sources.js";
import { eachNode } from "../sources.js";

/** Packages and built-ins with a home. */
const PACKAGE_HOMES: readonly (readonly [what: RegExp, homes: RegExp])[] = [
  [/^(uWebSockets\.js|@uwsjs\/.*)$/, /^gateway\/http\/uws-binding\.ts$/],
  [/^nact$/, /^actors\/system\.ts$/],
  [/^piscina$/, /^validators\/lanes\/lane\.ts$/],
  [/^@nats-io\//, /^engine\/events\/streams-jetstream\.ts$/],
  [/^postgres$/, /^engine\/storage\//],
  [/^pino$/, /^engine\/base\/log\.ts$/],
  [/^nodemailer$/, /^engine\/identity\/people\/mail\.ts$/],
  [/^prom-client$/, /^engine\/base\/metrics\.ts$/],
  [/^node:(http|https|http2)$/, /^gateway\/http\/server-(node|uws)\.ts$|^engine\/peppol\/network\/http\.ts$/],
  [/^node:child_process$/, /^engine\/embedded\//],
  [/^node:(dns|dns\/promises)$/, /^engine\/peppol\/network\//],
  [
    /^node:(net|tls|dgram)$/,
    /^engine\/(peppol\/network|embedded)\/|^gateway\/(http\/(server-node|claim-port)|commands\/probe\/wire)\.ts$|^engine\/storage\/driver\/sockets\.ts$/,
  ],
  [
    /^node:worker_threads$/,
    /^validators\/(batches|lanes\/(ports|refusals)|wss\/keys)\.ts$|^engine\/base\/memory\/release\.ts$/,
  ],
  [
    /^node:fs(\/promises)?$/,
    // What is configured, what is embedded, the log, migrations, evidence, keys of firms, rule packs, pages, letters, and what commands read and write.
    /^engine\/(base\/(config|files\/(durable|open-files|standard-output))|identity\/(sandbox|people\/mail)|storage\/(migrate|evidence\/(place|store-file)|keyring\/firm-key-files))\.ts$|^engine\/(embedded|peppol\/pki)\/|^engine\/peppol\/discovery\/smp-static\.ts$|^gateway\/(commands|start)\/|^gateway\/http\/open-sockets\.ts$|^gateway\/routes\/(validate-page|web|guide|pages\/front|console\/sign-in)\.ts$|^validators\/(lanes\/lane|ubl\/generate|view\/pdf\/fonts)\.ts$|^validators\/schematron\/release\//,
  ],
];

/** Globals with a home: `a.b`, `new Date()` or a called name. */
const EXPRESSION_HOMES: readonly (readonly [what: RegExp, homes: RegExp])[] = [
  // The native module reads one variable when it loads; nothing else is read or written there.
  [/^process\.env$/, /^(engine\/base\/config|gateway\/http\/uws-binding)\.ts$/],
  // Only the program itself ends, and only it listens to signals; the embedded programs are ended when it ends,
  // the log is written to its end, and a terminal that is gone is let go.
  [/^process\.(exit|exitCode|abort)$/, /^gateway\/(cli|commands\/serve)\.ts$/],
  [
    /^process\.(on|once|off|kill)$/,
    /^gateway\/commands\/(serve|terminal)\.ts$|^engine\/(embedded\/|base\/files\/standard-output\.ts$)/,
  ],
  [/^process\.(pid|ppid)$/, /^engine\/(embedded|identity\/sandbox|peppol\/pki\/development)|^gateway\/start\//],
  [/^process\.(stdin|stdout|stderr)$/, /^gateway\/commands\/terminal\.ts$/],
  [/^process\.(argv|cwd|chdir)$/, /^validators\/ubl\/generate\.ts$|^gateway\/cli\.ts$/],
  [/^process\.(platform|arch|version|versions|report)$/, /^engine\/embedded\/|^gateway\/http\/uws-binding\.ts$/],
  [/^process\.(geteuid|getuid|setuid|setgid|umask)$/, /^engine\/(embedded\/binaries|base\/files\/durable)\.ts$/],
  [/^process\.(hrtime|cpuUsage|memoryUsage)$/, /^validators\/stopwatch\.ts$/],
  [
    /^fetch$/,
    /^engine\/(storage\/evidence\/store-s3|base\/tracing\/exporter)\.ts$|^gateway\/commands\/demo\/calls\.ts$/,
  ],
  [/^Date\.now$|^new Date\(\)$|^performance\.now$/, /^engine\/base\/clock\.ts$/],
  [/^Math\.random$|^console$/, /^$/],
  // Text that is run as SQL without parameters: migrations, and the name of a channel.
  [/^\.unsafe$/, /^engine\/storage\/(migrate|channel)\.ts$/],
  // Code made from text: rule packs, whose expressions the compiler writes itself.
  [/^eval$|^new Function$/, /^validators\/schematron\//],
];

/** What a file touches, in the words of EXPRESSION_HOMES. */
function touched({ file }: Source): string[] {
  const found: string[] = [];
  const locals = new Set<string>();
  eachNode(file, (node) => {
    if ((ts.isParameter(node) || ts.isVariableDeclaration(node)) && ts.isIdentifier(node.name))
      locals.add(node.name.text);
    if (ts.isPropertyAccessExpression(node)) {
      if (node.name.text === "unsafe") found.push(".unsafe");
      if (ts.isIdentifier(node.expression) && !locals.has(node.expression.text)) {
        found.push(`${node.expression.text}.${node.name.text}`);
        if (node.expression.text === "console") found.push("console");
      }
    }
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) found.push(node.expression.text);
    if (ts.isNewExpression(node) && ts.isIdentifier(node.expression)) {
      if (node.expression.text === "Date" && (node.arguments?.length ?? 0) === 0) found.push("new Date()");
      if (node.expression.text === "Function") found.push("new Function");
    }
  });
  return found;
}

/** What stands outside its home. */
export const homeless = (source: Source): string[] => [
  ...source.packages.flatMap((name) =>
    PACKAGE_HOMES.filter(
      ([what, homes]) => what.test(name.replace(/^(https?|fs|net)$/, "node:$1")) && !homes.test(source.path),
    ).map(() => `${source.path} imports ${name}`),
  ),
  ...[...new Set(touched(source))].flatMap((what) =>
    EXPRESSION_HOMES.filter(([pattern, homes]) => pattern.test(what) && !homes.test(source.path)).map(
      () => `${source.path} uses ${what}`,
    ),
  ),
];

/** SQL text outside engine/storage: tagged templates named sql. Benchmarks count rows with statements of their own. */
export function sqlOutsideStorage({ path, file }: Source): string[] {
  if (/^(engine\/storage|bench)\//.test(path)) return [];
  const found: string[] = [];
  eachNode(file, (node) => {
    if (ts.isTaggedTemplateExpression(node) && /(^|\.)sql$/.test(node.tag.getText(file).replace(/<.*$/s, "")))
      found.push(path);
  });
  return found;
}
