/** The shape of files, functions, types and folders: lengths, counts and what must stand where. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

import { ROOT, eachNode } from "../sources.js";
import type { Source } from "../sources.js";

export const FUNCTION_LINES_MAX = 90;
export const PARAMETERS_MAX = 4;
export const LINE_CHARS_MAX = 120;
export const ROOM_FILES_MAX = 16;

const isGenerated = (path: string): boolean => path.endsWith(".generated.ts");
const linesOf = (node: ts.Node, file: ts.SourceFile): number =>
  file.getLineAndCharacterOfPosition(node.getEnd()).line - file.getLineAndCharacterOfPosition(node.getStart(file)).line;

/** Functions of too many lines; a factory that returns an object of methods is measured without its inner functions. */
export function longFunctions({ path, file }: Source): string[] {
  const found: string[] = [];
  eachNode(file, (node) => {
    if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return;
    let inner = 0;
    const count = (child: ts.Node): void => {
      if (ts.isFunctionLike(child)) inner += linesOf(child, file);
      else ts.forEachChild(child, count);
    };
    ts.forEachChild(node, count);
    const lines = linesOf(node, file) - inner;
    if (lines > FUNCTION_LINES_MAX) found.push(`${path}: ${nameOf(node, file)} has ${lines} lines`);
  });
  return found;
}

function nameOf(node: ts.SignatureDeclaration, file: ts.SourceFile): string {
  if (node.name !== undefined) return node.name.getText(file);
  if (ts.isConstructorDeclaration(node)) return "constructor";
  const parent = node.parent;
  return ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent.name.getText(file) : "a function";
}

/** Functions of too many parameters. */
export function longParameterLists({ path, file }: Source): string[] {
  const found: string[] = [];
  eachNode(file, (node) => {
    if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return;
    if (node.parameters.length > PARAMETERS_MAX)
      found.push(`${path}: ${nameOf(node, file)} takes ${node.parameters.length} parameters`);
  });
  return found;
}

/** Members of interfaces and of object types that may be changed by whoever holds one. */
export function mutableMembers({ path, file }: Source): string[] {
  const found: string[] = [];
  eachNode(file, (node) => {
    if (!ts.isPropertySignature(node)) return;
    if (node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword) === true) return;
    const owner = ts.isInterfaceDeclaration(node.parent) ? node.parent.name.text : "an object";
    found.push(`${path}: ${owner}.${node.name.getText(file)}`);
  });
  return found;
}

/** Members of classes that the word `private` calls so: only what begins with # is, in a program that runs. */
export function privateByWord({ path, file }: Source): string[] {
  const found: string[] = [];
  eachNode(file, (node) => {
    if (!ts.isPropertyDeclaration(node) && !ts.isMethodDeclaration(node) && !ts.isAccessor(node)) return;
    if (node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) === true)
      found.push(`${path}: ${node.name.getText(file)}`);
  });
  return found;
}

/**
 * Lines that are too long, without those that are so because of one literal: a sentence is not broken, so that it can be
 * searched for, and neither is a pattern or a line of XML.
 */
export function wideLines({ path, file }: Source): string[] {
  if (isGenerated(path)) return [];
  const text = file.getFullText();
  const lines = text.split("\n");
  if (!lines.some((line) => line.length > LINE_CHARS_MAX)) return [];
  const literal = new Set<number>();
  eachNode(file, (node) => {
    const isText =
      ts.isStringLiteral(node) ||
      ts.isNoSubstitutionTemplateLiteral(node) ||
      ts.isTemplateExpression(node) ||
      ts.isRegularExpressionLiteral(node);
    if (!isText || (ts.isTaggedTemplateExpression(node.parent) && /sql/i.test(node.parent.tag.getText(file)))) return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    for (let at = line; at <= line + linesOf(node, file); at++) literal.add(at);
  });
  return lines.flatMap((line, at) =>
    line.length > LINE_CHARS_MAX && !literal.has(at) ? [`${path}:${at + 1} has ${line.length} characters`] : [],
  );
}

/** Folders with too many files side by side. */
export function crowdedRooms(sources: readonly Source[]): string[] {
  const files = new Map<string, number>();
  for (const { path } of sources) {
    if (isGenerated(path)) continue;
    const room = dirname(path);
    files.set(room, (files.get(room) ?? 0) + 1);
  }
  return [...files].filter(([, count]) => count > ROOM_FILES_MAX).map(([room, count]) => `${room} has ${count} files`);
}

/** Folders whose README.md does not open with one sentence on their duty. */
export function headlessRooms(sources: readonly Source[]): string[] {
  const rooms = [...new Set(sources.map(({ path }) => dirname(path)))].filter((room) => room !== ".");
  return rooms.filter((room) => {
    const head = join(ROOT, room, "README.md");
    return !existsSync(head) || !/^[A-Z][^\n]*[.:]( |\n|$)/.test(readFileSync(head, "utf8"));
  });
}

/** Files that do not open with a comment. */
export const silentFiles = ({ path, file }: Source): string[] =>
  /^\s*(#!.*\n)?\s*\/(\*|\/)/.test(file.getFullText()) ? [] : [path];
