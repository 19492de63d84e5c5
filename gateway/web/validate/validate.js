// The page /validate: sends one document to POST /api/validate and shows what comes back. Nothing of a document becomes
// markup: every text is set as text. The page's policy allows no inline script and no other host.
const TEXTS = {
  en: {
    skip: "To the document",
    pages: "Pages",
    navValidate: "Validate",
    navRules: "Rules",
    navDocs: "API",
    language: "Language",
    title: "Validate an invoice",
    intro:
      "UBL 2.1 invoices, credit notes and responses by the rules of EN 16931 and Peppol BIS Billing 3.0. Nothing is stored.",
    file: "Choose an XML file, or drop it anywhere on this page",
    paste: "Or paste the XML",
    check: "Validate",
    checking: "Validating…",
    show: "Show",
    copy: "Copy as JSON",
    copied: "Copied.",
    uncopied: "This browser does not let the page copy. Save it instead.",
    save: "Save as JSON",
    findings: "Findings",
    source: "Source",
    reading: "The invoice, to be read",
    valid: "Valid",
    invalid: "Invalid",
    none: "No findings.",
    by: "Judged by",
    line: "Line",
    column: "column",
    omitted: "More findings that are not listed",
    empty: "Choose a file or paste a document first.",
    changed: "The file has changed since it was chosen, or is gone. Choose it again.",
    folder: "That is a folder. Drop one file.",
    several: "These are several files. Drop one at a time.",
    large: "The document is larger than 20 MB.",
    busy: "The validator is busy. Try again in a moment.",
    many: "Too many documents from your address. Try again in a minute.",
    failed: "The document could not be sent. Check the connection and try again.",
    unreadable: "The document cannot be read.",
    severities: { fatal: "Fatal", error: "Error", warning: "Warning", information: "Information" },
  },
  sk: {
    skip: "Na dokument",
    pages: "Stránky",
    navValidate: "Kontrola",
    navRules: "Pravidlá",
    navDocs: "API",
    language: "Jazyk",
    title: "Kontrola faktúry",
    intro: "Faktúry, dobropisy a odpovede UBL 2.1 podľa pravidiel EN 16931 a Peppol BIS Billing 3.0. Nič sa neukladá.",
    file: "Vyberte súbor XML, alebo ho pustite kamkoľvek na túto stránku",
    paste: "Alebo vložte XML",
    check: "Skontrolovať",
    checking: "Kontroluje sa…",
    show: "Zobraziť",
    copy: "Kopírovať ako JSON",
    copied: "Skopírované.",
    uncopied: "Tento prehliadač stránke nedovolí kopírovať. Namiesto toho verdikt uložte.",
    save: "Uložiť ako JSON",
    findings: "Zistenia",
    source: "Zdroj",
    reading: "Faktúra na čítanie",
    valid: "Platný",
    invalid: "Neplatný",
    none: "Bez zistení.",
    by: "Posúdené podľa",
    line: "Riadok",
    column: "stĺpec",
    omitted: "Ďalšie zistenia, ktoré tu nie sú",
    empty: "Najprv vyberte súbor alebo vložte dokument.",
    changed: "Súbor sa od výberu zmenil alebo už nie je na svojom mieste. Vyberte ho znova.",
    folder: "To je priečinok. Pustite sem jeden súbor.",
    several: "To je viac súborov. Pustite sem naraz len jeden.",
    large: "Dokument je väčší ako 20 MB.",
    busy: "Kontrola je vyťažená. Skúste to o chvíľu znova.",
    many: "Priveľa dokumentov z vašej adresy. Skúste to o minútu.",
    failed: "Dokument sa nepodarilo odoslať. Skontrolujte spojenie a skúste to znova.",
    unreadable: "Dokument sa nedá prečítať.",
    severities: { fatal: "Závažné", error: "Chyba", warning: "Varovanie", information: "Informácia" },
  },
};
const SEVERITIES = ["fatal", "error", "warning", "information"];
const BYTES_MAX = 20 * 1024 * 1024;
/** Lines that are shown in full; of longer documents those around findings are. */
const LINES_MAX = 3_000;
const LINES_AROUND = 3;
/** A line without line breaks may be the whole document. */
const LINE_CHARS_MAX = 2_000;

