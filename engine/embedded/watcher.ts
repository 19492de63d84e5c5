/** Ends a child when our process is gone, also after a `kill -9` that leaves us no last word. */
import { spawn } from "node:child_process";

import { childEnvironment } from "../base/config.js";
import { LIMITS } from "../base/limits.js";
import type { Log } from "../base/log.js";

/** Whom the watcher ends, and how. */
interface Watched {
  /** Shown in the log. */
  readonly name: string;
  /** As `kill` takes it: below 0 it is a group. */
  readonly pid: number;
  /** From the gentlest to the last. */
  readonly signals: readonly NodeJS.Signals[];
  readonly log: Log;
}

interface Watcher {
  /** The child has ended: the watcher ends too and touches nothing. Safe to repeat. */
  readonly standDown: () => void;
}

/**
 * Reads from a pipe whose other end only we hold. A line lets the shell go home; the pipe's end without one means that
 * we are gone, and then the child gets the signals one after the other, until it is gone too.
 */
const SCRIPT = `
read -r word && exit 0
pid=$1 looks=$2
shift 2
for signal; do
  kill -s "$signal" -- "$pid" 2>/dev/null || exit 0
  look=0
  while [ "$look" -lt "$looks" ]; do
    kill -s 0 -- "$pid" 2>/dev/null || exit 0
    sleep ${LIMITS.child_watch_look_s}
    look=$((look + 1))
  done
done`;

/**
 * Starts the watcher of a child of ours, in a session of its own: Ctrl-C and a kill of our process group pass it by.
 * The child cannot be mistaken for a later process of its number: until we are gone it is ours to bury.
 */
export function watchOver({ name, pid, signals, log }: Watched): Watcher {
  const looks = Math.ceil(LIMITS.child_stop_timeout_ms / signals.length / (LIMITS.child_watch_look_s * 1_000));
  const words = signals.map((signal) => signal.replace(/^SIG/, ""));
  const shell = spawn("sh", ["-c", SCRIPT, "kurier-watcher", String(pid), String(looks), ...words], {
    cwd: "/",
    detached: true,
    env: childEnvironment(),
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  const unwatched = (): void => {
    log.warn("child.unwatched", { component: name, pid });
  };
  shell.once("error", unwatched);
  // A watcher that somebody has killed closes its end; the next start finds the child by its folder, as before.
  shell.stdin.once("error", unwatched);
  let over = false;
  return {
    standDown: () => {
      if (!over) shell.stdin.end("over\n");
      over = true;
    },
  };
}
