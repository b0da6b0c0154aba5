/** Type → grader, with the fields of its assertions. The only list of graders. */

import { isMap } from '../../lib/own.ts';
import type { Path } from '../../lib/schema/mistakes.ts';
import type { Fields, Read } from '../../lib/schema/read.ts';
import * as is from '../../lib/schema/read.ts';
import { CALL_STATUSES } from '../../model/words.ts';
import type { Grader, Options } from '../types.ts';
import { ARGS_MATCHES, argumentsOf } from './args-match.ts';
import { codeGrader } from './code-grader.ts';
import { AGGREGATORS, composite } from './composite.ts';
import { llmGrader, MODEL_APIS } from './llm-grader.ts';
import { patternFault, textMatcher } from './matchers.ts';
import {
  COST_LIMITS,
  EXECUTION_LIMITS,
  executionMetrics,
  LATENCY_LIMITS,
  limitGrader,
  TOKEN_LIMITS,
} from './metrics.ts';
import { skillTrigger } from './skill-trigger.ts';
import { isJson, regex, TEXT_TYPES, TEXTS_TYPES, textGrader } from './text.ts';
import { TRAJECTORY_MODES, toolTrajectory } from './trajectory.ts';
import { checkFile, command as commandGrader, file as fileGrader, pathInRun } from './workspace.ts';

export interface GraderKind {
  fields: Fields;
  grade: Grader;
  /** A mistake in the combination of fields; null for none. */
  check?: (options: Options) => string | null;
  /** Has its own assertions. */
  members?: true;
  /** Names of tools in the options, each with its position. */
  tools?: (options: Options) => { name: string; at: Path }[];
}

const figure = is.figure(0);
const scalar = is.written(is.text);
const none = is.unused('has no effect');

const texts = is.filled(is.texts);

/** A program with its arguments; a text is a shell command. */
const command: Read<string[]> = (value, place) => {
  if (typeof value === 'string' && value.trim() !== '') return ['sh', '-c', value];
  const list = Array.isArray(value) && value.length > 0 && value.every((item) => item !== '');
  if (!list || !value.every((item) => typeof item === 'string' || typeof item === 'number'))
    place.mistake('must be a list of strings, or a string for the shell');
  return list ? value.map(String) : [];
};

const args_match = is.when(Array.isArray, texts, is.oneOf(ARGS_MATCHES, ', or a list of fields'));

export const STEP: Fields = {
  tool: is.required(is.text),
  args: is.when(isMap, argumentsOf, is.oneOf(['any'], ', or a map')),
  args_match,
  status: is.oneOf(CALL_STATUSES),
  max_duration_ms: figure,
};

function toolsOfTrajectory({ expected = [], minimums = {} }: Options) {
  const steps = (expected as { tool?: string }[]).map(({ tool = '' }, i) => ({
    name: tool,
    at: ['expected', i, 'tool'],
  }));
  const counted = Object.keys(minimums as object).map((name) => ({ name, at: ['minimums', name] }));
  return [...steps, ...counted].filter(({ name }) => name !== '');
}

function checkTrajectory({ mode, expected, minimums }: Options): string | null {
  const steps = expected as unknown[] | undefined;
  if (mode === 'any_order')
    return minimums === undefined && !steps?.length ? 'needs minimums or expected' : null;
  if (minimums !== undefined) return 'takes minimums with the mode any_order only';
  if (steps === undefined) return 'lacks the field expected';
  const may_be_empty = mode === 'exact' || mode === 'subset';
  return steps.length === 0 && !may_be_empty ? 'expects nothing: expected is empty' : null;
}

const checkRegex = ({ value, flags }: Options) => {
  const fault = patternFault(value as string, flags as string | undefined);
  return fault === null ? null : `has a value that ${fault}`;
};

const pattern: Read<string> = (value, place) => {
  const text = is.text(value, place);
  const fault = patternFault(text);
  if (fault !== null) place.mistake(fault);
  return text;
};

const limits = (table: Readonly<Record<string, unknown>>, also: Record<string, string[]>): Fields =>
  Object.fromEntries(
    Object.keys(table).map((name) => [name, is.optional(figure, ...(also[name] ?? []))]),
  );

const needsOne = (options: Options) =>
  Object.keys(options).length === 0 ? 'limits nothing: give at least one limit' : null;

const SECONDS: Fields = {
  timeout_ms: is.over0(),
  timeout_seconds: is.optional(is.over0(), 'timeout'),
};

export const RUBRIC: Fields = {
  id: scalar,
  outcome: is.required(is.text, 'criteria', 'expected_outcome', 'description'),
  weight: figure,
  required: is.flag,
  min_score: none,
  operator: none,
};

