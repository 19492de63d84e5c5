/** What commands write for people: the only place that touches the standard streams, besides the log. */
import { closeSync } from "node:fs";
import { env, stderr, stdin, stdout } from "node:process";
import { createInterface } from "node:readline/promises";
import { isatty } from "node:tty";

const isTerminal = stdout.isTTY;

/** Who wants none says so in NO_COLOR, of which an empty one says nothing. @source https://no-color.org */
const hasColours = isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";

let isLost = false;
// Who has stopped reading, as in `kurier env | head`, is told no more. A full disk takes no more either, and is told of
// beside it. In both cases what was begun goes on to its end: retention may be what makes room.
stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (isLost || code === "EPIPE") return;
  isLost = true;
  complain(`Standard output takes nothing more (${code ?? "unknown"}): the command goes on, and what it says is lost.`);
});
stderr.on("error", () => {
  // Nobody is left who could be told.
});

const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));

// Node.js gives terminals their settings back as it ends, and aborts, with a stack and a dump of our memory where those
// are allowed, when one is gone; those that are closed it leaves alone. What is gone is a terminal no longer.
process.on("exit", () => {
  if (!terminals.every((terminal) => isatty(terminal))) for (const terminal of terminals) closeSync(terminal);
});

/** Waits for what was printed. @returns whether anything was lost that somebody may still want to read */
export const isOutputLost = (): Promise<boolean> =>
  new Promise((resolve) => {
    stdout.write("", () => {
      // Of what failed the stream tells after it has called back.
      setImmediate(() => {
        resolve(isLost);
      });
    });
  });

/** Whether somebody reads the standard output on a terminal. */
export const isAtTerminal: boolean = isTerminal;

/** Empties the terminal and goes to its first line. */
export const clearTerminal = (): void => {
  stdout.write("\u001b[H\u001b[2J");
};

/** One line on standard output. */
export const print = (line = ""): void => {
  stdout.write(`${line}\n`);
};

/** What would end a line, move the cursor or turn the text round. */
export const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Words of others on one line, with a dot for each mark of UNSEEN. */
export const plain = (text: string): string => text.replace(UNSEEN, "·");

/** One line of a list on standard output, whose cells may be words of others. */
export const printRow = (cells: readonly string[]): void => {
  print(cells.map(plain).join("  "));
};

/** One line on standard error. */
export const complain = (line: string): void => {
  stderr.write(`${line}\n`);
};

const COLOURS = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;

/** Colours a text on a terminal that has colours; leaves it alone when the output is piped, or NO_COLOR is set. */
export const colour = (name: keyof typeof COLOURS, text: string): string =>
  hasColours ? `\u001b[${COLOURS[name]}m${text}\u001b[0m` : text;

/** Shows how far long work is, on a terminal only. @returns ends the line */
export function progress(label: string, total: number): { step(done: number): void; end(): void } {
  const WIDTH = 30;
  return {
    step: (done) => {
      if (!isTerminal) return;
      const filled = Math.round((WIDTH * done) / Math.max(total, 1));
      stdout.write(`\r${label} [${"#".repeat(filled)}${" ".repeat(WIDTH - filled)}] ${done}/${total}`);
    },
    end: () => {
      if (isTerminal) stdout.write("\n");
    },
  };
}

/** All of standard input. */
export async function readStandardInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

/** Asks a question that yes or no answers. @returns undefined when nobody is at the terminal */
export async function confirm(question: string): Promise<boolean | undefined> {
  if (!stdin.isTTY || !isTerminal) return undefined;
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    return /^y(?:es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
