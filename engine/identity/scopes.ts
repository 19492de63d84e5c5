/** What a token allows in the end: the scopes that everything involved agrees on. */
import { Refusal } from "../base/errors.js";
import { SCOPES, isScope } from "../base/scopes.js";
import type { Scope } from "../base/scopes.js";

/** What a firm key can do unless its maker says otherwise. @source spec/rulings.md, section 4 */
export const FIRM_KEY_SCOPES: readonly Scope[] = [
  "documents:send",
  "documents:read",
  "documents:write",
  "account:read",
  "webhooks:read",
  "webhooks:write",
];

/** Scopes that only an integrator's main key can hold. @source spec/enterprise.md, Key management rules, 2 */
const MAIN_KEY_SCOPES: ReadonlySet<Scope> = new Set(["keys:manage"]);

/** Whether a key of an integrator that is for one firm only can hold it. */
export const isForFirmKeys = (scope: Scope): boolean => !MAIN_KEY_SCOPES.has(scope);

/** The known scopes among `texts`, each once, in the order of SCOPES. */
export const knownScopes = (texts: Iterable<string>): readonly Scope[] => {
  const wanted = new Set(texts);
  return SCOPES.filter((scope) => wanted.has(scope));
};

/**
 * The scopes that key, token and consent all grant, in the order of SCOPES.
 * @param binding scopes of the firm's consent; undefined where no consent is involved
 * @source spec/enterprise.md, Authentication: effective permissions are always cut down to the scopes of the firm's
 * consent
 */
export function effectiveScopes(
  key: Iterable<string>,
  token: Iterable<string>,
  binding?: Iterable<string>,
): ReadonlySet<Scope> {
  const grants = [key, token, ...(binding === undefined ? [] : [binding])].map((scopes) => new Set(scopes));
  return new Set(SCOPES.filter((scope) => grants.every((granted) => granted.has(scope))));
}

/**
 * The scopes of a token request: all of the key's when none are named.
 * @throws Refusal SCOPE_NOT_ALLOWED when one is not the key's
 * @source spec/enterprise.md, POST /auth/token: space-separated subset of the key's scopes
 */
export function requestedScopes(scope: string | undefined, ofKey: readonly string[]): readonly Scope[] {
  const named = (scope ?? "").split(" ").filter((word) => word !== "");
  if (named.length === 0) return knownScopes(ofKey);
  const allowed = new Set(ofKey);
  if (!named.every((word) => isScope(word) && allowed.has(word))) {
    throw new Refusal("SCOPE_NOT_ALLOWED", [
      { field: "scope", message: "Name only scopes that this key has, separated by single spaces." },
    ]);
  }
  return knownScopes(named);
}
