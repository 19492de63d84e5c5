/** Translates paths: each step is a loop inside the loop of the step before it. */
import { itemOf, isExactType, isNodeType, valueCode } from "./code.js";
import type { Card, Code, Item, ItemType, Need } from "./code.js";
import { arrayOf, atomOf, boxed, singleOf, truthOf } from "./derive.js";
import { unsupported, withContext } from "./environment.js";
import type { Env } from "./environment.js";
import { dependenceOf, mayBePositional } from "../xpath/ast.js";
import type { AxisStep, Expr, ExprStep, NodeTest } from "../xpath/ast.js";

/** The nodes after some steps, with what is known of their order. */
type Stage = {
  readonly type: ItemType;
  readonly card: Card;
  readonly each: (body: (item: Item) => string) => string;
  /** No node occurs twice. */
  readonly distinct: boolean;
  readonly ordered: boolean;
  /** No node contains another. */
  readonly peers: boolean;
  readonly downward: boolean;
  readonly names?: ReadonlySet<string> | undefined;
  /** The item itself, when there is only the start. */
  readonly item?: Item;
  /** Shortcut for the effective boolean value. */
  readonly truth?: string | undefined;
  /** The step was descendant-or-self::node() from the document node. */
  readonly everything?: boolean;
};

type Loop = {
  readonly type: ItemType;
  readonly emit: (body: (item: Item) => string) => string;
  readonly truth?: string;
  readonly one?: boolean;
};

/** Translates a path expression, step by step. */
export function translatePath(path: Expr & { readonly kind: "path" }, env: Env): Code {
  const [first, ...rest] = path.steps;
  if (path.rooted) return stageCode(env, applySteps(startStage(documentItem()), path.steps, env));
  if (first === undefined) return unsupported("an empty path");
  if (first.kind === "expr") {
    const start = filter(env.translate(first.expr, env), first.predicates, env);
    return rest.length === 0 ? start : stageCode(env, applySteps(codeStage(start), rest, env));
  }
  if (env.context === undefined) return unsupported("a path where there is no context item (XPDY0002)");
  return stageCode(env, applySteps(startStage(env.context), path.steps, env));
}

const documentItem = (): Item => ({ type: "document", code: "-1", atom: "d.text(0)", atomType: "untyped" });

const startStage = (item: Item): Stage => ({
  type: item.type,
  card: "one",
  each: (body) => `{ ${body(item)} }`,
  distinct: true,
  ordered: true,
  peers: true,
  downward: true,
  item,
});

const codeStage = (code: Code): Stage => ({
  type: code.type,
  card: code.card,
  each: (body) => code.each("set", body),
  distinct: true,
  ordered: code.card !== "many",
  peers: code.card !== "many",
  downward: false,
});

/** Steps that find the same after `//` whether text nodes are among its results or not. */
const BELOW: ReadonlySet<string> = new Set(["child", "attribute", "descendant"]);

/** The nodes of descendant-or-self::node() lack text nodes here, so it is only good for a step downwards. */
function checkDescendants(step: AxisStep | ExprStep, next: AxisStep | ExprStep | undefined): void {
  if (step.kind !== "axis" || step.axis !== "descendant-or-self" || step.test.kind !== "node") return;
  const isBelow =
    next?.kind === "axis" && (BELOW.has(next.axis) || (next.axis === "self" && next.test.kind === "name"));
  if (!isBelow || step.predicates.length > 0)
    unsupported("// followed by anything but a child, descendant or attribute");
}

function applySteps(start: Stage, steps: readonly (AxisStep | ExprStep)[], env: Env): Stage {
  steps.forEach((step, index) => checkDescendants(step, steps[index + 1]));
  return steps.reduce(
    (stage, step) => (step.kind === "axis" ? applyAxis(stage, step, env) : applyExpr(stage, step, env)),
    start,
  );
}

