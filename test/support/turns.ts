/** Whether the event loop of a test turns while something is done. */

/** How often the event loop turned while the work was done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let working = true;
  const tick = (): void => {
    if (!working) return;
    turns += 1;
    setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  working = false;
  return turns;
}
