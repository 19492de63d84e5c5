/** What a person is to a firm or an integrator. */

/**
 * An owner and an admin of a firm may do the same; an integrator has admins only.
 * @source spec/enterprise.md, Consent offers
 */
export const PERSON_ROLES = ["owner", "admin"] as const;
export type PersonRole = (typeof PERSON_ROLES)[number];