/** The result of all steps. */
function stageCode(env: Env, stage: Stage): Code {
  const { m } = env;
  const direct = (need: Need): boolean =>
    need === "any" || !isNodeType(stage.type) || (stage.distinct && (need === "set" || stage.ordered));
  return {
    type: stage.type,
    card: stage.card,
    names: stage.names,
    truth: stage.truth,
    downward: stage.downward,
    each: (need, body) => {
      if (direct(need)) return stage.each(body);
      const [list, local] = [m.local(), m.local()];
      return `{ const ${list} = []; ${stage.each((item) => `${list}.push(${item.code});`)} for (const ${local} of R.sortUnique(${list})) { ${body(itemOf(stage.type, local))} } }`;
    },
  };
}

/** `a/f(.)`, `a/(b|c)`: the expression for every node before it. */
function applyExpr(stage: Stage, step: ExprStep, env: Env): Stage {
  const inner = (item: Item): Code =>
    filter(env.translate(step.expr, withContext(env, item)), step.predicates, withContext(env, item));
  const sample = inner(itemOf(stage.type, env.m.local()));
  const single = stage.card === "one" || stage.card === "opt";
  const before = stageCode(env, stage);
  const card: Card =
    stage.card === "one"
      ? sample.card
      : single && sample.card !== "many" && sample.card !== "none"
        ? "opt"
        : sample.card === "none"
          ? "none"
          : "many";
  const isNodes = isNodeType(sample.type);
  return {
    type: sample.type,
    card,
    each: (body) =>
      isNodes
        ? stage.each((item) => inner(item).each("set", body))
        : before.each("sequence", (item) => inner(item).each("sequence", body)),
    distinct: isNodes && (single || (stage.distinct && stage.peers && sample.downward === true)),
    ordered: false,
    peers: false,
    downward: stage.downward && sample.downward === true,
    names: sample.names,
  };
}

function applyAxis(stage: Stage, step: AxisStep, env: Env): Stage {
  const loopOf = (item: Item): Loop => axisLoop(item, step, env);
  const sample = loopOf(itemOf(stage.type, env.m.local()));
  const isDown = step.axis === "child" || step.axis === "attribute" || step.axis === "self";
  const isDescent = step.axis === "descendant" || step.axis === "descendant-or-self";
  const single = stage.card === "one" || stage.card === "opt";
  const positional = step.predicates.some(mayBePositional);
  const reverse = positional && REVERSE.has(step.axis);
  const fromAll = stage.everything === true && step.axis === "attribute";
  return {
    type: sample.type,
    card: single && sample.one === true ? "opt" : "many",
    each: (body) =>
      fromAll
        ? allAttributes(step, env, body)
        : stage.each((item) => applyPredicates(loopOf(item), step.predicates, { env, reverse }, body)),
    distinct: single || (stage.distinct && isDown) || (isDescent && stage.distinct && stage.peers),
    ordered: !reverse && (single || (stage.ordered && stage.peers && (isDown || isDescent))),
    peers: (single && (isDown || step.axis === "parent")) || (isDown && stage.peers),
    downward: stage.downward && isDown,
    names: isDown || isDescent ? namesOf(step.test) : undefined,
    truth: stage.item !== undefined && step.predicates.length === 0 ? loopOf(stage.item).truth : undefined,
    everything:
      step.axis === "descendant-or-self" &&
      step.test.kind === "node" &&
      stage.type === "document" &&
      step.predicates.length === 0,
  };
}

const REVERSE: ReadonlySet<string> = new Set([
  "parent",
  "ancestor",
  "ancestor-or-self",
  "preceding",
  "preceding-sibling",
]);

const namesOf = (test: NodeTest): ReadonlySet<string> | undefined =>
  test.kind === "name" && test.local !== undefined && test.namespace !== undefined
    ? new Set([`${test.namespace} ${test.local}`])
    : undefined;

/** `//@name`: from an index of attributes, made once per document. */
function allAttributes(step: AxisStep, env: Env, body: (item: Item) => string): string {
  const { m } = env;
  const loop: Loop = { type: "attribute", emit: (inner) => attributesOfAll(step.test, env, inner) };
  return applyPredicates(loop, step.predicates, { env: { ...env, m }, reverse: false }, body);
}

