/**
 * What firms, integrators, keys and programs are called: one rule for every door by which such a name comes in. It
 * stays on its line, and nothing in it acts on what shows it; what was stored before the rule is shown with dots.
 */
import { z } from "zod";

import { LIMITS } from "../base/limits.js";

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** What is said of a name that is not plain, behind the name of its member. */
export const NAME_FAULT = "must not contain control characters";
/** Whether a name may be taken, as far as its characters go. */
export const isPlainName = (name: string): boolean => !CONTROL.test(name);

const named = (text: z.ZodString, chars_max: number) => text.min(1).max(chars_max).refine(isPlainName, NAME_FAULT);

/** The name of a firm or an integrator; blanks around it are none of it. */
export const tenantName = named(z.string().trim(), LIMITS.firm_name_chars_max);
/** The name of a key or of a program that asks for keys. */
export const keyName = named(z.string(), LIMITS.key_name_chars_max);
