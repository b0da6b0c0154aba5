/** The text of an eval file as data that remembers where each part stands. */
import { TachoError } from '../../lib/errors.ts';
import { jsonFault } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { utf8Bytes } from '../../lib/utf8.ts';
import type { Path, Place, Why } from './fields.ts';

export interface Source {
  path: string;
  value: unknown;
  /** Line and column, from 1, of what stands at a path; of the nearest thing around it when it is not there. */
  placeOf(at: Path): { line: number; col: number };
}

const invalid = (say: string) => new TachoError('config_invalid', say, { stage: 'eval' });

export async function readYaml(path: string, text: string): Promise<Source> {
  if (utf8Bytes(text) > LIMITS.eval_yaml_bytes_max)
    throw invalid(
      `${path}: is larger than ${LIMITS.eval_yaml_bytes_max} bytes: put the tests into a .jsonl file`,
    );
  const { readYamlText } = await import('../../lib/yaml.ts');
  const { fault, value, placeOf } = readYamlText(text, { merge: true });
  if (fault !== null) throw invalid(`${path}:${fault.line}:${fault.col}: ${fault.message}`);
  try {
    return { path, value: value(), placeOf };
  } catch (error) {
    throw invalid(`${path}:1:1: ${(error as Error).message}`);
  }
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
      throw invalid(`${path}:${i + 1}:1: no JSON: ${jsonFault(error)}`);
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
  let count = 0;
  const mistakes: string[] = [];
  const notes: string[] = [];
  return {
    notes,
    place(source) {
      const say = (at: Path, why: Why) => {
        const { line, col } = source.placeOf(at);
        const words = typeof why === 'string' ? why : why();
        return `${source.path}:${line}:${col}: ${fieldName(at)} ${words}`.replace(':  ', ': ');
      };
      return {
        at: [],
        mistake: (at, why) => {
          count += 1;
          // A place is looked up only when it is reported: one look takes as long as the file is wide.
          if (mistakes.length < LIMITS.eval_mistakes_max) mistakes.push(say(at, why));
        },
        note: (at, why) => {
          if (notes.length < LIMITS.eval_mistakes_max) notes.push(say(at, why));
          else if (notes.length === LIMITS.eval_mistakes_max)
            notes.push(`${source.path}: more fields have no effect`);
        },
      };
    },
    end() {
      if (count === 0) return;
      const more = count - mistakes.length;
      throw invalid([...mistakes, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
    },
  };
}
