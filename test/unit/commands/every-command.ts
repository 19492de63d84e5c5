/** Every command of the program, for tests of what commands refuse before they do anything. */
import { afterAll, beforeAll, vi } from "vitest";

import { COMMAND_FILES } from "../../../gateway/cli.js";
import type { Command } from "../../../gateway/commands/command.js";

/** @returns the commands, once the tests of the file run; one that refuses nothing stops at its configuration */
export function everyCommand(): () => readonly Command[] {
  let commands: readonly Command[] = [];
  beforeAll(async () => {
    commands = (await Promise.all(COMMAND_FILES.map(({ load }) => load()))).flat();
    vi.stubEnv("PORT", "none");
  });
  afterAll(() => {
    vi.unstubAllEnvs();
  });
  return () => commands;
}
