/** Graders of the final text (EV-6). */
import { own } from '../lib/own.ts';
import { fact, type Grade, type Grader } from './types.ts';

type Holds = (output: string, value: never) => boolean;

const lower = (text: string) => text.toLowerCase();
const SHOWN_CHARS = 80;
const shown = (value: unknown) => {
  const text = JSON.stringify(value) ?? '';
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

function gradeOf(holds: boolean, what: string, output: string): Grade {
  const reason = `the final text ${holds ? 'holds to' : 'does not hold to'}: ${what}`;
  return { score: holds ? 1 : 0, reason, evidence: [fact(`final text: ${shown(output)}`, holds)] };
}

export const textGrader =
  (type: string): Grader =>
  ({ value }, { transcript: { final_output } }) =>
    gradeOf(
      (own(RULES, type) as Holds)(final_output, value as never),
      `${type} ${shown(value)}`,
      final_output,
    );

export const isJson: Grader = (_, { transcript: { final_output } }) => {
  let holds = true;
  try {
    JSON.parse(final_output);
  } catch {
    holds = false;
  }
  return gradeOf(holds, 'is-json', final_output);
};

export const regex: Grader = async (options, { transcript: { final_output }, tools }) => {
  const { value, flags = '' } = options as { value: string; flags?: string };
  const { matched, failure } = await tools.matches(value, flags, final_output);
  if (failure !== null) return { score: 0, reason: failure, evidence: [], broken: true };
  return gradeOf(matched, `regex ${shown(value)}`, final_output);
};
