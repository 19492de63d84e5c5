// Renders docs/*.md into pages that need neither scripts nor other hosts: what /docs/guide serves and a package holds.
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";

/** Where the pages are served. */
const PATH = "/docs/guide";
/** Where pictures of pages lie, seen from docs/. */
const SCREENSHOTS = "../deploy/screenshots/";

/** The guide in its order: headings of the menu, and the pages below each. What stands in none is at the end. */
const CHAPTERS = [
  ["Start", ["README.md", "start/first-invoice.md", "start/how-it-works.md", "start/refused.md"]],
  [
    "Integrators",
    [
      "integrators/sapi.md",
      "integrators/enterprise.md",
      "integrators/connector.md",
      "integrators/webhooks.md",
      "integrators/white-label.md",
    ],
  ],
  [
    "Operators",
    [
      "deploy.md",
      "operators/network.md",
      "operators/upgrade.md",
      "operators/backup.md",
      "operators/keys.md",
      "operators/integrators.md",
      "operators/capacity.md",
      "operators/growth.md",
      "operators/dashboards.md",
      "operators/security.md",
      "runbook.md",
      "faults.md",
      "performance.md",
      "releasing.md",
    ],
  ],
];

const escape = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

/** `integrators/sapi.md` is `/docs/guide/integrators/sapi`; the page that leads to all others is `/docs/guide`. */
const pathOf = (page) => (page === "README.md" ? PATH : `${PATH}/${page.replace(/\.md$/, "")}`);

/** The anchor of a heading, as the hosts of repositories make it. */
const anchorOf = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** Where a link of a page leads; undefined for what is in the checkout alone. */
function targetOf(page, href, pages) {
  if (/^https?:/.test(href) || href.startsWith("#")) return href;
  const [path = "", anchor] = href.split("#");
  const file = posix.normalize(posix.join(dirname(page), path));
  if (pages.includes(file)) return `${pathOf(file)}${anchor === undefined ? "" : `#${anchor}`}`;
  if (file.startsWith(SCREENSHOTS)) return `${PATH}/screenshots/${basename(file)}`;
  return file.endsWith(".svg") ? `${PATH}/${file}` : undefined;
}

/** Names of the pictures of pages and panels that a page shows; they lie beside the deployment, where the README has them. */
const screenshotsOf = (text) =>
  [...text.matchAll(/\]\((?:\.\.\/)+deploy\/screenshots\/([\w-]+\.png)\)/g)].map(([, name]) => name);

/** Markdown as HTML. Of HTML in it a line break is taken; everything else is text. */
function renderer(page, pages) {
  const seen = new Map();
  return {
    heading({ tokens, depth, text }) {
      const anchor = anchorOf(text.replace(/[`*]/g, ""));
      const nth = seen.get(anchor) ?? 0;
      seen.set(anchor, nth + 1);
      const id = nth === 0 ? anchor : `${anchor}-${nth}`;
      return `<h${depth} id="${escape(id)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    link({ href, tokens }) {
      const target = targetOf(page, href, pages);
      const text = this.parser.parseInline(tokens);
      return target === undefined ? `<span class="file">${text}</span>` : `<a href="${escape(target)}">${text}</a>`;
    },
    image({ href, text }) {
      return `<img src="${escape(targetOf(page, href, pages) ?? "")}" alt="${escape(text)}">`;
    },
    code({ text, lang }) {
      const what = lang === "" || lang === undefined ? "text" : lang;
      return `<pre tabindex="0" role="group" aria-label="${escape(what)}"><code>${escape(text)}\n</code></pre>\n`;
    },
    table(token) {
      const cells = (row, name) =>
        `<tr>${row.map((c) => `<${name}>${this.parser.parseInline(c.tokens)}</${name}>`).join("")}</tr>`;
      const head = token.header
        .map((c) => (c.text === "" ? "<td></td>" : `<th scope="col">${this.parser.parseInline(c.tokens)}</th>`))
        .join("");
      const rows = token.rows.map((row) => cells(row, "td")).join("\n");
      return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>\n${rows}\n</tbody></table></div>\n`;
    },
    html({ text }) {
      return /^<br ?\/?>$/.test(text.trim()) ? "<br>" : escape(text);
    },
  };
}

const titleOf = (text) => (/^# (.+)$/m.exec(text)?.[1] ?? "").replaceAll("`", "");

function menu(current, titles) {
  const item = (page) =>
    `<li><a href="${pathOf(page)}"${page === current ? ' aria-current="page"' : ""}>${escape(titles.get(page) ?? "")}</a></li>`;
  const named = CHAPTERS.flatMap(([, pages]) => pages);
  const others = [...titles.keys()].filter((page) => !named.includes(page));
  const chapters = [...CHAPTERS, ...(others.length === 0 ? [] : [["More", others]])].map(([chapter, pages]) => {
    const there = pages.filter((page) => titles.has(page));
    return `<h2>${chapter}</h2>\n<ul>${there.map(item).join("")}</ul>`;
  });
  return `<nav id="contents" aria-label="Guide">\n${chapters.join("\n")}\n<h2>Reference</h2>\n<ul><li><a href="/docs">Enterprise API</a></li><li><a href="/docs/connector">Connector</a></li><li><a href="/docs/sapi">SAPI profile</a></li></ul>\n</nav>`;
}

const frame = (title, body, navigation) => `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · Kurier</title>
<link rel="stylesheet" href="/docs/assets/guide.css">
<link rel="icon" href="/docs/assets/icon.svg">
</head>
<body>
<a class="skip" href="#page">To the text</a>
<header><a class="home" href="${PATH}">Kurier</a><a class="to-contents" href="#contents">Contents</a></header>
<main id="page">
${body}</main>
${navigation}
</body>
</html>
`;

/**
 * Writes the guide into a folder: a page for each file of docs/, its pictures, and `pages.json`, which says what is
 * served where. Without the library (a checkout without development dependencies) the guide stays empty.
 */
export async function renderGuide(docs, folder) {
  const library = await import("marked").catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return undefined;
  });
  await mkdir(folder, { recursive: true });
  const files =
    library === undefined ? [] : (await readdir(docs, { recursive: true })).map((f) => f.replaceAll("\\", "/"));
  const pages = files.filter((file) => file.endsWith(".md"));
  const texts = new Map();
  for (const page of pages.toSorted()) texts.set(page, await readFile(join(docs, page), "utf8"));
  const titles = new Map([...texts].map(([page, text]) => [page, titleOf(text)]));
  const served = [];
  for (const [page, text] of texts) {
    const { Marked } = library;
    const body = new Marked({ gfm: true, renderer: renderer(page, pages) }).parse(text);
    const file = `${page.replace(/\.md$/, "").replaceAll("/", "--")}.html`;
    await writeFile(join(folder, file), frame(titles.get(page), body, menu(page, titles)));
    served.push({ path: pathOf(page), file, type: "text/html; charset=utf-8" });
  }
  for (const picture of files.filter((file) => file.endsWith(".svg")).toSorted()) {
    const file = picture.replaceAll("/", "--");
    await cp(join(docs, picture), join(folder, file));
    served.push({ path: `${PATH}/${picture}`, file, type: "image/svg+xml" });
  }
  for (const name of new Set([...texts.values()].flatMap(screenshotsOf))) {
    await cp(join(docs, SCREENSHOTS, name), join(folder, name));
    served.push({ path: `${PATH}/screenshots/${name}`, file: name, type: "image/png" });
  }
  await writeFile(join(folder, "pages.json"), `${JSON.stringify(served, undefined, 1)}\n`);
}
