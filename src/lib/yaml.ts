/**
 * The YAML reader, loaded when it is needed. Takes time and memory in proportion to the text: keys are compared in linear
 * time, aliases and nesting are bounded. A file of our own: imported as it is, the bundled package has no names.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
} from 'yaml';
import { LIMITS } from './limits.ts';

export type YamlPath = readonly (string | number)[];

export interface YamlPlace {
  line: number;
  col: number;
}

export interface YamlText {
  document: Document;
  /** The first thing that is wrong with the text; null: nothing is. */
  fault: (YamlPlace & { message: string }) | null;
  /** Line and column, from 1, of the node at a path; of the nearest thing around it when it is not there. */
  placeOf(at: YamlPath): YamlPlace;
  /** Throws where aliases expand to more than anybody writes by hand. */
  value(): unknown;
}

type Range = [number, number, number] | null | undefined;
/** The package reports the end of the stack as a mistake in the text. */
const STACK = /^Maximum call stack/;

interface Fault {
  at: number;
  message: string;
}

/** `merge`: `<<` takes over the fields of another map. */
export function readYamlText(text: string, options: { merge?: boolean } = {}): YamlText {
  const lines = new LineCounter();
  const placeAt = (offset: number) => lines.linePos(offset);
  const { document, fault } = parsed(text, lines, options.merge ?? false);
  return {
    document,
    fault: fault && { ...placeAt(fault.at), message: fault.message },
    placeOf(at) {
      const range = rangeAt(document.contents, at);
      return range == null ? { line: 1, col: 1 } : placeAt(range[0]);
    },
    value: () => document.toJS({ maxAliasCount: LIMITS.yaml_aliases_max }),
  };
}

function parsed(text: string, lineCounter: LineCounter, merge: boolean) {
  const deep = { at: 0, message: `is nested deeper than ${LIMITS.depth_max} levels` };
  try {
    // The package compares every key with every other.
    const document = parseDocument(text, {
      lineCounter,
      merge,
      uniqueKeys: false,
      logLevel: 'error',
      // Each of them would quote the line around it: many mistakes in a long line take minutes.
      prettyErrors: false,
    });
    const [wrong] = document.errors;
    if (wrong !== undefined) {
      const { message, pos } = wrong;
      return { document, fault: STACK.test(message) ? deep : { at: pos[0], message } };
    }
    return { document, fault: structureFault(document) };
  } catch (error) {
    // The stack is used up long before the memory.
    if (error instanceof RangeError) return { document: parseDocument(''), fault: deep };
    throw error;
  }
}

/** Keys that are there twice, nesting and aliases, without recursion. */
function structureFault(document: Document): Fault | null {
  const todo: { node: unknown; depth: number }[] = [{ node: document.contents, depth: 0 }];
  let aliases = 0;
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { node, depth } = next;
    const at = (node as { range?: Range } | null)?.range?.[0] ?? 0;
    if (depth > LIMITS.depth_max)
      return { at, message: `is nested deeper than ${LIMITS.depth_max} levels` };
    if (isAlias(node) && ++aliases > LIMITS.yaml_aliases_max)
      return { at, message: `has more than ${LIMITS.yaml_aliases_max} aliases` };
    if (!isCollection(node)) continue;
    const seen = new Set<string>();
    for (const item of node.items) {
      if (!isPair(item)) {
        todo.push({ node: item, depth: depth + 1 });
        continue;
      }
      const { key, value } = item;
      // The key of a merge is a symbol, and may be there twice.
      const plain = isScalar(key) && typeof key.value !== 'symbol' && key.value !== '<<';
      const name = plain ? String(key.value) : null;
      if (name !== null && seen.has(name))
        return {
          at: (key as { range?: Range }).range?.[0] ?? at,
          message: 'Map keys must be unique',
        };
      if (name !== null) seen.add(name);
      todo.push({ node: key, depth: depth + 1 }, { node: value, depth: depth + 1 });
    }
  }
  return null;
}

interface Node {
  range?: Range;
  items?: Item[];
}
type Item = Node & { key?: Node & { value?: unknown }; value?: Node | null };

/** Of a map's key where there is one, else of the value itself. */
function rangeAt(root: unknown, at: YamlPath): Range {
  let node = root as Node | null;
  let nearest = node;
  for (const key of at) {
    const items: Item[] = node?.items ?? [];
    const item =
      typeof key === 'number'
        ? items[key]
        : (items.find((one) => one.key !== undefined && String(one.key?.value) === key) ??
          items[Number(key)]);
    if (item === undefined) break;
    nearest = item.key ?? item;
    node = item.key === undefined ? item : (item.value ?? null);
  }
  return nearest?.range;
}
