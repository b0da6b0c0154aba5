/** Every table of fields that an eval file can have, by name: the reference page lists the same. */
import type { Fields } from '../../lib/schema/read.ts';
import { MATCHER_FIELDS } from '../graders/matchers.ts';
import { AGGREGATOR, GRADERS, RUBRIC, STEP } from '../graders/registry.ts';
import { EXECUTION, FILE, REPEAT, RUN, TEST, WORKSPACE } from './eval-file.ts';
import { COMMON, MEMBERS } from './read-assertion.ts';

export const FIELD_TABLES: Readonly<Record<string, Fields>> = {
  file: FILE,
  test: TEST,
  run: RUN,
  execution: EXECUTION,
  repeat: REPEAT,
  workspace: WORKSPACE,
  assertion: COMMON,
  step: STEP,
  matcher: MATCHER_FIELDS,
  rubric: RUBRIC,
  aggregator: AGGREGATOR,
  ...Object.fromEntries(
    Object.entries(GRADERS).map(([type, { fields, members }]) => [
      `type ${type}`,
      { ...fields, ...(members && MEMBERS) },
    ]),
  ),
};
