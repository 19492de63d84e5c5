/** What is done now and then beside everything else. */

/**
 * Does something again and again, and keeps no process alive for it.
 * @param work  looks after its own failures: nobody hears what it throws
 * @returns what ends that
 */
export function every(period_ms: number, work: () => void | Promise<unknown>): () => void {
  const timer = setInterval(() => void work(), period_ms);
  timer.unref();
  return () => {
    clearInterval(timer);
  };
}
