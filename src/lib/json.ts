/** Foreign JSON: its nesting depth, and whether parsing changed its numbers. All recursion is bounded. */

/** Whether JSON text nests deeper than `depth_max`, without parsing it. Brackets inside strings do not count. */
export function nestsDeeper(text: string, depth_max: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
    } else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > depth_max) return true;
    } else if (code === 0x5d || code === 0x7d) {
      depth -= 1;
    }
  }
  return false;
}

/** The offset of the quote that ends the string at `open`. */
export function endOfString(text: string, open: number): number {
  for (let end = text.indexOf('"', open + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

export interface ValueCheck {
  too_deep: boolean;
  /** An integer beyond 2^53 or an infinite number: parsing may have changed its digits. */
  lossy_number: boolean;
}

/** Inspects a parsed value down to `depth_max`. */
export function checkValue(value: unknown, depth_max: number, found: ValueCheck): ValueCheck {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
      found.lossy_number = true;
  } else if (typeof value === 'object' && value !== null) {
    if (depth_max === 0) {
      found.too_deep = true;
    } else if (Array.isArray(value)) {
      for (const item of value) checkValue(item, depth_max - 1, found);
    } else {
      for (const key in value)
        checkValue((value as Record<string, unknown>)[key], depth_max - 1, found);
    }
  }
  return found;
}

const isSpace = (code: number) => code === 32 || (code >= 9 && code <= 13);

/**
 * False if the first and last characters show that the text is not JSON. A failing JSON.parse takes about 15 µs, which
 * adds up to a minute for 4 million short lines.
 */
export function mayBeJson(text: string): boolean {
  let start = 0;
  let end = text.length - 1;
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end))) end -= 1;
  const first = text[start] ?? '';
  const last = text[end] ?? '';
  if (first === '{') return last === '}' && end > start;
  if (first === '[') return last === ']';
  if (first === '"') return last === '"' && end > start;
  if (first === '-' || (first >= '0' && first <= '9')) return last >= '0' && last <= '9';
  return LITERALS.has(text.slice(start, end + 1));
}

const LITERALS = new Set(['true', 'false', 'null']);

/** The engine's reason why a text is not JSON, without its excerpt of the text, which may contain part of a secret. */
export function jsonFault(error: unknown): string {
  return (error as Error).message
    .replace(/^Unexpected token .*$/s, 'Unexpected token in JSON')
    .replace(/^".*" is not valid JSON$/s, 'Not valid JSON');
}

/** The value of a JSON text; undefined if it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
