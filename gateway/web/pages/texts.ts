/**
 * Every text of the pages and letters, in English and Slovak. `{name}` stands for a value that is put in.
 *
 * A text that lacks a language does not compile.
 */
import { SCOPE_WORDS } from "../../../engine/base/scopes.js";
import { LANGUAGES } from "./languages.js";
import type { Language } from "./languages.js";

type Row = Readonly<Record<Language, string>>;
const row = (en: string, sk: string): Row => ({ en, sk });

export const TEXTS = {
  ...SCOPE_WORDS,

  // The frame
  skip: row("Skip to the content", "Preskočiť na obsah"),
  sandbox_name: row("Sandbox", "Testovacie prostredie"),
  menu_reference: row("API reference", "Dokumentácia API"),
  menu_sign_in: row("Sign in", "Prihlásiť sa"),
  menu_account: row("Your account", "Váš účet"),
  menu_sign_out: row("Sign out", "Odhlásiť sa"),
  sandbox: row(
    "Sandbox: nothing sent here reaches the real network.",
    "Testovacie prostredie: nič odtiaľto neodíde do skutočnej siete.",
  ),

  // Front page
  front_title: row("Peppol access point", "Prístupový bod Peppol"),
  front_lead: row(
    "Kurier sends and receives electronic invoices over the Peppol network for firms and the programs they use.",
    "Kurier posiela a prijíma elektronické faktúry v sieti Peppol za firmy a programy, ktoré používajú.",
  ),
  front_developers: row("For developers", "Pre vývojárov"),
  front_developers_text: row(
    "Three interfaces, each with a reference in which calls can be tried out.",
    "Tri rozhrania, každé s dokumentáciou, v ktorej sa dajú volania vyskúšať.",
  ),
  front_enterprise: row(
    "Enterprise API: JSON for partners and large firms",
    "Enterprise API: JSON pre partnerov a veľké firmy",
  ),
  front_connector: row("Connector: one flow per customer, without UBL", "Connector: jeden tok na zákazníka, bez UBL"),
  front_sapi: row("SAPI profile: ready UBL documents, out and in", "Profil SAPI: hotové dokumenty UBL, von aj dnu"),
  front_guide: row("Guides for integrators and operators", "Príručky pre integrátorov a prevádzkovateľov"),
  front_people: row("For firms and partners", "Pre firmy a partnerov"),
  front_people_text: row(
    "See which programs may act for your firm, and end it at any time.",
    "Pozrite si, ktoré programy smú konať za vašu firmu, a kedykoľvek to ukončite.",
  ),
  front_validate: row("Check an invoice by the rules", "Skontrolovať faktúru podľa pravidiel"),
  front_addresses: row("Addresses of the interfaces", "Adresy rozhraní"),

  // Sign-in
  sign_in_title: row("Sign in", "Prihlásenie"),
  sign_in_lead: row(
    "We send a code to your e-mail address; there is no password.",
    "Na vašu e-mailovú adresu pošleme kód; heslo nie je potrebné.",
  ),
  sign_in_email: row("E-mail address", "E-mailová adresa"),
  sign_in_send: row("Send the code", "Poslať kód"),
  sign_in_email_wrong: row(
    "This is not an e-mail address. Write it like name@example.com.",
    "Toto nie je e-mailová adresa. Napíšte ju ako meno@example.com.",
  ),
  code_title: row("Enter the code", "Zadajte kód"),
  code_lead: row(
    "If the address is known here, an e-mail with a code of six digits is on its way. The code is good for {minutes} minutes in this browser.",
    "Ak túto adresu poznáme, e-mail so šesťmiestnym kódom je na ceste. Kód platí {minutes} minút v tomto prehliadači.",
  ),
  code_label: row("Code from the e-mail", "Kód z e-mailu"),
  code_submit: row("Sign in", "Prihlásiť sa"),
  code_wrong: row(
    "That code is not right. Look at the newest e-mail and try again.",
    "Kód nie je správny. Pozrite si najnovší e-mail a skúste to znova.",
  ),
  code_used_up: row(
    "This code cannot be used any more. Ask for a new one.",
    "Tento kód sa už nedá použiť. Vyžiadajte si nový.",
  ),
  code_again: row("Ask for a new code", "Vyžiadať nový kód"),
  letter_code_subject: row("{code} is your sign-in code", "{code} je váš prihlasovací kód"),
  letter_code_text: row(
    "Your sign-in code for Kurier at {host} is\n\n    {code}\n\nIt is good for {minutes} minutes, in the browser that asked for it. If you did not ask, ignore this e-mail: nobody gets in without the code. Nobody of us will ever ask you for it.\n",
    "Váš prihlasovací kód do služby Kurier na {host} je\n\n    {code}\n\nPlatí {minutes} minút v prehliadači, ktorý si ho vyžiadal. Ak ste oň nežiadali, e-mail ignorujte: bez kódu sa nikto neprihlási. Nikto od nás si ho od vás nikdy nebude pýtať.\n",
  ),
  letter_invitation_subject: row(
    "You may now sign in to Kurier – Odteraz sa môžete prihlásiť do služby Kurier",
    "Odteraz sa môžete prihlásiť do služby Kurier – You may now sign in to Kurier",
  ),
  letter_invitation_text: row(
    "You have a new role in Kurier: {role} of {whose}. Sign in with this address at\n\n    {url}\n",
    "V službe Kurier máte novú úlohu: {role} {whose}. Prihláste sa touto adresou na\n\n    {url}\n",
  ),

  letter_whose_firm: row("a firm", "firmy"),
  letter_whose_integrator: row("an integrator", "integrátora"),

  // Roles
  role_owner: row("owner", "majiteľ"),
  role_admin: row("administrator", "správca"),

  // Account
  account_title: row("Your account", "Váš účet"),
  account_signed_in: row("You are signed in as {email}.", "Prihlásili ste sa ako {email}."),
  account_firms: row("Firms", "Firmy"),
  account_integrators: row("Integrators", "Integrátori"),
  account_none: row(
    "Nobody has given you a firm or an integrator yet. Ask the operator of this service.",
    "Zatiaľ vám nikto nepriradil firmu ani integrátora. Obráťte sa na prevádzkovateľa služby.",
  ),

  // OAuth
  oauth_title: row("{program} asks for a key", "{program} žiada o kľúč"),
  oauth_lead: row(
    "The program {program} ({host}) wants to act for your integrator. If you accept, it gets a key of its own, which you can end at any time.",
    "Program {program} ({host}) chce konať za vášho integrátora. Ak súhlasíte, dostane vlastný kľúč, ktorý môžete kedykoľvek ukončiť.",
  ),
  oauth_key: row(
    "For each firm the key can do no more than that firm has agreed to.",
    "Za každú firmu môže kľúč robiť len to, s čím firma súhlasila.",
  ),
  oauth_for: row("For which integrator", "Za ktorého integrátora"),
  oauth_no_integrator: row(
    "{email} administers no integrator, so there is nothing to agree to here.",
    "{email} nespravuje žiadneho integrátora, preto tu niet čo schváliť.",
  ),

  // Consent
  consent_title: row("{name} asks for your consent", "{name} žiada o váš súhlas"),
  consent_may: row("What it may do", "Čo bude smieť"),
  consent_accept: row("Accept", "Súhlasím"),
  consent_decline: row("Decline", "Odmietam"),
  consent_who: row("Who asks", "Kto žiada"),
  consent_whom: row("For which firm", "Za ktorú firmu"),
  consent_company: row("The company with IČO or DIČ {target}", "Spoločnosť s IČO alebo DIČ {target}"),
  consent_through: row("Through which interface", "Cez ktoré rozhranie"),
  consent_pays: row("Who pays", "Kto platí"),
  consent_pays_firm: row("Your firm pays for its own invoices.", "Vaša firma platí za svoje faktúry."),
  consent_pays_partner: row("The partner pays.", "Platí partner."),
  consent_revocable: row(
    "You can withdraw your consent at any time on your firm's page. It then ends at once.",
    "Súhlas môžete kedykoľvek odvolať na stránke svojej firmy. Skončí sa ihneď.",
  ),
  consent_sign_in: row(
    "Sign in as the owner or an administrator of this firm to answer.",
    "Ak chcete odpovedať, prihláste sa ako majiteľ alebo správca tejto firmy.",
  ),
  consent_not_yours: row(
    "{email} is neither owner nor administrator of the company {target}. Only they can answer.",
    "{email} nie je majiteľom ani správcom spoločnosti {target}. Odpovedať môžu len oni.",
  ),
  consent_in_the_name_of: row("You answer in the name of", "Odpovedáte v mene"),
  consent_accepted: row("The consent is given.", "Súhlas je udelený."),
  consent_was_accepted: row(
    "This invitation was accepted. The page of your company says whether the consent still holds.",
    "Táto výzva bola prijatá. Či súhlas stále platí, je na stránke vašej spoločnosti.",
  ),
  consent_declined: row("The consent was declined.", "Súhlas bol odmietnutý."),
  consent_expired: row(
    "This invitation has expired. Ask for a new one.",
    "Platnosť výzvy sa skončila. Požiadajte o novú.",
  ),
  consent_withdrawn: row(
    "This invitation holds no more. Ask for a new one.",
    "Táto výzva už neplatí. Požiadajte o novú.",
  ),
  consent_unavailable: row(
    "This partner may not act for firms at present. Nothing was changed.",
    "Tento partner teraz nesmie konať za firmy. Nič sa nezmenilo.",
  ),
  consent_done: row("Consent", "Súhlas"),
  consent_to_firm: row("See all consents of your firm", "Pozrieť všetky súhlasy vašej firmy"),
  interface_enterprise_api: row("Enterprise API and SAPI profile", "Enterprise API a profil SAPI"),
  interface_sapi: row("SAPI profile", "Profil SAPI"),
  interface_connector: row("Connector", "Connector"),
  interface_all: row("Enterprise API, SAPI profile and Connector", "Enterprise API, profil SAPI a Connector"),

  // A firm's page
  firm_lead: row(
    "These programs and partners may act for your firm.",
    "Tieto programy a partneri smú konať za vašu firmu.",
  ),
  firm_none: row(
    "Nobody may act for your firm through an interface.",
    "Nikto nesmie konať za vašu firmu cez rozhranie.",
  ),
  firm_active: row("Consent given on {date}.", "Súhlas udelený {date}."),
  firm_revoked: row("Ended on {date}.", "Ukončené {date}."),
  firm_revoke: row("Withdraw the consent", "Odvolať súhlas"),
  firm_revoke_text: row(
    "This ends every access of this partner to your firm at once. Your account and your mailbox stay.",
    "Týmto sa ihneď skončí každý prístup tohto partnera k vašej firme. Váš účet a schránka zostanú.",
  ),

  // Faults of a form or a page
  fault_title: row("This did not work", "Nepodarilo sa"),
  fault_expired: row(
    "This form is out of date or came from another page. Nothing was changed. Open the page again and repeat.",
    "Formulár je zastaraný alebo prišiel z inej stránky. Nič sa nezmenilo. Otvorte stránku znova a zopakujte to.",
  ),
  fault_unknown: row("There is nothing here, or not for you.", "Nič tu nie je, alebo to nie je pre vás."),
  fault_program: row(
    "The program that sent you here is not registered with us, or not with this address. Nothing was given to it.",
    "Program, ktorý vás sem poslal, u nás nie je zaregistrovaný alebo má inú adresu. Nič nedostal.",
  ),
  fault_request: row("The request cannot be understood.", "Požiadavke sa nedá rozumieť."),
  fault_rate: row(
    "Too many requests. Wait a minute and try again.",
    "Priveľa požiadaviek. Počkajte minútu a skúste to znova.",
  ),
  fault_temporary: row(
    "The service is briefly unavailable. Try again in a moment.",
    "Služba je krátko nedostupná. Skúste to o chvíľu znova.",
  ),
  fault_internal: row("Something went wrong on our side.", "Na našej strane sa niečo pokazilo."),
  fault_request_id: row("Id of the request: {id}", "Číslo požiadavky: {id}"),
  fault_back: row("To the front page", "Na úvodnú stránku"),
} as const satisfies Record<string, Row>;

export type TextName = keyof typeof TEXTS;

/** Gives the texts of one language. */
export type Words = (name: TextName, values?: Readonly<Record<string, string | number>>) => string;

const wordsIn =
  (language: Language): Words =>
  (name, values = {}) =>
    TEXTS[name][language].replace(/\{(\w+)\}/g, (_, key: string) => String(values[key] ?? ""));

const ALL = Object.fromEntries(LANGUAGES.map((language) => [language, wordsIn(language)])) as Record<Language, Words>;

/** The texts in a language, with values put in. They are plain text: a template escapes them. */
export const wordsOf = (language: Language): Words => ALL[language];
