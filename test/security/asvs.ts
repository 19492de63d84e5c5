/** The chapters of ASVS 5.0.0 as they are judged: every requirement of levels 1 and 2, but for chapter 17 (WebRTC). */
import { AUTHENTICATION, AUTHORIZATION, OAUTH, SESSIONS, TOKENS } from "./asvs-identity.js";
import { ENCODING, FILES, LOGIC } from "./asvs-input.js";
import { CODE, CONFIGURATION, CONNECTIONS, CRYPTOGRAPHY, DATA, LOGS } from "./asvs-keeping.js";
import { HTTP, PAGES } from "./asvs-web.js";
import type { SecurityRow } from "./row.js";

export interface Chapter {
  readonly number: number;
  readonly title: string;
  readonly rows: readonly SecurityRow[];
}

export const CHAPTERS: readonly Chapter[] = [
  { number: 1, title: "Encoding and sanitization", rows: ENCODING },
  { number: 2, title: "Validation and business logic", rows: LOGIC },
  { number: 3, title: "Web frontend", rows: PAGES },
  { number: 4, title: "API and web service", rows: HTTP },
  { number: 5, title: "File handling", rows: FILES },
  { number: 6, title: "Authentication", rows: AUTHENTICATION },
  { number: 7, title: "Session management", rows: SESSIONS },
  { number: 8, title: "Authorization", rows: AUTHORIZATION },
  { number: 9, title: "Self-contained tokens", rows: TOKENS },
  { number: 10, title: "OAuth and OIDC", rows: OAUTH },
  { number: 11, title: "Cryptography", rows: CRYPTOGRAPHY },
  { number: 12, title: "Secure communication", rows: CONNECTIONS },
  { number: 13, title: "Configuration", rows: CONFIGURATION },
  { number: 14, title: "Data protection", rows: DATA },
  { number: 15, title: "Secure coding and architecture", rows: CODE },
  { number: 16, title: "Security logging and error handling", rows: LOGS },
];
