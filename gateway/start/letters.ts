/** Letters that operators cause. They are in both languages, because nobody knows yet which one the reader has. */
import { LANGUAGES } from "../web/pages/languages.js";
import { wordsOf } from "../web/pages/texts.js";
import type { Invitation } from "../../engine/identity/people/people.js";

/** The letter that tells somebody of an office. */
export function invitationOf(order: Omit<Invitation, "letter">, publicUrl: string): Invitation {
  const url = `${publicUrl}/sign-in`;
  const parts = LANGUAGES.map((language) => {
    const words = wordsOf(language);
    const whose = words(order.firmId === undefined ? "letter_whose_integrator" : "letter_whose_firm");
    return words("letter_invitation_text", { role: words(`role_${order.role}`), whose, url });
  });
  const [first] = LANGUAGES;
  return { ...order, letter: { subject: wordsOf(first)("letter_invitation_subject"), text: parts.join("\n") } };
}
