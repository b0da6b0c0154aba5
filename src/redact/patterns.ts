/**
 * Configured patterns. They are matched by simulating all alternatives in parallel (Thompson, Pike), so the time is bounded
 * by the length of the text times the size of the patterns. All patterns share one budget; a text beyond it is redacted.
 */
import { TachoError } from '../lib/errors.ts';
import { hasUnit } from './code-units.ts';
import { REDACT_LIMITS } from './limits.ts';
import { Machine } from './machine.ts';
import { compileRegex, type Step } from './regex.ts';
import { NotUnderstood } from './regex-reader.ts';

const PATTERN_CHARS_MAX = 512;
/** Steps per character of a text, for all patterns together: about 2 s per MiB. */
const STEPS_PER_CHAR = 256;
const STEPS_MIN = 4096;
const SAMPLE_CHARS = 1024;

const budgetOf = (chars: number): number => STEPS_MIN + STEPS_PER_CHAR * chars;

export interface Pattern {
  /** Adds all matches in order. Returns the position of a possible match truncated at the end, or the length of the text. */
  find(text: string, take: (start: number, end: number) => void): number;
}

/** Patterns are compiled when the configuration is checked, and again for each redactor. */
const COMPILED_MAX = 64;
const compiled = new Map<string, Machine>();

/** All patterns as one; null if there are none. Throws if a pattern is invalid, unsupported or, with the earlier ones, too expensive. */
export function compilePatterns(sources: readonly string[]): Pattern | null {
  const most = REDACT_LIMITS.redaction_patterns_max;
  if (sources.length > most)
    throw invalid(`there are ${sources.length} redaction patterns, at most ${most} are allowed`);
  let cost = 0;
  const machines = sources.map((source, at) => {
    const machine = compilePattern(source);
    cost += machine.cost;
    if (cost > budgetOf(SAMPLE_CHARS)) throw refused(source, tooCostly(at));
    return machine;
  });
  if (machines.length === 0) return null;
  return {
    find(text, take) {
      let cut = text.length;
      let budget = budgetOf(cut);
      for (const machine of machines) {
        cut = Math.min(cut, machine.find(text, take, budget));
        budget = machine.left;
      }
      return cut;
    },
  };
}

const tooCostly = (others: number): string =>
  `takes too many steps${others > 0 ? ` together with the ${others} before it` : ''}: give smaller counts, or + and * in their place`;

function compilePattern(source: string): Machine {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const made = compile(source);
  if (compiled.size < COMPILED_MAX) compiled.set(source, made);
  return made;
}

function compile(source: string): Machine {
  if (source.length > PATTERN_CHARS_MAX)
    throw refused(source, `is longer than ${PATTERN_CHARS_MAX} characters`);
  let steps: Step[];
  try {
    new RegExp(source);
    steps = compileRegex(source);
  } catch (cause) {
    if (cause instanceof NotUnderstood) throw refused(source, cause.message);
    // The message of the engine repeats the pattern.
    const why = (cause as Error).message.replace(/^Invalid regular expression: \/.*\/\w*: /s, '');
    throw refused(source, `is not a valid regular expression: ${why}`);
  }
  const machine = new Machine(steps);
  if (machine.matchesNothing()) throw refused(source, 'matches nothing at all');
  for (const text of samplesOf(steps)) machine.measure(text, budgetOf(text.length));
  return machine;
}

/** Texts that are expensive for a pattern: each of its characters repeated, and all of them in sequence. */
function samplesOf(steps: readonly Step[]): string[] {
  const chars = new Set<string>();
  for (const { set } of steps) {
    if (set === undefined) continue;
    for (const unit of [0x61, 0x30, 0x20])
      if (hasUnit(set, unit)) chars.add(String.fromCharCode(unit));
    const first = set.findIndex((byte) => byte !== 0);
    if (first >= 0)
      chars.add(
        String.fromCharCode(
          first * 8 + Math.log2((set[first] as number) & -(set[first] as number)),
        ),
      );
  }
  const all = [...chars].slice(0, 16);
  const texts = [...all, all.join('')];
  return texts
    .filter((text) => text !== '')
    .map((text) => text.repeat(Math.ceil(SAMPLE_CHARS / text.length)));
}

const invalid = (text: string) => new TachoError('config_invalid', text, { stage: 'redaction' });

const refused = (source: string, why: string) =>
  invalid(`redaction pattern ${JSON.stringify(source.slice(0, 80))} ${why}`);