function attributesOfAll(test: NodeTest, env: Env, body: (item: Item) => string): string {
  const { m } = env;
  const owner = m.local();
  if (test.kind === "name" && test.namespace !== undefined && test.local !== undefined) {
    const name = m.name(test.namespace, test.local);
    return `for (const ${owner} of R.attributeOwners(d, g[0], ${name})) { ${body(attributeItem(owner, name, `d.attr(${owner}, ${name})`))} }`;
  }
  return `for (let ${owner} = 0; ${owner} < d.count; ${owner}++) { ${attributeLoop(owner, test, env, body)} }`;
}

const attributeItem = (owner: string, name: string, value: string): Item => ({
  type: "attribute",
  code: `new R.Attribute(${owner}, ${name}, ${value})`,
  atom: value,
  atomType: "untyped",
  owner,
});

function attributeLoop(owner: string, test: NodeTest, env: Env, body: (item: Item) => string): string {
  const { m } = env;
  const value = m.local();
  if (test.kind === "name" && test.namespace !== undefined && test.local !== undefined) {
    const name = m.name(test.namespace, test.local);
    return `{ const ${value} = d.attr(${owner}, ${name}); if (${value} !== undefined) { ${body(attributeItem(owner, name, value))} } }`;
  }
  if (test.kind !== "name" && test.kind !== "node")
    return unsupported(`the node test ${test.kind}() on the attribute axis`);
  const [index, name] = [m.local(), m.local()];
  const item = body(attributeItem(owner, name, value));
  const matched = test.kind === "name" ? guard(nameTest(name, test, env), item) : item;
  return `for (let ${index} = 0; ${index} < d.attrCount(${owner}); ${index}++) { const ${name} = d.attrName(${owner}, ${index}); const ${value} = d.attrValue(${owner}, ${index}); ${matched} }`;
}

const guard = (condition: string, body: string): string =>
  condition === "true" ? body : `if (${condition}) { ${body} }`;

/** Whether a name id satisfies a name test. */
export function nameTest(id: string, test: NodeTest, env: Env): string {
  if (test.kind !== "name" || (test.namespace === undefined && test.local === undefined)) return "true";
  if (test.namespace !== undefined && test.local !== undefined)
    return `${id} === ${env.m.name(test.namespace, test.local)}`;
  return test.local === undefined
    ? `d.expanded(${id}).namespace === ${env.m.text(test.namespace ?? "")}`
    : `d.expanded(${id}).local === ${env.m.text(test.local)}`;
}

/** Tests an element that is known to be one. */
const elementTest = (e: string, test: NodeTest, env: Env): string =>
  test.kind === "name" ? nameTest(`d.name(${e})`, test, env) : "true";

/** Loop over one axis from one item, predicates left out. */
function axisLoop(item: Item, step: AxisStep, env: Env): Loop {
  const { axis, test } = step;
  if (test.kind === "comment" || test.kind === "processing-instruction")
    return unsupported(`the node test ${test.kind}()`);
  if (!isNodeType(item.type) && item.type !== "any")
    return unsupported("a path step on a value that is no node (XPTY0019)");
  if (item.type === "any") return unsupported("a path step on a value whose type is not known");
  if (axis === "self") return selfLoop(item, test, env);
  if (axis === "parent") return parentLoop(item, test, env);
  if (item.type === "attribute" || item.type === "text" || item.type === "node")
    return unsupported(`the axis ${axis} from a node that may be no element`);
  const from = item.code;
  switch (axis) {
    case "child":
      return childLoop(item, test, env);
    case "attribute":
      if (item.type === "document") return { type: "attribute", emit: () => "" };
      return {
        type: "attribute",
        one: test.kind === "name" && test.local !== undefined && test.namespace !== undefined,
        emit: (body) => guard(item.type === "tree" ? `${from} >= 0` : "true", attributeLoop(from, test, env, body)),
        ...(item.type === "element" && test.kind === "name" && test.local !== undefined && test.namespace !== undefined
          ? { truth: `d.hasAttr(${from}, ${env.m.name(test.namespace, test.local)})` }
          : {}),
      };
    case "descendant":
    case "descendant-or-self":
      return descendantLoop(item, step, env);
    case "ancestor-or-self":
      return unsupported("the axis ancestor-or-self");
    default:
      return farLoop(item, axis, test, env);
  }
}

