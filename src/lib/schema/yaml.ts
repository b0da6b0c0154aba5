/**
 * YAML files, with the position of each value. Time and memory are linear in the length of the text: keys are compared in
 * linear time, and nesting and alias expansion are bounded. Loaded on demand, because the package loads slowly.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { LIMITS } from '../limits.ts';
import { type Path, quoted, type Source } from './mistakes.ts';

type Range = [number, number, number] | null | undefined;
/** The package reports a stack overflow as a mistake in the text. */
const STACK = /^Maximum call stack/;
/** Characters of a text that count as one value. */
const VALUE_CHARS = 64;
const NOT_1_2 = 'only YAML 1.2 is read: leave out the %YAML directive';

interface Fault {
  at: number;
  message: string;
}

/** `merge`: `<<` merges the fields of another map. Only the first mistake in a text is reported; the value is then undefined. */
export function readYaml(path: string, text: string, { merge = false } = {}): Source {
  const lines = new LineCounter();
  const { document, fault } = parsed(text, lines, merge);
  const source = {
    path,
    positionOf: (at: Path) => lines.linePos(rangeAt(document.contents, at)?.[0] ?? 0),
  };
  const faulty = ({ at, message }: Fault) => ({
    ...source,
    value: undefined,
    faults: [{ ...lines.linePos(at), message }],
  });
  if (fault !== null) return faulty(fault);
  try {
    // The package's own alias limit walks through the whole file for each alias.
    return { ...source, value: document.toJS({ maxAliasCount: -1 }), faults: [] };
  } catch (error) {
    // A tagged merge of a value that is not a map.
    return faulty({ at: 0, message: (error as Error).message });
  }
}

function parsed(text: string, lineCounter: LineCounter, merge: boolean) {
  const deep = { at: 0, message: `is nested deeper than ${LIMITS.depth_max} levels` };
  try {
    // The package compares every key with every other key.
    const document = parseDocument(text, {
      lineCounter,
      merge,
      version: '1.2',
      schema: 'core',
      uniqueKeys: false,
      logLevel: 'error',
      // Each mistake would quote its line: many mistakes in a long line would take minutes.
      prettyErrors: false,
    });
    const [wrong] = document.errors;
    if (wrong !== undefined) {
      const { message, pos } = wrong;
      return { document, fault: STACK.test(message) ? deep : { at: pos[0], message } };
    }
    // Other YAML versions have other words for true and false, and merge maps.
    if (document.directives?.yaml.version !== '1.2')
      return { document, fault: { at: text.indexOf('%YAML'), message: NOT_1_2 } };
    return { document, fault: structureFault(document) };
  } catch (error) {
    // The stack overflows long before memory is full.
    if (error instanceof RangeError) return { document: parseDocument(''), fault: deep };
    throw error;
  }
}

interface Visit {
  node: unknown;
  depth: number;
  /** The total size when the visit of the anchor's node started. */
  from?: number;
}

/** Checks duplicate keys, nesting and alias expansion, in the order of the text and without recursion. */
function structureFault(document: Document): Fault | null {
  const todo: Visit[] = [{ node: document.contents, depth: 0 }];
  /** Anchor → size of its node with expanded aliases; null while the node is being visited. */
  const sizes = new Map<string, number | null>();
  let [size, aliases, added] = [0, 0, 0];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { node, depth, from } = next;
    const { range, anchor } = (node ?? {}) as { range?: Range; anchor?: string };
    const fault = (message: string, at = range?.[0] ?? 0): Fault => ({ at, message });
    if (from !== undefined) {
      sizes.set(anchor as string, size - from);
      continue;
    }
    if (depth > LIMITS.depth_max) return fault(`is nested deeper than ${LIMITS.depth_max} levels`);
    if (isAlias(node)) {
      const expanded = sizes.get(node.source) ?? null;
      if (expanded === null) return fault(`has no anchor &${node.source} that ends before this`);
      size += expanded;
      added += expanded;
      if (++aliases > LIMITS.yaml_aliases_max)
        return fault(`has more than ${LIMITS.yaml_aliases_max} aliases`);
      if (added > LIMITS.yaml_added_max)
        return fault(`has aliases that expand to more than ${LIMITS.yaml_added_max} values`);
      continue;
    }
    if (anchor !== undefined) {
      sizes.set(anchor, null);
      todo.push({ node, depth, from: size });
    }
    const text = isScalar(node) && typeof node.value === 'string' ? node.value : '';
    size += 1 + Math.floor(text.length / VALUE_CHARS);
    if (!isCollection(node)) continue;
    const wrong = wrongKey(node);
    if (wrong !== null) return wrong;
    for (const item of node.items.toReversed())
      for (const inner of isPair(item) ? [item.value, item.key] : [item])
        todo.push({ node: inner, depth: depth + 1 });
  }
  return null;
}

const KEY_IS_MAP =
  'has a map or a list as a key: if it is a template such as {{ name }}, put it in quotes';

/** The second of two keys with the same name in a map, or a key that has no name. */
function wrongKey({ items }: YAMLMap | YAMLSeq): Fault | null {
  const seen = new Set<string>();
  for (const item of items) {
    const key = isPair(item) ? item.key : null;
    if (isCollection(key)) return { at: key.range?.[0] ?? 0, message: KEY_IS_MAP };
    // Merge keys are symbols and may occur twice.
    if (!isScalar(key) || typeof key.value === 'symbol' || key.value === '<<') continue;
    const name = String(key.value);
    if (seen.has(name))
      return { at: key.range?.[0] ?? 0, message: `the key ${quoted(name)} is given twice` };
    seen.add(name);
  }
  return null;
}

interface Node {
  range?: Range;
  items?: Item[];
}
type Item = Node & { key?: Node & { value?: unknown }; value?: Node | null };

/** The position of a map's key if there is one, otherwise of the value. */
function rangeAt(root: unknown, at: Path): Range {
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
