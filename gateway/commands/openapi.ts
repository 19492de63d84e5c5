/** `kurier openapi`: the OpenAPI documents drawn from the route rows, written or compared. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { DOCUMENT_NAMES, openApiDocuments } from "../contract/openapi.js";
import { describedOperations } from "../start/operations.js";
import { complain, print } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command, ExitCode } from "./command.js";

const FOLDER = join("deploy", "openapi");

export const openapiCommand: Command = {
  name: "openapi",
  summary: "Print an OpenAPI document; --write and --check deploy/openapi.",
  usage: ["kurier openapi enterprise|sapi", "kurier openapi --write | --check"],
  run: async (args): Promise<ExitCode> => {
    const {
      values: [name],
      options,
    } = parseArguments(args, { flags: ["write", "check"], words: 1 });
    const documents = openApiDocuments(describedOperations());
    const textOf = (document: (typeof DOCUMENT_NAMES)[number]): string =>
      `${JSON.stringify(documents[document], null, 2)}\n`;
    if (options.has("write")) {
      await mkdir(FOLDER, { recursive: true });
      for (const document of DOCUMENT_NAMES) await writeFile(join(FOLDER, `${document}.json`), textOf(document));
      return EXIT.ok;
    }
    if (options.has("check")) {
      const drifted: string[] = [];
      for (const document of DOCUMENT_NAMES)
        if ((await readFile(join(FOLDER, `${document}.json`), "utf8")) !== textOf(document)) drifted.push(document);
      for (const document of drifted)
        complain(`deploy/openapi/${document}.json differs from the route rows; run npm run openapi.`);
      return drifted.length === 0 ? EXIT.ok : EXIT.failed;
    }
    const known = DOCUMENT_NAMES.find((document) => document === name);
    if (known === undefined) throw new UsageError(`Name a document: ${DOCUMENT_NAMES.join(" or ")}.`);
    print(textOf(known).trimEnd());
    return EXIT.ok;
  },
};
