/** Shapes that a script's values must have. A check adds a fault for each value that is not as it must be. */

export type Path = readonly (string | number)[];
export interface Fault {
  path: Path;
  say: string;
}
export type Shape = (value: unknown, path: Path, faults: Fault[]) => void;

export type Mapping = Readonly<Record<string, unknown>>;

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function when(holds: (value: unknown) => boolean, say: string): Shape {
  return (value, path, faults) => {
    if (!holds(value)) faults.push({ path, say });
  };
}

export const anything: Shape = () => {};
export const text = when((value) => typeof value === 'string', 'must be text');
export const flag = when((value) => typeof value === 'boolean', 'must be true or false');
export const integer = when(Number.isSafeInteger, 'must be a whole number');
export const count = when(
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  'must be a whole number from 0 up',
);
export const amount = when(
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  'must be a number from 0 up',
);
export const mapping = when(isMapping, 'must be a mapping');

export function oneOf(words: readonly string[]): Shape {
  return when((value) => words.includes(value as string), `must be one of ${words.join(', ')}`);
}

export function matching(pattern: RegExp, say: string): Shape {
  return when((value) => typeof value === 'string' && pattern.test(value), say);
}

export function listOf(shape: Shape): Shape {
  return (value, path, faults) => {
    if (!Array.isArray(value)) faults.push({ path, say: 'must be a list' });
    else value.forEach((item, index) => void shape(item, [...path, index], faults));
  };
}

/** A mapping with these fields and no others. */
export function fields(table: Readonly<Record<string, Shape>>, required: string[] = []): Shape {
  return (value, path, faults) => {
    if (!isMapping(value)) {
      faults.push({ path, say: 'must be a mapping' });
      return;
    }
    for (const name of required) {
      if (!Object.hasOwn(value, name)) faults.push({ path, say: `has no ${name}` });
    }
    for (const [name, item] of Object.entries(value)) {
      const shape = Object.hasOwn(table, name) ? table[name] : undefined;
      if (shape) shape(item, [...path, name], faults);
      else faults.push({ path: [...path, name], say: 'is not known here' });
    }
  };
}

/** The second shape for a value that passes the test, else the first. */
export function either(first: Shape, test: (value: unknown) => boolean, second: Shape): Shape {
  return (value, path, faults) => void (test(value) ? second : first)(value, path, faults);
}

/** For shapes that contain themselves. */
export function later(shape: () => Shape): Shape {
  return (value, path, faults) => void shape()(value, path, faults);
}

export function showPath(path: Path): string {
  let shown = '';
  for (const piece of path) {
    if (typeof piece === 'number') shown += `[${piece}]`;
    else shown += shown === '' ? piece : `.${piece}`;
  }
  return shown === '' ? 'script' : shown;
}