function selfLoop(item: Item, test: NodeTest, env: Env): Loop {
  if (test.kind === "node") return { type: item.type, emit: (body) => body(item), one: true };
  if (item.type === "element" && (test.kind === "name" || test.kind === "element")) {
    const condition = elementTest(item.code, test, env);
    return { type: "element", one: true, emit: (body) => guard(condition, body(item)), truth: `(${condition})` };
  }
  if (item.type === "tree" && (test.kind === "name" || test.kind === "element")) {
    const local = env.m.local();
    return {
      type: "element",
      one: true,
      emit: (body) =>
        `{ const ${local} = ${item.code}; if (${local} >= 0) { ${guard(elementTest(local, test, env), body(itemOf("element", local)))} } }`,
    };
  }
  return unsupported("this self step");
}

function parentLoop(item: Item, test: NodeTest, env: Env): Loop {
  const { m } = env;
  if (item.type === "document") return { type: "element", one: true, emit: () => "" };
  if (item.type === "node") return unsupported("the parent of a node of unknown kind");
  const parent = m.local();
  const isOwned = item.type === "attribute" || item.type === "text";
  const value = isOwned ? (item.owner ?? "") : `d.parent(${item.code})`;
  const start = (body: string): string =>
    guard(item.type === "tree" ? `${item.code} >= 0` : "true", `{ const ${parent} = ${value}; ${body} }`);
  if (test.kind === "node") {
    const type = isOwned ? "element" : "tree";
    return { type, one: true, emit: (body) => start(body(itemOf(type, parent))) };
  }
  if (test.kind !== "name" && test.kind !== "element") return unsupported("this parent step");
  return {
    type: "element",
    one: true,
    emit: (body) =>
      start(`if (${parent} >= 0) { ${guard(elementTest(parent, test, env), body(itemOf("element", parent)))} }`),
  };
}

function childLoop(item: Item, test: NodeTest, env: Env): Loop {
  const { m } = env;
  const from = item.code;
  if (test.kind === "text") return textLoop(item, env);
  if (test.kind === "node") return unsupported("child::node()");
  if (test.kind === "document") return { type: "document", emit: () => "" };
  const local = m.local();
  const element = itemOf("element", local);
  if (item.type === "document") {
    return {
      type: "element",
      one: true,
      emit: (body) => guard(elementTest("0", test, env), `{ const ${local} = 0; ${body(element)} }`),
      truth: `(${elementTest("0", test, env)})`,
    };
  }
  if (test.kind === "name" && test.local !== undefined && test.namespace !== undefined) {
    const name = m.name(test.namespace, test.local);
    const first = item.type === "element" ? `d.child(${from}, ${name})` : `R.childOf(d, ${from}, ${name})`;
    return {
      type: "element",
      emit: (body) =>
        `for (let ${local} = ${first}; ${local} !== -1; ${local} = d.nextSame(${local})) { ${body(element)} }`,
      truth: `(${first} !== -1)`,
    };
  }
  const first = item.type === "element" ? `d.first(${from})` : `R.firstOf(d, ${from})`;
  const isAny = elementTest(local, test, env) === "true";
  return {
    type: "element",
    emit: (body) =>
      `for (let ${local} = ${first}; ${local} !== -1; ${local} = d.next(${local})) { ${guard(elementTest(local, test, env), body(element))} }`,
    ...(isAny ? { truth: `(${first} !== -1)` } : {}),
  };
}

/** Text nodes of an element; the document node has none. */
function textLoop(item: Item, env: Env): Loop {
  const { m } = env;
  if (item.type === "document") return { type: "text", emit: () => "" };
  const [index, list] = [m.local(), m.local()];
  const text: Item = {
    type: "text",
    code: `new R.TextNode(${item.code}, ${index}, ${list}[${index}])`,
    atom: `${list}[${index}]`,
    atomType: "untyped",
    owner: item.code,
  };
  const loop = (body: string): string =>
    `{ const ${list} = d.textNodes(${item.code}); for (let ${index} = 0; ${index} < ${list}.length; ${index}++) { ${body} } }`;
  return { type: "text", emit: (body) => guard(item.type === "tree" ? `${item.code} >= 0` : "true", loop(body(text))) };
}

