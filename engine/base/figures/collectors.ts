/** Figures that are read when somebody asks: all groups at once, none for longer than an exposition may wait. */
import { LIMITS } from "../limits.js";
import { within } from "../waiting/wake.js";

/** Sets a group of figures. */
type Collect = () => Promise<void> | void;

/** Where it is told how many groups are late. */
interface Told {
  set(name: "collectors_late", labels: Readonly<Record<never, never>>, value: number): void;
}

interface Collectors {
  add(collect: Collect): void;
  /**
   * Resolves when every group is set, or after LIMITS.metrics_timeout_ms; says how many are not. What has not ended
   * goes on, and is not begun again before it has: each scrape of a silent database would add statements.
   */
  run(): Promise<void>;
}

/** Whether a group was set; whoever reads the figures has logged why not. */
async function isSetBy(collect: Collect): Promise<boolean> {
  try {
    await collect();
    return true;
  } catch {
    return false;
  }
}

/** Groups that run before every exposition. */
export function createCollectors(metrics: Told): Collectors {
  // Bounded by the parts that add one when they start.
  const collectors: Collect[] = [];
  // Bounded by the collectors.
  const underWay = new Map<Collect, Promise<boolean>>();
  const begin = (collect: Collect): Promise<boolean> => {
    const done = isSetBy(collect).finally(() => underWay.delete(collect));
    underWay.set(collect, done);
    return done;
  };
  return {
    add: (collect) => {
      collectors.push(collect);
    },
    run: async () => {
      const set = await Promise.all(
        collectors.map((collect) => within(underWay.get(collect) ?? begin(collect), LIMITS.metrics_timeout_ms, false)),
      );
      metrics.set("collectors_late", {}, set.filter((isSet) => !isSet).length);
    },
  };
}
