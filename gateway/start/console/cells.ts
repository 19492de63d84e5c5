/** Cells and tables as the pages of the console that list things are made of. */
import { isoInstant } from "../../../engine/base/clock.js";
import { instantText } from "../../web/console/heartbeat.js";
import type { Cell, Section } from "../../web/console/sections.js";

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

/** An instant as people read it; empty where there is none. */
export const dateText = (date: Date | null): string => (date === null ? "" : instantText(isoInstant(date)));

/** A table that says so when it is empty. */
export const tableOf = (id: string, title: string, columns: readonly string[], rows: Section["rows"]): Section => ({
  id,
  title,
  columns,
  rows,
  empty: "None.",
});
