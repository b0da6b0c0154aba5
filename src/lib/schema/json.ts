/** JSON files, with the position of each value, in linear time. */
import { endOfString, jsonFault } from '../json.ts';
import type { Path, Position, Source } from './mistakes.ts';

export function readJson(path: string, text: string): Source {
  const positionOf = (at: Path) => positionAt(text, offsetOf(text, at));
  try {
    return { path, value: JSON.parse(text) as unknown, faults: [], positionOf };
  } catch (error) {
    const [where, offset = 0] = / at position (\d+).*/s.exec((error as Error).message) ?? [''];
    const message = `no JSON: ${jsonFault(error).replace(where, '')}`;
    const faults = [{ ...positionAt(text, Number(offset)), message }];
    return { path, value: undefined, faults, positionOf };
  }
}

/** One value per line, as a list without invalid lines. */
export function readJsonl(path: string, text: string): Source {
  const lines = text
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [{ ...readJson(path, line), line: i + 1 }]));
  const read = lines.filter(({ value }) => value !== undefined);
  return {
    path,
    value: read.map(({ value }) => value),
    faults: lines.flatMap(({ faults, line }) => faults.map((fault) => ({ ...fault, line }))),
    positionOf([index, ...inner]) {
      const { positionOf, line = 1 } = read[Number(index)] ?? {};
      return { col: 1, ...positionOf?.(inner), line };
    },
  };
}

function positionAt(text: string, offset: number): Position {
  let [line, start] = [1, 0];
  for (let end = text.indexOf('\n'); end >= 0 && end < offset; end = text.indexOf('\n', start)) {
    line += 1;
    start = end + 1;
  }
  return { line, col: offset - start + 1 };
}

/** The text must be valid JSON. If several fields have the same name, the last one counts. */
function offsetOf(text: string, at: Path): number {
  /** The current key or index of each open map and list; null: the next text is a key. */
  const here: (string | number | null)[] = [];
  let found = 0;
  let begins = true;
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    const last = here.length - 1;
    if (char <= ' ' || char === ':') continue;
    if (char === '}' || char === ']') here.pop();
    else if (char === ',') {
      const key = here[last];
      here[last] = typeof key === 'number' ? key + 1 : null;
      begins = true;
    } else {
      const end = char === '"' ? endOfString(text, i) : i;
      if (here[last] === null) here[last] = JSON.parse(text.slice(i, end + 1)) as string;
      const near = begins && here.length <= at.length;
      if (near && here.every((key, n) => key === at[n])) found = i;
      begins = char === '{' || char === '[';
      if (begins) here.push(char === '{' ? null : 0);
      i = end;
    }
  }
  return found;
}
