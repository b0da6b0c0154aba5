/** Configured patterns: regular expressions that cannot run away, or a clear refusal. */
import { TachoError } from '../lib/errors.ts';

const PATTERN_CHARS_MAX = 512;
/** What an open end (`*`, `+`, `{n,}`) is bounded to. */
const OPEN_MAX = 256;
/** Ways to match from one place; with it a text of 1 MiB takes about a second at worst. */
const WAYS_MAX = 1024;

interface Scope {
  /** Ways in which what stands in the group can match. */
  ways: number;
}

/** Compiles a pattern for all its matches. Throws for one that is not valid or not safe. */
export function compilePattern(source: string): RegExp {
  if (source.length > PATTERN_CHARS_MAX)
    throw unsafe(source, `is longer than ${PATTERN_CHARS_MAX} characters`);
  let regex: RegExp;
  try {
    new RegExp(source);
    regex = new RegExp(bound(source), 'g');
  } catch (cause) {
    if (cause instanceof TachoError) throw cause;
    throw unsafe(source, `is no regular expression: ${(cause as Error).message}`);
  }
  if (regex.test('')) throw unsafe(source, 'matches nothing at all');
  regex.lastIndex = 0;
  return regex;
}

/** The source with its open ends bounded. */
function bound(source: string): string {
  const scopes: Scope[] = [{ ways: 1 }];
  let result = '';
  /** Ways of the last atom by itself: more than one makes a quantifier on it nested. */
  let atom_ways = 1;
  for (let at = 0; at < source.length; ) {
    const quantifier = /^(?:[*+?]|\{\d{1,4}(?:,\d{0,4})?\})\??/.exec(source.slice(at))?.[0];
    if (quantifier !== undefined && at > 0) {
      const { text, ways, repeats } = bounded(quantifier);
      if (atom_ways > 1 && repeats)
        throw unsafe(source, 'has a quantifier inside a quantified group');
      (scopes.at(-1) as Scope).ways *= ways;
      if ((scopes.at(-1) as Scope).ways > WAYS_MAX)
        throw unsafe(source, 'has too many open quantifiers');
      result += text;
      at += quantifier.length;
      continue;
    }
    const token = nextToken(source, at);
    if (token.startsWith('(')) scopes.push({ ways: 1 });
    if (token === '|') (scopes.at(-1) as Scope).ways += 1;
    atom_ways = 1;
    if (token === ')' && scopes.length > 1) {
      atom_ways = (scopes.pop() as Scope).ways;
      (scopes.at(-1) as Scope).ways *= atom_ways;
    }
    result += token;
    at += token.length;
  }
  if ((scopes[0] as Scope).ways > WAYS_MAX) throw unsafe(source, 'has too many open quantifiers');
  return result;
}

/** An escape, a class, the opening of a group, or one character. */
function nextToken(source: string, at: number): string {
  const rest = source.slice(at);
  if (/^\\(?:[1-9]|k<)/.test(rest)) throw unsafe(source, 'refers back to a group');
  if (/^\(\?<?[=!]/.test(rest)) throw unsafe(source, 'looks ahead or behind');
  const token =
    /^(?:\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|\[(?:[^\]\\]|\\.)*\]|\((?:\?(?::|<\w+>))?)/s.exec(
      rest,
    );
  return token?.[0] ?? (rest[0] as string);
}

function bounded(quantifier: string): { text: string; ways: number; repeats: boolean } {
  const lazy = quantifier.length > 1 && quantifier.endsWith('?') ? '?' : '';
  const plain = lazy === '' ? quantifier : quantifier.slice(0, -1);
  const [min, max] = limitsOf(plain);
  const text = `{${min},${max}}${lazy}`;
  return { text, ways: max - min + 1, repeats: max > 1 };
}

function limitsOf(plain: string): [min: number, max: number] {
  if (plain === '*') return [0, OPEN_MAX];
  if (plain === '+') return [1, OPEN_MAX];
  if (plain === '?') return [0, 1];
  const [low, high] = plain.slice(1, -1).split(',');
  const min = Number(low);
  if (high === undefined) return [min, min];
  return [min, high === '' ? min + OPEN_MAX : Number(high)];
}

function unsafe(source: string, why: string): TachoError {
  const text = `redaction pattern ${JSON.stringify(source.slice(0, 80))} ${why}`;
  return new TachoError('config_invalid', text, { stage: 'redaction' });
}
