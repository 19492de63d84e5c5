/** Which invoice response may follow which. @source spec/rulings.md, section 14, Invoice responses */
import { LIMITS } from "../../base/limits.js";
import { RESPONSE_CODES } from "../../lifecycle/response.js";
import type { ResponseCode } from "../../lifecycle/response.js";

/** RE and PD are final, AP may be paid, CA be decided; who has begun to ask does not merely confirm the receipt. */
const FOLLOWERS: Readonly<Record<ResponseCode, readonly ResponseCode[]>> = {
  AB: RESPONSE_CODES,
  IP: RESPONSE_CODES.filter((code) => code !== "AB"),
  UQ: RESPONSE_CODES.filter((code) => code !== "AB"),
  CA: ["AP", "RE", "PD"],
  AP: ["PD"],
  RE: [],
  PD: [],
};

/**
 * @param last  the response that counts; undefined when none does, or when it is none that we know
 * @param before  how many have counted: beyond a bound only those follow that lead to an end. @default 0
 */
export function mayFollow(last: string | undefined, next: ResponseCode, before = 0): boolean {
  if (before >= LIMITS.responses_followed_max && FOLLOWERS[next].includes(next)) return false;
  const known = RESPONSE_CODES.find((code) => code === last);
  return known === undefined || FOLLOWERS[known].includes(next);
}
