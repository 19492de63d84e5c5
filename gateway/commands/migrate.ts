/** `kurier migrate` and `kurier migrate status`. */
import { systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { resealFacts } from "../../engine/storage/keyring/reseal-facts.js";
import { migrate, migrationStatus } from "../../engine/storage/migrate.js";
import { openKeys } from "../start/data-dir.js";
import { print } from "./terminal.js";
import { EXIT, parseArguments, UsageError } from "./command.js";
import type { Command } from "./command.js";
import { withDatabase } from "./database.js";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Bring the schema up to date, forward only.",
  usage: ["kurier migrate", "kurier migrate status"],
  run: async (args) => {
    const [word] = parseArguments(args, { words: 1 }).values;
    if (word !== undefined && word !== "status") throw new UsageError("migrate takes nothing, or the word status.");
    const config = loadConfig();
    return withDatabase(
      config,
      async ({ url, sql }) => {
        if (word === "status") {
          for (const row of await migrationStatus({ url }))
            print(`${String(row.number).padStart(4, "0")}  ${row.state.padEnd(8)} ${row.name}`);
          return EXIT.ok;
        }
        const applied = await migrate({ url, clock: systemClock });
        print(applied.length === 0 ? "The schema is up to date." : `Applied: ${applied.join(", ")}.`);
        const { sealer } = await openKeys(sql, config);
        const sealed = await resealFacts(sql, sealer, "clear");
        if (sealed > 0) print(`Sealed what lay in clear beside ${sealed} documents and answers.`);
        return EXIT.ok;
      },
      { migrated: false, begins: word === undefined },
    );
  },
};
