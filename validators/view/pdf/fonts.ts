/** The two fonts of a PDF: DejaVu Sans, which has the letters of every language of the network. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { Font } from "./font.js";

export type FontName = "regular" | "bold";
export type Fonts = Readonly<Record<FontName, Font>>;

const FILES: Readonly<Record<FontName, string>> = {
  regular: "@fontsource/dejavu-sans/files/dejavu-sans-latin-400-normal.woff",
  bold: "@fontsource/dejavu-sans/files/dejavu-sans-latin-700-normal.woff",
};
const { resolve } = createRequire(import.meta.url);
let loaded: Fonts | undefined;

const read = (name: FontName, postScriptName: string): Font =>
  new Font(postScriptName, readFileSync(resolve(FILES[name])));

/** Read once in a thread, when it draws its first PDF. */
export const fonts = (): Fonts =>
  (loaded ??= { regular: read("regular", "DejaVuSans"), bold: read("bold", "DejaVuSans-Bold") });
