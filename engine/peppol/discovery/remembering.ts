/** Answers of others, remembered for a bounded time: each question is asked once at a time, and only so many in all. */
import { BoundedMap } from "../../base/bounded.js";
import { isBelieved, termOf } from "../../base/clock.js";
import type { Clock, Instant, Term } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";

/** Called before others are asked, not for what is remembered; false means that they must not be asked now. */
export type MayAsk = () => boolean;

/** The reason of a look-up that was not allowed to ask. */
export const NOT_ALLOWED = "not_allowed";
/** The reason of a look-up that found as many under way as there may be. */
export const BUSY = "busy";

interface Questions<Question, Answer> {
  readonly clock: Clock;
  /** Under what an answer is kept. */
  nameOf(question: Question): string;
  /** Never throws. */
  ask(question: Question): Promise<Answer>;
  /** How long an answer is believed, in milliseconds. */
  lifetimeOf(answer: Answer): number;
  /** Whether an answer says nothing but that there was none, so that what is remembered stays. */
  isFailure(answer: Answer): boolean;
  /** What is answered, and not kept, where nobody may be asked. */
  refused(reason: typeof BUSY | typeof NOT_ALLOWED): Answer;
}

/** Questions with their remembered answers. */
interface Remembered<Question, Answer> {
  /** @param fresh asks again whatever is remembered, but for a failure, which is not repeated so soon */
  get(question: Question, fresh: boolean, mayAsk?: MayAsk): Answer | Promise<Answer>;
  /** Forgets every answer whose name begins so. */
  forget(prefix: string): void;
}

interface Timed<Answer> extends Term {
  readonly answer: Answer;
}

interface Known<Answer> extends Timed<Answer> {
  /** What came of a later question that has failed. */
  readonly failure?: Timed<Answer>;
}

/** Remembers at most LIMITS.smp_cache_entries answers, with at most LIMITS.smp_lookups_max questions under way. */
export function remembering<Question, Answer>(questions: Questions<Question, Answer>): Remembered<Question, Answer> {
  const { clock, nameOf, ask, lifetimeOf, isFailure, refused } = questions;
  const known = new BoundedMap<string, Known<Answer>>(LIMITS.smp_cache_entries);
  const underWay = new Map<string, Promise<Answer>>();

  /** A failure stands beside what is still believed: it would take it from all who ask for something else of it. */
  const withAnswer = (before: Known<Answer> | undefined, answer: Answer, askedAt: Instant): Known<Answer> => {
    const timed = { answer, ...termOf(clock, askedAt, lifetimeOf(answer)) };
    const isKept = before !== undefined && isFailure(answer) && !isFailure(before.answer) && isBelieved(before, clock);
    return isKept ? { ...before, failure: timed } : timed;
  };

  return {
    get: (question, fresh, mayAsk) => {
      const name = nameOf(question);
      const remembered = known.get(name);
      if (remembered !== undefined && isBelieved(remembered, clock)) {
        const { answer, failure } = remembered;
        if (!fresh) return answer;
        if (failure !== undefined && isBelieved(failure, clock)) return failure.answer;
      }
      const running = underWay.get(name);
      if (running !== undefined) return running;
      if (underWay.size >= LIMITS.smp_lookups_max) return refused(BUSY);
      if (mayAsk?.() === false) return refused(NOT_ALLOWED);
      const askedAt = clock.now();
      const mine: Promise<Answer> = ask(question).then((answer) => {
        // A `forget` during the question means that its answer may be out of date already, so that it is not kept.
        if (underWay.get(name) === mine) {
          underWay.delete(name);
          known.set(name, withAnswer(known.get(name), answer, askedAt));
        }
        return answer;
      });
      underWay.set(name, mine);
      return mine;
    },
    forget: (prefix) => {
      for (const map of [known, underWay]) for (const name of map.keys()) if (name.startsWith(prefix)) map.delete(name);
    },
  };
}
