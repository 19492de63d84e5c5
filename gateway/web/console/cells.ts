/** Cells and tables as the pages of the console are made of. */
import { isoInstant } from "../../../engine/base/clock.js";
import type { Instant } from "../../../engine/base/clock.js";
import type { Cell, Section } from "./sections.js";

/** A text, and where the page is that tells more of it. */
export const textCell = (value: string | null | undefined, href?: string): Cell => ({
  text: value ?? "",
  ...(href === undefined ? {} : { href }),
});

/** A number; empty where there is none. */
export const numberCell = (value: number | null): Cell => ({
  text: value === null ? "" : String(value),
  isNumber: true,
});

/** An instant in ISO 8601, without its fraction, as people read it. */
export const instantText = (instant: string): string => instant.replace("T", " ").replace(/(?:\.\d+)?Z$/, " UTC");

/** The same of an instant; empty where there is none. */
export const dateText = (instant: Instant | Date | null): string =>
  instant === null ? "" : instantText(isoInstant(instant));

/** A table that says so when it is empty. */
export const tableOf = (id: string, title: string, columns: readonly string[], rows: Section["rows"]): Section => ({
  id,
  title,
  columns,
  rows,
  empty: "None.",
});
