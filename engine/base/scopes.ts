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

/** What each scope allows, in the words in which people are asked to agree to it. */
export const SCOPE_WORDS = {
  "documents:send": { en: "Send invoices for you", sk: "Posielať za vás faktúry" },
  "documents:read": { en: "Read invoices and what became of them", sk: "Čítať faktúry a čo sa s nimi stalo" },
  "documents:write": {
    en: "Confirm and answer received invoices",
    sk: "Potvrdzovať prijaté faktúry a odpovedať na ne",
  },
  "webhooks:read": { en: "Read messages about events", sk: "Čítať správy o udalostiach" },
  "webhooks:write": { en: "Set where messages about events go", sk: "Určovať, kam idú správy o udalostiach" },
  "events:read": { en: "Read the history of each invoice", sk: "Čítať históriu každej faktúry" },
  "evidence:read": { en: "Read proofs of delivery", sk: "Čítať dôkazy o doručení" },
  "firms:manage": { en: "Ask firms for their consent and see it", sk: "Žiadať firmy o súhlas a vidieť ho" },
  "keys:manage": { en: "Make and end keys", sk: "Vytvárať a rušiť kľúče" },
  "account:read": { en: "Read account data and usage", sk: "Čítať údaje účtu a spotrebu" },
  "participants:read": { en: "Read Peppol registrations", sk: "Čítať registrácie v sieti Peppol" },
  "participants:write": { en: "Register firms in the Peppol network", sk: "Registrovať firmy v sieti Peppol" },
  "participants:migrate": {
    en: "Move registrations from and to other providers",
    sk: "Prenášať registrácie od iných poskytovateľov a k nim",
  },
} as const satisfies Record<Scope, { readonly en: string; readonly sk: string }>;

const known: ReadonlySet<string> = new Set(SCOPES);

export const isScope = (text: string): text is Scope => known.has(text);