function descendantLoop(item: Item, step: AxisStep, env: Env): Loop {
  const { m } = env;
  const { test } = step;
  const from = item.code;
  const local = m.local();
  if (test.kind === "text") return unsupported("descendant::text()");
  if (step.axis === "descendant" && test.kind === "name" && test.local !== undefined && test.namespace !== undefined) {
    const name = m.name(test.namespace, test.local);
    const list = m.local();
    const all = item.type === "document" ? `d.all(${name})` : `R.descendants(d, ${from}, ${name})`;
    const element = itemOf("element", local);
    const index = m.local();
    return {
      type: "element",
      truth: `(${all}.length > 0)`,
      emit: (body) =>
        `{ const ${list} = ${all}; for (let ${index} = 0; ${index} < ${list}.length; ${index}++) { const ${local} = ${list}[${index}]; ${body(element)} } }`,
    };
  }
  const includesSelf = step.axis === "descendant-or-self";
  const type: ItemType = item.type === "element" || !includesSelf || test.kind !== "node" ? "element" : "tree";
  const start = includesSelf && (type === "tree" || item.type === "element") ? from : `${from} + 1`;
  const end = m.local();
  const condition = type === "tree" ? "true" : elementTest(local, test, env);
  return {
    type,
    emit: (body) =>
      `{ const ${end} = R.endOf(d, ${from}); for (let ${local} = ${start}; ${local} < ${end}; ${local}++) { ${guard(condition, body(itemOf(type, local)))} } }`,
  };
}

/** Axes that need a look at the whole document. preceding::name comes from the name index. */
function farLoop(
  item: Item,
  axis: "following-sibling" | "following" | "ancestor" | "preceding-sibling" | "preceding",
  test: NodeTest,
  env: Env,
): Loop {
  const { m } = env;
  const local = m.local();
  const element = itemOf("element", local);
  if (test.kind === "text" || (test.kind === "node" && axis !== "ancestor"))
    return unsupported(`${axis}::${test.kind}()`);
  const from = item.code;
  if (axis === "preceding" && test.kind === "name" && test.namespace !== undefined && test.local !== undefined) {
    const list = `d.all(${m.name(test.namespace, test.local)})`;
    return {
      type: "element",
      emit: (body) =>
        `for (const ${local} of ${list}) { if (${local} >= ${from}) break; if (d.end(${local}) <= ${from}) { ${body(element)} } }`,
    };
  }
  const list = `R.axisElements(d, ${from}, ${JSON.stringify(axis)})`;
  if (test.kind === "node")
    return { type: "tree", emit: (body) => `for (const ${local} of ${list}) { ${body(itemOf("tree", local))} }` };
  const real = axis === "ancestor" ? `${local} >= 0 && ` : "";
  return {
    type: "element",
    emit: (body) =>
      `for (const ${local} of ${list}) { if (${real}${elementTest(local, test, env)}) { ${body(element)} } }`,
  };
}

/** Runs `body` for the items of a loop that pass all predicates. */
function applyPredicates(
  loop: Loop,
  predicates: readonly Expr[],
  { env, reverse }: { readonly env: Env; readonly reverse: boolean },
  body: (item: Item) => string,
): string {
  const [first, ...rest] = predicates;
  if (first === undefined) return loop.emit(body);
  return applyPredicates(filterLoop(loop, first, env, reverse), rest, { env, reverse: false }, body);
}

