/** Retention policies of `tacho.yaml`. */
import { EXIT_REASONS } from '../../model/words.ts';
import type { RetentionPolicy } from '../../store/journal/retention.ts';
import {
  type Check,
  duration,
  durationOf,
  flag,
  map,
  size,
  sizeOf,
  text,
  whole,
} from './checks.ts';

const STATUSES: readonly unknown[] = ['ok', 'failed', ...EXIT_REASONS];
const status: Check = (value) =>
  STATUSES.includes(value) ? null : `must be one of ${STATUSES.join(', ')}`;

export const POLICY_FIELDS: Record<string, Check> = {
  name: text,
  agent: text,
  status,
  label: map,
  max_age: duration,
  max_runs: whole(0),
  max_size: size,
  keep_failed: flag,
  keep_successful: flag,
  archive: flag,
};

/** The fields are checked. Null: nothing would ever go by it. */
export function policyOf(fields: Record<string, unknown>, at: number): RetentionPolicy | null {
  const limits = {
    age_ms_max: durationOf(fields.max_age),
    runs_max: (fields.max_runs as number | undefined) ?? null,
    bytes_max: sizeOf(fields.max_size),
  };
  if (Object.values(limits).every((limit) => limit === null)) return null;
  const labels = Object.entries((fields.label as Record<string, unknown>) ?? {});
  return {
    name: (fields.name as string) ?? `policy ${at + 1}`,
    agent: (fields.agent as string) ?? null,
    status: (fields.status as string) ?? null,
    labels: Object.fromEntries(labels.map(([name, value]) => [name, String(value)])),
    ...limits,
    keep_failed: (fields.keep_failed as boolean) ?? false,
    keep_successful: (fields.keep_successful as boolean) ?? false,
    archive: (fields.archive as boolean) ?? true,
  };
}
