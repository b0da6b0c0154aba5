/** YAML files, with the position of each value. Loaded when a file is read: the package takes time to load. */
import { readYamlText } from '../yaml.ts';
import type { Source } from './mistakes.ts';

/** `merge`: `<<` takes over the fields of another map. */
export function readYaml(path: string, text: string, options: { merge?: boolean } = {}): Source {
  const { fault, value, placeOf } = readYamlText(text, options);
  const source = { path, positionOf: placeOf };
  if (fault !== null) return { ...source, value: undefined, faults: [fault] };
  try {
    return { ...source, value: value(), faults: [] };
  } catch (error) {
    // A merge of what is no map, by a tag.
    const { message } = error as Error;
    return { ...source, value: undefined, faults: [{ line: 1, col: 1, message }] };
  }
}