function filterLoop(loop: Loop, predicate: Expr, env: Env, reverse: boolean): Loop {
  const { m } = env;
  const one = loop.one === true;
  if (!mayBePositional(predicate)) {
    return {
      type: loop.type,
      one,
      emit: (body) =>
        loop.emit((item) => `if (${truthOf(m, env.translate(predicate, withContext(env, item)))}) { ${body(item)} }`),
    };
  }
  if (predicate.kind === "integer" && !reverse) {
    const counter = m.local();
    return {
      type: loop.type,
      one: true,
      emit: (body) =>
        `{ let ${counter} = 0; ${loop.emit((item) => `if (++${counter} === ${predicate.text}) { ${body(item)} }`)} }`,
    };
  }
  const [list, index, local] = [m.local(), m.local(), m.local()];
  const item = itemOf(loop.type, local);
  const test = positionTest(predicate, withContext(env, item, `(${index} + 1)`, `${list}.length`));
  return {
    type: loop.type,
    one,
    emit: (body) =>
      `{ const ${list} = []; ${loop.emit((each) => `${list}.push(${each.code});`)} ${reverse ? `${list}.reverse(); ` : ""}` +
      `for (let ${index} = 0; ${index} < ${list}.length; ${index}++) { const ${local} = ${list}[${index}]; if (${test}) { ${body(item)} } } }`,
  };
}

/** A predicate that is a number selects by position. */
function positionTest(predicate: Expr, env: Env): string {
  const { m } = env;
  const code = env.translate(predicate, env);
  const position = env.position ?? "";
  if (code.native !== undefined) return `${code.native} === ${position}`;
  if (code.card === "many") return truthOf(m, code);
  if (isExactType(code.type) || code.type === "double") {
    const value = atomOf(m, code);
    return `R.isPosition(${boxed(m, value)}, ${position})`;
  }
  return code.type === "any" ? `R.isSelected(${boxed(m, singleOf(m, code))}, ${position})` : truthOf(m, code);
}

/** `primary[predicate]…` on any sequence. */
export function filter(code: Code, predicates: readonly Expr[], env: Env): Code {
  return predicates.reduce((filtered, predicate) => filterOne(filtered, predicate, env), code);
}

function filterOne(code: Code, predicate: Expr, env: Env): Code {
  const { m } = env;
  if (!mayBePositional(predicate)) {
    return {
      type: code.type,
      card: code.card === "one" ? "opt" : code.card,
      names: code.names,
      downward: code.downward,
      each: (need, body) =>
        code.each(
          need,
          (item) => `if (${truthOf(m, env.translate(predicate, withContext(env, item)))}) { ${body(item)} }`,
        ),
    };
  }
  if (predicate.kind === "integer") return nth(code, predicate.text, env);
  const array = arrayOf(m, code);
  const list = m.local();
  const index = selectedIndex(predicate, env, list);
  if (index !== undefined)
    return valueCode(m, code.type, "opt", m.helper(`const ${list} = ${array.code}; return ${list}[${index}];`));
  const [counter, local] = [m.local(), m.local()];
  const item = itemOf(code.type, local);
  const test = positionTest(predicate, withContext(env, item, `(${counter} + 1)`, `${list}.length`));
  return {
    type: code.type,
    card: code.card === "one" ? "opt" : code.card,
    each: (_, body) =>
      `{ const ${list} = ${array.code}; for (let ${counter} = 0; ${counter} < ${list}.length; ${counter}++) { const ${local} = ${list}[${counter}]; if (${test}) { ${body(item)} } } }`,
  };
}

/** `(…)[3]`: stops at the item, so that nothing behind it is evaluated. */
function nth(code: Code, position: string, env: Env): Code {
  const { m } = env;
  const counter = m.local();
  const take = (item: Item): string => `if (++${counter} === ${position}) return ${item.code};`;
  return valueCode(
    m,
    code.type,
    "opt",
    m.helper(`let ${counter} = 0; ${code.each("sequence", take)} return undefined;`),
  );
}

/** `$list[$i + 1]`, `$list[last()]`, `$list[$i + 1]`: one index, no loop. The context item must not be read. */
function selectedIndex(predicate: Expr, env: Env, list: string): string | undefined {
  const { m } = env;
  if (predicate.kind === "call" && predicate.name.local === "last" && predicate.args.length === 0)
    return `${list}.length - 1`;
  const { context, position } = dependenceOf(predicate);
  if (context || position) return undefined;
  const code = env.translate(predicate, env);
  if (code.native !== undefined) return `${code.native} - 1`;
  if (!isExactType(code.type) || code.card !== "one") return undefined;
  return `R.indexOf(${atomOf(m, code).code})`;
}
