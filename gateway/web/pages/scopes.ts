/** Scopes and interfaces in words, for those who agree to them. */
import type { Scope } from "../../../engine/base/scopes.js";
import { html } from "./html.js";
import type { Html } from "./html.js";
import type { TextName, Words } from "./texts.js";

/** What may be done, one sentence a scope, with the scope's own name behind it. */
export const scopeList = (words: Words, scopes: readonly Scope[]): Html =>
  html`<ul>
    ${scopes.map((scope) => html`<li>${words(scope)} <code class="quiet">${scope}</code></li>`)}
  </ul>`;

const INTERFACE_TEXTS = {
  enterprise_api: "interface_enterprise_api",
  sapi: "interface_sapi",
  connector: "interface_connector",
  all: "interface_all",
} as const satisfies Record<string, TextName>;

/** An interface that an invitation names, in words. */
export const interfaceText = (words: Words, name: keyof typeof INTERFACE_TEXTS): string => words(INTERFACE_TEXTS[name]);
