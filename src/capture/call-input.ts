/** Inputs of open calls: kept while the call is open, so that another call under its id is noticed. */

/** Of a value that is no text, and of what holds a text. */
const NODE_CHARS = 16;

/** What a value costs in memory, roughly; counted up to `most` and no further. */
export function charsOf(value: unknown, most: number): number {
  if (typeof value === 'string') return NODE_CHARS + value.length;
  let chars = NODE_CHARS;
  if (typeof value !== 'object' || value === null) return chars;
  for (const key in value) {
    if (chars > most) break;
    chars += key.length + charsOf((value as Record<string, unknown>)[key], most - chars);
  }
  return chars;
}

/** Whether two inputs can be of one call, which an agent may announce before its input is known, and again as it grows. */
export function sameCall(first: unknown, second: unknown): boolean {
  return extendsInput(first, second) || extendsInput(second, first);
}

/** Whether `whole` has all that `part` has. */
function extendsInput(whole: unknown, part: unknown): boolean {
  if (part === null || part === undefined || part === '' || part === whole) return true;
  if (typeof part === 'string') return typeof whole === 'string' && whole.startsWith(part);
  if (typeof part !== 'object') return false;
  const values = part as Record<string, unknown>;
  const keys = Object.keys(values);
  if (typeof whole !== 'object' || whole === null) return keys.length === 0;
  return keys.every((key) =>
    extendsInput(
      Object.hasOwn(whole, key) ? (whole as Record<string, unknown>)[key] : null,
      values[key],
    ),
  );
}
