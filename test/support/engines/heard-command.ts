/** Runs a command of `kurier` in this process, and hears what it says on both streams. */
import { vi } from "vitest";

import type { Command, ExitCode } from "../../../gateway/commands/command.js";

/** A command and what it works on. */
interface Run {
  readonly commands: readonly Command[];
  readonly name: string;
  readonly databaseUrl: string;
  readonly args: readonly string[];
}

/** @throws what the command throws, as a UsageError */
export async function hearCommand({ commands, name, databaseUrl, args }: Run): Promise<{
  readonly code: ExitCode | undefined;
  readonly said: string;
}> {
  const said: string[] = [];
  const hear = (text: string | Uint8Array): boolean => said.push(String(text)) > 0;
  const streams = [
    vi.spyOn(process.stdout, "write").mockImplementation(hear),
    vi.spyOn(process.stderr, "write").mockImplementation(hear),
  ];
  vi.stubEnv("DATABASE_URL", databaseUrl);
  vi.stubEnv("ENVIRONMENT", "sandbox");
  try {
    return { code: await commands.find((one) => one.name === name)?.run(args), said: said.join("") };
  } finally {
    vi.unstubAllEnvs();
    for (const stream of streams) stream.mockRestore();
  }
}
