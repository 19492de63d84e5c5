/** Variables that say where something is: what looks like an address, and would lead nowhere, is refused. */
import { LIMITS } from "../limits.js";
import { list, refuseValue } from "./values.js";

const ENCODED = "must be percent-encoded: a % that stands for itself is written %25";

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether names and passwords in a URL can be decoded, as each client library does before it connects. */
const hasDecodableLogin = ({ username, password, host }: URL): boolean => [username, password, host].every(isDecodable);

/** A URL whose names and passwords can be read. */
const urlOf =
  (...schemes: readonly string[]) =>
  (value: string): string => {
    const scheme = schemes.find((s) => value.startsWith(`${s}:`));
    if (scheme === undefined || !URL.canParse(value))
      return refuseValue(`must be a URL that begins with ${schemes.map((s) => `${s}:`).join(" or ")}`);
    return hasDecodableLogin(new URL(value)) ? value : refuseValue(ENCODED);
  };

/**
 * Where the database is. Of several hosts, or of one that is not what target_session_attrs asks for, the library tries
 * one after the other without an end and without a pause, and nobody is told.
 */
export const databaseUrl = (value: string): string => {
  const { host, searchParams } = new URL(urlOf("postgres", "postgresql")(value));
  // The library decodes it first.
  if (decodeURIComponent(host).includes(","))
    return refuseValue("must name one host, such as a pooler or a DNS name that leads to the primary");
  return searchParams.has("target_session_attrs")
    ? refuseValue("must have no target_session_attrs: it names one server, which has to be the primary")
    : value;
};

/** A URL to which paths are added: nothing may stand behind its path, and a slash at its end would make two of one. */
export const baseUrlOf =
  (...schemes: readonly string[]) =>
  (value: string): string => {
    const url = new URL(urlOf(...schemes)(value));
    const isPlain = /^[a-z]+:\/\/[^\s?#\\]+$/.test(value) && url.username === "" && url.password === "";
    return isPlain
      ? value.replace(/\/+$/, "")
      : refuseValue("must have no user name, password, space, backslash, ? or #");
  };

/** The REST interface of an SMP, with the name and password that it asks for. */
export const smpInterface = (value: string): string => {
  const url = new URL(urlOf("http", "https")(value));
  return url.username !== "" && url.password !== "" && !/[?#]/.test(value)
    ? value
    : refuseValue("must be https://USER:PASSWORD@HOST/PATH");
};

const folderOf = (value: string): string => value.slice("file:".length).replace(/^\/+$/, "");
/** `file:DIRECTORY`; what is behind the scheme is a path as it is, not encoded. */
export const folderUrl = (value: string): string =>
  value.startsWith("file:") && folderOf(value) !== "" ? value : refuseValue("must be file:DIRECTORY");

/** Where evidence is kept. */
export const evidenceStore = (value: string): string => {
  if (value.startsWith("file:") && folderOf(value) !== "") return value;
  const bucket = value.startsWith("s3:") ? value.slice("s3:".length) : "";
  if (!URL.canParse(bucket))
    return refuseValue("must be file:DIRECTORY, or s3:https://KEY:SECRET@HOST/BUCKET/PREFIX?region=REGION");
  return hasDecodableLogin(new URL(bucket)) ? value : refuseValue(ENCODED);
};

/** Where letters go. */
export const mailUrl = (value: string): string => {
  const url = new URL(urlOf("smtp", "smtps", "file")(value));
  if (!isDecodable(url.pathname)) return refuseValue(ENCODED);
  return (url.protocol === "file:" ? folderOf(value) : url.hostname) === ""
    ? refuseValue("must be smtp://USER:PASSWORD@HOST:PORT, smtps:…, or file:DIRECTORY")
    : value;
};

/** A name of DNS, without a dot at its end. */
export const dnsZone = (value: string): string =>
  value.length <= LIMITS.dns_name_chars_max && value.split(".").every((label) => /^[A-Za-z0-9_-]{1,63}$/.test(label))
    ? value
    : refuseValue("must be a name of DNS, such as acc.edelivery.tech.ec.europa.eu");

/** `nats://` or `tls://` may lead each server; without either it is a host, with a port or without. */
const serverOf = (server: string): URL | undefined => {
  const address = server.includes("://") ? server : `nats://${server}`;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url !== undefined && ["nats:", "tls:"].includes(url.protocol) && url.hostname !== "" ? url : undefined;
};
/** Servers without what stands between them and is none: an empty one would be asked for ever. */
export const natsServers = (value: string): string => {
  const servers = list(value);
  const urls = servers.map(serverOf);
  if (urls.length === 0 || urls.includes(undefined))
    return refuseValue("must be embedded, or comma-separated servers such as nats://127.0.0.1:4222");
  return urls.every((url) => url === undefined || hasDecodableLogin(url)) ? servers.join(",") : refuseValue(ENCODED);
};
