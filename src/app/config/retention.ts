/** Retention policies from `tacho.yaml` and from flags. */

import * as is from '../../lib/schema/read.ts';
import { type Fields, type Read, readMap, type Values } from '../../lib/schema/read.ts';
import { EXIT_REASONS } from '../../model/words.ts';
import type { RetentionPolicy } from '../../store/journal/retention.ts';
import { DURATION, measured, SIZE } from './checks.ts';

const FIELDS = {
  name: is.text,
  agent: is.text,
  status: is.oneOf([...new Set<string>(['ok', 'failed', ...EXIT_REASONS])]),
  label: is.named(is.written(is.anyText), 'must be a map of names to strings'),
  max_age: measured(DURATION),
  max_runs: is.whole(0),
  max_size: measured(SIZE),
  keep_failed: is.flag,
  keep_successful: is.flag,
  archive: is.flag,
} satisfies Fields;

type Given = Omit<Partial<Values<typeof FIELDS>>, 'label'> & {
  project?: string | null;
  label?: RetentionPolicy['labels'] | undefined;
};

/** Null if it would never remove anything. */
export function policyOf(fields: Given, name: string): RetentionPolicy | null {
  const limits = {
    age_ms_max: fields.max_age ?? null,
    runs_max: fields.max_runs ?? null,
    bytes_max: fields.max_size ?? null,
  };
  if (Object.values(limits).every((limit) => limit === null)) return null;
  return {
    name: fields.name ?? name,
    agent: fields.agent ?? null,
    status: fields.status ?? null,
    project: fields.project ?? null,
    labels: fields.label ?? {},
    ...limits,
    keep_failed: fields.keep_failed ?? false,
    keep_successful: fields.keep_successful ?? false,
    archive: fields.archive ?? true,
  };
}

/** Null after a mistake. */
export const policy: Read<RetentionPolicy | null> = (value, place) => {
  const fields = readMap(value, FIELDS, place);
  if (fields === null) return null;
  const found = policyOf(fields, `policy ${Number(place.at.at(-1)) + 1}`);
  if (found === null) place.mistake('needs one of max_age, max_runs, max_size');
  return found;
};
