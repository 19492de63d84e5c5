/** Scopes and interfaces in words, for those who agree to them. */
import type { Scope } from "../../../engine/base/scopes.js";
import { html } from "./html.js";
import type { Html } from "./html.js";
import type { TextName, Words } from "./texts.js";

const SCOPE_TEXTS = {
  "documents:send": "scope_documents_send",
  "documents:read": "scope_documents_read",
  "documents:write": "scope_documents_write",
  "webhooks:read": "scope_webhooks_read",
  "webhooks:write": "scope_webhooks_write",
  "events:read": "scope_events_read",
  "evidence:read": "scope_evidence_read",
  "firms:manage": "scope_firms_manage",
  "keys:manage": "scope_keys_manage",
  "account:read": "scope_account_read",
  "participants:read": "scope_participants_read",
  "participants:write": "scope_participants_write",
  "participants:migrate": "scope_participants_migrate",
} as const satisfies Record<Scope, TextName>;

/** What may be done, one sentence a scope, with the scope's own name behind it. */
export const scopeList = (words: Words, scopes: readonly Scope[]): Html =>
  html`<ul>
    ${scopes.map((scope) => html`<li>${words(SCOPE_TEXTS[scope])} <code class="quiet">${scope}</code></li>`)}
  </ul>`;

const INTERFACE_TEXTS = {
  enterprise_api: "interface_enterprise_api",
  sapi: "interface_sapi",
  connector: "interface_connector",
  all: "interface_all",
} as const satisfies Record<string, TextName>;

/** An interface that an invitation names, in words. */
export const interfaceText = (words: Words, name: keyof typeof INTERFACE_TEXTS): string => words(INTERFACE_TEXTS[name]);
