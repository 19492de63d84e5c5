/**
 * The 727 asserts of the document element about unused parts of UBL, judged in one walk.
 *
 * Elements run through a trie of the paths below the document element: a dense table row × column, where a row is a
 * path that continues and a column a name that occurs in some path. A node that no path leads to ends the walk of its
 * subtree. Attributes are looked at once each. Measured on the base example (150 elements, clean): 6 µs for everything,
 * against 43 µs for the 668 element paths alone, walked one by one with child masks.
 */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { internedNames } from "../../xml/names.js";
import type { NameId } from "../../xml/names.js";
import { formedBranches } from "../../xml/repeats/forms.js";
import type { Form } from "../../xml/repeats/forms.js";
import { nameId } from "../path.js";
import { fatal, warning } from "../rule.js";
import type { AssertFacts, Facts, Survey } from "../rule.js";
import { CONDITIONAL_RESTRICTIONS } from "./conditional.js";
import { FORBIDDEN_ANYWHERE, FORBIDDEN_ATTRIBUTES, FORBIDDEN_ELEMENTS, SINGLE_ELEMENTS } from "./restrictions.js";

/**
 * Where an attribute or an element is restricted: the names of its element and of the elements above, nearest first.
 */
interface Place {
  readonly mark: number;
  readonly names: readonly NameId[];
  /** The topmost name is a child of the document element. */
  readonly rooted: boolean;
  /** The one element that is free of the restriction. */
  readonly except?: NameId;
}

type Places = Map<NameId, readonly Place[]>;

/** One table of everything; marks are indices of `asserts`. */
class Restrictions {
  readonly asserts: AssertFacts[] = [];
  /** How often a path may occur: 0 or 1. */
  readonly allowed: number[] = [];
  readonly #paths: { readonly names: readonly NameId[]; readonly mark: number }[] = [];
  /** Places by the name of the attribute, and of the element. */
  readonly attributes: Places = new Map();
  readonly elements: Places = new Map();

  constructor() {
    for (const [path, id] of forbiddenElements()) this.#addPath(path, this.#add(0, notUsed(id, path)));
    for (const [path, id, term] of triples(SINGLE_ELEMENTS))
      this.#addPath(path, this.#add(1, onlyOnce(id, path, term)));
    for (const [path, id] of pairs(FORBIDDEN_ANYWHERE))
      this.#addPlace(this.elements, path, this.#add(0, notUsed(id, path)));
    for (const [path, id] of pairs(FORBIDDEN_ATTRIBUTES))
      this.#addPlace(this.attributes, path, this.#add(0, notUsed(id, path)));
    this.#addPlace(this.attributes, "//@name", this.#add(0, NAME_ATTRIBUTES), nameId("cbc:PaymentMeansCode"));
    this.#addPlace(this.attributes, "cac:PaymentMeans/cbc:PaymentMeansCode/@name", this.#add(1, PAYMENT_MEANS_TEXTS));
  }

  #addPath(path: string, mark: number): void {
    const both = path.startsWith("LINE/")
      ? ["cac:InvoiceLine", "cac:CreditNoteLine"].map((line) => path.replace("LINE", line))
      : [path];
    for (const one of both) this.#paths.push({ names: one.split("/").map(nameId), mark });
  }

  #addPlace(places: Places, path: string, mark: number, except?: NameId): void {
    const steps = path.replace(/^\/\//u, "").split("/").reverse();
    const key = nameId(steps[0] ?? "");
    const names = steps.filter((step) => !step.startsWith("@")).map(nameId);
    const place = { mark, names, rooted: !path.startsWith("//"), ...(except === undefined ? {} : { except }) };
    places.set(key, [...(places.get(key) ?? []), place]);
  }

  #add(allowed: number, facts: AssertFacts): number {
    this.allowed.push(allowed);
    return this.asserts.push(facts) - 1;
  }

  /** The paths as a tree of maps, from which the dense table is cut. */
  tree(): TreeNode {
    const root: TreeNode = { children: new Map(), mark: NONE };
    for (const { names, mark } of this.#paths) {
      let node = root;
      for (const name of names) {
        const child = node.children.get(name) ?? { children: new Map<NameId, TreeNode>(), mark: NONE };
        node.children.set(name, child);
        node = child;
      }
      if (node.mark !== NONE) throw new Error(`two restrictions on one path: ${this.asserts[mark]?.id}`);
      node.mark = mark;
    }
    return root;
  }
}

interface TreeNode {
  readonly children: Map<NameId, TreeNode>;
  mark: number;
}

/** "path rule" and "path rule term" tables, word by word. */
const pairs = (table: string): [string, string][] => chunks(table, 2).map(([path = "", id = ""]) => [path, id]);
const triples = (table: string): [string, string, string][] =>
  chunks(table, 3).map(([path = "", id = "", term = ""]) => [path, id, term]);

function chunks(table: string, size: number): string[][] {
  const words = table.trim().split(/\s+/u);
  return Array.from({ length: words.length / size }, (_, i) => words.slice(i * size, (i + 1) * size));
}

