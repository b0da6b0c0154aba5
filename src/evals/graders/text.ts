/** Graders of the final text (EV-6). */
import { own } from '../../lib/own.ts';
import { broken, fact, type Grade, type GradeContext, type Grader, type Tools } from '../types.ts';

type Holds = (output: string, value: never) => boolean;

const lower = (text: string) => text.toLowerCase();
const SHOWN_CHARS = 80;
const shown = (value: unknown, { safe }: Tools) => {
  const text = JSON.stringify(safe(value)) ?? '';
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
};

/** Type → whether the output is as `value` says. */
const RULES: Readonly<Record<string, Holds>> = {
  contains: (output, value: string) => output.includes(value),
  'contains-any': (output, values: string[]) => values.some((value) => output.includes(value)),
  'contains-all': (output, values: string[]) => values.every((value) => output.includes(value)),
  icontains: (output, value: string) => lower(output).includes(lower(value)),
  'icontains-any': (output, values: string[]) =>
    values.some((value) => lower(output).includes(lower(value))),
  'icontains-all': (output, values: string[]) =>
    values.every((value) => lower(output).includes(lower(value))),
  'starts-with': (output, value: string) => output.trim().startsWith(value.trim()),
  'ends-with': (output, value: string) => output.trim().endsWith(value.trim()),
  equals: (output, value: string) => output.trim() === value.trim(),
};

export const TEXT_TYPES = Object.keys(RULES).filter((type) => !/-(any|all)$/.test(type));
export const TEXTS_TYPES = Object.keys(RULES).filter((type) => /-(any|all)$/.test(type));

function gradeOf(holds: boolean, what: string, { transcript, tools }: GradeContext): Grade {
  const reason = `the final text ${holds ? 'matches' : 'does not match'}: ${what}`;
  const evidence = [fact(`final text: ${shown(transcript.final_output, tools)}`, holds)];
  return { score: holds ? 1 : 0, reason, evidence };
}

export const textGrader =
  (type: string): Grader =>
  ({ value }, context) =>
    gradeOf(
      (own(RULES, type) as Holds)(context.transcript.final_output, value as never),
      `${type} ${shown(value, context.tools)}`,
      context,
    );

export const isJson: Grader = (_, context) => {
  let holds = true;
  try {
    JSON.parse(context.transcript.final_output);
  } catch {
    holds = false;
  }
  return gradeOf(holds, 'is-json', context);
};

export const regex: Grader = async (options, context) => {
  const { transcript, tools } = context;
  const { value, flags = '' } = options as { value: string; flags?: string };
  const { matched, failure } = await tools.matches(value, flags, [transcript.final_output]);
  if (failure !== null) return broken(failure);
  return gradeOf(matched[0] === true, `regex ${shown(value, tools)}`, context);
};
