/** What is done now and then beside everything else. */

/** Does something again and again, and keeps no process alive for it. @returns what ends that */
export function every(period_ms: number, work: () => unknown): () => void {
  const timer = setInterval(work, period_ms);
  timer.unref();
  return () => {
    clearInterval(timer);
  };
}
