/** Inputs of open calls, kept to detect another call with the same id. */

/**
 * Whether two inputs can belong to one call. A call may be announced before its input is known, and again as it
 * grows.
 */
export function sameCall(first: unknown, second: unknown): boolean {
  return extendsInput(first, second) || extendsInput(second, first);
}

/** Whether `whole` contains everything in `part`. */
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
