// The reference's own script: the menu of a phone, a token for the operations, and operations sent from the page.
const byAll = (selector, root = document) => [...root.querySelectorAll(selector)];
let token = "";

for (const place of byAll("[data-origin]")) place.textContent = location.origin;

const button = document.querySelector("button.menu");
const menu = document.getElementById("menu");
const showMenu = (isOpen) => {
  button.setAttribute("aria-expanded", String(isOpen));
  menu.classList.toggle("open", isOpen);
};
button.addEventListener("click", () => showMenu(!menu.classList.contains("open")));
menu.addEventListener("click", (event) => {
  if (event.target.closest("a") !== null) showMenu(false);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menu.classList.contains("open")) return;
  showMenu(false);
  button.focus();
});

/** Whoever has waited for so long may ask again: the answer may never come. */
const AGAIN_MS = 10_000;

/**
 * Shows that an answer is waited for, then what came of it. What was asked before ends: its answer would stand beside
 * what is asked now. Until then the button is not pressed twice.
 */
function follower(show) {
  let endLast = () => undefined;
  return async (button, work) => {
    endLast();
    const asked = new AbortController();
    const hadFocus = document.activeElement === button;
    const free = () => {
      button.disabled = false;
      // The keyboard leaves what cannot be pressed; whoever has not gone on meanwhile is where they were.
      if (hadFocus && document.activeElement === document.body) button.focus({ preventScroll: true });
    };
    const mayAsk = setTimeout(free, AGAIN_MS);
    endLast = () => {
      clearTimeout(mayAsk);
      free();
      asked.abort();
    };
    button.disabled = true;
    show("Waiting for the answer…");
    const told = await work(asked.signal).catch((error) => error.message);
    if (asked.signal.aborted) return;
    endLast();
    show(told);
  };
}

for (const form of byAll("form.token")) {
  const output = form.querySelector("output");
  const follow = follower((text) => {
    output.textContent = text;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void follow(event.submitter, (signal) => askToken(form, signal));
  });
}

/** Keeps a token for the operations. @returns what is said of it */
async function askToken(form, signal) {
  const { client_id, client_secret } = Object.fromEntries(new FormData(form));
  const response = await ask(form.dataset.tokenPath, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ grant_type: "client_credentials", client_id, client_secret }),
    signal,
  });
  token = "";
  const text = await textIn(response);
  const answer = jsonIn(response, text);
  if (!response.ok || answer?.access_token === undefined) return answer?.error?.message ?? answered(response);
  token = answer.access_token;
  return `The operations of this page use a token for ${Math.round(answer.expires_in / 60)} minutes.`;
}

const typeOf = (response) => response.headers.get("content-type") ?? "";

/** @returns undefined for what is none: a proxy before the server answers in a form of its own, also with 200 */
function jsonIn(response, text) {
  if (!typeOf(response).includes("json")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const answered = ({ status }) => `The server answered ${status}.`;

/** A random UUID; pages without TLS have no crypto.randomUUID, but for those of this machine. */
function freshId() {
  const octets = crypto.getRandomValues(new Uint8Array(16));
  octets[6] = (octets[6] & 0x0f) | 0x40;
  octets[8] = (octets[8] & 0x3f) | 0x80;
  const digits = [...octets].map((octet) => octet.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-");
}

/** As fetch; that nobody answers each browser says in words of its own, of which some say nothing. */
async function ask(target, options) {
  // What the form has that no request can is told by this line, in the browser's words.
  const request = new Request(target, options);
  try {
    return await fetch(request);
  } catch {
    throw new Error("The server does not answer.");
  }
}

const isInvoice = (value) => value === "<Invoice>…</Invoice>";

/** A UBL element's text; the first of its name. */
const textOf = (xml, name) => xml.getElementsByTagNameNS("*", name)[0]?.textContent ?? "";
const endpointOf = (xml, party) => {
  const endpoint = xml.getElementsByTagNameNS("*", party)[0]?.getElementsByTagNameNS("*", "EndpointID")[0];
  return endpoint === undefined ? "" : `${endpoint.getAttribute("schemeID")}:${endpoint.textContent}`;
};

/** The text of an answer; that one breaks off each browser says in words of its own, too. */
async function textIn(response) {
  try {
    return await response.text();
  } catch {
    throw new Error("The answer broke off.");
  }
}

async function exampleInvoice(signal) {
  const response = await ask("/docs/example/invoice.xml", { signal });
  if (!response.ok || !typeOf(response).startsWith("application/xml")) throw new Error(answered(response));
  return textIn(response);
}

/** Puts a whole invoice where one is needed, and makes what stands beside it agree with it. */
async function withInvoice(example, signal) {
  if (!Object.values(example).some(isInvoice)) return example;
  const invoice = await exampleInvoice(signal);
  const filled = Object.fromEntries(
    Object.entries(example).map(([name, value]) => [name, isInvoice(value) ? invoice : value]),
  );
  // A digest of the example is none of the invoice.
  delete filled.checksum;
  if (typeof filled.metadata !== "object" || filled.metadata === null) return filled;
  const xml = new DOMParser().parseFromString(invoice, "application/xml");
  const root = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice";
  filled.metadata = {
    ...filled.metadata,
    documentId: textOf(xml, "ID"),
    documentTypeId: `busdox-docid-qns::${root}##${textOf(xml, "CustomizationID")}::2.1`,
    processId: textOf(xml, "ProfileID"),
    senderParticipantId: endpointOf(xml, "AccountingSupplierParty"),
    receiverParticipantId: endpointOf(xml, "AccountingCustomerParty"),
    creationDateTime: new Date().toISOString(),
  };
  return filled;
}

async function fill(form, signal) {
  for (const input of byAll("[data-fresh]", form)) input.value = freshId();
  const area = form.elements.namedItem("body");
  if (form.dataset.type.includes("json"))
    area.value = JSON.stringify(await withInvoice(JSON.parse(form.dataset.example), signal), null, 2);
  else area.value = await exampleInvoice(signal);
  const sender = form.elements.namedItem("X-Peppol-Participant-Id");
  if (sender !== null && area.value.includes("senderParticipantId"))
    sender.value = JSON.parse(area.value).metadata.senderParticipantId;
}

async function send(form, signal) {
  const { method, path, secured, type } = form.dataset;
  const fields = byAll("[data-place]", form).filter((field) => field.value !== "");
  const of = (place) => fields.filter((field) => field.dataset.place === place);
  const query = new URLSearchParams(of("query").map(({ name, value }) => [name, value])).toString();
  const target = of("path").reduce(
    (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  );
  const [body] = of("body");
  const response = await ask(`${target}${query === "" ? "" : `?${query}`}`, {
    method,
    headers: {
      ...(secured === "yes" && token !== "" ? { Authorization: `Bearer ${token}` } : {}),
      ...Object.fromEntries(of("header").map(({ name, value }) => [name, value])),
      ...(body === undefined ? {} : { "Content-Type": type }),
    },
    ...(body === undefined ? {} : { body: body.value }),
    signal,
  });
  const text = await textIn(response);
  const answer = jsonIn(response, text);
  return `${response.status}\n${answer === undefined ? text : JSON.stringify(answer, null, 2)}`;
}

for (const form of byAll(".try form")) {
  const pane = form.querySelector("pre");
  const follow = follower((text) => {
    pane.hidden = text === undefined;
    pane.textContent = text;
  });
  form.querySelector("[data-fill]")?.addEventListener("click", ({ currentTarget }) => {
    void follow(currentTarget, (signal) => fill(form, signal));
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void follow(event.submitter, (signal) => send(form, signal));
  });
}
