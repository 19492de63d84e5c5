/** How a shown invoice looks on a desk, on a phone, in the dark and on paper. Part of the page, which loads nothing. */
import { createHash } from "node:crypto";

export const STYLE = `
:root{color-scheme:light dark;--ink:#14213d;--paper:#fff;--line:#c9d0de;--quiet:#4c5772;--bar:#f2f5fb;--accent:#1a56bd;
font:400 1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
@media (prefers-color-scheme:dark){:root{--ink:#e8edf7;--paper:#12161f;--line:#3a4459;--quiet:#b3bdd2;--bar:#1b2130;--accent:#8ab6ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);overflow-wrap:anywhere;-webkit-text-size-adjust:100%}
main{max-width:62rem;margin:0 auto;padding:1.5rem 1rem 2rem}
h1{font-size:1.6rem;line-height:1.25;margin:0}
h1 span{display:block;font-size:1rem;font-weight:400;color:var(--quiet)}
h2{font-size:.8rem;line-height:1.4;margin:0 0 .4rem;color:var(--quiet);text-transform:uppercase;letter-spacing:.06em}
p{margin:0}
.head{display:flex;flex-wrap:wrap;gap:1rem 2rem;justify-content:space-between;align-items:flex-start;padding-bottom:1rem;border-bottom:2px solid var(--accent)}
.head dl{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:0}
.head>*{min-width:0}
.head dd{font-size:1.15rem;margin:0}
.head dt,.rows dt{color:var(--quiet)}
.head .main{font-weight:700}
.remark{margin-top:.75rem;font-weight:600}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,21rem),1fr));gap:1.5rem 2rem;margin:1.5rem 0}
.name{font-weight:700;font-size:1.05rem}
.rows{display:grid;grid-template-columns:minmax(6.5rem,max-content) minmax(0,1fr);gap:.1rem .9rem;margin:.5rem 0 0;font-size:.92rem}
.rows dt{max-width:11rem}
.rows dd{margin:0;white-space:pre-line}
.text{white-space:pre-line}
.wide{margin:1.75rem 0}
table{width:100%;border-collapse:collapse;font-size:.92rem}
caption{text-align:left;padding:0}
th{text-align:left;vertical-align:bottom;font-weight:600;color:var(--quiet);font-size:.82rem;border-bottom:1px solid var(--line);padding:.35rem .5rem;overflow-wrap:normal}
td{vertical-align:top;border-bottom:1px solid var(--line);padding:.45rem .5rem}
td span{white-space:pre-line}
th:first-child,td:first-child{padding-left:0}th:last-child,td:last-child{padding-right:0}
.number{text-align:right;font-variant-numeric:tabular-nums}
td.short>span{overflow-wrap:normal}
small{display:block;color:var(--quiet);font-size:.82rem;line-height:1.4;white-space:pre-line}
.sums{display:flex;flex-wrap:wrap;gap:1.5rem 3rem;justify-content:space-between;margin:1.75rem 0}
.sums section{flex:1 1 19rem;margin:0}
.totals dl,.totals dt,.totals dd{margin:0;min-width:0}
.totals div{display:flex;flex-wrap:wrap;gap:0 1rem;padding:.3rem 0;border-bottom:1px solid var(--line)}
.totals dd{margin-left:auto;text-align:right;font-variant-numeric:tabular-nums}
.totals .short{white-space:nowrap}
.totals .main{font-weight:700;font-size:1.15rem;background:var(--bar);border-bottom:2px solid var(--accent);padding:.5rem}
footer{margin-top:2rem;padding-top:.75rem;border-top:1px solid var(--line);color:var(--quiet);font-size:.85rem}
@media (max-width:44rem){
main{padding:1rem}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
table,caption,tbody,tr,td{display:block}
tr{border-bottom:1px solid var(--line);padding:.5rem 0}
td,td:first-child,td:last-child{display:flex;gap:1rem;justify-content:space-between;border:0;padding:.12rem 0;text-align:right}
td::before{content:attr(data-label);color:var(--quiet);text-align:left;flex:none;max-width:45%}
td.lead{display:block;text-align:left;font-weight:600}
td.lead::before{content:none}
td.lead small{font-weight:400}
td.empty{display:none}
}
@media (max-width:22rem){.rows{grid-template-columns:minmax(0,1fr)}.rows dd{margin-bottom:.35rem}}
@media print{
:root{--ink:#000;--paper:#fff;--line:#999;--quiet:#333;--bar:#eee;--accent:#000;font-size:10pt}
@page{size:A4;margin:14mm}
main{max-width:none;padding:0}
thead{display:table-header-group}
tr,.cards section,.sums section{break-inside:avoid}
}
`.replaceAll("\n", "");

/** The style as a policy names it. */
export const STYLE_SOURCE = `'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`;

/** What the page may do, for a header and for the page itself: nothing but look like this. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src ${STYLE_SOURCE}`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
