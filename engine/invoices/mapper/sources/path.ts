/** Where a value stands in a source, with what its meaning hangs on. */
import { LIMITS } from "../../../base/limits.js";
import { firstChars } from "../../../base/text.js";
import type { PartyRole } from "../fields.js";
import { fold, roleIn } from "../names.js";
import type { PlaceNames } from "../names.js";
import { UnreadableSource } from "./unreadable.js";

/** A place of a source as an answer names it. */
export const placeOf = (text: string): string => firstChars(text, LIMITS.mapper_place_chars_max);

/** Longer than any name that is known or that a caller can say, whose folding may make two letters of one. */
const FOLDED_CHARS_MAX = 2 * LIMITS.mapper_path_chars_max + 1;

/** More places or names than a document has: what each means would be asked of each. */
export const tooManyPlaces = (): UnreadableSource =>
  new UnreadableSource(
    "MAPPER-PLACES",
    `The source has more than ${LIMITS.mapper_places_max} members or elements whose names and places differ.`,
  );

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
  // Bounded by the names of one source; that of `root` stays empty.
  readonly #below = new Map<string, SourcePath>();
  readonly #start: SourcePath;
  /** Of a start: the places below it. */
  #places = 0;
  #place: string | undefined;
  #role: { readonly of: PartyRole | undefined } | undefined;

  private constructor(above: SourcePath | undefined, { name, folded }: SourceName) {
    const [around, role] = above === undefined ? ["", undefined] : [above.leaf, above.#nearestRole()];
    this.#above = above;
    this.#start = above === undefined ? this : above.#start;
    this.name = name;
    this.folded = (above?.folded ?? "") + folded;
    this.leaf = folded === "" ? around : folded;
    this.parent = folded === "" ? (above?.parent ?? "") : around;
    this.roleAbove = folded === "" ? above?.roleAbove : role;
  }

  /**
   * The place of no name, for one source whose names come again and again: each place below it is made once.
   * @throws UnreadableSource where there are more places below it than a document has
   */
  static start(): SourcePath {
    return new SourcePath(undefined, { name: "", folded: "" });
  }

  /** The place of a name that stands in nothing. */
  static of(name: string): SourcePath {
    return SourcePath.root.below(sourceName(name));
  }

  /** As an answer names it. Of most that are only looked at, no answer does. */
  get place(): string {
    const above = this.#above;
    const isInNone = above === undefined || above.#above === undefined;
    this.#place ??= placeOf(isInNone ? this.name : `${above.place}.${this.name}`);
    return this.#place;
  }

  get isAlone(): boolean {
    return this.leaf !== "" && this.parent === "";
  }

  below(name: SourceName): SourcePath {
    if (this === SourcePath.root) return new SourcePath(this, name);
    let path = this.#below.get(name.name);
    if (path !== undefined) return path;
    path = new SourcePath(this, name);
    this.#below.set(name.name, path);
    if (++this.#start.#places > LIMITS.mapper_places_max) throw tooManyPlaces();
    return path;
  }

  /** The party that it is about, or the nearest of those around it. */
  #nearestRole(): PartyRole | undefined {
    this.#role ??= { of: roleIn(this.leaf) ?? this.roleAbove };
    return this.#role.of;
  }
}
