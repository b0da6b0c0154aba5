/** Source text as the rules read it: strings and comments blanked, brackets paired, and the code that runs at load. */
import { stripTypeScriptTypes } from 'node:module';

export interface Code {
  /** Same length as the source: types and comments removed, strings and regular expressions blanked. */
  code: string;
  /** The same with strings and regular expressions intact. */
  text: string;
  /** Regular expressions with their flags. */
  patterns: { at: number; text: string }[];
  /** Index of each opening bracket → index of its closing bracket. */
  pairs: ReadonlyMap<number, number>;
  /** Ranges that do not run when the file is loaded: functions and classes, from first to last character. */
  deferred: readonly (readonly [from: number, to: number])[];
}

const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
/** After these a slash begins a regular expression. */
const BEFORE_PATTERN =
  /(?:[=(,:;!&|?{}[<>+*%~^-]|\b(?:return|typeof|case|in|of|await|yield|else))\s*$/;

export function readCode(source: string): Code {
  const text = stripTypeScriptTypes(source, { mode: 'strip' });
  const { code, plain, patterns } = blanked(text);
  const pairs = pairsOf(code);
  return { code, text: plain, patterns, pairs, deferred: deferredIn(code, pairs) };
}

/** End of the string, comment or regular expression that begins at `at`; null when none begins there. */
function literalEnd(text: string, at: number): number | null {
  const two = text.slice(at, at + 2);
  if (two === '//') return endAt(text, '\n', at);
  if (two === '/*') return endAt(text, '*/', at + 2) + 2;
  const sign = text[at] ?? '';
  if (sign === "'" || sign === '"') return quotedEnd(text, at, sign);
  if (sign !== '/' || !BEFORE_PATTERN.test(text.slice(Math.max(0, at - 20), at))) return null;
  return patternEnd(text, at);
}

const endAt = (text: string, what: string, from: number) => {
  const found = text.indexOf(what, from);
  return found === -1 ? text.length : found;
};

function quotedEnd(text: string, from: number, sign: string): number {
  let at = from + 1;
  while (at < text.length && text[at] !== sign) at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function patternEnd(text: string, from: number): number {
  let at = from + 1;
  let in_class = false;
  for (; at < text.length && (text[at] !== '/' || in_class); at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '[') in_class = true;
    else if (text[at] === ']') in_class = false;
  }
  while (/[a-z]/.test(text[at + 1] ?? '')) at++;
  return at + 1;
}

const blanks = (text: string) => text.replace(/[^\n]/g, ' ');

function blanked(text: string) {
  let code = '';
  let plain = '';
  const patterns: Code['patterns'] = [];
  /** Brace depths at which a template continues when they close. */
  const templates: number[] = [];
  let depth = 0;
  let in_template = false;
  for (let at = 0; at < text.length; ) {
    const sign = text[at] as string;
    const end = in_template ? templateEnd(text, at) : (literalEnd(text, at) ?? at + 1);
    const piece = text.slice(at, end);
    if (in_template) {
      code += blanks(piece);
      in_template = false;
      if (text.startsWith('${', end)) templates.push(depth++);
      const closing = text.slice(end, end + (text.startsWith('${', end) ? 2 : 1));
      code += closing === '${' ? ' {' : closing;
      plain += piece + closing;
      at = end + closing.length;
      continue;
    }
    const comment = piece.startsWith('//') || piece.startsWith('/*');
    const pattern = !comment && sign === '/' && piece.length > 1;
    if (pattern) patterns.push({ at, text: piece });
    code += piece.length > 1 ? blanks(piece) : sign;
    plain += comment ? blanks(piece) : piece;
    at = end;
    if (sign === '{') depth++;
    if (sign === '}') in_template = templates.at(-1) === --depth && templates.pop() !== undefined;
    if (sign === '`') in_template = true;
  }
  return { code, plain, patterns };
}

/** End of a template's text: its last character, or the start of an expression. */
function templateEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '`' && !text.startsWith('${', at))
    at += text[at] === '\\' ? 2 : 1;
  return at;
}

function pairsOf(code: string): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < code.length; at++) {
    const sign = code[at] as string;
    if (Object.hasOwn(CLOSING, sign)) open.push(at);
    else if (')]}'.includes(sign)) pairs.set(open.pop() ?? -1, at);
  }
  return pairs;
}

const FUNCTION_HEAD = /(?:=>|\))\s*$/;
const BLOCK_HEAD = /\b(?:if|for|while|switch|catch|with)\s*(?:await\s*)?$/;
const CLASS_HEAD = /\bclass\b[^{};]*$/;

function deferredIn(code: string, pairs: ReadonlyMap<number, number>): [number, number][] {
  const opened = new Map([...pairs].map(([from, to]) => [to, from]));
  const found: [number, number][] = [];
  for (const [from, to] of pairs) {
    if (code[from] !== '{') continue;
    const before = code.slice(0, from).trimEnd();
    const called = /^\s*\)\s*\(/.test(code.slice(to + 1));
    const arrow = before.endsWith('=>');
    const head = before.endsWith(')') ? code.slice(0, opened.get(before.length - 1)) : '';
    const method = FUNCTION_HEAD.test(before) && !arrow && !BLOCK_HEAD.test(head);
    const in_class = CLASS_HEAD.test(before.slice(-300));
    if (((arrow || method) && !called) || in_class) found.push([from, to]);
  }
  for (const { index } of code.matchAll(/=>\s*(?!\s*\{)/g))
    found.push([index, expressionEnd(code, index + 2, pairs)]);
  return found;
}

/** End of the expression that begins at `from`. */
function expressionEnd(code: string, from: number, pairs: ReadonlyMap<number, number>): number {
  for (let at = from; at < code.length; at++) {
    const closing = pairs.get(at);
    if (closing !== undefined) at = closing;
    else if (',;)]}'.includes(code[at] as string)) return at;
  }
  return code.length;
}

export const isDeferred = ({ deferred }: Code, at: number) =>
  deferred.some(([from, to]) => from < at && at < to);

export const lineAt = (text: string, at: number) => text.slice(0, at).split('\n').length;