/** Options of a judging model; an eval file may set them for all its graders. */
export const MODEL_FIELDS: Fields = {
  api: is.optional(is.oneOf(MODEL_APIS), 'provider'),
  base_url: is.optional(is.text, 'endpoint'),
  model: is.text,
  api_key_env: is.text,
  temperature: figure,
  max_retries: figure,
  ...SECONDS,
};

const WRONG_RUBRIC = 'must be a string, or a map with outcome';
const rubric: Read = (value, place) => {
  if (isMap(value)) return is.mapOf(RUBRIC)(value, place);
  if (typeof value !== 'string' || value === '') place.mistake(WRONG_RUBRIC);
  return { outcome: value };
};
const rubrics: Read = (value, place) =>
  is.listOf(rubric)(typeof value === 'string' ? [value] : value, place);

const LLM_FIELDS: Fields = {
  prompt: is.text,
  criteria: is.text,
  rubrics,
  target: is.unused('has no effect: name the model with api, base_url and model'),
  config: none,
  max_steps: none,
  preprocessors: none,
  ...MODEL_FIELDS,
};

const { criteria: _criteria, ...LLM_FIELDS_BUT_CRITERIA } = LLM_FIELDS;

const textKinds = (types: readonly string[], fields: Fields): Record<string, GraderKind> =>
  Object.fromEntries(types.map((type) => [type, { fields, grade: textGrader(type) }]));

export const AGGREGATOR: Fields = {
  type: is.required(is.oneOf(AGGREGATORS)),
  weights: is.named(figure),
  threshold: is.ratio,
};

export const GRADERS: Readonly<Record<string, GraderKind>> = {
  'skill-trigger': {
    fields: { skill: is.required(is.text, 'skill_name'), should_trigger: is.flag },
    grade: skillTrigger,
  },
  'tool-trajectory': {
    fields: {
      mode: is.required(is.oneOf(TRAJECTORY_MODES)),
      expected: is.listOf(is.mapOf(STEP)),
      minimums: is.named(figure),
      args_match,
    },
    grade: toolTrajectory,
    check: checkTrajectory,
    tools: toolsOfTrajectory,
  },
  'execution-metrics': {
    fields: {
      ...limits(EXECUTION_LIMITS, {}),
      target_exploration_ratio: is.ratio,
      exploration_tolerance: is.ratio,
    },
    grade: executionMetrics,
    check: needsOne,
  },
  cost: {
    fields: limits(COST_LIMITS, { budget: ['max_usd', 'max_cost_usd', 'budget_usd'] }),
    grade: limitGrader(COST_LIMITS),
    check: needsOne,
  },
  latency: {
    fields: limits(LATENCY_LIMITS, { threshold: ['max_ms', 'max_duration_ms', 'threshold_ms'] }),
    grade: limitGrader(LATENCY_LIMITS),
    check: needsOne,
  },
  'token-usage': {
    fields: limits(TOKEN_LIMITS, {
      max_total: ['max_total_tokens', 'max_tokens'],
      max_input: ['max_input_tokens'],
      max_output: ['max_output_tokens'],
    }),
    grade: limitGrader(TOKEN_LIMITS),
    check: needsOne,
  },
  ...textKinds(TEXT_TYPES, { value: is.required(scalar) }),
  ...textKinds(TEXTS_TYPES, { value: is.required(texts, 'values') }),
  regex: {
    fields: { value: is.required(is.text, 'pattern'), flags: is.text },
    grade: regex,
    check: checkRegex,
  },
  'is-json': { fields: {}, grade: isJson },
  'code-grader': {
    fields: {
      command: is.required(command, 'script'),
      cwd: is.text,
      env: texts,
      config: is.anything,
      target: is.unused('has no effect: a grader calls its own model'),
      preprocessors: none,
      ...SECONDS,
    },
    grade: codeGrader,
  },
  command: {
    fields: {
      command: is.required(command),
      exit_code: is.when((value) => value === 'any', is.anything, is.whole(0, 255)),
      stdout: textMatcher,
      stderr: textMatcher,
      env: texts,
      ...SECONDS,
    },
    grade: commandGrader,
  },
  file: {
    fields: {
      path: is.required(pathInRun),
      exists: is.flag,
      changed: is.flag,
      contains: is.text,
      matches: pattern,
      flags: is.text,
    },
    grade: fileGrader,
    check: checkFile,
  },
  'llm-grader': { fields: LLM_FIELDS, grade: llmGrader },
  rubrics: {
    fields: { ...LLM_FIELDS_BUT_CRITERIA, rubrics: is.required(rubrics, 'criteria') },
    grade: llmGrader,
  },
  composite: {
    fields: {
      aggregator: is.mapOf(AGGREGATOR),
    },
    grade: composite,
    members: true,
  },
};
