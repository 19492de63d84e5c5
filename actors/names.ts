/** Names of actors that are made of what is a secret, or of what a stranger sends and may be anything. */
import { sha256 } from "../engine/identity/tokens/secrets.js";

/** A name that tells nothing of the text that it is made of, and is the same for the same text. */
export const hiddenName = (text: string): string => sha256(text).toString("base64url");
