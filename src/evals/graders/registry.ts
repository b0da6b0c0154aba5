/** Type → grader, with the fields that an assertion of it may have. The only list. */
import { CALL_STATUSES } from '../../model/words.ts';
import {
  anything,
  command,
  either,
  type Fields,
  figure,
  flag,
  listOf,
  map,
  mapOf,
  named,
  oneOf,
  ratio,
  scalar,
  seconds,
  text,
  texts,
  unused,
} from '../files/fields.ts';
import type { Grader, Options } from '../types.ts';
import { ARGS_MATCHES } from './args-match.ts';
import { codeGrader } from './code-grader.ts';
import { AGGREGATORS, composite } from './composite.ts';
import { llmGrader, MODEL_APIS } from './llm-grader.ts';
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

export interface GraderKind {
  fields: Fields;
  grade: Grader;
  /** What is wrong with the fields together; null: nothing. */
  check?: (options: Options) => string | null;
  /** Has assertions of its own. */
  members?: true;
}

const args_match = {
  read: either(
    oneOf(ARGS_MATCHES),
    texts,
    `must be one of ${ARGS_MATCHES.join(', ')}, or a list of fields`,
  ),
};

const STEP: Fields = {
  tool: { read: text, required: true },
  args: { read: either(oneOf(['any']), map, 'must be a map, or any') },
  args_match,
  status: { read: oneOf(CALL_STATUSES) },
  max_duration_ms: { read: figure },
};

function checkTrajectory({ mode, expected, minimums }: Options): string | null {
  const steps = expected as unknown[] | undefined;
  if (mode === 'any_order')
    return minimums === undefined && !steps?.length ? 'needs minimums or expected' : null;
  if (minimums !== undefined) return 'takes minimums with the mode any_order only';
  if (steps === undefined) return 'lacks the field expected';
  const may_be_empty = mode === 'exact' || mode === 'subset';
  return steps.length === 0 && !may_be_empty ? 'expects nothing: expected is empty' : null;
}

function checkRegex({ value, flags = '' }: Options): string | null {
  try {
    new RegExp(value as string, flags as string);
    return null;
  } catch (error) {
    return `has a pattern that cannot be read: ${(error as Error).message}`;
  }
}

const limits = (table: Readonly<Record<string, unknown>>, also: Record<string, string[]>): Fields =>
  Object.fromEntries(
    Object.keys(table).map((name) => [name, { read: figure, also: also[name] ?? [] }]),
  );

const needsOne = (options: Options) =>
  Object.keys(options).length === 0 ? 'limits nothing: give at least one limit' : null;

const SECONDS: Fields = { timeout_ms: { read: seconds }, timeout_seconds: { read: seconds } };

const RUBRIC: Fields = {
  id: { read: scalar },
  outcome: { read: text, required: true, also: ['criteria', 'expected_outcome', 'description'] },
  weight: { read: figure },
  required: { read: flag },
  min_score: { read: unused('has no effect') },
  operator: { read: unused('has no effect') },
};

/** Of a judging model; an eval file may give them for all its graders. */
export const MODEL_FIELDS: Fields = {
  api: { read: oneOf(MODEL_APIS), also: ['provider'] },
  base_url: { read: text, also: ['endpoint'] },
  model: { read: text },
  api_key_env: { read: text },
  temperature: { read: figure },
  max_retries: { read: figure },
  ...SECONDS,
};

const rubric = either(text, mapOf(RUBRIC), 'must be a text or a map with outcome');
const rubrics = (value: unknown, place: Parameters<typeof rubric>[1]) =>
  (listOf(rubric)(typeof value === 'string' ? [value] : value, place) as unknown[]).map((item) =>
    typeof item === 'string' ? { outcome: item } : item,
  );

const LLM_FIELDS: Fields = {
  prompt: { read: text },
  criteria: { read: text },
  rubrics: { read: rubrics },
  target: { read: unused('has no effect: name the model with api, base_url and model') },
  config: { read: unused('has no effect') },
  max_steps: { read: unused('has no effect') },
  preprocessors: { read: unused('has no effect') },
  ...MODEL_FIELDS,
};

const { criteria: _criteria, ...LLM_FIELDS_BUT_CRITERIA } = LLM_FIELDS;

export const GRADERS: Readonly<Record<string, GraderKind>> = {
  'skill-trigger': {
    fields: {
      skill: { read: text, required: true, also: ['skill_name'] },
      should_trigger: { read: flag },
    },
    grade: skillTrigger,
  },
  'tool-trajectory': {
    fields: {
      mode: { read: oneOf(TRAJECTORY_MODES), required: true },
      expected: { read: listOf(mapOf(STEP)) },
      minimums: { read: named(figure) },
      args_match,
    },
    grade: toolTrajectory,
    check: checkTrajectory,
  },
  'execution-metrics': {
    fields: {
      ...limits(EXECUTION_LIMITS, {}),
      target_exploration_ratio: { read: ratio },
      exploration_tolerance: { read: ratio },
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
  ...Object.fromEntries(
    TEXT_TYPES.map((type) => [
      type,
      { fields: { value: { read: scalar, required: true } }, grade: textGrader(type) },
    ]),
  ),
  ...Object.fromEntries(
    TEXTS_TYPES.map((type) => [
      type,
      {
        fields: { value: { read: texts, required: true, also: ['values'] } },
        grade: textGrader(type),
      },
    ]),
  ),
  regex: {
    fields: { value: { read: text, required: true, also: ['pattern'] }, flags: { read: text } },
    grade: regex,
    check: checkRegex,
  },
  'is-json': { fields: {}, grade: isJson },
  'code-grader': {
    fields: {
      command: { read: command, required: true, also: ['script'] },
      cwd: { read: text },
      env: { read: texts },
      config: { read: anything },
      target: { read: unused('has no effect: a grader calls its own model') },
      preprocessors: { read: unused('has no effect') },
      ...SECONDS,
    },
    grade: codeGrader,
  },
  'llm-grader': { fields: LLM_FIELDS, grade: llmGrader },
  rubrics: {
    fields: {
      ...LLM_FIELDS_BUT_CRITERIA,
      rubrics: { read: rubrics, required: true, also: ['criteria'] },
    },
    grade: llmGrader,
  },
  composite: {
    fields: {
      aggregator: {
        read: mapOf({
          type: { read: oneOf(AGGREGATORS), required: true },
          weights: { read: named(figure) },
          threshold: { read: ratio },
        }),
      },
    },
    grade: composite,
    members: true,
  },
};
