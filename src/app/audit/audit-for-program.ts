/** `tacho audit` for programs. */
import { checkOptions } from '../../lib/schema/options.ts';
import * as is from '../../lib/schema/read.ts';
import type { StateDir } from '../../store/state-dir.ts';
import { isTrusted } from '../config/own-state.ts';
import { FILTER_FIELDS, filterOf, type RunFilter } from '../runs/query.ts';
import { findRunIds } from '../runs/replay.ts';
import { type AuditReport, audit } from './audit.ts';
import { ruleSources } from './rule-sources.ts';

/** Options of `audit`. Without `run`, all runs that the filter finds. */
export interface AuditOptions extends RunFilter {
  /** Only this run, which may be unfinished. */
  run?: string | undefined;
  /** Path of a file with further rules, and rules to switch off. */
  rules?: string | undefined;
  /** Check the digests of the runs, and the chain, first. Default: false. */
  verify?: boolean | undefined;
  /** Agree to rules that tacho.yaml switches off. Default: the consent given by `tacho trust`. */
  trust?: boolean | undefined;
}

const FIELDS = {
  ...FILTER_FIELDS,
  run: is.text,
  rules: is.text,
  verify: is.flag,
  trust: is.flag,
} as const satisfies Readonly<Record<keyof AuditOptions, is.Fields[string]>>;

export function checkAuditOptions(options: AuditOptions): void {
  checkOptions('audit', options, FIELDS);
}

export async function auditForProgram(
  state: StateDir,
  { run, rules, verify = false, trust, ...filter }: AuditOptions,
  say: (text: string) => void,
): Promise<AuditReport> {
  const consenting = { trust: isTrusted(trust, process.env), say, ask: () => null };
  const [run_id] = run === undefined ? [] : findRunIds(state, [run]);
  const runs = run_id === undefined ? { query: filterOf('audit', filter, state) } : { run_id };
  return audit(state, { runs, rules: await ruleSources(rules, consenting), verify });
}
