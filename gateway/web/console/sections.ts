/** Tables of values with a tone: what a page of the console and a terminal are made of alike. */

/** How a value is: `late` needs a look, `bad` needs a hand. */
export type Tone = "well" | "late" | "bad";

/** One value. */
export interface Cell {
  readonly text: string;
  /** @default well */
  readonly tone?: Tone;
  /** Whether digits stand below digits. @default false */
  readonly isNumber?: boolean;
  /** Where a page of the console tells more. */
  readonly href?: string;
}

/** One table. */
export interface Section {
  readonly id: string;
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** Stands where there are no rows. */
  readonly empty: string;
}

/** What can be done about what a page shows. */
export interface SheetAction {
  /** Below /console. */
  readonly path: string;
  readonly id: string;
  readonly words: string;
}

/** A page of tables, with what can be done about them. */
export interface Sheet {
  readonly title: string;
  /** The place of the bar that it belongs to. */
  readonly at: string;
  readonly lead?: string;
  /** By what a list can be narrowed down, what it is narrowed down to now, and the page that does so. */
  readonly search?: { readonly label: string; readonly value: string; readonly action: string };
  readonly facts?: readonly (readonly [name: string, value: string])[];
  readonly sections: readonly Section[];
  /** Where the list goes on; undefined at its end. */
  readonly next?: string | undefined;
  readonly actions: readonly SheetAction[];
}
