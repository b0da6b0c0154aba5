/** Graders of the final text (EV-6). */
import { own } from '../../lib/own.ts';
import { broken, fact, type Grade, type GradeContext, type Grader, type Tools } from '../types.ts';

interface Rule {
  holds(output: string, value: string): boolean;
  /** The two verbs for the final text: it does, or does not. */
  words: [string, string];
}

const lower = (text: string) => text.toLowerCase();

const CONTAINS: Rule = {
  holds: (output, value) => output.includes(value),
  words: ['contains', 'does not contain'],
};
const ICONTAINS: Rule = {
  holds: (output, value) => lower(output).includes(lower(value)),
  words: ['contains (in any case)', 'does not contain (in any case)'],
};

/** Type → whether the output is as `value` says. */
const RULES: Readonly<Record<string, Rule>> = {
  contains: CONTAINS,
  icontains: ICONTAINS,
  'starts-with': {
    holds: (output, value) => output.trim().startsWith(value.trim()),
    words: ['starts with', 'does not start with'],
  },
  'ends-with': {
    holds: (output, value) => output.trim().endsWith(value.trim()),
    words: ['ends with', 'does not end with'],
  },
  equals: {
    holds: (output, value) => output.trim() === value.trim(),
    words: ['is', 'is not'],
  },
};
/** Types with a list of values: one of them, or all of them, must be contained. */
const LISTS: Readonly<Record<string, { rule: Rule; all: boolean }>> = {
  'contains-any': { rule: CONTAINS, all: false },
  'contains-all': { rule: CONTAINS, all: true },
  'icontains-any': { rule: ICONTAINS, all: false },
  'icontains-all': { rule: ICONTAINS, all: true },
};

export const TEXT_TYPES = Object.keys(RULES);
export const TEXTS_TYPES = Object.keys(LISTS);

const VALUE_CHARS = 80;
const OUTPUT_CHARS = 160;

function shown(value: unknown, { safe }: Tools, most = VALUE_CHARS): string {
  const text = JSON.stringify(safe(value)) ?? '';
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** The part of the final text that the type compares: its end, or its beginning. */
function outputText(type: string, { transcript, tools }: GradeContext): string {
  const text = tools.safe(transcript.final_output).trim();
  if (text === '') return 'it is empty';
  const quoted = JSON.stringify(text);
  if (quoted.length <= OUTPUT_CHARS) return quoted;
  return type === 'ends-with'
    ? `…${quoted.slice(-OUTPUT_CHARS)}`
    : `${quoted.slice(0, OUTPUT_CHARS)}…`;
}

/** A failure shows the text, so that the difference is visible. */
function gradeOf(holds: boolean, what: string, type: string, context: GradeContext): Grade {
  const found = outputText(type, context);
  const reason = `the final text ${what}${holds ? '' : `: ${found}`}`;
  return { score: holds ? 1 : 0, reason, evidence: [fact(`final text: ${found}`, holds)] };
}

const oneText =
  (type: string, rule: Rule): Grader =>
  ({ value }, context) => {
    const holds = rule.holds(context.transcript.final_output, value as string);
    const what = `${rule.words[holds ? 0 : 1]} ${shown(value, context.tools)}`;
    return gradeOf(holds, what, type, context);
  };

const severalTexts =
  (type: string, { rule, all }: { rule: Rule; all: boolean }): Grader =>
  ({ value }, context) => {
    const values = value as string[];
    const missing = values.filter((one) => !rule.holds(context.transcript.final_output, one));
    const holds = all ? missing.length === 0 : missing.length < values.length;
    const list = (texts: readonly string[]) =>
      texts.map((one) => shown(one, context.tools)).join(all || !holds ? ', ' : ' or ');
    const [does, does_not] = rule.words;
    const lacks = all ? does_not : does.replace('contains', 'contains none of');
    const what = holds ? `${does} ${list(values)}` : `${lacks} ${list(missing)}`;
    return gradeOf(holds, what, type, context);
  };

export function textGrader(type: string): Grader {
  const list = own(LISTS, type);
  return list === undefined ? oneText(type, own(RULES, type) as Rule) : severalTexts(type, list);
}

export const isJson: Grader = (_, context) => {
  let holds = true;
  try {
    JSON.parse(context.transcript.final_output);
  } catch {
    holds = false;
  }
  return gradeOf(holds, holds ? 'is JSON' : 'is not JSON', 'is-json', context);
};

export const regex: Grader = async (options, context) => {
  const { transcript, tools } = context;
  const { value, flags = '' } = options as { value: string; flags?: string };
  const { matched, failure } = await tools.matches(value, flags, [transcript.final_output]);
  if (failure !== null) return broken(failure);
  const holds = matched[0] === true;
  const what = `${holds ? 'matches' : 'does not match'} /${tools.safe(value)}/${flags}`;
  return gradeOf(holds, what, 'regex', context);
};
