/** Where a value stands in a source, with what its meaning hangs on. */
import { LIMITS } from "../../../base/limits.js";
import { firstChars } from "../../../base/text.js";
import type { PartyRole } from "../fields.js";
import { fold, roleIn } from "../names.js";
import type { PlaceNames } from "../names.js";

/** A place of a source as an answer names it. */
export const placeOf = (text: string): string => firstChars(text, LIMITS.mapper_place_chars_max);

/** Longer than any name that is known or that a caller can say, whose folding may make two letters of one. */
const FOLDED_CHARS_MAX = 2 * LIMITS.mapper_path_chars_max + 1;

/** A name of a source. */
export interface SourceName {
  readonly name: string;
  /** What is left of it when it is folded; of a name that is none, as much as shows it. */
  readonly folded: string;
}

export const sourceName = (name: string): SourceName => ({ name, folded: firstChars(fold(name), FOLDED_CHARS_MAX) });

/**
 * The names from the outermost to that of a value. What is known of those around it is found out once for all that
 * stands below them: thousands of values may stand below dozens of names.
 */
export class SourcePath implements PlaceNames {
  /** The place of no name. */
  static readonly root = new SourcePath(undefined, { name: "", folded: "" });

  /** Its own name. */
  readonly name: string;
  /** All names, folded, without anything between them. */
  readonly folded: string;
  readonly leaf: string;
  readonly parent: string;
  readonly roleAbove: PartyRole | undefined;
  readonly #above: SourcePath | undefined;
  #place: string | undefined;
  #role: { readonly of: PartyRole | undefined } | undefined;

  private constructor(above: SourcePath | undefined, { name, folded }: SourceName) {
    const [around, role] = above === undefined ? ["", undefined] : [above.leaf, above.#nearestRole()];
    this.#above = above;
    this.name = name;
    this.folded = (above?.folded ?? "") + folded;
    this.leaf = folded === "" ? around : folded;
    this.parent = folded === "" ? (above?.parent ?? "") : around;
    this.roleAbove = folded === "" ? above?.roleAbove : role;
  }

  /** The place of a name that stands in nothing. */
  static of(name: string): SourcePath {
    return SourcePath.root.below(sourceName(name));
  }

  /** As an answer names it. Of most that are only looked at, no answer does. */
  get place(): string {
    const isInNone = this.#above === undefined || this.#above === SourcePath.root;
    this.#place ??= placeOf(isInNone ? this.name : `${this.#above.place}.${this.name}`);
    return this.#place;
  }

  get isAlone(): boolean {
    return this.leaf !== "" && this.parent === "";
  }

  below(name: SourceName): SourcePath {
    return new SourcePath(this, name);
  }

  /** The party that it is about, or the nearest of those around it. */
  #nearestRole(): PartyRole | undefined {
    this.#role ??= { of: roleIn(this.leaf) ?? this.roleAbove };
    return this.#role.of;
  }
}
