/** Scopes: what a token allows. The closed list, used by keys, consents, tokens and routes alike. */

/** @source spec/rulings.md, section 4 */
export const SCOPES = [
  "documents:send",
  "documents:read",
  "documents:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "evidence:read",
  "firms:manage",
  "keys:manage",
  "account:read",
  "participants:read",
  "participants:write",
  "participants:migrate",
] as const;

export type Scope = (typeof SCOPES)[number];

const known: ReadonlySet<string> = new Set(SCOPES);

export const isScope = (text: string): text is Scope => known.has(text);
