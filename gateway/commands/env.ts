/** `kurier env`: the environment's example file, written or compared. */
import { readFile, writeFile } from "node:fs/promises";

import { environmentExample } from "../../engine/base/config.js";
import { complain, print } from "./terminal.js";
import { EXIT, parseArguments } from "./command.js";
import type { Command } from "./command.js";

const FILE = "deploy/env.example";

export const envCommand: Command = {
  name: "env",
  summary: "Print the environment's variables; --write and --check deploy/env.example.",
  usage: ["kurier env [--write | --check]"],
  run: async (args) => {
    const { options } = parseArguments(args, { flags: ["write", "check"] });
    const text = environmentExample();
    if (options.has("write")) {
      await writeFile(FILE, text);
      return EXIT.ok;
    }
    if (!options.has("check")) {
      print(text);
      return EXIT.ok;
    }
    if ((await readFile(FILE, "utf8")) === text) return EXIT.ok;
    complain(`${FILE} differs from engine/base/config.ts; run npm run env.`);
    return EXIT.failed;
  },
};