const byId = (id) => document.getElementById(id);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

/** Czech readers read Slovak rather than English, as on all pages. */
let language = /^(?:sk|cs)\b/iu.test(navigator.language) ? "sk" : "en";
let shown;
const hidden = new Set();
const text = () => TEXTS[language];

const translatePage = () => {
  document.documentElement.lang = language;
  byId("language").value = language;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = text()[element.dataset.text];
  for (const element of document.querySelectorAll("[data-label]"))
    element.setAttribute("aria-label", text()[element.dataset.label]);
  document.title = `${text().title} – Kurier`;
};

const say = (sentence) => {
  byId("status").textContent = sentence;
};

const REFUSALS = { 413: "large", 429: "many", 503: "busy" };

/** What was asked last: when something else is asked, its answer is nobody's and its request ends. */
let asked = new AbortController();
/** What was asked for last, which is judged again in another language. */
let wanted;
/** Whoever has waited for so long may ask again: the answer may never come. */
const AGAIN_MS = 10_000;

/** Ends what was asked before. @returns for what is asked now */
const askAnew = () => {
  asked.abort();
  asked = new AbortController();
  return asked.signal;
};

/**
 * Judges a document and shows the verdict. That of another document is not left beside what is said of this one.
 * @param given  a Blob, of which a file that is too large is not read
 */
const check = async (given) => {
  const signal = askAnew();
  wanted = given;
  const isAnother = given !== shown?.given;
  if (isAnother) byId("result").hidden = true;
  const hadFocus = document.activeElement === byId("check");
  byId("check").disabled = true;
  const free = () => {
    if (signal.aborted) return;
    byId("check").disabled = false;
    // The keyboard leaves what cannot be pressed; whoever has not gone on meanwhile is where they were.
    if (hadFocus && document.activeElement === document.body) byId("check").focus({ preventScroll: true });
  };
  const mayAsk = setTimeout(free, AGAIN_MS);
  say(text().checking);
  const { judged, sentence = "", isGone = false } = await judge(given, signal);
  clearTimeout(mayAsk);
  if (signal.aborted) return;
  free();
  say(sentence);
  if (isGone) {
    byId("file").value = "";
    byId("result").hidden = true;
  }
  if (judged === undefined) return;
  shown = judged;
  show();
  if (isAnother) byId("verdict").focus();
  await showReading(shown, signal);
};

/** @returns what is to be shown, or a sentence that says why there is nothing */
const judge = async (given, signal) => {
  if (given.size === 0) return { sentence: text().empty };
  if (given.size > BYTES_MAX) return { sentence: text().large };
  let bytes;
  try {
    bytes = await given.arrayBuffer();
  } catch {
    // Of a file that was written anew since it was chosen the browser gives nothing.
    return { sentence: text().changed, isGone: true };
  }
  try {
    const response = await fetch("/api/validate", {
      method: "POST",
      headers: { "Content-Type": "application/xml", "Accept-Language": language },
      body: bytes,
      signal,
    });
    if (!response.ok) return { sentence: text()[REFUSALS[response.status] ?? "failed"] };
    return { judged: { given, bytes, source: new TextDecoder().decode(bytes), verdict: await response.json() } };
  } catch {
    return { sentence: text().failed };
  }
};

const findingsOf = (verdict) =>
  [verdict.xsd, verdict.en16931, verdict.peppol, verdict.advice].flatMap(({ messages }) => messages);

const show = () => {
  const { verdict, source } = shown;
  const findings = findingsOf(verdict);
  byId("result").hidden = false;
  const title = byId("verdict");
  title.className = verdict.valid ? "valid" : "invalid";
  title.textContent = verdict.valid ? text().valid : text().invalid;
  byId("summary").textContent =
    verdict.ruleSet.length === 0
      ? text().unreadable
      : `${text().by}: ${verdict.profile} (${verdict.ruleSet.join(", ")})`;
  showOmitted(verdict);
  showFilters(findings);
  showFindings(findings);
  showSource(source, findings);
};

