/**
 * The active packs of a folder, for as long as a thread runs: what an operator activates or deactivates counts within a
 * second, without a restart.
 */
import { NO_PACKS } from "./packs.js";
import type { Packs } from "./packs.js";
import { loadPacks } from "./load-packs.js";
import { packsStamp, PackRefused } from "../schematron/release/load.js";
import { XsdUnavailable } from "../schematron/release/xsd.js";
import { StopWatch } from "../stopwatch.js";

/** How often a thread that has work looks at the manifests, which takes about 0.1 ms for each pack. */
const LOOK_MS = 1_000;

export class ActivePacks {
  readonly rulesDir: string;
  readonly #lookMs: number;
  #packs: Packs | undefined;
  #stamp = "";
  #sinceLook = new StopWatch();

  /** @param lookMs  how long what was seen last counts; default one second */
  constructor(rulesDir: string, lookMs = LOOK_MS) {
    this.rulesDir = rulesDir;
    this.#lookMs = lookMs;
  }

  /**
   * The packs that judge now. Packs that cannot be loaded leave those that were loaded before in force; the engine,
   * which looks at the folder too, tells the operator (gateway/start/rule-packs.ts).
   * @throws PackRefused, XsdUnavailable when there are none from before
   */
  async current(): Promise<Packs> {
    if (this.#packs !== undefined && this.#sinceLook.elapsed_ms() < this.#lookMs) return this.#packs;
    this.#sinceLook = new StopWatch();
    const stamp = packsStamp(this.rulesDir);
    if (this.#packs === undefined || stamp !== this.#stamp) await this.#load(stamp);
    return this.#packs ?? NO_PACKS;
  }

  async #load(stamp: string): Promise<void> {
    const before = this.#packs;
    try {
      this.#packs = await loadPacks(this.rulesDir);
      this.#stamp = stamp;
    } catch (error) {
      const isRefused = error instanceof PackRefused || error instanceof XsdUnavailable;
      if (before === undefined || !isRefused) throw error;
      return;
    }
    for (const { validator } of before?.grammars ?? []) validator.dispose();
  }
}