function forbiddenElements(): [path: string, id: string][] {
  let parent = "";
  return FORBIDDEN_ELEMENTS.trim()
    .split(/\s+/u)
    .flatMap((word): [string, string][] => {
      const [child = "", number] = word.split("=");
      if (number === undefined) {
        parent = child === "/" ? "" : child;
        return [];
      }
      return [[parent + child, `UBL-CR-${number}`]];
    });
}

/** "LINE/cac:Item/cbc:Keyword" as people read it. */
const readable = (path: string): string => path.replace(/^\/\//u, "").replace(/^LINE\//u, "");

function notUsed(id: string, path: string): AssertFacts {
  const [element = "", attribute] = readable(path).split(/\/?@/u);
  const what =
    attribute === undefined ? element : `The attribute ${attribute}${element === "" ? "" : ` of ${element}`}`;
  const where = path.startsWith("LINE/") ? " in the lines of" : " in";
  return assertFacts(warning(id, "", `${what} is not used${where} EN 16931 invoices; remove it.`, () => true));
}

const onlyOnce = (id: string, path: string, term: string): AssertFacts =>
  assertFacts(fatal(id, term, `${readable(path)} may occur only once; keep one and remove the others.`, () => true));

const NAME_ATTRIBUTES = assertFacts(
  warning("UBL-DT-18", "", "The attribute name is used on cbc:PaymentMeansCode only; remove it elsewhere.", () => true),
);
const PAYMENT_MEANS_TEXTS = assertFacts(
  fatal(
    "UBL-SR-46",
    "BT-82",
    "Give the text of the payment means (attribute name of cbc:PaymentMeansCode) only once.",
    () => true,
  ),
);

function assertFacts({ id, severity, terms, message }: AssertFacts): AssertFacts {
  return { id, severity, terms, message };
}

/** How often each mark was met; only the marks that were met are looked at and cleared afterwards. */
class Hits {
  readonly #counts: Uint32Array;
  readonly #met: Int32Array;
  /** The first element that is one too many, by mark. */
  readonly #places: Int32Array;
  readonly #allowed: readonly number[];
  #size = 0;

  constructor(allowed: readonly number[]) {
    this.#allowed = allowed;
    this.#counts = new Uint32Array(allowed.length);
    this.#met = new Int32Array(allowed.length);
    this.#places = new Int32Array(allowed.length);
  }

  add(mark: number, e: ElementId): void {
    const before = this.#counts[mark] ?? 0;
    if (before === 0) this.#met[this.#size++] = mark;
    if (before === this.#allowed[mark]) this.#places[mark] = e;
    this.#counts[mark] = before + 1;
  }

  /** The element that a mark is exceeded by; until the next document. */
  placeOf(mark: number): ElementId {
    return this.#places[mark] ?? 0;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** The marks met more often than allowed, rising; forgets all. */
  take(): readonly number[] {
    const allowed = this.#allowed;
    const exceeded: number[] = [];
    for (let i = 0; i < this.#size; i += 1) {
      const mark = this.#met[i] ?? 0;
      if ((this.#counts[mark] ?? 0) > (allowed[mark] ?? 0)) exceeded.push(mark);
      this.#counts[mark] = 0;
    }
    this.#size = 0;
    return exceeded.sort((x, y) => x - y);
  }
}

/** The dense form of the trie. Node 0 and column 0 mean "leads nowhere". */
class Trie {
  /** Column of a name; names interned later have none. */
  readonly #columns = new Uint16Array(internedNames());
  readonly #width: number;
  readonly #next: Uint16Array;
  /** Per node: the offset of its row, 0 for a leaf, and its mark + 1, 0 for none. */
  readonly #rows: Int32Array;
  readonly #marks: Int32Array;

  constructor(root: TreeNode) {
    const nodes = flatten(root);
    let columns = 0;
    for (const node of nodes)
      for (const name of node.children.keys()) if (this.#columns[name] === 0) this.#columns[name] = columns += 1;
    this.#width = columns + 1;
    const inner = nodes.filter((node) => node.children.size > 0);
    this.#next = new Uint16Array(this.#width * (inner.length + 1));
    this.#rows = Int32Array.from(nodes, (node) => (inner.indexOf(node) + 1) * this.#width);
    this.#marks = Int32Array.from(nodes, (node) => node.mark + 1);
    for (const node of inner) {
      const row = this.#rows[nodes.indexOf(node)] ?? 0;
      for (const [name, child] of node.children) this.#next[row + (this.#columns[name] ?? 0)] = nodes.indexOf(child);
    }
  }

  /** Counts in `hits` how often each mark is met below the document element, but not in the branches to pass over. */
  count(doc: XmlDocument, hits: Hits, passed: readonly ElementId[]): void {
    let next = 0;
    for (let child = doc.first(0); child !== NONE; child = doc.next(child))
      if (child === passed[next]) next += 1;
      else this.#countAt(doc, child, this.#width, hits);
  }

  /** The same for one child of the document element. */
  countBelow(doc: XmlDocument, child: ElementId, hits: Hits): void {
    this.#countAt(doc, child, this.#width, hits);
  }

  #walk(doc: XmlDocument, e: ElementId, row: number, hits: Hits): void {
    for (let child = doc.first(e); child !== NONE; child = doc.next(child)) this.#countAt(doc, child, row, hits);
  }

  #countAt(doc: XmlDocument, child: ElementId, row: number, hits: Hits): void {
    const node = this.#next[row + (this.#columns[doc.name(child)] ?? 0)] ?? 0;
    if (node === 0) return;
    const mark = this.#marks[node] ?? 0;
    if (mark !== 0) hits.add(mark - 1, child);
    const below = this.#rows[node] ?? 0;
    if (below !== 0) this.#walk(doc, child, below, hits);
  }
}

/** The root first: it gets index 0 and, being inner, the first row. */
function flatten(node: TreeNode): TreeNode[] {
  return [node, ...[...node.children.values()].flatMap(flatten)];
}

/** The restrictions that are found from below: by the name of an attribute or of an element anywhere. */
class Anywhere {
  /** 1 for names that are looked at. */
  readonly #relevant = new Uint8Array(internedNames());
  readonly #elements: Places;
  readonly #attributes: Places;

  constructor(elements: Places, attributes: Places) {
    this.#elements = elements;
    this.#attributes = attributes;
    for (const name of [...elements.keys(), ...attributes.keys()]) this.#relevant[name] = 1;
  }

  count(doc: XmlDocument, hits: Hits, passed: readonly ElementId[]): void {
    let next = 0;
    for (let e = 0; e < doc.count; e += 1) {
      if (e === passed[next]) {
        next += 1;
        e = doc.end(e) - 1;
      } else this.countAt(doc, e, hits);
    }
  }

  /** The same for one element and its attributes. */
  countAt(doc: XmlDocument, e: ElementId, hits: Hits): void {
    const relevant = this.#relevant;
    if (relevant[doc.name(e)] === 1) countAt(doc, e, this.#elements.get(doc.name(e)), hits);
    for (let i = doc.attrCount(e) - 1; i >= 0; i -= 1) {
      const name = doc.attrName(e, i);
      if (relevant[name] === 1) countAt(doc, e, this.#attributes.get(name), hits);
    }
  }
}

function countAt(doc: XmlDocument, e: ElementId, places: readonly Place[] | undefined, hits: Hits): void {
  if (places === undefined) return;
  for (const place of places) if (isAt(doc, e, place)) hits.add(place.mark, e);
}

function isAt(doc: XmlDocument, e: ElementId, { names, rooted, except }: Place): boolean {
  if (except === doc.name(e)) return false;
  let at = e;
  for (let i = 0; i < names.length; i += 1) {
    if (at === NONE || names[i] !== doc.name(at)) return false;
    at = doc.parent(at);
  }
  return !rooted || at === 0;
}

/** Branches in which no mark can be met: as only names decide that, all branches of a form are alike in it. */
class CleanBranches {
  readonly #trie: Trie;
  readonly #anywhere: Anywhere;
  readonly #hits: Hits;
  readonly #known = new WeakMap<Form, boolean>();

  constructor(trie: Trie, anywhere: Anywhere, allowed: readonly number[]) {
    this.#trie = trie;
    this.#anywhere = anywhere;
    this.#hits = new Hits(allowed);
  }

  /** In document order. */
  of(doc: XmlDocument): readonly ElementId[] {
    const { elements, forms } = formedBranches(doc);
    let last: Form | undefined;
    let isClean = false;
    return elements.filter((branch, i) => {
      const form = forms[i];
      if (form !== undefined && form !== last) {
        last = form;
        isClean = this.#known.get(form) ?? this.#examine(doc, branch, form);
      }
      return isClean;
    });
  }

  #examine(doc: XmlDocument, branch: ElementId, form: Form): boolean {
    const hits = this.#hits;
    this.#trie.countBelow(doc, branch, hits);
    for (let e = branch; e < doc.end(branch); e += 1) this.#anywhere.countAt(doc, e, hits);
    const isClean = hits.isEmpty;
    hits.take();
    this.#known.set(form, isClean);
    return isClean;
  }
}

/** All restrictions of the document element. */
export function restrictionSurvey<F extends Facts>(): Survey<F> {
  const restrictions = new Restrictions();
  const trie = new Trie(restrictions.tree());
  const anywhere = new Anywhere(restrictions.elements, restrictions.attributes);
  const { allowed, asserts } = restrictions;
  const hits = new Hits(allowed);
  const clean = new CleanBranches(trie, anywhere, allowed);
  return {
    asserts: [...asserts, ...CONDITIONAL_RESTRICTIONS.map(assertFacts)],
    judge: (doc, e, facts, fail) => {
      const passed = clean.of(doc);
      trie.count(doc, hits, passed);
      anywhere.count(doc, hits, passed);
      for (const mark of hits.take()) fail(mark, hits.placeOf(mark));
      for (let i = 0; i < CONDITIONAL_RESTRICTIONS.length; i += 1) {
        if (CONDITIONAL_RESTRICTIONS[i]?.holds(doc, e, facts) === false) fail(asserts.length + i);
      }
    },
  };
}