const showOmitted = ({ omittedRules = {} }) => {
  const rules = Object.entries(omittedRules).map(([id, count]) => `${id} (${count})`);
  byId("omitted").hidden = rules.length === 0;
  byId("omitted").textContent = `${text().omitted}: ${rules.join(", ")}`;
};

const showFilters = (findings) => {
  const filters = byId("filters");
  filters.replaceChildren(filters.querySelector("legend"));
  for (const severity of SEVERITIES) {
    const count = findings.filter((finding) => finding.severity === severity).length;
    if (count === 0) continue;
    const box = make("input", { type: "checkbox", checked: !hidden.has(severity), value: severity });
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(severity);
      else hidden.add(severity);
      showFindings(findings);
    });
    filters.append(make("label", {}, box, `${text().severities[severity]} (${count})`));
  }
};

const showFindings = (findings) => {
  const rows = findings.filter(({ severity }) => !hidden.has(severity)).map(row);
  byId("findings").replaceChildren(...(rows.length > 0 ? rows : [make("li", { textContent: text().none })]));
};

const row = ({ ruleId, severity, message, value, line, column, location, btIds = [] }) => {
  const item = make(
    "li",
    { className: severity },
    make(
      "p",
      {},
      make("span", { className: "severity", textContent: text().severities[severity] }),
      " ",
      make("a", { href: `/validate/rules/${encodeURIComponent(ruleId)}`, textContent: ruleId }),
      " ",
      make("span", { className: "terms", textContent: btIds.join(" ") }),
    ),
    make("p", { textContent: message }),
  );
  if (value !== undefined) item.append(make("p", {}, make("code", { textContent: value })));
  item.append(make("p", {}, make("code", { textContent: location })));
  if (line !== undefined) {
    const place =
      column === undefined ? `${text().line} ${line}` : `${text().line} ${line}, ${text().column} ${column}`;
    const button = make("button", { type: "button", className: "place", textContent: place });
    button.addEventListener("click", () => goTo(line));
    item.append(button);
  }
  return item;
};

const goTo = (line) => {
  const target = byId("source").querySelector(`[data-line="${line}"]`);
  if (target === null) return;
  target.scrollIntoView({ block: "center", inline: "nearest" });
  target.focus();
};

/** The worst severity of each line. */
const marksOf = (findings) => {
  const marks = new Map();
  for (const { line, severity } of findings) {
    const known = marks.get(line);
    if (line !== undefined && (known === undefined || SEVERITIES.indexOf(severity) < SEVERITIES.indexOf(known)))
      marks.set(line, severity);
  }
  return marks;
};

const showSource = (source, findings) => {
  const lines = source.split(/\r\n|\r|\n/u);
  const marks = marksOf(findings);
  const list = make("ol");
  const isNear = (line) => {
    for (let near = line - LINES_AROUND; near <= line + LINES_AROUND; near += 1) if (marks.has(near)) return true;
    return false;
  };
  let gap = false;
  lines.forEach((content, index) => {
    const line = index + 1;
    if (lines.length > LINES_MAX && line > LINES_AROUND && !isNear(line)) {
      if (!gap) list.append(make("li", { className: "gap" }));
      gap = true;
      return;
    }
    gap = false;
    const item = make("li", { className: marks.get(line) ?? "" });
    item.dataset.line = String(line);
    if (marks.has(line)) item.tabIndex = -1;
    item.append(content.length > LINE_CHARS_MAX ? `${content.slice(0, LINE_CHARS_MAX)}…` : content);
    list.append(item);
  });
  byId("source").replaceChildren(list);
};

/** What the validator could not read is not parsed here either. */
const rootOf = (source, { ruleSet }) =>
  ruleSet.length === 0 ? undefined : new DOMParser().parseFromString(source, "application/xml").documentElement;

