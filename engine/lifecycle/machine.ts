/** State machines as tables: which trigger moves which state where, and what the world is told. */

/** One legal move: the next state, and the events that are written with it. */
export interface Move<State extends string, Event extends string> {
  readonly to: State;
  readonly emits: readonly Event[];
}

/** Every state has a row; a trigger without an entry is refused in that state. */
export type LifecycleTable<State extends string, Trigger extends string, Event extends string> = {
  readonly [S in State]: { readonly [T in Trigger]?: Move<State, Event> };
};

/** The move that `trigger` makes in `state`; undefined when the table has none, in which case nothing may change. */
export const moveOf = <State extends string, Trigger extends string, Event extends string>(
  table: LifecycleTable<State, Trigger, Event>,
  state: State,
  trigger: Trigger,
): Move<State, Event> | undefined => table[state][trigger];

/** The table as a Mermaid state diagram, one line an edge; the documentation carries it and a test compares. */
export function mermaid<State extends string, Trigger extends string, Event extends string>(
  table: LifecycleTable<State, Trigger, Event>,
  initial: State,
): string {
  const lines = ["stateDiagram-v2", `  [*] --> ${initial}`];
  for (const state of Object.keys(table) as State[]) {
    for (const [trigger, move] of Object.entries<Move<State, Event> | undefined>(table[state])) {
      if (move !== undefined) lines.push(`  ${state} --> ${move.to}: ${trigger}`);
    }
  }
  return lines.join("\n");
}
