/** The text of an eval file as data that remembers where each part stands. */
import { TachoError } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Path, Place } from './fields.ts';

export interface Source {
  path: string;
  value: unknown;
  /** Line and column, from 1, of what stands at a path; of the nearest thing around it when it is not there. */
  placeOf(at: Path): { line: number; col: number };
}

interface Node {
  range?: [number, number, number] | null;
  items?: ({ key?: Node & { value?: unknown }; value?: Node | null } & Node)[];
}

const invalid = (say: string) => new TachoError('config_invalid', say, { stage: 'eval' });

/** A map's key where there is one, else the value itself. */
function nodeAt(root: Node | null, at: Path): Node | null {
  let node = root;
  let nearest: Node | null = root;
  for (const key of at) {
    const item: NonNullable<Node['items']>[number] | undefined =
      typeof key === 'number'
        ? node?.items?.[key]
        : node?.items?.find((pair) => String(pair.key?.value) === key);
    if (item === undefined) break;
    nearest = item.key ?? item;
    node = item.key === undefined ? item : (item.value ?? null);
  }
  return nearest;
}

export async function readYaml(path: string, text: string): Promise<Source> {
  const { parseDocument, LineCounter } = await import('../lib/yaml.ts');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: true });
  const placeAt = (offset: number) => lines.linePos(offset);
  const wrong = document.errors[0];
  if (wrong !== undefined) {
    const { line, col } = placeAt(wrong.pos[0]);
    throw invalid(`${path}:${line}:${col}: ${wrong.message.split('\n')[0]}`);
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 1000 });
  } catch (error) {
    throw invalid(`${path}:1:1: ${(error as Error).message}`);
  }
  return {
    path,
    value,
    placeOf(at) {
      const range = nodeAt(document.contents as Node | null, at)?.range;
      return range == null ? { line: 1, col: 1 } : placeAt(range[0]);
    },
  };
}

/** One value a line, as a list. */
export function readJsonl(path: string, text: string): Source {
  const values: unknown[] = [];
  const numbers: number[] = [];
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      values.push(JSON.parse(line));
    } catch (error) {
      throw invalid(`${path}:${i + 1}:1: no JSON: ${(error as Error).message}`);
    }
    numbers.push(i + 1);
  }
  return {
    path,
    value: values,
    placeOf: ([index]) => ({ line: numbers[Number(index)] ?? 1, col: 1 }),
  };
}

export interface Report {
  place(source: Source): Place;
  readonly notes: string[];
  /** Throws when there were mistakes, with all of them. */
  end(): void;
}

/** `tests[0].assertions[1].skill` */
const fieldName = (at: Path) =>
  at.reduce<string>(
    (name, key) =>
      typeof key === 'number' ? `${name}[${key}]` : name === '' ? key : `${name}.${key}`,
    '',
  );

export function createReport(): Report {
  const mistakes: string[] = [];
  const notes: string[] = [];
  return {
    notes,
    place(source) {
      const say = (at: Path, why: string) => {
        const { line, col } = source.placeOf(at);
        return `${source.path}:${line}:${col}: ${fieldName(at)} ${why}`.replace(':  ', ': ');
      };
      return {
        at: [],
        mistake: (at, why) => void mistakes.push(say(at, why)),
        note: (at, why) => void notes.push(say(at, why)),
      };
    },
    end() {
      if (mistakes.length === 0) return;
      const shown = mistakes.slice(0, LIMITS.eval_mistakes_max);
      const more = mistakes.length - shown.length;
      throw invalid([...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
    },
  };
}