/** The invoice as this server draws it, in a frame in which nothing runs. */
const showReading = async (read, signal) => {
  const reading = byId("reading");
  const put = (element) => {
    if (!signal.aborted) reading.replaceChildren(element);
  };
  const putText = (sentence) => put(make("p", { textContent: sentence }));
  reading.replaceChildren();
  const name = rootOf(read.source, read.verdict)?.localName;
  if (name !== "Invoice" && name !== "CreditNote") return putText(text().unreadable);
  try {
    const response = await fetch("/validate/view", {
      method: "POST",
      headers: { "Content-Type": "application/xml", "Accept-Language": language },
      body: read.bytes,
      signal,
    });
    if (!response.ok) return putText(text()[REFUSALS[response.status] ?? "unreadable"]);
    const frame = make("iframe", { title: text().reading, srcdoc: await response.text() });
    // Of this origin, so that its height is known; without scripts, so that it can do nothing with it.
    frame.sandbox.add("allow-same-origin");
    frame.addEventListener("load", () => fit(frame));
    put(frame);
  } catch {
    putText(text().failed);
  }
};

/** As high as what it shows: a page within a page scrolls badly. */
const fit = (frame) => {
  const height = frame.contentDocument?.documentElement.scrollHeight ?? 0;
  if (height > 0) frame.height = String(height + 1);
};
window.addEventListener("resize", () => {
  for (const frame of document.querySelectorAll("#reading iframe")) fit(frame);
});

const asJson = () => JSON.stringify(shown.verdict, undefined, 2);

byId("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const [file] = byId("file").files;
  const pasted = byId("input").value;
  await check(pasted === "" && file !== undefined ? file : new Blob([pasted]));
});
// The same file may be chosen again, which is no change to a browser; who then chooses none keeps the one before.
let before = new DataTransfer();
byId("file").addEventListener("click", () => {
  before = new DataTransfer();
  // A copy: the list itself is emptied with the field.
  for (const file of byId("file").files) before.items.add(file);
  byId("file").value = "";
});
byId("file").addEventListener("cancel", () => {
  byId("file").files = before.files;
});
byId("file").addEventListener("change", async () => {
  const [file] = byId("file").files;
  if (file === undefined) return;
  byId("input").value = "";
  await check(file);
});
// What is pasted is what will be judged: no file's name stands beside it.
byId("input").addEventListener("input", () => {
  byId("file").value = "";
});
byId("language").addEventListener("change", async () => {
  language = byId("language").value;
  translatePage();
  if (wanted !== undefined) await check(wanted);
});
byId("copy").addEventListener("click", async () => {
  try {
    // Pages without TLS have no clipboard, but for those of this machine.
    await navigator.clipboard.writeText(asJson());
    say(text().copied);
  } catch {
    say(text().uncopied);
  }
});
byId("save").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([asJson()], { type: "application/json" }));
  make("a", { href: url, download: "verdict.json" }).click();
  URL.revokeObjectURL(url);
});
const bringsFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files") === true;
/** Text may be dragged into the field for it; a link that is dropped elsewhere would lead away from the page. */
const isForField = (event) => event.target === byId("input") && !bringsFiles(event);
for (const type of ["dragenter", "dragover"])
  document.addEventListener(type, (event) => {
    if (isForField(event)) return;
    event.preventDefault();
    document.body.classList.toggle("dropping", bringsFiles(event));
  });
for (const type of ["dragleave", "drop"])
  document.addEventListener(type, (event) => {
    if (!isForField(event)) event.preventDefault();
    document.body.classList.remove("dropping");
  });
/** Says why nothing of what was dropped is judged; no verdict of another document stands beside it. */
const turnAway = (sentence) => {
  askAnew();
  wanted = undefined;
  byId("check").disabled = false;
  byId("result").hidden = true;
  say(sentence);
};
document.addEventListener("drop", async (event) => {
  if (!bringsFiles(event)) return;
  const { files, items } = event.dataTransfer;
  const isFolder = items[0]?.webkitGetAsEntry()?.isDirectory === true;
  if (files.length !== 1 || isFolder) {
    turnAway(text()[files.length > 1 ? "several" : "folder"]);
    return;
  }
  byId("input").value = "";
  // The form names the file that was dropped, and judges it again.
  byId("file").files = files;
  await check(files[0]);
});
translatePage();
