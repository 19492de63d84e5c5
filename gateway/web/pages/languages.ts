/** Which of our languages a reader asks for. */
import { LIMITS } from "../../../engine/base/limits.js";

export const LANGUAGES = ["en", "sk"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Czech readers read Slovak rather than English. */
const OURS: Readonly<Record<string, Language>> = { en: "en", sk: "sk", cs: "sk" };

/** The first of our languages in the order of a browser's wishes; English where it wants none of them. */
export function languageOf(acceptLanguage: string | undefined): Language {
  const wishes = (acceptLanguage ?? "").split(",", LIMITS.accept_languages_max).flatMap((part) => {
    const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
    const quality = parameters.map((parameter) => /^\s*q=([0-9.]+)\s*$/.exec(parameter)?.[1]).find(Boolean);
    const language = OURS[tag.split("-")[0] ?? ""];
    return language === undefined ? [] : [{ language, quality: quality === undefined ? 1 : Number(quality) }];
  });
  const best = wishes
    .filter(({ quality }) => quality > 0)
    .reduce<(typeof wishes)[number] | undefined>(
      (first, wish) => (first === undefined || wish.quality > first.quality ? wish : first),
      undefined,
    );
  return best?.language ?? "en";
}
